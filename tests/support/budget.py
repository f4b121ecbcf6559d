"""What rules and pages read, in samples: counted from expressions and the series of a fleet, whatever the machine."""

import json
from collections.abc import Mapping
from dataclasses import dataclass
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
    store = _Store(held, _paces(files), settings)
    return {
        _name(rule): round(
            _samples(promql_parser.parse(rule["expr"]), store) * 60 / Duration.parse(group["interval"]).seconds, 1
        )
        for group in groups(files)
        for rule in group["rules"]
    }


def read_by_pages(files: Mapping[str, str], held: Mapping[str, float], settings: Settings) -> dict[str, float]:
    """Samples of each page that shows its default range, by uid, with collapsed rows closed."""
    shown, store = settings.dashboards.time_range, _Store(held, _paces(files), settings)
    return {
        page["uid"]: round(
            sum(
                _samples(promql_parser.parse(one.expr), store, shown.seconds // one.step if one.step else 1)
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


@dataclass(frozen=True)
class _Store:
    """What a Prometheus holds."""

    series: Mapping[str, float]  # By name.
    paces: Mapping[str, int]  # Seconds between samples of records.
    settings: Settings

    def pace(self, name: str) -> int:
        """Seconds between samples of a series."""
        rules = self.settings.rules
        return self.paces.get(name, (rules.evaluation_interval if is_record(name) else rules.scrape_interval).seconds)


def _paces(files: Mapping[str, str]) -> dict[str, int]:
    return {
        rule["record"]: Duration.parse(group["interval"]).seconds
        for group in groups(files)
        for rule in group["rules"]
        if "record" in rule
    }


def _samples(node: Any, store: _Store, points: int = 1) -> float:
    """Of an expression at so many points; what is pinned to the end of the range is read once for all of them."""
    match node:
        case promql_parser.VectorSelector():
            return store.series.get(_selected(node), 0.0) * (1 if node.at else points)
        case promql_parser.MatrixSelector():
            selector, pace = node.vector_selector, store.pace(str(node.vector_selector.name))
            return _samples(selector, store, points) * max(1.0, node.range.total_seconds() / pace)
        case promql_parser.SubqueryExpr():
            usual = float(store.settings.rules.evaluation_interval.seconds)
            step = node.step.total_seconds() if node.step else usual
            span = node.range.total_seconds() if node.range else usual
            return _samples(node.expr, store, 1 if node.at else points) * span / step
    below = (getattr(node, name, None) for name in ("lhs", "rhs", "expr", "param", "args"))
    parts = [one for part in below for one in (part if isinstance(part, list) else [part]) if one is not None]
    return sum(_samples(one, store, points) for one in parts if not isinstance(one, str))
