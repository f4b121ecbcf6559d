"""What a report says of a real vLLM 0.32 in modes that mislead: two K, data parallel, short answers, given-up requests.

tests/data/modes holds the counters of its pages, each before (-0) and after (-1) one load.
"""

from pathlib import Path

import pytest

from draftboard.reading import Lifetime, Pages
from draftboard.report import ModelReport, Speculation, report
from draftboard.settings import Settings

DATA = Path(__file__).parent.parent / "data"
MODES = DATA / "modes"
FEW = Settings.model_validate({"traffic": {"drafts_to_judge": 100}})


def told(before: str, after: str, method: str = "draft_model", settings: Settings = FEW) -> ModelReport:
    (model,) = report(Pages(MODES / f"{before}.prom", MODES / f"{after}.prom"), settings, method=method).models
    return model


def speculation(model: ModelReport) -> Speculation:
    assert model.speculation
    return model.speculation


@pytest.mark.parametrize(
    ("mode", "method", "figures"),
    [
        ("dm3", "draft_model", (2.10, 2.14, 2.73, 1.0)),
        ("dm5", "draft_model", (2.21, 2.25, 3.31, 1.0)),
        ("dp2", "ngram", (1.65, 2.09, 1.68, 0.596)),  # Two engines, text that repeats in part.
        ("pc", "draft_model", (1.85, 2.62, 2.40, 1.0)),  # Answers of four tokens.
        ("ab", "draft_model", (1.92, 2.06, 2.69, 1.074)),  # Requests given up: more drafts than steps.
    ],
)
def test_the_speedup_of_the_load_is_under_that_of_its_speculative_steps_and_under_its_tokens_per_step(
    mode: str, method: str, figures: tuple[float, float, float, float]
) -> None:
    of_load, of_steps, tokens_per_step, coverage = figures
    model = told(f"{mode}-0", f"{mode}-1", method)
    found = speculation(model)
    assert found.expected_speedup == pytest.approx(of_load, abs=6e-3)
    assert found.step_speedup == pytest.approx(of_steps, abs=6e-3)
    assert model.traffic.tokens_per_step == pytest.approx(tokens_per_step, abs=6e-3)
    assert found.coverage == pytest.approx(coverage, abs=6e-4)
    assert of_load <= tokens_per_step


def test_a_restart_with_another_k_withholds_what_positions_say_and_why() -> None:
    model = told("restart-before", "dm5-1")
    found = speculation(model)
    assert (found.lowest_k, found.configured_k) == (3, 5)
    assert model.verdict.advice == "none: K differs"
    assert any(reason.startswith("K differs: 3 and 5") for reason in model.verdict.reasons)
    assert (found.survival, found.conditional_acceptance, found.accepted_length_share) == ((), (), ())
    assert (found.best_k, found.shorter_gain, found.longer_gain) == (None, None, None)


def test_under_two_hundred_drafts_of_short_answers_nothing_is_judged() -> None:
    model = told("pc-0", "pc-1", settings=Settings())
    assert model.verdict.withheld == "not enough drafts"
    assert model.verdict.reasons == ("Not enough drafts (150 of 200)",)


def test_requests_that_clients_gave_up_are_named() -> None:
    model = told("ab-0", "ab-1")
    assert model.traffic.unfinished == 1
    assert any(note.startswith("Unfinished requests: 100.0%") for note in model.notes)
    assert told("dm3-0", "dm3-1").traffic.unfinished == 0


def test_a_head_that_does_not_fit_is_told_before_any_k() -> None:
    (model,) = report(Lifetime(DATA / "v0.32.0-eagle-unfit.prom"), method="eagle").models
    assert model.verdict.says == "costs more than it saves (assumed)"
    assert model.verdict.advice == "the drafter does not fit"
