"""What rules cost a Prometheus: samples read and series stored, counted beforehand for each rule by `make budget`."""

import json
from dataclasses import dataclass
from functools import cache
from importlib.resources import files

from draftboard.durations import Duration
from draftboard.rules.groups import alerting_groups, recording_groups
from draftboard.rules.rule import AlertingRule
from draftboard.settings import Settings
from draftboard.settings.rules import Tier

SCRAPED_BYTES, RECORDED_BYTES = 2.0, 5.5
"""What a stored sample takes at most, with its share of a block's index; measured by `make bench`.

Counters compress well, as Prometheus' documentation says (one to two bytes); ratios of them hardly do.
"""
_FEW, _MANY, _MODELS = 10, 20, 5
"""Engines of the two fleets that were counted, and models of each."""
_DAY = Duration(86_400)


@dataclass(frozen=True)
class Amount:
    """What grows with the engines, and with the models: what every fleet has is a share of each of five models'."""

    an_engine: float = 0.0
    a_model: float = 0.0

    def plus(self, other: "Amount", times: float = 1.0) -> "Amount":
        """With so many of the other."""
        return Amount(self.an_engine + other.an_engine * times, self.a_model + other.a_model * times)


@dataclass(frozen=True)
class Price:
    """Of the rules of a tier."""

    tier: Tier
    records: int
    samples: Amount
    """Read a minute, once all windows are full."""
    series: Amount
    """Stored beside those that are scraped."""
    megabytes: Amount
    """Stored a day, at most."""
    uncounted: int
    """Rules that were not counted, such as those over windows of the user's own; they are left out."""


def price(settings: Settings, tier: Tier) -> Price:
    """Of the rules that these settings give in a tier."""
    settings = settings.model_copy(update={"rules": settings.rules.model_copy(update={"tier": tier})})
    records = uncounted = 0
    samples, series, megabytes = Amount(), Amount(), Amount()
    for group in (*recording_groups(settings), *alerting_groups(settings)):
        a_day = _DAY.seconds / Duration.parse(str(group.interval)).seconds
        for rule in group.rules:
            name = rule.alert if isinstance(rule, AlertingRule) else rule.record
            uncounted += name not in _table()["rules"][str(_FEW)]
            samples = samples.plus(_counted("rules", name))
            if not isinstance(rule, AlertingRule):
                records += 1
                series = series.plus(_counted("series", name))
                megabytes = megabytes.plus(_counted("series", name), a_day * RECORDED_BYTES / 1e6)
    return Price(tier, records, samples, series, megabytes, uncounted)


def _counted(kind: str, name: str) -> Amount:
    few, many = (_table()[kind][str(engines)].get(name, 0.0) for engines in (_FEW, _MANY))
    an_engine = (many - few) / (_MANY - _FEW)
    return Amount(an_engine, (few - _FEW * an_engine) / _MODELS)


@cache
def _table() -> dict[str, dict[str, dict[str, float]]]:
    table: dict[str, dict[str, dict[str, float]]] = json.loads(
        (files("draftboard.rules") / "cost-budget.json").read_text()
    )
    return table
