"""What rules and pages read, in samples: counted from expressions and the series of a fleet, whatever the machine."""

import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import promql_parser

from draftboard.durations import Duration
from draftboard.settings import Settings
from support import grafana
from support.opened import queries
from support.rulefiles import Rule, groups

TABLE = Path(__file__).parent.parent.parent / "generator/draftboard/rules/cost-budget.json"
"""Of a fleet of 10 and of 20 engines: series by name, samples a minute of each rule, and samples of each page opened.

`make budget` writes it.
"""
_MORE = {"rules": 1.02, "pages": 1.25}
"""How much more one may read than the table says: a panel more is no regression."""
_CHOOSING = promql_parser.MatchOp.Equal, promql_parser.MatchOp.Re
_LITTLE = 200
"""Samples that any may read: a counter of ten engines over five minutes."""


def table() -> dict[str, dict[str, dict[str, float]]]:
    """`series`, `rules` and `pages`, each by number of engines, then by name."""
    found: dict[str, dict[str, dict[str, float]]] = json.loads(TABLE.read_text())
    return found


def read_by_rules(files: Mapping[str, str], held: Mapping[str, float], settings: Settings) -> dict[str, float]:
    """Samples a minute of each rule, by name, after a day: all windows are full, and matchers choose everything."""
    return {
        _name(rule): round(
            _samples(promql_parser.parse(rule["expr"]), held, settings)
            * 60
            / Duration.parse(group["interval"]).seconds,
            1,
        )
        for group in groups(files)
        for rule in group["rules"]
    }


def read_by_pages(files: Mapping[str, str], held: Mapping[str, float], settings: Settings) -> dict[str, float]:
    """Samples of each page that shows its default range, by uid, with collapsed rows closed."""
    shown = settings.dashboards.time_range
    return {
        page["uid"]: round(
            sum(
                _samples(promql_parser.parse(one.expr), held, settings, shown.seconds // one.step if one.step else 1)
                for one in queries(page, settings, shown)
            )
        )
        for page in grafana.dashboards(files).values()
    }


def dearer(kind: str, read: Mapping[str, float], known: Mapping[str, float]) -> dict[str, str]:
    """Rules or pages (`kind`) that read more than they did, and how much; nothing is known of new ones."""
    return {
        name: f"{one:,.0f}, was {known.get(name, 0):,.0f}"
        for name, one in read.items()
        if one > known.get(name, 0) * _MORE[kind] + _LITTLE
    }


def _name(rule: Rule) -> str:
    return str(rule.get("record") or rule["alert"])


def is_record(name: str) -> bool:
    """Whether rules made a series."""
    return name.count(":") == 2


def _selected(node: Any) -> str:
    """Name of as many series as are read: of a histogram one bucket where its bound is given, as its counts are."""
    of_one = any(one.name == "le" and one.op in _CHOOSING for one in node.matchers.matchers)
    return str(node.name).replace("_bucket", "_count") if of_one else str(node.name)


def _samples(node: Any, held: Mapping[str, float], settings: Settings, points: int = 1) -> float:
    """Of an expression at so many points; what is pinned to the end of the range is read once for all of them."""
    match node:
        case promql_parser.VectorSelector():
            return held.get(_selected(node), 0.0) * (1 if node.at else points)
        case promql_parser.MatrixSelector():
            selector, name = node.vector_selector, str(node.vector_selector.name)
            pace = settings.rules.evaluation_interval if is_record(name) else settings.rules.scrape_interval
            return _samples(selector, held, settings, points) * max(1.0, node.range.total_seconds() / pace.seconds)
        case promql_parser.SubqueryExpr():
            usual = float(settings.rules.evaluation_interval.seconds)
            step = node.step.total_seconds() if node.step else usual
            span = node.range.total_seconds() if node.range else usual
            return _samples(node.expr, held, settings, 1 if node.at else points) * span / step
    below = (getattr(node, name, None) for name in ("lhs", "rhs", "expr", "param", "args"))
    parts = [one for part in below for one in (part if isinstance(part, list) else [part]) if one is not None]
    return sum(_samples(one, held, settings, points) for one in parts if not isinstance(one, str))
