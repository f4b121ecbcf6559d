"""What a verdict says where a baseline runs: what users wait weighs more than what is expected."""

import pytest

from draftboard.expr.counts import Counts
from draftboard.expr.scope import Level
from draftboard.expr.vector import kept
from draftboard.reading import Reader, Tally, counts_of, labels_of
from draftboard.report import ModelReport, verdict_of
from draftboard.report.document import verdict_of_engine
from draftboard.report.judge import Case, engine_report, model_report
from draftboard.report.objects import EngineReport
from draftboard.settings import Settings
from draftboard.signals.users import measured_speedup
from support.tallies import tally

DEFAULTS = Settings()
PAYS, LOSES = (900.0, 500.0, 200.0), (20.0, 10.0, 5.0)


def case(counted: Tally, measured: float | None, method: str, settings: Settings) -> Case:
    """What a Prometheus knows: the counters, and what it measured against a baseline."""
    key = kept(labels_of(counted, settings, method), settings.labels.model_level)
    answers = {} if measured is None else {(measured_speedup.name, Level.MODEL): {key: measured}}
    counts = Counts(settings, counts_of([counted], settings, method).series, answers)
    return Case(Reader(counts, Level.MODEL).of(key), 300)


def judged(
    accepted: tuple[float, ...], measured: float | None, method: str = "eagle3", settings: Settings = DEFAULTS
) -> ModelReport:
    return model_report(case(tally(accepted, drafts=1000), measured, method, settings), "m", method)


def an_engine() -> EngineReport:
    own = case(tally(PAYS, drafts=1000), None, "eagle3", DEFAULTS)
    return engine_report(own, own.numbers, "0", "a:8000")


def test_a_measured_slowdown_is_the_first_reason_and_in_the_headline() -> None:
    model = judged(PAYS, 0.83)
    assert verdict_of(model) == "expected: pays, but users wait longer (measured 0.83)"
    assert model.verdict.measured == "users wait longer (measured 0.83)"
    assert model.verdict.reasons[0].startswith("Measured speedup is 0.83, under 0.95: users wait longer")
    assert model.verdict.reasons[1:] == judged(PAYS, None).verdict.reasons


def test_a_slowdown_that_was_expected_keeps_its_advice() -> None:
    told = "expected: costs more than it saves, and users wait longer (measured 0.83): turn it off"
    assert verdict_of(judged(LOSES, 0.83, "draft_model")).startswith(told)


def test_a_longer_draft_is_not_called_for_where_users_wait_longer() -> None:
    model = judged((900.0, 800.0, 700.0), 0.83)
    assert model.verdict.advice == "try a longer K"
    assert verdict_of(model) == "expected: pays, but users wait longer (measured 0.83)"


def test_an_engine_of_a_model_that_is_slower_is_only_expected_to_pay() -> None:
    quick, slow = judged(PAYS, 1.3), judged(PAYS, 0.83)
    engine = an_engine()
    assert (verdict_of_engine(engine, quick), verdict_of_engine(engine, slow)) == ("pays: keep", "expected: pays")


@pytest.mark.parametrize("measured", [None, 0.95, 1.3])
def test_what_is_no_slowdown_leaves_the_verdict_alone(measured: float | None) -> None:
    model = judged(PAYS, measured)
    assert (verdict_of(model), model.verdict) == ("pays: keep", judged(PAYS, None).verdict)


def test_a_slowdown_is_told_too_where_nothing_can_be_judged() -> None:
    settings = Settings.model_validate({"traffic": {"drafts_to_judge": 2000}})
    few = judged(PAYS, 0.83, settings=settings)
    assert verdict_of(few) == "no verdict: too few drafts, users wait longer (measured 0.83)"
    quiet = case(tally(drafts=0, generated=5000), 0.83, "ngram", DEFAULTS)
    told = verdict_of(model_report(quiet, "m", "ngram"))
    assert told == "serving without drafting, users wait longer (measured 0.83)"
