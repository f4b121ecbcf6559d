"""What a verdict says where a baseline runs: what users wait weighs more than what is expected."""

from collections.abc import Mapping
from dataclasses import replace
from types import MappingProxyType

import pytest

from draftboard.catalogue.latency import TIME_TO_FIRST_TOKEN
from draftboard.expr.counts import Counts
from draftboard.expr.scope import Level
from draftboard.expr.vector import kept
from draftboard.reading import Reader, Tally, counts_of, labels_of
from draftboard.report import ModelReport, verdict_of
from draftboard.report.judge import Case, engine_report, model_report
from draftboard.report.objects import EngineReport
from draftboard.settings import Settings
from draftboard.signals.costs import step_cost
from draftboard.signals.users import measured_speedup
from support.tallies import tally

DEFAULTS = Settings()
PAYS, LOSES = (900.0, 500.0, 100.0), (20.0, 10.0, 5.0)


def case(
    counted: Tally,
    measured: float | None,
    method: str,
    settings: Settings,
    further: Mapping[tuple[str, Level], float] = MappingProxyType({}),
) -> Case:
    """What a Prometheus knows: the counters, and what it measured against a baseline."""
    key = kept(labels_of(counted, settings, method), settings.labels.model_level)
    known = dict(further) | ({} if measured is None else {(measured_speedup.name, Level.MODEL): measured})
    answers = {name: {key: value} for name, value in known.items()}
    counts = Counts(settings, counts_of([counted], settings, method).series, answers)
    return Case(Reader(counts, Level.MODEL).of(key), 300)


def judged(
    accepted: tuple[float, ...], measured: float | None, method: str = "eagle3", settings: Settings = DEFAULTS
) -> ModelReport:
    return model_report(case(tally(accepted, drafts=1000), measured, method, settings), "m", method)


def an_engine() -> EngineReport:
    given = Settings.model_validate({"draft_cost": {"default": 0.1}})
    own = case(tally(PAYS, drafts=1000), None, "eagle3", given)
    return engine_report(own, own.numbers, "0", "a:8000")


def test_a_measured_slowdown_is_the_verdict_whatever_is_expected() -> None:
    for accepted, method in ((PAYS, "eagle3"), (LOSES, "draft_model")):
        model = judged(accepted, 0.83, method)
        assert verdict_of(model) == "users wait longer (measured): draft less under load, or turn it off"
        assert model.verdict.basis == "measured"
        assert model.verdict.reasons[0] == "Measured speedup 0.83 against the baseline at like load"


def test_a_measured_gain_outranks_an_expected_loss_and_leaves_the_advice() -> None:
    dear = Settings.model_validate({"draft_cost": {"default": 0.8}})
    model = judged(PAYS, 1.3, "draft_model", dear)
    assert verdict_of(model).startswith("users wait less (measured): ")
    expected = judged(PAYS, None, "draft_model", dear).verdict
    assert (expected.says, expected.basis) == ("costs more than it saves (assumed)", "assumed")


def test_a_speedup_that_no_tokens_per_step_can_give_is_no_verdict() -> None:
    # 2.5 tokens a step: answers of one token, for which vLLM records 0 s, made the mean time too short.
    model = judged(PAYS, 3.2)
    assert verdict_of(model) == "no verdict: measurements contradict each other"
    assert (model.verdict.says, model.verdict.advice, model.verdict.basis) == (None, None, None)
    assert model.verdict.reasons == (
        "The measured speedup of 3.04 to 3.36 exceeds the 2.50 tokens of a decode step, which none can",
    )
    assert judged(PAYS, 2.6).verdict.says == "users wait less (measured)", (
        "within what windows a scrape apart amount to"
    )


def test_a_step_that_takes_less_than_a_plain_one_is_no_verdict() -> None:
    counted = tally(PAYS, drafts=1000)
    own = case(counted, None, "eagle3", DEFAULTS, {(step_cost.name, Level.MODEL): 0.63})
    found = model_report(own, "m", "eagle3").verdict
    assert found.withheld == "measurements contradict each other"
    assert found.reasons == (
        "A step takes 0.60 to 0.66 times the baseline's, where none with drafts takes less than a plain one",
    )


@pytest.mark.parametrize(("dialect", "withheld"), [("vllm", "measurements contradict each other"), ("llama.cpp", None)])
def test_step_times_disprove_users_times_only_where_they_are_measured_apart(dialect: str, withheld: str | None) -> None:
    settings = Settings.model_validate({"series": {"dialect": dialect}})
    # 2.5 tokens a step at 6 times a plain step's time are 0.42; users' times say 0.37.
    own = case(tally(PAYS, drafts=1000), 0.37, "eagle3", settings, {(step_cost.name, Level.MODEL): 6.0})
    assert model_report(own, "m", "eagle3").verdict.withheld == withheld
    alone = case(tally(PAYS, drafts=1000), None, "eagle3", settings, {(step_cost.name, Level.MODEL): 0.63})
    assert model_report(alone, "m", "eagle3").verdict.withheld == "measurements contradict each other"


def test_answers_of_other_lengths_than_the_baseline_s_are_no_comparison() -> None:
    own = case(tally(PAYS, drafts=1000, times={TIME_TO_FIRST_TOKEN: [0.1] * 208}), 1.2, "eagle3", DEFAULTS)
    for started, alike in ((62, False), (200, True)):
        baseline = case(
            tally(generated=2500, times={TIME_TO_FIRST_TOKEN: [0.1] * started}), None, "none", DEFAULTS
        ).numbers
        found = model_report(replace(own, baselines=(baseline,)), "m", "eagle3").verdict
        assert (found.withheld is None) is alike
        if not alike:
            assert found.reasons == ("The variants are not alike: answers of 12 against 40 tokens",)


@pytest.mark.parametrize(
    ("measured", "says"),
    [
        (0.9499, "users wait longer (measured)"),
        (0.95, "about even (measured)"),
        (1.0999, "about even (measured)"),
        (1.1, "users wait less (measured)"),
    ],
)
def test_the_bounds_of_a_measurement_belong_to_the_better_side(measured: float, says: str) -> None:
    assert judged(PAYS, measured).verdict.says == says


def test_an_engine_of_a_model_that_is_measured_is_told_what_is_expected_of_it() -> None:
    assert verdict_of(an_engine()) == "pays (assumed): keep"


def test_with_too_few_drafts_a_measurement_is_no_verdict() -> None:
    settings = Settings.model_validate({"traffic": {"drafts_to_judge": 2000}})
    assert verdict_of(judged(PAYS, 0.83, settings=settings)) == "no verdict: not enough drafts"
