"""Rule files: reading them, and walking their expressions."""

import functools
from collections.abc import Mapping
from typing import Any

import promql_parser
import yaml

Rule = dict[str, Any]


def groups(files: Mapping[str, str]) -> list[dict[str, Any]]:
    return [group for path, text in files.items() if path.endswith(".rules.yaml") for group in _groups(text)]


@functools.cache
def _groups(text: str) -> list[dict[str, Any]]:
    found: list[dict[str, Any]] = yaml.safe_load(text)["groups"]
    return found


def rules(files: Mapping[str, str], kind: str = "") -> list[Rule]:
    """All rules, or those of a kind: `record` or `alert`."""
    return [rule for group in groups(files) for rule in group["rules"] if not kind or kind in rule]


def rule_of(files: Mapping[str, str], alert: str) -> Rule:
    return next(rule for rule in rules(files, "alert") if rule["alert"] == alert)


def nodes(expr: str, kind: type) -> list[Any]:
    """All nodes of one kind in an expression."""
    found: list[Any] = []

    def visit(node: Any) -> bool:
        if isinstance(node, kind):
            found.append(node)
        return True

    promql_parser.walk(promql_parser.parse(expr), visit)
    return found


def series_in(expr: str) -> set[str]:
    """Names of the series that an expression reads."""
    return {selector.name for selector in nodes(expr, promql_parser.VectorSelector)}


def records_in(expr: str) -> set[str]:
    """Records that an expression reads."""
    return {name for name in series_in(expr) if name.count(":") == 2}
