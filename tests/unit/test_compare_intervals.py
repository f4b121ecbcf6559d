"""What a comparison is sure of: intervals, verdicts and gates that rest on them, and where there are none."""

import random
from collections.abc import Sequence
from dataclasses import replace
from functools import partial
from pathlib import Path

import pytest

from draftboard.compare import Comparison, Side, compare, document
from draftboard.durations import Duration
from draftboard.output import as_json, as_markdown
from draftboard.settings import Settings
from support import command_line
from support.runs import ran

run = partial(command_line.run, "compare")

PARTS, REQUESTS = 20, 200


def times(mean: float, seed: int) -> list[float]:
    """Of requests that scatter by a third."""
    chance = random.Random(seed)
    return [mean * chance.gammavariate(9, 1 / 9) for _ in range(REQUESTS)]


def arm(mean: float, seed: int, acceptance: float | None = None) -> Side:
    return ran(times(mean, seed), acceptance=acceptance, parts=PARTS)


PLAIN, AS_FAST, FASTER = arm(0.04, 1), arm(0.04, 2, 0.3), arm(0.032, 3, 0.3)


def told(comparison: Comparison) -> str:
    return as_markdown(document(comparison, Settings()))


def test_arms_that_are_alike_are_about_even() -> None:
    found = compare(PLAIN, AS_FAST)
    assert found.verdict.says == "about even"
    assert found.measured.speedup_interval
    assert found.measured.speedup_interval.low < 1 < found.measured.speedup_interval.high


def test_a_fifth_less_time_is_no_chance() -> None:
    found = compare(PLAIN, FASTER)
    assert found.verdict.says == "users wait less"
    assert compare(FASTER, PLAIN).verdict.says == "users wait longer"
    interval = found.measured.speedup_interval
    assert interval
    assert 1 < interval.low < 1.25 < interval.high
    assert f"measured speedup {found.measured.speedup:.2f} (95 %: {interval.low:.2f} to {interval.high:.2f})" in told(
        found
    )


def test_a_gain_within_the_bounds_of_about_even_is_a_gain_where_the_interval_says_so() -> None:
    alike = [[mean] * REQUESTS for mean in (0.04, 0.038)]
    for parts, says in {PARTS: "users wait less", 0: "about even"}.items():
        plain, fast = (ran(of, parts=parts) for of in alike)
        assert compare(plain, fast).verdict.says == says


@pytest.mark.parametrize(("name", "shares"), [("per_token_mean", False), ("acceptance", True)])
def test_each_number_that_is_compared_has_its_interval(name: str, shares: bool) -> None:
    plain, fast = (scattered(acceptance, seed) for seed, acceptance in enumerate((0.6, 0.5)))
    found = compare(plain, fast)
    (row,) = (row for group in found.groups for row in group.rows if row.name == name)
    for value in (row.baseline, row.candidate):
        assert None not in {value.low, value.value, value.high}
        assert value.low < value.value < value.high  # type: ignore[operator]
    assert row.interval
    assert row.interval.low < (row.difference if shares else row.ratio or 0) < row.interval.high  # type: ignore[operator]


def scattered(acceptance: float, seed: int) -> Side:
    """Whose acceptance is another in each part, and as a whole as it is told."""
    chance, side = random.Random(seed), arm(0.04, seed, acceptance)
    return with_parts(side, [chance.uniform(0.7, 1.3) for _ in side.model.parts])


def with_parts(side: Side, factors: Sequence[float]) -> Side:
    whole = sum(factors) / len(factors)
    parts = tuple(
        replace(part, accepted_tokens=part.accepted_tokens * factor / whole)
        for part, factor in zip(side.model.parts, factors, strict=True)
    )
    return replace(side, model=replace(side.model, parts=parts))


def test_without_parts_there_is_no_interval_and_it_is_said() -> None:
    found = compare(ran(), PLAIN)
    assert found.measured.speedup_interval is None
    assert (
        "Baseline: no 95 % intervals: one or two pages count the time as a whole: read servers, or a Prometheus"
        in found.notes
    )
    assert not any(note.startswith("Candidate: no 95 %") for note in found.notes)


@pytest.mark.parametrize(("minutes", "judged"), [(0.5, True), (50 / 60, True), (51 / 60, False), (600, False)])
def test_sessions_of_over_half_of_a_run_leave_too_few_independent_windows(minutes: float, judged: bool) -> None:
    """Runs of 100 s: what stays as it is over most of a run shows in none of its parts."""
    slower, sessions = arm(0.05, 1, 0.5), Duration(round(60 * minutes))
    found = compare(slower, FASTER, sessions=sessions, min_speedup=1, max_drop_pp=50)
    assert (found.verdict.says is not None) == judged == (found.measured.speedup_interval is not None)
    assert [gate.met for gate in found.gates] == [judged, judged]
    few = f"too few independent windows: sessions of {sessions} in a run of 100 s (minimum {sessions * 2})"
    if not judged:
        assert found.verdict.reasons == (few,)
        assert {gate.says for gate in found.gates} == {f"cannot be judged: {few}"}
        assert f"Baseline: no 95 % intervals: {few}" in found.notes


def test_of_few_parts_there_is_no_interval() -> None:
    found = compare(ran(parts=7), PLAIN)
    assert found.measured.speedup_interval is None
    assert "Baseline: no 95 % intervals: requests finished in 7 of 7 parts of the time (minimum 8)" in found.notes


def test_a_gate_may_ask_that_the_whole_interval_is_within_the_limit() -> None:
    interval = compare(PLAIN, FASTER).measured.speedup_interval
    assert interval
    between = (interval.low + interval.value) / 2
    for limit, whole, met in ((between, False, True), (between, True, False), (interval.low, True, True)):
        (gate,) = compare(PLAIN, FASTER, min_speedup=limit, whole_interval=whole).gates
        assert gate.met is met
        assert gate.interval == interval
    (gate,) = compare(PLAIN, FASTER, min_speedup=between, whole_interval=True).gates
    assert gate.says.startswith("missed, as the interval is not within the limit: measured speedup 1.")


def test_the_worse_end_of_a_drop_is_the_higher_one() -> None:
    before, after = scattered(0.6, 1), scattered(0.55, 2)
    (gate,) = compare(before, after, max_drop_pp=5.5).gates
    assert gate.met
    assert gate.interval
    assert gate.interval.low < 5
    assert gate.interval.high > 5.5
    assert not compare(before, after, max_drop_pp=5.5, whole_interval=True).passed


def test_without_an_interval_such_a_gate_cannot_be_judged() -> None:
    (gate,) = compare(ran(), ran(), min_speedup=0.5, whole_interval=True).gates
    assert (gate.met, gate.measured) == (False, None)
    assert gate.says == "cannot be judged: measured speedup 1.000, without an interval"


def test_parts_are_saved_with_a_report(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    names = []
    for name, side in (("plain", PLAIN), ("faster", FASTER)):
        names.append(tmp_path / name)
        names[-1].write_text(as_json(side.report))
    ended, out, _ = run(*names, "--min-speedup", "1.01", "--whole-interval", capsys=capsys)
    assert ended == 0
    assert "(95 %: " in out
