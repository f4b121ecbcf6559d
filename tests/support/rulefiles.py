"""Reading rule files, and walking their expressions."""

from collections.abc import Mapping
from typing import Any

import promql_parser
import yaml

Rule = dict[str, Any]


def groups(files: Mapping[str, str]) -> list[dict[str, Any]]:
    return [
        group
        for path, text in files.items()
        if path.endswith(".rules.yaml")
        for group in yaml.safe_load(text)["groups"]
    ]


def rules(files: Mapping[str, str]) -> list[Rule]:
    return [rule for group in groups(files) for rule in group["rules"]]


def nodes(expr: str, kind: type) -> list[Any]:
    """All nodes of one kind in an expression."""
    found: list[Any] = []

    def visit(node: Any) -> bool:
        if isinstance(node, kind):
            found.append(node)
        return True

    promql_parser.walk(promql_parser.parse(expr), visit)
    return found


def records_in(expr: str) -> set[str]:
    """Records that an expression reads."""
    names = {selector.name for selector in nodes(expr, promql_parser.VectorSelector)}
    return {name for name in names if name.count(":") == 2}
