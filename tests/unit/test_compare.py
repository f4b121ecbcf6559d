"""What a comparison concludes: speedup and its price, the tail, gates and their boundaries, runs that are not alike."""

from dataclasses import replace
from typing import Any

import pytest
from hypothesis import given
from hypothesis import settings as hypothesis_settings
from hypothesis import strategies as st

from conftest import ROOT
from draftboard.compare import Comparison, Side, compare, document
from draftboard.compare.comparing import APART, LESS, MIXED, TOGETHER
from draftboard.compare.objects import Group, Row
from draftboard.durations import Duration
from draftboard.errors import DraftboardError
from draftboard.explain import of_reading
from draftboard.output import Table, as_markdown
from draftboard.reading import Lifetime, Pages
from draftboard.report import APPEARED, RESTARTED, Origin, read
from draftboard.settings import Settings
from support.known import known
from support.runs import ran

DATA = ROOT / "tests/data"
PLAIN = ran(times=[0.04] * 200, step=0.04)
FAST = ran(times=[0.02] * 200, acceptance=0.5, step=0.06, per_step=3, method="eagle3")


def row(comparison: Comparison, name: str) -> Row:
    (found,) = (row for group in comparison.groups for row in group.rows if row.name == name)
    return found


def group(comparison: Comparison, title: str) -> Group:
    (found,) = (group for group in comparison.groups if group.title == title)
    return found


def test_speedup_is_the_baseline_s_time_per_token_over_the_candidate_s() -> None:
    found = compare(PLAIN, FAST)
    assert found.measured.speedup == pytest.approx(2)
    assert found.verdict.says == "users wait less"
    assert row(found, "per_token_mean").ratio == pytest.approx(0.5)
    assert row(found, "end_to_end_mean").difference == pytest.approx(-2)
    # As many requests in as long: clients send at a rate, and throughput is no speedup.
    assert found.measured.throughput == pytest.approx(1)
    assert row(found, "generation_tokens").candidate.value == pytest.approx(200)


def test_step_cost_and_what_a_step_yields_explain_the_speedup() -> None:
    found = compare(PLAIN, FAST).measured
    assert found.step_cost == pytest.approx(1.5)
    assert found.speedup_by_steps == pytest.approx(3 / 1.5)
    assert found.draft_cost == 0.05
    assert found.implied_v == pytest.approx(1.5 - 4 * 0.05)


def test_the_implied_v_of_drafting_steps_is_told_where_others_draft_nothing() -> None:
    half = ran(times=[0.02] * 200, acceptance=0.5, drafts=3300, step=0.05, per_step=3, method="ngram")
    (note,) = (note for note in compare(PLAIN, half).notes if "v of" in note)
    assert note.startswith("Speculation coverage is 50.0%")
    assert note.endswith(f"the implied v of steps with a draft is {1 + 0.25 / 0.5 - 4 * 0.01:.2f}")


@pytest.mark.parametrize(("step", "outside"), [(0.05, False), (0.4, True)])
def test_a_step_cost_outside_of_the_assumed_range_is_a_note(step: float, outside: bool) -> None:
    candidate = ran(times=[0.02] * 200, acceptance=0.5, drafts=3300, step=step, per_step=3, method="ngram")
    told = f"a step cost of 1.09 to 3.70 (assumed); this run had {step / 0.04:.2f}"
    notes = [note for note in compare(PLAIN, candidate).notes if " rest on " in note]
    assert notes == [f"Expected speedup and break-even tokens per step rest on {told}"] * outside


def test_costs_that_are_set_are_noted_where_the_run_had_others() -> None:
    given = Settings.model_validate({"draft_cost": {"default": 0.05}})
    half = ran(times=[0.02] * 200, acceptance=0.5, drafts=3300, step=0.05, per_step=3, method="ngram", settings=given)
    (note,) = (note for note in compare(PLAIN, half, given).notes if " rest on " in note)
    assert note.endswith("rest on v = 1 (settings, draft_cost.verify_inflation); this run had 1.46")


def test_one_server_has_one_expected_speedup_and_one_break_even_in_every_command() -> None:
    before, after = (DATA / f"v0.32.0-ngram-pair-{when}.prom" for when in ("before", "after"))
    reading = read(Pages(before, after, Duration(60)), Settings(), "ngram")
    whole = reading.report()
    side = Side(whole, whole.models[0])
    assumed = known(known(side.model.speculation).assumed)
    compared = compare(side, side, force=True)
    for name, told in (("expected_speedup", assumed.speedup), ("needed_per_step", assumed.step_cost)):
        (explained,) = of_reading(name, reading).series
        ends = [step.numbers[0] for step in explained.steps if step.depth == 0]
        value = row(compared, name).candidate
        assert [value.low, value.high] == ends == [known(told).low, known(told).high]
        assert (value.value, value.rests_on) == (None, "assumed")
        assert f"{told} (assumed)" in as_markdown(document(compared, Settings()))


def test_costs_that_are_set_are_one_number_in_every_command() -> None:
    given = Settings.model_validate({"draft_cost": {"default": 0.1}})
    reading = read(Lifetime(DATA / "v0.32.0-ngram-load.prom"), given, "eagle3")
    whole = reading.report()
    side = Side(whole, whole.models[0])
    (explained,) = of_reading("expected_speedup", reading).series
    value = row(compare(side, side, given, force=True), "expected_speedup").candidate.value
    assert [value] == list(explained.steps[0].numbers) == [known(side.model.speculation).expected_speedup]


def test_against_a_baseline_that_speculates_no_v_is_implied() -> None:
    assert compare(FAST, FAST).measured.implied_v is None


def test_cost_of_a_million_tokens_is_the_price_of_the_gpus_over_what_they_generate() -> None:
    plain, fast = ran(times=[0.04] * 200, waiting=9), ran(times=[0.02] * 240, acceptance=0.5, waiting=3)
    found = compare(plain, fast, gpu_hour_price=2.5, gpus=4)
    assert found.cost
    assert found.cost.baseline == pytest.approx(2.5 * 4 / (200 * 3600) * 1e6)
    assert found.cost.candidate == pytest.approx(2.5 * 4 / (240 * 3600) * 1e6)
    assert found.measured.saving == pytest.approx(1 - 1 / 1.2)


@pytest.mark.parametrize("waiting", [(0, 0), (9, 0), (0, 9)])
def test_throughput_that_clients_asked_for_saves_nothing_and_has_no_price(waiting: tuple[float, float]) -> None:
    before, after = waiting
    plain, fast = ran(times=[0.04] * 200, waiting=before), ran(times=[0.02] * 240, acceptance=0.5, waiting=after)
    found = compare(plain, fast, gpu_hour_price=2.5)
    assert found.measured.saving is None
    assert found.cost
    assert (found.cost.baseline, found.cost.candidate) == (None, None)


def test_tokens_that_come_sooner_in_answers_that_do_not_are_no_gain_of_users() -> None:
    # An eighth of the token time is gained, and lost in the queue.
    plain = ran(times=[0.04] * 200)
    slow = ran(times=[0.035] * 200, acceptance=0.5, queued=0.51, first_token=0.55)
    found = compare(plain, slow)
    assert found.verdict.says == "tokens come sooner, answers do not"
    assert found.verdict.reasons[-2:] == (
        "End-to-end latency: mean 4.01 s against 4.00 s",
        "First tokens come later: mean 550.0 ms against 40.0 ms",
    )
    assert "tokens come sooner, answers do not: measured speedup 1.14" in as_markdown(document(found, Settings()))
    quick = ran(times=[0.035] * 200, acceptance=0.5, queued=0.49)
    assert compare(plain, quick).verdict.says == "users wait less"
    assert compare(slow, plain).verdict.says == "users wait longer"


def test_a_slowdown_is_a_negative_saving() -> None:
    found = compare(ran(times=[0.028] * 200, waiting=1), ran(times=[0.04] * 140, acceptance=0.1, waiting=1))
    assert found.measured.speedup == pytest.approx(0.7)
    assert found.measured.saving == pytest.approx(1 - 1 / 0.7)
    assert known(found.measured.saving) < 0
    assert found.verdict.says == "users wait longer"


def test_candidates_rank_by_measured_time_not_by_acceptance_length() -> None:
    long = ran(times=[0.03] * 200, acceptance=0.6, method="draft_model")
    short = ran(times=[0.02] * 200, acceptance=0.3, method="ngram")
    found = compare(long, short)
    assert row(found, "acceptance_length").difference == pytest.approx(-1.2)
    assert found.verdict.says == "users wait less"


def test_more_throughput_while_users_wait_longer_is_said() -> None:
    found = compare(ran(times=[0.03] * 200), ran(times=[0.04] * 240, acceptance=0.3))
    assert any(
        "Throughput per engine is 1.20 times" in reason and "waits longer" in reason for reason in found.verdict.reasons
    )


def test_requests_that_no_longer_fit_make_tokens_dearer_though_each_comes_sooner() -> None:
    # The draft model's weights and KV leave room for fewer requests at once.
    plain, fast = ran(times=[0.036] * 200, waiting=1), ran(times=[0.03] * 160, acceptance=0.5, waiting=1)
    found = compare(plain, fast, gpu_hour_price=2.0)
    assert found.cost
    assert found.cost.baseline
    assert found.cost.candidate == pytest.approx(found.cost.baseline / 0.8)
    assert found.measured.saving == pytest.approx(1 - 1 / 0.8)
    assert found.verdict.reasons[-1].startswith(
        "Throughput per engine is 0.80 times the baseline's, but each user waits less: fewer requests fit"
    )
    assert row(found, "requests_in_flight").ratio == pytest.approx(1.6 * 3 / (2 * 3.6))


def test_acceptance_of_unlike_k_is_said_not_to_compare() -> None:
    shorter = ran(acceptance=0.5)
    assert shorter.model.speculation
    speculation = replace(shorter.model.speculation, configured_k=2, draft_length=2.0)
    found = compare(ran(acceptance=0.5), replace(shorter, model=replace(shorter.model, speculation=speculation)))
    assert any("not comparable across K: 4.00 against 2.00" in note for note in found.notes)


def test_acceptance_is_shown_in_both_weightings_where_a_report_has_both() -> None:
    both = ran(acceptance=0.583)
    both = replace(both, model=replace(both.model, acceptance_by_request=0.644))
    found = compare(both, both)
    assert row(found, "acceptance").candidate.value == pytest.approx(0.583)
    assert row(found, "acceptance_by_request").candidate.value == pytest.approx(0.644)


def test_values_below_resolution_are_said_so_and_not_compared() -> None:
    found = compare(PLAIN, ran(times=[0.005] * 200, acceptance=0.5))
    fast = row(found, "per_token_p50")
    assert (fast.candidate.value, fast.candidate.under, fast.ratio) == (None, 0.01, None)
    (printed,) = [cells for cells in printed_rows(found) if cells[0].strip() == fast.title]
    assert printed[2:] == ("< 10 ms", "not compared")
    assert row(found, "per_token_mean").ratio == pytest.approx(1 / 8)
    assert found.tail.of == "per_token"


def printed_rows(comparison: Comparison) -> list[tuple[str, ...]]:
    """The words of the last table."""
    *_, table = (block for block in document(comparison, Settings()).blocks if isinstance(block, Table))
    return [tuple(str(getattr(cell, "words", cell)) for cell in row) for row in table.rows]


def test_each_group_says_how_much_it_rests_on() -> None:
    found = compare(PLAIN, FAST)
    assert (group(found, "Speculation").baseline_samples, group(found, "Speculation").candidate_samples) == (0, 1000)
    times = group(found, "Time per output token")
    assert (times.counted, times.baseline_samples, times.candidate_samples) == ("requests", 200, 200)
    assert group(found, "Step latency").counted == "steps"


def test_what_a_report_warns_of_is_passed_on() -> None:
    warned = replace(FAST, model=replace(FAST.model, notes=("engine 0 restarted in between: ...",)))
    assert "Candidate: engine 0 restarted in between: ..." in compare(PLAIN, warned).notes


@pytest.mark.parametrize("how", [RESTARTED, APPEARED])
def test_a_server_that_counted_for_a_part_of_the_time_is_not_alike(how: str) -> None:
    part = replace(FAST, model=replace(FAST.model, notes=(f"engine 0 {how}",)))
    for pair in ((PLAIN, part), (part, PLAIN)):
        with pytest.raises(DraftboardError, match="all of the time against a part of it: a server restarted or appear"):
            compare(*pair)


def cached(side: Side, hits: float | None, prompt: float = 1000) -> Side:
    traffic = replace(side.model.traffic, prompt_length=prompt, prefix_cache_hits=hits)
    return replace(side, model=replace(side.model, traffic=traffic))


def test_a_prefix_cache_that_is_warm_on_one_side_alone_makes_requests_unlike() -> None:
    with pytest.raises(DraftboardError, match=r"requests that compute 1,[01]\d\d against \d{3} tokens"):
        compare(cached(PLAIN, 0.0), cached(FAST, 0.5))
    for hits in (0.0, 0.5, None):
        assert compare(cached(PLAIN, hits), cached(FAST, hits)).unlike == ()
    assert compare(cached(PLAIN, 0.0), cached(FAST, 0.1)).unlike == ()
    assert compare(cached(PLAIN, 0.0), cached(FAST, None)).unlike == ()


TAIL_FAST, TAIL_SLOW = 0.02, 0.09


def mixed(fast: float, slow: float, share: float = 0.1) -> list[float]:
    """Requests of two kinds."""
    slow_ones = round(200 * share)
    return [fast] * (200 - slow_ones) + [slow] * slow_ones


def test_the_median_better_and_the_slowest_worse_is_a_mixed_workload() -> None:
    found = compare(PLAIN, ran(times=mixed(TAIL_FAST, TAIL_SLOW), acceptance=0.5))
    assert found.measured.speedup
    assert found.measured.speedup > 1.1, "the mean hides it"
    assert found.tail.says == MIXED.says
    assert found.tail.of == "per_token"
    assert found.tail.next
    assert "homogeneous prompts at a low temperature" in found.tail.next
    assert found.tail.confirmed is None


@pytest.mark.parametrize(
    ("third", "confirmed", "says"),
    [
        ([TAIL_FAST] * 200, True, "Confirmed"),
        (mixed(TAIL_FAST, TAIL_SLOW), False, "Not confirmed"),
        ([TAIL_FAST] * 50, None, "Inconclusive"),
    ],
)
def test_a_third_run_of_homogeneous_work_tells_whether_the_mixture_is_the_reason(
    third: list[float], confirmed: bool | None, says: str
) -> None:
    candidate = ran(times=mixed(TAIL_FAST, TAIL_SLOW), acceptance=0.5)
    found = compare(PLAIN, candidate, confirmation=ran(times=third, acceptance=0.5)).tail
    assert (found.says, found.confirmed, found.next) == (MIXED.says, confirmed, None)
    assert says in found.reasons[-1]


def test_a_median_below_resolution_is_known_to_have_gained_by_where_resolution_ends() -> None:
    found = compare(PLAIN, ran(times=mixed(0.005, TAIL_SLOW), acceptance=0.5)).tail
    assert (found.says, found.of) == (MIXED.says, "per_token")
    assert "P50 25 to 50 ms to < 10 ms" in found.reasons[0]


def test_where_time_per_token_is_not_resolved_whole_answers_tell() -> None:
    baseline = ran(times=[0.009] * 200)
    assert compare(baseline, ran(times=mixed(0.003, 0.0095), acceptance=0.5)).tail.of == "end_to_end"


@pytest.mark.parametrize(
    ("times", "says"),
    [
        ([0.04] * 200, TOGETHER.says),
        ([0.02] * 200, TOGETHER.says),
        (mixed(0.039, 0.14), APART.says),
        (mixed(0.011, 0.03, share=0.02), LESS.says),
        ([0.005] * 200, TOGETHER.says),
        ([0.02] * 99, None),
    ],
)
def test_the_tail_is_judged_by_both_ends(times: list[float], says: str | None) -> None:
    # Without end-to-end latency, time per token alone decides.
    plain, fast = (without_end_to_end(ran(times=of, seconds=len(of) / 2)) for of in ([0.04] * 200, times))
    assert compare(plain, fast).tail.says == says


def test_what_both_sides_do_not_resolve_is_no_verdict() -> None:
    side = without_end_to_end(ran(times=[0.005] * 200))
    found = compare(side, side).tail
    assert found.says is None
    assert "below the histogram's resolution" in found.reasons[0]


def without_end_to_end(side: Side) -> Side:
    latency = replace(side.model.latency, end_to_end=None)
    return replace(side, model=replace(side.model, latency=latency))


def gated(baseline: Side, candidate: Side, **limits: Any) -> tuple[bool, str]:
    (gate,) = compare(baseline, candidate, **limits).gates
    return gate.met, gate.says


@pytest.mark.parametrize(
    ("before", "after", "met"),
    [
        (0.76, 0.70, False),
        (0.76, 0.72, True),
        (0.76, 0.71, True),
        (0.76, 0.7099, False),
        (0.06, 0.01, True),
        (0.06, 0.0, False),
        (0.7, 0.9, True),
        (0.7, 0.7, True),
    ],
)
def test_acceptance_may_fall_by_so_many_points_and_no_more(before: float, after: float, met: bool) -> None:
    found, says = gated(ran(acceptance=before), ran(acceptance=after), max_drop_pp=5)
    assert found is met, says
    assert says.startswith("met" if met else "missed")
    assert ("down" in says, "up" in says, "no change" in says) == (after < before, after > before, after == before)


def test_a_drop_of_nothing_may_be_asked_for() -> None:
    assert gated(ran(acceptance=0.7), ran(acceptance=0.7), max_drop_pp=0)[0]
    assert not gated(ran(acceptance=0.7), ran(acceptance=0.699), max_drop_pp=0)[0]


@pytest.mark.parametrize(("time", "met"), [(0.02, True), (0.019, True), (0.0201, False)])
def test_the_speedup_that_is_asked_for_is_enough(time: float, met: bool) -> None:
    found, says = gated(PLAIN, ran(times=[time] * 200, acceptance=0.5), min_speedup=2.0)
    assert found is met, says


def test_a_gate_that_cannot_be_judged_is_not_met_and_says_why() -> None:
    few = ran(times=[0.02] * 14, acceptance=0.5, seconds=7)
    assert gated(few, few, min_speedup=1) == (
        False,
        "cannot be judged: too few requests: baseline 14, candidate 14 (minimum 15 on each side)",
    )
    scarce = ran(acceptance=0.5, drafts=199)
    assert gated(ran(acceptance=0.5), scarce, max_drop_pp=5) == (
        False,
        "cannot be judged: too few drafts: candidate 199 (minimum 200 on each side)",
    )
    assert gated(ran(acceptance=0.5), PLAIN_OF_SAME_LOAD, max_drop_pp=5) == (
        False,
        "cannot be judged: too few drafts: candidate 0 (minimum 200 on each side)",
    )


PLAIN_OF_SAME_LOAD = ran()


def test_too_few_requests_give_no_verdict() -> None:
    few = ran(times=[0.02] * 14, acceptance=0.5, seconds=7)
    found = compare(few, few)
    assert found.verdict.says is None
    assert found.verdict.reasons == ("too few requests: baseline 14, candidate 14 (minimum 15 on each side)",)
    enough = ran(times=[0.02] * 15, seconds=7)
    assert compare(enough, enough).verdict.says == "about even"


def test_a_drop_has_no_meaning_against_a_baseline_that_drafts_nothing() -> None:
    with pytest.raises(DraftboardError, match=r"--max-drop-pp is not applicable: .* \(speculation off\)"):
        compare(PLAIN, FAST, max_drop_pp=5)


@pytest.mark.parametrize(
    ("baseline", "candidate", "reason"),
    [
        ({}, {"model": "other"}, "model 'm' against 'other'"),
        # Neither as many a second nor as many at once.
        ({}, {"times": (0.03,) * 400}, "load per engine 2 against 4 requests/s and 6 against 12 in flight"),
        ({}, {"answers": 200}, "answers of 100 against 200 tokens"),
        ({}, {"prompts": 130}, "prompts of 100 against 130 tokens"),
        ({"sampling": {"temperature": 0.0}}, {"sampling": {"temperature": 0.8}}, "temperature 0 against 0.8"),
        ({"sampling": {"top_p": 1}}, {"sampling": {"top_p": 0.95}}, "top_p 1 against 0.95"),
        ({"sampling": {"max_tokens": 100}}, {"sampling": {"max_tokens": 200}}, "max_tokens 100 against 200"),
    ],
)
def test_runs_that_are_not_alike_are_refused_unless_forced(
    baseline: dict[str, Any], candidate: dict[str, Any], reason: str
) -> None:
    first, second = ran(**baseline), ran(**candidate)
    with pytest.raises(DraftboardError) as refused:
        compare(first, second)
    assert str(refused.value).startswith(f"not comparable: {reason}")
    assert "--force" in str(refused.value)
    assert "\n" not in str(refused.value)
    assert reason in compare(first, second, force=True).unlike[0]


@pytest.mark.parametrize(
    ("candidate", "why"),
    [
        ({"times": (0.015,) * 200}, "one rate: a faster server has fewer at once"),
        ({"times": (0.015,) * 400}, "as many at once: a faster server ends more of them a second"),
        ({"answers": 125, "prompts": 80}, "lengths within a fifth of the longer one"),
        ({"sampling": {"temperature": 0.8}}, "nobody says what temperature the other had"),
    ],
)
def test_runs_that_are_alike_are_compared(candidate: dict[str, Any], why: str) -> None:
    assert compare(ran(), ran(**candidate)).unlike == (), why


BUSY, QUIET = [0.06] * 600, [0.04] * 200
"""A server without speculation at 6 requests a second, and at 2."""


def test_as_much_load_in_total_is_less_on_each_of_three_engines() -> None:
    with pytest.raises(DraftboardError, match=r"load per engine 6 against 2 requests/s and 36 against 8 in flight"):
        compare(ran(times=BUSY), ran(times=QUIET, engines=3), min_speedup=1.1)


def test_as_much_load_on_each_engine_is_alike_however_many_they_are() -> None:
    found = compare(ran(times=QUIET), ran(times=QUIET, engines=3))
    assert found.unlike == ()
    assert (found.baseline.engines, found.candidate.engines) == (1, 3)
    assert (found.measured.speedup, found.measured.throughput) == pytest.approx((1, 1))
    for name in ("request_rate_per_engine", "requests_in_flight"):
        assert row(found, name).ratio == pytest.approx(1)
    assert row(found, "request_rate").ratio == pytest.approx(3)
    assert found.measured.saving is None
    (note,) = (note for note in found.notes if "engine" in note)
    assert note.startswith("1 engine against 3 engines: load and throughput are per engine")
    told = [getattr(block, "text", "") for block in document(found, Settings()).blocks[:2]]
    assert [part for line in told for part in line.split(", ") if "engine" in part] == ["1 engine", "3 engines"]


def test_the_cost_of_unlike_numbers_of_engines_is_refused_even_if_forced() -> None:
    with pytest.raises(DraftboardError) as refused:
        compare(ran(times=QUIET), ran(times=QUIET, engines=3), force=True, gpu_hour_price=2, gpus=4)
    assert str(refused.value) == (
        "cost is not comparable: 1 engine with 4 GPUs each against 3 engines with 4 GPUs each; measure as many on each "
        "side, or leave out --gpu-hour-price"
    )


def test_the_cost_of_several_engines_is_that_of_all_their_gpus() -> None:
    busy = ran(times=QUIET, engines=3, waiting=1)
    found = compare(busy, busy, gpu_hour_price=2.5, gpus=4).cost
    assert found
    assert found.baseline == pytest.approx(2.5 * 4 * 3 / (3 * 200 * 3600) * 1e6)


def test_engines_of_unlike_gpus_are_not_alike_and_save_nothing() -> None:
    with pytest.raises(DraftboardError, match="not comparable: 2 against 1 GPUs per engine"):
        compare(PLAIN, FAST, baseline_gpus=2)
    busy = ran(waiting=1)
    assert compare(busy, busy, baseline_gpus=2, force=True).measured.saving is None
    assert compare(busy, busy, baseline_gpus=2, gpus=2).measured.saving == 0
    with pytest.raises(DraftboardError, match="1 engine with 2 GPUs each against 1 engine with 1 GPU each"):
        compare(PLAIN, FAST, baseline_gpus=2, force=True, gpu_hour_price=2)


def in_prometheus(side: Side, method: str | None, **traffic: float | None) -> Side:
    """The same as Prometheus tells it: no engines, but how many, and their mean batch."""
    model = replace(side.model, method=method, engines=(), traffic=replace(side.model.traffic, **traffic))
    return Side(replace(side.report, origin=Origin.PROMETHEUS), model)


@pytest.mark.parametrize(
    ("batches", "alike"),
    [((10, 8), True), ((10, 7.9), False), ((8, 10), True), ((0, 0), False), ((None, None), False), ((0, 8), False)],
)
def test_in_prometheus_the_mean_batch_decides_beside_the_rate(batches: tuple[float | None, ...], alike: bool) -> None:
    runs = zip((PLAIN, ran(times=[0.02] * 800, acceptance=0.5)), ("none", "eagle3"), batches, strict=True)
    plain, fast = (in_prometheus(side, method, batch=batch) for side, method, batch in runs)
    unlike = compare(plain, fast, force=True).unlike
    assert [part.startswith("load per engine") for part in unlike] == [True] * (not alike)


def test_without_gauges_in_prometheus_requests_in_flight_decide() -> None:
    plain, fast = (in_prometheus(ran(times=times), "none", batch=None) for times in ([0.04] * 200, [0.02] * 400))
    assert compare(plain, fast).unlike == ()


def test_a_server_without_a_method_label_is_no_arm() -> None:
    sides = in_prometheus(PLAIN, "none"), in_prometheus(FAST, None)
    for pair in (sides, sides[::-1]):
        with pytest.raises(DraftboardError, match="a baseline against a server without the label spec_method"):
            compare(*pair)
    unlabelled = in_prometheus(PLAIN, None)
    assert compare(unlabelled, unlabelled).unlike == ()


def test_a_report_that_does_not_tell_its_engines_is_not_judged_by_load() -> None:
    old = in_prometheus(PLAIN, "none", engines=None)
    found = compare(old, old)
    assert any("not checked: load per engine" in note for note in found.notes)
    assert (found.measured.throughput, found.measured.saving) == (None, None)
    with pytest.raises(DraftboardError, match="cost is not comparable: an unknown number of engines"):
        compare(old, old, gpu_hour_price=1)


def test_what_is_not_known_of_both_is_said_to_be_unchecked() -> None:
    assert any(note.endswith("not checked: temperature") for note in compare(PLAIN, FAST).notes)
    told = ran(sampling={"temperature": 0.8}, parts=20)
    assert compare(told, told).notes == ()


@given(
    times=st.lists(st.floats(1e-4, 30), min_size=15, max_size=40),
    acceptance=st.none() | st.floats(0, 1),
    drafts=st.integers(200, 10**9),
    step=st.floats(1e-4, 10),
    per_step=st.floats(1, 5),
    seconds=st.floats(0.1, 1e6),
)
@hypothesis_settings(deadline=None)
def test_a_run_against_itself_neither_gains_nor_loses(
    *, times: list[float], acceptance: float | None, drafts: int, step: float, per_step: float, seconds: float
) -> None:
    run = ran(times, acceptance=acceptance, drafts=drafts, step=step, per_step=per_step, seconds=seconds, waiting=1)
    drop = 0 if acceptance is not None else None
    found = compare(run, run, max_drop_pp=drop, min_speedup=1, gpu_hour_price=1)
    assert found.measured.speedup == 1
    assert (found.measured.saving, found.measured.step_cost) == (0, 1)
    assert found.passed
    assert len(found.gates) == 2 - (acceptance is None)
    assert found.unlike == ()
    assert found.verdict.says == "about even"
    assert found.tail.says in {None, TOGETHER.says}
    assert all(row.ratio in {None, 1} and row.difference in {None, 0} for group in found.groups for row in group.rows)
    assert found.cost
    assert found.cost.baseline == found.cost.candidate
