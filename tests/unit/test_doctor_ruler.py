"""What the doctor reads from a ruler: values that were made too early, and how late alerts can be."""

from collections.abc import Mapping
from datetime import UTC, datetime
from typing import Any, cast

import pytest

from draftboard.doctor import examine_ruler
from draftboard.doctor.finding import Examination, Severity
from draftboard.prometheus import Client, LoadedRule, Series
from draftboard.settings import Settings

AT = 1_000.0


class Ruler:
    """A ruler and its store: values by expression, whatever the time."""

    url = "http://ruler"

    def __init__(self, rules: list[LoadedRule], values: Mapping[str, Mapping[str, float]]) -> None:
        self._rules, self._values = rules, values

    def rules(self) -> list[LoadedRule]:
        return self._rules

    def query(self, expr: str, time: float) -> list[Series]:
        if expr.startswith("max(timestamp("):
            return [Series({}, ((time, time - 7.0),))]
        return [Series({"engine": name}, ((time, value),)) for name, value in self._values.get(expr, {}).items()]


def record(name: str, query: str, group: str = "draftboard-a", at: float = AT, interval: float = 60.0) -> LoadedRule:
    last = datetime.fromtimestamp(at, UTC)
    return LoadedRule(name, group, query=query, interval=interval, type="recording", last=last)


def alert(name: str, query: str, group: str, at: float, pending: float = 0.0) -> LoadedRule:
    last = datetime.fromtimestamp(at, UTC)
    return LoadedRule(name, group, query=query, duration=pending, type="alerting", last=last)


Values = Mapping[str, Mapping[str, float]]


def examined(rules: list[LoadedRule], values: Values | None = None, **settings: Any) -> Examination:
    ruler = cast("Client", Ruler(rules, values or {}))
    return examine_ruler(ruler, ruler, Settings.model_validate({"rules": settings}), 10_000.0)


def numbers(count: int, changed: int = 0, by: float = 1.0) -> dict[str, float]:
    return {f"{number}": 5.0 + (by if number < changed else 0.0) for number in range(count)}


@pytest.mark.parametrize(
    ("changed", "by", "severity", "share"),
    [
        (0, 1.0, Severity.NOTE, "0.0% of 100"),
        (5, 1.0, Severity.NOTE, "5.0% of 100"),
        (6, 1.0, Severity.WARNING, "6.0% of 100"),
        (6, 1e-12, Severity.NOTE, "0.0% of 100"),
    ],
)
def test_values_that_change_when_all_samples_are_there_were_made_too_early(
    changed: int, by: float, severity: Severity, share: str
) -> None:
    values = {"model:a:sum": numbers(100), "sum(a)": numbers(100, changed, by)}
    (found,) = examined([record("model:a:sum", "sum(a)")], values).findings
    assert (found.severity, share in found.what) == (severity, True), found.what
    assert ("model:a:sum" in found.what) == (found.severity is Severity.WARNING or "5.0%" in share)


def test_a_series_that_only_came_later_counts_as_changed() -> None:
    values = {"model:a:sum": numbers(9), "sum(a)": numbers(10)}
    (found,) = examined([record("model:a:sum", "sum(a)")], values).findings
    assert "10.0% of 10" in found.what


def test_no_number_is_equal_to_no_number() -> None:
    values = {"model:a:sum": {"0": float("nan")}, "sum(a)": {"0": float("nan")}}
    (found,) = examined([record("model:a:sum", "sum(a)")], values).findings
    assert "0.0% of 1 " in found.what


def test_a_record_that_goes_on_from_its_own_past_is_not_computed_again() -> None:
    own = "max_over_time(model:a:sum[5m])"
    (found,) = examined([record("model:a:sum", own)], {"model:a:sum": numbers(3), own: numbers(3, 3)}).findings
    assert "nothing was computed again" in found.what


def test_other_people_s_rules_are_not_examined() -> None:
    assert examined([alert("Other", "up == 0", "theirs", AT)]).delays == ()


def late(*rules: LoadedRule, **settings: Any) -> dict[str, int]:
    return {one.alert: one.at_most_seconds for one in examined([*rules], **settings).delays}


def test_an_alert_on_samples_waits_for_a_scrape_and_an_evaluation() -> None:
    assert late(alert("A", "up == 0", "draftboard-x", AT)) == {"A": 15 + 60}


def test_the_pending_period_ends_at_an_evaluation() -> None:
    assert late(alert("A", "up == 0", "draftboard-x", AT, pending=90)) == {"A": 15 + 60 + 120}


def test_the_offset_of_evaluations_is_added() -> None:
    assert late(alert("A", "up == 0", "draftboard-x", AT), query_offset="30s") == {"A": 15 + 30 + 60}


def test_a_record_of_another_group_is_as_old_as_the_groups_are_apart() -> None:
    rules = (
        record("model:a:sum", "sum(a)", "draftboard-a", AT),
        record("model:b:sum", "model:a:sum", "draftboard-b", AT + 20),
        alert("A", "model:b:sum > 1", "draftboard-x", AT + 25),
        alert("B", "model:a:sum > 1", "draftboard-x", AT + 25),
    )
    assert late(*rules) == {"A": 15 + 20 + 5 + 60, "B": 15 + 25 + 60}


def test_a_record_that_is_evaluated_after_its_reader_is_nearly_an_evaluation_old() -> None:
    rules = (record("model:a:sum", "sum(a)", "draftboard-a", AT + 5), alert("A", "model:a:sum > 1", "draftboard-x", AT))
    assert late(*rules) == {"A": 15 + 55 + 60}


def test_a_slower_record_may_be_as_old_as_its_interval() -> None:
    rules = (
        record("model:a:avg1d", "a", "draftboard-daily", AT, interval=240),
        alert("A", "model:a:avg1d > 1", "draftboard-x", AT + 1),
    )
    assert late(*rules) == {"A": 15 + 240 + 60}


def test_within_a_group_a_record_is_of_the_same_moment() -> None:
    rules = (
        record("model:a:sum", "sum(a)"),
        record("model:b:sum", "model:a:sum"),
        alert("A", "model:b:sum > 1", "draftboard-a", AT),
    )
    assert late(*rules) == {"A": 15 + 60}


def test_two_records_that_read_each_other_s_past_end() -> None:
    rules = (
        record("model:a:sum", "model:b:sum offset 1m"),
        record("model:b:sum", "model:a:sum"),
        alert("A", "model:b:sum > 1", "draftboard-a", AT),
    )
    assert late(*rules)["A"] >= 75
