"""What a report says where no cost was measured or set: ranges, and only what all of a range supports."""

import re
from collections.abc import Callable
from itertools import pairwise
from pathlib import Path

import pytest

from draftboard import evidence
from draftboard.evidence import Load
from draftboard.evidence.law import METHODS
from draftboard.lab.simulator import find
from draftboard.lab.simulator.serve import page as served
from draftboard.reading import Lifetime, Pages
from draftboard.report import ModelReport, Report, report, verdict_of
from draftboard.report.document import document, status_of
from draftboard.report.numbers import Expectation
from draftboard.settings import Settings
from draftboard.status import Status
from support.known import known
from support.pages import page
from support.simulated import started

Judged = Callable[..., ModelReport]
DEEP = (950, 900, 850)
SETTLE = (
    "To settle it, run a server of this model without speculation, labelled as baseline: its steps and its users' "
    "times measure what is assumed here"
)


@pytest.fixture
def judged(tmp_path: Path) -> Judged:
    """Judges a page of a thousand drafts."""

    def judge(
        accepted: tuple[float, ...],
        method: str = "eagle3",
        *,
        running: float = 1,
        drafted: float | None = None,
        further: str = "",
        **given: object,
    ) -> ModelReport:
        path = tmp_path / "page.prom"
        path.write_text(page(accepted, drafts=1000, drafted=drafted, running=running, started=1) + further)
        found: Report = report(Lifetime(path), Settings.model_validate(given), method=method)
        (model,) = found.models
        return model

    return judge


def assumed(model: ModelReport) -> Expectation:
    assert model.speculation
    return known(model.speculation.assumed)


def test_a_verdict_holds_in_all_of_the_range(judged: Judged) -> None:
    model = judged(DEEP)
    found = assumed(model)
    speedup, step_cost = known(found.speedup), known(found.step_cost)
    assert speedup.low > 1
    assert speedup.low == pytest.approx(3.7 / step_cost.high, rel=1e-3)
    assert (model.verdict.says, model.verdict.basis) == ("pays (assumed)", "assumed")
    assert verdict_of(model).startswith(f"pays: {speedup} times plain decoding (assumed)")
    assert status_of(model) is Status.GOOD
    why, margin, *_ = model.verdict.reasons
    assert why == (
        f"Tokens per decode step 3.70, and a step costs {step_cost} plain ones in a batch of 1 (assumed from "
        f"published measurements): {speedup} times plain decoding"
    )
    assert margin == "It pays while a decode step takes less time than 3.70 plain ones"


def test_a_load_that_loses_at_every_cost_costs_more(judged: Judged) -> None:
    model = judged((20, 10, 5), "ngram")
    assert known(assumed(model).speedup).high < 1
    assert model.verdict.says == "costs more than it saves (assumed)"
    # What is lost at every k by drafts of three tokens may be a gain with drafts of one: that comes first.
    assert model.verdict.advice == "try a shorter K"
    assert verdict_of(model).startswith("costs more than it saves: ")
    assert judged((20,), "ngram").verdict.advice == "turn it off, or change the drafter"


def test_a_drafter_of_blocks_takes_no_other_k(judged: Judged) -> None:
    assert judged((950, 900, 10, 5, 5), "eagle3").verdict.advice == "try a shorter K"
    assert judged((950, 900, 10, 5, 5), "dspark").verdict.advice == "measure against a baseline"


@pytest.mark.parametrize(
    ("accepted", "method", "drafted", "gains"),
    [
        ((700, 400, 200), "eagle3", None, ["the best k may be ", "one more token may be "]),
        ((700, 400, 200), "eagle3", 2400, ["the best k may be "]),
        ((950, 900, 10, 5, 5), "dspark", None, []),
    ],
)
def test_a_reason_names_the_gains_that_are_known(
    judged: Judged, accepted: tuple[float, ...], method: str, drafted: float | None, gains: list[str]
) -> None:
    verdict = judged(accepted, method, drafted=drafted).verdict
    assert verdict.advice == "measure against a baseline"
    (reason,) = (one for one in verdict.reasons if one.startswith("What to change depends on what a step costs"))
    _, *told = re.split(": |, ", reason)
    assert [re.sub("[0-9].*", "", one) for one in told] == gains
    assert all(re.fullmatch("[a-z ]+[0-9.]+ to [0-9.]+ times as fast as now", one) for one in told)


@pytest.mark.parametrize("running", [1, 8, 64, 256])
@pytest.mark.parametrize("method", sorted(METHODS))
def test_both_ends_are_those_of_published_measurements(judged: Judged, method: str, running: float) -> None:
    model = judged(DEEP, method, running=running)
    ends = evidence.assumed(method).step_cost(Load(batch=running, drafted=3.0))
    found = known(assumed(model).step_cost)
    assert (found.low, found.high) == pytest.approx((known(ends).low, known(ends).high), rel=1e-6)


def test_an_unclear_verdict_says_on_what_it_depends_and_what_settles_it(judged: Judged) -> None:
    model = judged((700, 400, 200))
    speedup = known(assumed(model).speedup)
    assert 1 in speedup
    assert (model.verdict.says, model.verdict.advice) == ("unclear (assumed)", "measure against a baseline")
    assert verdict_of(model) == (f"unclear: {speedup} times plain decoding (assumed): measure against a baseline")
    assert status_of(model) is Status.ODD
    assert model.verdict.reasons[-1] == SETTLE


def test_a_baseline_that_does_not_measure_yet_is_waited_for_and_not_advised(tmp_path: Path) -> None:
    own, plain = tmp_path / "own.prom", tmp_path / "plain.prom"
    own.write_text(page((700, 400, 200), drafts=1000, running=1, started=1))
    plain.write_text(page(generated=1000, steps=1000, running=1, started=1))
    (model,) = (one for one in report(Lifetime(own, plain), Settings(), method="eagle3").models if one.sample)
    assert model.verdict.says == "unclear (assumed)"
    assert model.verdict.reasons[-1] == (
        "A baseline runs, and measures it once both have 15 requests finished in a window, of like lengths and at "
        "like load"
    )
    assert not any("run a server" in reason for reason in model.verdict.reasons)


def test_a_server_that_pays_with_one_client_may_lose_with_many(judged: Judged) -> None:
    speedups = [known(assumed(judged(DEEP, running=running)).speedup) for running in (1, 8, 64, 256)]
    lows = [one.low for one in speedups]
    assert lows == sorted(lows, reverse=True)
    assert judged(DEEP, running=64).verdict.says == "unclear (assumed)"


@pytest.mark.parametrize("running", [1, 8, 64, 300])
def test_a_good_drafter_under_load_is_never_told_to_keep_k_without_a_baseline(judged: Judged, running: float) -> None:
    verdict = judged((820, 660, 510, 380, 260), running=running).verdict
    assert (verdict.says, verdict.advice) != ("pays (assumed)", "keep")
    assert verdict.advice in {None, "measure against a baseline", "try a shorter K"}


@pytest.mark.long
def test_an_overloaded_server_is_never_told_to_keep_k_without_its_baseline(tmp_path: Path) -> None:
    """The true speedup is 0.75 from minute 30 on, and users wait for the queue."""
    server, pages, found = started(find("overload")), list[Path](), list[ModelReport]()
    for minute in range(5, 71, 5):
        server.advance(minute * 60)
        pages.append(tmp_path / f"{minute}.prom")
        pages[-1].write_bytes(served(server))
    for pair in pairwise(pages):
        found += report(Pages(*pair), Settings(), method="eagle3").models
    assert {one.verdict.says for one in found} == {"unclear (assumed)"}
    assert {one.verdict.advice for one in found} == {"measure against a baseline"}
    assert [bool(known(one.waiting).says) for one in found] == [False] * 5 + [True] * 8
    assert all(0.75 in known(assumed(one).speedup) for one in found[5:])


INFO = 'draftboard_spec_info{engine="0",model_name="m",pipeline_parallel_size="4"} 1\n'
PROMPTS = 'vllm:prompt_tokens_total{engine="0",model_name="m"} 50000\n'
CONTRARY = {
    "vllm#44697: MTP over four stages of a pipeline": ((943,), "mtp", 1, INFO, 0.71),
    "vllm#52362: a block of seven at 256 clients": ((700, 500, 360, 260, 190, 140, 100), "dspark", 256, "", 0.88),
    "spark-vllm-docker#343: K = 2 is faster at eight clients": ((844, 599, 385, 271), "mtp", 8, "", None),
    "llm-scaler#657: prompts of 50,000 tokens": ((980, 960, 940, 920), "mtp", 1, PROMPTS, 1.18),
}
"""Threads in which the speedup by costs of 5 % a token had the wrong sign: what a page shows, and what was measured."""


@pytest.mark.parametrize("thread", CONTRARY)
def test_threads_that_measured_the_contrary_of_small_costs_are_unclear(thread: str, judged: Judged) -> None:
    accepted, method, running, further, measured = CONTRARY[thread]
    model = judged(accepted, method, running=running, further=further)
    assert model.verdict.says == "unclear (assumed)"
    assert model.verdict.advice != "keep"
    assert measured is None or measured in known(assumed(model).speedup)


def test_beyond_the_largest_measured_batch_there_is_no_verdict(judged: Judged) -> None:
    model = judged(DEEP, running=257)
    assert verdict_of(model) == "no verdict: unknown at this load"
    assert model.verdict.withheld == "unknown at this load"
    (reason,) = model.verdict.reasons
    assert reason.startswith("No published measurement had a batch of 257 requests: run a server of this model without")


def test_an_idle_moment_tells_no_batch(judged: Judged) -> None:
    model = judged(DEEP, running=0)
    found = assumed(model)
    assert (found.batch, found.speedup_at, found.length) == (None, (), None)
    assert known(found.speedup).low == known(assumed(judged(DEEP, running=256)).speedup).low
    assert known(found.speedup).high == known(assumed(judged(DEEP, running=1)).speedup).high
    assert "The range is wide: the batch is unknown" in model.verdict.reasons


def test_an_unknown_method_and_long_prompts_widen_the_range_and_are_named(judged: Judged) -> None:
    usual = known(assumed(judged(DEEP)).speedup)
    for model, why in (
        (judged(DEEP, ""), "the drafting method is unknown"),
        (judged(DEEP, "custom_class"), "the method custom_class is unknown"),
        (judged(DEEP, further=INFO), "pipeline parallelism adds to each step with drafts"),
        (judged(DEEP, further=PROMPTS), "prompts of over 16,384 tokens make verifying slower"),
    ):
        assert known(assumed(model).speedup).low < usual.low
        assert f"The range is wide: {why}" in model.verdict.reasons


def test_a_change_of_k_is_advised_where_every_cost_supports_it(judged: Judged) -> None:
    model = judged((950, 900, 10, 5, 5))
    found = known(assumed(model).length)
    assert (found.change, found.k) == ("shorter", 2)
    assert model.verdict.advice == "try a shorter K"
    assert any(one.startswith(f"Fastest k is 2, {found.gain} times as fast as now") for one in model.verdict.reasons)


def test_a_change_of_k_that_depends_on_the_cost_is_not_advised(judged: Judged) -> None:
    model = judged((900, 700, 500, 380, 300))
    assert (assumed(model).length, model.verdict.advice) == (None, "measure against a baseline")
    assert any(reason.startswith("What to change depends on what a step costs: ") for reason in model.verdict.reasons)


@pytest.mark.parametrize("mean", [1.5, 2, 3, 4.4, 6, 7.1, 7.9])
@pytest.mark.parametrize("accepted", [(400, 100, 10, 2, 1, 0, 0, 0), (100, 50, 20, 10, 5, 2, 1, 1), (100,) + (0,) * 7])
def test_a_shorter_k_than_lookups_seldom_reach_is_no_gain(
    judged: Judged, accepted: tuple[int, ...], mean: float
) -> None:
    model = judged(accepted, "ngram", running=64, drafted=1000 * mean)
    found = known(model.speculation)
    assert known(found.shorter_gain) == 1 or known(found.fastest_k) < mean
    if model.verdict.advice == "try a shorter K":
        assert known(found.fastest_k) < mean
    assert not any("- to -" in reason for reason in model.verdict.reasons)
    assert not (model.verdict.advice == "keep" and "costs" in known(model.verdict.says))


def test_advice_that_rests_on_no_cost_stays(judged: Judged) -> None:
    # Of the first position one in fifty is accepted: another tokenizer, or weights that were not loaded.
    assert judged((20, 10, 5)).verdict.advice == "the drafter does not fit"


def test_costs_that_are_set_make_numbers_of_the_ranges(judged: Judged) -> None:
    model = judged(DEEP, draft_cost={"by_method": {"eagle3": 0.1}})
    assert model.speculation
    assert model.speculation.assumed is None
    assert verdict_of(model).startswith("pays (assumed): ")


def test_ranges_stand_in_the_tables_in_place_of_numbers_that_rest_on_costs(tmp_path: Path) -> None:
    path = tmp_path / "page.prom"
    path.write_text(page(DEEP, drafts=1000, running=1))
    found = report(Lifetime(path), method="eagle3")
    shown = str(document(found, Settings(), engines=False))
    (model,) = found.models
    expected = assumed(model)
    assert str(expected.speedup) in shown
    assert all(str(one) in shown for one in expected.speedup_at)
    assert "Affordable verify step" not in shown
    assert "Highest expected speedup" not in shown
