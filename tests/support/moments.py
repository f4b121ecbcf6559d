"""Of which moment the values in a rule are: two groups of rules are evaluated up to an interval apart."""

from collections.abc import Collection, Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any

import promql_parser

from support.rulefiles import groups

Moment = tuple[str, ...]
"""The group in which series were read, then each in which a record of that was read again."""
_NO_VALUES = {"group", "count_values"}
_COMPARISONS = {"==", "!=", ">", "<", ">=", "<="}
_RELABELLING = {"label_replace", "label_join"}


def mixed(files: Mapping[str, str], steady: Collection[str] = ()) -> dict[str, list[str]]:
    """By rule the operations on values of different moments; figures that no load changes have no moment."""
    walk, found = _Walk(frozenset(steady)), dict[str, list[str]]()
    for group in groups(files):
        for rule in group["rules"]:
            name = rule.get("record") or rule["alert"]
            walk.group, walk.rule = group["name"], name
            moments = walk.of(promql_parser.parse(rule["expr"]))
            if walk.found:
                found[name], walk.found = walk.found, []
            if "record" in rule:
                walk.made[name] = group["name"], moments
    return found


@dataclass
class _Walk:
    steady: frozenset[str]
    group: str = ""
    rule: str = ""
    made: dict[str, tuple[str, frozenset[Moment]]] = field(default_factory=dict)
    found: list[str] = field(default_factory=list)

    def of(self, node: Any) -> frozenset[Moment]:
        """The moments of an expression's values; the past, which is compared on purpose, has none."""
        match node:
            case promql_parser.VectorSelector():
                return self._read(node)
            case promql_parser.BinaryExpr():
                return self._combined(node)
            case promql_parser.Call() if node.func.name == "last_over_time":
                (series,) = node.args
                if isinstance(series, promql_parser.SubqueryExpr):
                    return frozenset() if series.offset else self.of(series.expr)
                return self._read(series.vector_selector)
            case promql_parser.Call() if node.func.name in _RELABELLING:
                return self.of(node.args[0])
        found = frozenset[Moment]().union(*map(self.of, _below(node)))
        return frozenset() if self._has_none(node) else found

    def _has_none(self, node: Any) -> bool:
        match node:
            case promql_parser.MatrixSelector():
                return node.vector_selector.name in self.made
            case promql_parser.AggregateExpr():
                return str(node.op) in _NO_VALUES
        return isinstance(node, promql_parser.SubqueryExpr)

    def _read(self, selector: Any) -> frozenset[Moment]:
        if selector.offset or selector.name in {self.rule, *self.steady}:
            return frozenset()
        group, moments = self.made.get(selector.name, (self.group, frozenset({(self.group,)})))
        return moments if group == self.group else frozenset((*moment, self.group) for moment in moments)

    def _combined(self, node: Any) -> frozenset[Moment]:
        left, right, operator = self.of(node.lhs), self.of(node.rhs), str(node.op)
        if operator in {"and", "unless"}:
            return left
        if operator != "or" and left and right and len(left | right) > 1:
            self.found.append(str(node))
        if operator in _COMPARISONS:
            return right if isinstance(node.lhs, promql_parser.NumberLiteral) else left
        # What is multiplied by 0 gives labels and no value.
        return frozenset() if operator == "*" and "0" in {str(node.lhs), str(node.rhs)} else left | right


def _below(node: Any) -> Iterator[Any]:
    for name in ("expr", "vector_selector", "args"):
        held = getattr(node, name, None)
        yield from held if isinstance(held, list) else () if held is None else (held,)
