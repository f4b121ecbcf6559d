"""What a verdict says where a baseline runs: what users wait weighs more than what is expected."""

import pytest

from draftboard.report.entries import engine_report, model_report
from draftboard.report.judge import judge
from draftboard.report.lines import verdict_of, verdict_of_engine
from draftboard.report.objects import ModelReport
from draftboard.report.totals import Totals
from draftboard.settings import Settings

DEFAULTS = Settings()
PAYS, LOSES = (900.0, 500.0, 200.0), (20.0, 10.0, 5.0)


def counted(accepted: tuple[float, ...]) -> Totals:
    return Totals(
        drafts=1000,
        draft_tokens=1000 * len(accepted),
        accepted_tokens=sum(accepted),
        accepted_by_position=dict(enumerate(accepted)),
        configured_k=len(accepted),
    )


def judged(
    accepted: tuple[float, ...], measured: float | None, method: str = "eagle3", settings: Settings = DEFAULTS
) -> ModelReport:
    judgement = judge(counted(accepted), 300, method, settings, measured=measured)
    return model_report(judgement, "m", method, settings=settings, measured_speedup=measured)


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
    own = judge(counted(PAYS), 300, "eagle3", DEFAULTS)
    engine = engine_report(own, "0", "a:8000", slow.sample)
    assert (verdict_of_engine(engine, quick), verdict_of_engine(engine, slow)) == ("pays: keep", "expected: pays")


@pytest.mark.parametrize("measured", [None, 0.95, 1.3])
def test_what_is_no_slowdown_leaves_the_verdict_alone(measured: float | None) -> None:
    model = judged(PAYS, measured)
    assert (verdict_of(model), model.verdict) == ("pays: keep", judged(PAYS, None).verdict)


def test_a_slowdown_is_told_too_where_nothing_can_be_judged() -> None:
    settings = Settings.model_validate({"traffic": {"drafts_to_judge": 2000}})
    few = judged(PAYS, 0.83, settings=settings)
    assert verdict_of(few) == "no verdict: too few drafts, users wait longer (measured 0.83)"
    quiet = judge(Totals(drafts=0, generation_tokens=5000), 300, "ngram", DEFAULTS, measured=0.83)
    told = verdict_of(model_report(quiet, "m", "ngram", settings=DEFAULTS))
    assert told == "serving without drafting, users wait longer (measured 0.83)"
