"""Rule files: reading them, and walking their expressions."""

import functools
import re
from collections.abc import Iterator, Mapping
from typing import Any

import promql_parser
import yaml

Rule = dict[str, Any]
_Loader = getattr(yaml, "CSafeLoader", yaml.SafeLoader)  # libyaml is ten times as fast, where PyYAML has it


def loaded(text: str) -> Any:
    """A YAML document."""
    return yaml.load(text, _Loader)  # noqa: S506  (both are safe)


def groups(files: Mapping[str, str]) -> list[dict[str, Any]]:
    return [group for path in files if path.endswith(".rules.yaml") for group in _groups(files[path])]


@functools.cache
def _groups(text: str) -> list[dict[str, Any]]:
    found: list[dict[str, Any]] = loaded(text)["groups"]
    return found


def rules(files: Mapping[str, str], kind: str = "") -> list[Rule]:
    """All rules, or those of a kind: `record` or `alert`."""
    return [rule for group in groups(files) for rule in group["rules"] if not kind or kind in rule]


def rule_of(files: Mapping[str, str], alert: str) -> Rule:
    alerts = (rule for group in _groups(files["alerts/alerting.rules.yaml"]) for rule in group["rules"])
    return next(rule for rule in alerts if rule["alert"] == alert)


def needed(files: Mapping[str, str], asked: str) -> list[dict[str, Any]]:
    """All groups, each with those of its rules that a text names, directly or through the records that a rule reads.

    Messages are part of an alert only where the text expects one: promtool would compare them in every case.
    """
    left_out = () if "exp_annotations" in asked else ("annotations",)
    reads: dict[str, set[str]] = {}
    for rule in rules(files):
        messages = " ".join(rule.get("annotations", {}).values()) if not left_out else ""
        reads.setdefault(_name(rule), set()).update(records_in(rule["expr"]), re.findall(r"\w+:\w+:\w+", messages))
    wanted: set[str] = set()
    patterns = set(re.findall(r'__name__=~"([^"]+)"', asked))
    left = {name for name in reads if name in asked or any(re.fullmatch(pattern, name) for pattern in patterns)}
    while left:
        wanted |= left
        left = {record for name in left for record in reads.get(name, ())} - wanted
    return [
        group
        | {
            "rules": [
                {key: value for key, value in rule.items() if key not in left_out}
                for rule in group["rules"]
                if _name(rule) in wanted
            ]
        }
        for group in groups(files)
    ]


def _name(rule: Rule) -> str:
    name: str = rule.get("record") or rule["alert"]
    return name


def nodes(expr: str, kind: type) -> list[Any]:
    """All nodes of one kind in an expression."""
    return [node for node in _all_nodes(expr) if isinstance(node, kind)]


@functools.lru_cache(maxsize=8)  # Most look for several kinds in one expression after another.
def _all_nodes(expr: str) -> tuple[Any, ...]:
    return tuple(_walked(promql_parser.parse(expr)))


_BELOW = ("lhs", "rhs", "expr", "vector_selector", "param", "args")


def _walked(node: Any, through: tuple[str, ...] = _BELOW) -> Iterator[Any]:
    """The node and all below it. promql_parser.walk visits the same, at a cost that grows with the square of them."""
    left = [node]
    while left:
        yield (here := left.pop())
        for below in (getattr(here, name, None) for name in reversed(through)):
            left += reversed(below) if isinstance(below, list) else () if below is None else (below,)


_KEEP_NAMES = {
    *("avg_over_time", "ceil", "clamp", "clamp_max", "clamp_min", "floor", "label_join", "label_replace"),
    *("last_over_time", "max_over_time", "min_over_time", "predict_linear", "quantile_over_time", "round"),
}
"""Functions whose results keep the name of the metric, in Prometheus or in VictoriaMetrics."""
_COMPARISONS = {"==", "!=", ">", "<", ">=", "<="}


def names_kept(node: Any) -> set[str]:
    """Names of metrics that the results of an expression carry, with "" for results without one."""
    found = {""}
    match node:
        case promql_parser.VectorSelector():
            found = {str(node.name)}
        case promql_parser.MatrixSelector():
            found = {str(node.vector_selector.name)}
        case promql_parser.ParenExpr() | promql_parser.SubqueryExpr():
            found = names_kept(node.expr)
        case promql_parser.Call() if node.func.name in _KEEP_NAMES:
            found = set().union(*(names_kept(argument) for argument in node.args))
        case promql_parser.BinaryExpr() if str(node.op) == "or":
            found = names_kept(node.lhs) | names_kept(node.rhs)
        case promql_parser.BinaryExpr() if str(node.op) in {"and", "unless", *_COMPARISONS}:
            found = names_kept(node.lhs)
        case promql_parser.NumberLiteral() | promql_parser.StringLiteral():
            found = set()
    return found


@functools.cache
def series_in(expr: str) -> frozenset[str]:
    """Names of the series that an expression reads."""
    return frozenset(selector.name for selector in nodes(expr, promql_parser.VectorSelector))


@functools.cache
def present_in(expr: str) -> frozenset[str]:
    """Names of the series whose present an expression reads, whatever it reads of the past."""
    walked = [*_walked(promql_parser.parse(expr), ("lhs", "rhs", "expr", "param", "args"))]
    ranges = [str(node.expr) for node in walked if isinstance(node, promql_parser.SubqueryExpr)]
    selectors = [node for node in walked if isinstance(node, promql_parser.VectorSelector)]
    return frozenset(str(one.name) for one in selectors if not one.offset and str(one) not in ranges)


def records_in(expr: str) -> set[str]:
    """Records that an expression reads."""
    return {name for name in series_in(expr) if name.count(":") == 2}
