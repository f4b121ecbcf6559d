"""What a verdict says where a baseline runs: what users wait weighs more than what is expected."""

from collections.abc import Mapping
from types import MappingProxyType

import pytest

from draftboard.expr.counts import Counts
from draftboard.expr.scope import Level
from draftboard.expr.vector import kept
from draftboard.reading import Reader, Tally, counts_of, labels_of
from draftboard.report import ModelReport, verdict_of
from draftboard.report.judge import Case, engine_report, model_report
from draftboard.report.objects import EngineReport
from draftboard.settings import Settings
from draftboard.signals.alike import OBJECTION, objection
from draftboard.signals.costs import step_cost
from draftboard.signals.users import measured_speedup
from support.known import known
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
    # 2.5 tokens a step; of two batches that count as alike, one may be a fifth smaller.
    model = judged(PAYS, 3.2)
    assert verdict_of(model) == "no verdict: measured above tokens per step"
    assert (model.verdict.says, model.verdict.advice, model.verdict.basis) == (None, None, None)
    (reason,) = model.verdict.reasons
    assert reason.startswith("Measured speedup 3.20 is above tokens per decode step (2.50), which none can be")
    assert judged(PAYS, 3.12).verdict.says == "users wait less (measured)"


@pytest.mark.parametrize(("cost", "refuted"), [(0.63, True), (0.949, True), (0.951, False)])
def test_a_step_that_takes_less_than_a_plain_one_is_no_verdict(cost: float, refuted: bool) -> None:
    own = case(tally(PAYS, drafts=1000), None, "eagle3", DEFAULTS, {(step_cost.name, Level.MODEL): cost})
    found = model_report(own, "m", "eagle3").verdict
    assert (found.withheld == "measured steps below plain ones") is refuted
    if refuted:
        assert found.reasons[0].startswith(
            f"A step takes {cost:.2f} times the baseline's, where none with drafts takes"
        )


@pytest.mark.parametrize(
    ("measured", "cost", "refuted"),
    # 2.5 tokens a step at 2 times a plain step's time are 1.25: a fifth more or less is like load.
    [(0.90, 2.0, True), (1.01, 2.0, False), (1.55, 2.0, False), (1.57, 2.0, True), (0.90, 1.0, True)],
)
def test_users_and_steps_that_disagree_are_no_verdict(measured: float, cost: float, refuted: bool) -> None:
    known = {(step_cost.name, Level.MODEL): cost}
    found = model_report(case(tally(PAYS, drafts=1000), measured, "eagle3", DEFAULTS, known), "m", "eagle3").verdict
    assert (found.withheld == "users and steps disagree") is refuted
    if refuted:
        assert found.reasons[0].startswith(
            f"Users' times say {measured:.2f}, and tokens per decode step over the known"
        )


@pytest.mark.parametrize(("row", "what"), [("prompts", "prompt"), ("answers", "answer")])
def test_lengths_that_are_not_alike_are_named(row: str, what: str) -> None:
    further = {
        (objection.name, Level.MODEL): float(OBJECTION[row].value),
        (f"{what}_length", Level.MODEL): 12.0,
        (f"baseline_{what}_length", Level.MODEL): 1027.0,
    }
    found = model_report(case(tally(PAYS, drafts=1000), None, "eagle3", DEFAULTS, further), "m", "eagle3").verdict
    assert found.withheld == f"variants not alike: {what}s"
    assert found.reasons[0].startswith(f"The variants are not alike: {what}s of 12 against 1,027 tokens")


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


@pytest.mark.parametrize("measured", [0.95, 0.97, 1, 1.05, 1.0999])
@pytest.mark.parametrize(
    ("accepted", "method"), [(PAYS, "eagle3"), (LOSES, "draft_model"), (LOSES, "ngram"), ((5,), "mtp")]
)
def test_about_even_is_advised_neither_off_nor_keep(measured: float, accepted: tuple[float, ...], method: str) -> None:
    model = judged(accepted, measured, method)
    assert model.verdict.says == "about even (measured)"
    advice = known(model.verdict.advice)
    assert "off" not in advice
    assert advice != "keep"


def test_an_engine_of_a_model_that_is_measured_is_told_what_is_expected_of_it() -> None:
    assert verdict_of(an_engine()) == "pays (assumed): keep"


def test_with_too_few_drafts_a_measurement_is_no_verdict() -> None:
    settings = Settings.model_validate({"traffic": {"drafts_to_judge": 2000}})
    assert verdict_of(judged(PAYS, 0.83, settings=settings)) == "no verdict: not enough drafts"
