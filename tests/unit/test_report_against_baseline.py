"""A server without speculation beside one of its model that speculates: it measures, and is not blended in."""

import math
import random
from collections import deque
from collections.abc import Sequence
from dataclasses import replace
from functools import partial
from itertools import product
from pathlib import Path

import pytest

from draftboard.catalogue import latency, speculation
from draftboard.output import as_markdown
from draftboard.reading import Growth, Lifetime, Since, Tally
from draftboard.report import ModelReport, Reading, Report, report, verdict_of
from draftboard.report.document import document, status_of
from draftboard.report.judge import UNCOUNTED
from draftboard.settings import Settings
from draftboard.status import Status
from support import command_line
from support.known import known
from support.tallies import tally

run = partial(command_line.run, "report")
DATA = Path(__file__).parent.parent / "data"
LOAD, BASELINE, DP2 = (DATA / f"v0.32.0-{name}.prom" for name in ("ngram-load", "baseline", "ngram-dp2"))
LENGTH, SECONDS, PARTS = 40, 60.0, 20


def server(
    time: float,
    source: str,
    *,
    speculates: bool = True,
    requests: int = 60,
    batch: float = 2.0,
    length: int = LENGTH,
    queued: float = 0.0,
    model: str = "m",
    prompts: int | None = None,
) -> Tally:
    """Requests that took so long a token; drafts of three tokens, each step of which yields two tokens."""
    tokens = float(requests * length)
    steps = round((tokens - requests) / (2 if speculates else 1))
    counted = tally(
        [steps * 0.6, steps * 0.3, steps * 0.1] if speculates else (),
        drafts=float(steps) if speculates else None,
        generated=tokens,
        prompts=float(requests * (prompts or length)),
        requests=float(requests),
        times={
            latency.TIME_TO_FIRST_TOKEN: [queued] * requests,
            latency.TIME_PER_OUTPUT_TOKEN: [time] * requests,
            latency.STEP_LATENCY: [time * (2 if speculates else 1)] * steps,
            latency.STEP_TOKENS: [1] * round(steps / batch),
            latency.END_TO_END_LATENCY: [queued + time * length] * requests,
        },
        model=model,
    )
    return replace(counted, source=source)


def read(*servers: Tally, seconds: float | None = SECONDS, parts: Sequence[Growth] = ()) -> tuple[ModelReport, ...]:
    return Reading([], Growth(servers, seconds), Settings(), "eagle3", parts).report().models


PLAIN, FAST = server(0.03, "b:1", speculates=False), server(0.02, "a:1")


@pytest.mark.parametrize(
    ("requests", "prompts", "measured"),
    [(4, LENGTH, False), (15, LENGTH, True), (15, 20 * LENGTH, False), (15, LENGTH // 20, False)],
)
def test_steps_measure_where_both_took_enough_of_them_at_like_contexts(
    requests: int, prompts: int, measured: bool
) -> None:
    few = server(0.03, "b:1", speculates=False, requests=requests, prompts=prompts)
    model, _ = read(FAST, few)
    assert model.verdict.basis == ("measured by steps" if measured else "assumed")


def test_the_users_times_decide_and_the_baseline_is_an_entry_of_its_own() -> None:
    model, plain = read(FAST, PLAIN)
    assert model.measured_speedup == pytest.approx(1.5)
    assert (model.verdict.says, model.verdict.basis) == ("users wait less (measured)", "measured")
    assert (model.method, plain.method, plain.state) == ("eagle3", "none", "speculation off")
    assert plain.measured_speedup is None
    assert (plain.traffic.requests, model.traffic.requests) == (60, 60)
    assert [known(model.speculation).step_cost, known(model.speculation).coverage] == pytest.approx([4 / 3, 1])
    assert [one.measured_speedup for one in read(PLAIN, FAST)] == [None, pytest.approx(1.5)], "in any order"


def test_expected_speedups_are_ranges_where_users_times_are_measured_and_steps_are_not() -> None:
    servers = server(0.02, "a:1", batch=1.5, requests=72), PLAIN
    told = Reading([], Growth(servers, SECONDS), Settings(), "eagle3").report()
    model, _ = told.models
    found = known(model.speculation)
    assert (model.verdict.basis, found.step_cost) == ("measured", None)
    assert found.assumed
    shown = as_markdown(document(told, Settings(), engines=False))
    assert f"Expected speedup | {found.assumed.speedup} |" in shown
    assert "Highest expected speedup, at most" not in shown


def test_parts_of_the_time_give_an_interval() -> None:
    def part(number: int) -> Growth:
        fast, plain = 0.02 + 0.002 * (-1) ** number, 0.03 + 0.001 * (-1) ** (number // 2)
        return Growth((server(fast, "a:1", requests=3), server(plain, "b:1", speculates=False, requests=3)), 3)

    interval = known(read(FAST, PLAIN, parts=[part(number) for number in range(PARTS)])[0].measured_speedup_interval)
    assert 1 < interval.low < 1.5 < interval.high
    assert read(FAST, PLAIN)[0].measured_speedup_interval is None


def with_answers_of(answers: int, *, swing: int, requests: int) -> Report:
    """Where answers are longer, tokens take longer on both sides: part of the difference is that of the requests."""

    def both(now: int, prompts: int, requests: int) -> tuple[Tally, Tally]:
        sides = ((0.02, answers, "a:1", True), (0.03, LENGTH, "b:1", False))
        lengths = [mean + swing * now for _, mean, _, _ in sides]
        fast, plain = (
            server(time * length / LENGTH, source, requests=requests, length=length, speculates=drafts, prompts=prompts)
            for length, (time, _, source, drafts) in zip(lengths, sides, strict=True)
        )
        return fast, plain

    swings = [(number % 5 - 2, 38 + number % 3) for number in range(PARTS)]
    parts = [Growth(both(now, prompts, requests), 3) for now, prompts in swings]
    return Reading([], Growth(both(0, LENGTH, PARTS * requests), SECONDS), Settings(), "eagle3", parts).report()


@pytest.mark.parametrize(("answers", "shown"), [(46, True), (41, False)])
def test_at_lengths_that_differ_a_little_the_speedup_at_equal_lengths_stands_beside_it(
    answers: int, shown: bool
) -> None:
    told = with_answers_of(answers, swing=3, requests=3)
    model, plain = told.models
    assert plain.standardised_speedup is None
    assert (model.standardised_speedup is not None) == shown
    document_of = as_markdown(document(told, Settings(), engines=False))
    assert ("at equal lengths of prompts and answers" in document_of) == shown
    if alike := model.standardised_speedup:
        assert known(model.measured_speedup) == pytest.approx(1.5 / 1.15)
        assert 1.4 < alike.value < 1.6
        assert f"{alike} at equal lengths of prompts and answers" in model.verdict.reasons[0]


@pytest.mark.parametrize(("swing", "told"), [(10, True), (1, False)])
def test_where_lengths_are_too_unlike_for_a_verdict_that_at_equal_lengths_is_named_if_parts_reach_them(
    swing: int, told: bool
) -> None:
    model, _ = with_answers_of(58, swing=swing, requests=60).models
    assert (model.verdict.withheld, model.measured_speedup) == ("variants not alike: answers", None)
    (reason,) = model.verdict.reasons
    assert reason.startswith("The variants are not alike: answers of 58 against 40 tokens")
    assert (model.standardised_speedup is not None) == told
    if alike := model.standardised_speedup:
        assert alike.low < 1.5 < alike.high
        assert reason.endswith(f"; {alike} times the baseline at equal lengths, parts of the time reweighted")


def test_servers_that_all_speculate_are_one_model_as_ever() -> None:
    (model,) = read(FAST, replace(FAST, source="b:1"))
    assert (model.traffic.requests, model.measured_speedup) == (120, None)
    (plain,) = read(PLAIN, replace(PLAIN, source="c:1"))
    assert (plain.method, plain.traffic.requests) == ("eagle3", 120)


def test_a_server_of_another_model_is_no_baseline() -> None:
    models = read(FAST, server(0.03, "b:1", speculates=False, model="other"))
    assert [model.measured_speedup for model in models] == [None, None]
    assert [model.method for model in models] == ["eagle3", "eagle3"]


@pytest.mark.parametrize(
    ("baseline", "why"),
    [
        (server(0.03, "b:1", speculates=False, requests=14), "14 requests finished on a side (minimum 15)"),
        # Twice the requests, each as long.
        (server(0.03, "b:1", speculates=False, requests=120), "no baseline of this model serves enough"),
    ],
)
def test_unlike_load_measures_nothing_and_says_why(baseline: Tally, why: str) -> None:
    model, _ = read(FAST, baseline)
    assert model.measured_speedup is None
    assert any(note.startswith(f"The baseline measures no speedup: {why}") for note in model.notes)


def test_as_many_requests_in_flight_are_like_load_though_a_faster_server_finishes_more() -> None:
    # Clients that keep a fixed number in flight: the faster server finishes half as many again.
    model, _ = read(server(0.02, "a:1", requests=90), PLAIN)
    assert model.measured_speedup == pytest.approx(1.5)


def test_without_a_time_the_batches_of_steps_tell_whether_loads_are_alike() -> None:
    model, _ = read(server(0.02, "a:1", requests=200), PLAIN, seconds=None)
    assert model.measured_speedup == pytest.approx(1.5)
    model, _ = read(server(0.02, "a:1", batch=32), PLAIN, seconds=None)
    assert (model.measured_speedup, known(model.speculation).step_cost) == (None, None)
    assert any("decode steps of 31.6 requests against 2" in note for note in model.notes)


@pytest.mark.parametrize("since", [Since.RESTART, Since.BIRTH])
@pytest.mark.parametrize("cut", ["baseline", "variant"])
def test_a_server_that_counted_for_a_part_of_the_time_has_an_unknown_request_rate(cut: str, since: Since) -> None:
    # It had twice the load, in larger batches, for half of the time: as many requests as the other in all of it.
    late, other = (
        server(0.03, "b:1", speculates=cut == "variant", batch=4),
        server(0.02, "a:1", speculates=cut != "variant"),
    )
    model = next(one for one in read(replace(late, since=since), other) if one.method != "none")
    assert model.measured_speedup is None
    assert any(
        note.startswith("The baseline measures no speedup: a server restarted or appeared within the time, and ")
        for note in model.notes
    )


@pytest.mark.parametrize("since", [Since.RESTART, Since.BIRTH])
def test_a_server_that_counted_for_a_part_of_the_time_measures_in_batches_of_like_size(since: Since) -> None:
    model, _ = read(FAST, replace(server(0.03, "b:1", speculates=False, requests=30), since=since))
    assert model.measured_speedup == pytest.approx(1.5)


def test_requests_that_gather_on_one_engine_of_a_side_measure_nothing() -> None:
    # As many requests an engine, of which one of the baseline's takes nearly all: they wait for each other.
    full, idle = (
        server(time, source, speculates=False, batch=batch, requests=requests)
        for time, source, batch, requests in ((0.06, "b:1", 12, 116), (0.03, "b:2", 1, 4))
    )
    model, *_ = read(FAST, replace(FAST, source="a:2"), full, idle)
    assert model.verdict.withheld == "variants not alike: batches"
    (reason,) = model.verdict.reasons
    assert reason.startswith("Decode steps are in batches of 0.2")
    assert reason.endswith("requests gather on few engines of one side")


@pytest.mark.parametrize(
    ("time", "batch", "refuted"),
    [(0.02, 1.1, False), (0.02, 1, True), (0.04, 3.3, False), (0.04, 3.5, True), (0.02, 2.6, True)],
)
def test_sooner_answers_empty_a_batch_and_nothing_more(time: float, batch: float, refuted: bool) -> None:
    # The baseline's tokens take 0.03 s, in batches of two.
    model, _ = read(server(time, "a:1", batch=batch), PLAIN)
    assert (model.verdict.withheld == "variants not alike: batches") is refuted


def test_pages_without_a_time_and_without_steps_tell_no_load() -> None:
    def untimed(one: Tally) -> Tally:
        return replace(
            one,
            counted={
                series: value for series, value in one.counted.items() if latency.STEP_TOKENS.name not in series[0]
            },
        )

    # As many requests, in batches of 32 and of 2.
    sides = untimed(server(0.02, "a:1", batch=32)), untimed(PLAIN)
    model, _ = read(*sides, seconds=None)
    assert model.measured_speedup is None
    assert any("no load is known: read the servers" in one for one in model.notes)
    model, _ = read(*sides)
    assert model.measured_speedup == pytest.approx(1.5)


def served(rate: float, seed: int, *, k: int = 0) -> Tally:
    """Requests that come at random, and whose steps take longer in a larger batch; 2.5 tokens a step with drafts."""
    chance, now, step, finished, held, seconds = random.Random(seed), 0.0, 0, 0, 0, 0.0
    coming, ends, length = chance.expovariate(rate), deque[int](), 100
    while finished < 200:
        while coming <= now:
            ends.append(step + (length * 2 // 5 if k else length))
            coming += chance.expovariate(rate)
        if not ends:
            now = coming
            continue
        time = 0.01 * (1 + len(ends) * (k + 1) / 64) + (0.001 if k else 0)
        now, step, held, seconds = now + time, step + 1, held + len(ends), seconds + time * len(ends)
        while ends and ends[0] <= step:
            finished += bool(ends.popleft())
    mean = seconds / held / (2.5 if k else 1)
    return server(mean, "a:1" if k else "b:1", speculates=bool(k), requests=finished, batch=held / step, length=length)


def held_by(one: Tally) -> float:
    return known(one.total(latency.STEP_LATENCY.count)) / known(one.total(latency.STEP_TOKENS.count))


@pytest.mark.parametrize("rate", [8.0, 12.0, 20.0])
def test_pages_of_an_equal_request_rate_measure_though_drafts_empty_the_batch(rate: float) -> None:
    sides = served(rate, 1, k=3), served(rate, 2)
    model, _ = read(*sides, seconds=None)
    timed, _ = read(*sides, seconds=200 / rate)
    assert known(model.measured_speedup) == pytest.approx(known(timed.measured_speedup))
    assert known(model.speculation).step_cost is None, "a larger batch has longer steps in any case"


def test_pages_of_other_request_rates_measure_nothing() -> None:
    """But where batches are alike, as with clients that keep a fixed number of requests in flight.

    The rate of 200 requests that come at random is uncertain by 14 % on both sides together: 1.4 may read as 1.2.
    """
    for seed, (rate, times) in enumerate(product((8.0, 20.0), (1 / 2, 1.8, 2, 3))):
        fast, plain = served(rate, seed, k=3), served(rate * times, seed + 100)
        (model, _), batches = read(fast, plain, seconds=None), [held_by(one) for one in (fast, plain)]
        assert (model.measured_speedup is not None) == math.isclose(*batches, rel_tol=0.2), (rate, times)


def test_pages_of_engines_that_idle_tell_no_request_rate() -> None:
    model, _ = read(served(2.0, 1, k=3), served(2.0, 2), seconds=None)
    assert model.measured_speedup is None
    assert any(
        "and saved pages tell no request rate of engines that idle: read the servers" in one for one in model.notes
    )


def test_answers_of_unlike_length_are_refused() -> None:
    model, _ = read(server(0.02, "a:1", length=12), PLAIN)
    assert model.verdict.says is None or "measured" not in model.verdict.says


def test_tokens_that_come_sooner_in_answers_that_do_not_are_no_gain_of_users() -> None:
    model, _ = read(server(0.025, "a:1", queued=0.3), PLAIN)
    assert model.verdict.says == "tokens come sooner, answers do not (measured)"
    assert status_of(model) is Status.WARN
    assert "End-to-end latency: mean 1.30 s against 1.20 s" in model.verdict.reasons
    model, _ = read(server(0.025, "a:1", queued=0.1), PLAIN)
    assert model.verdict.says == "users wait less (measured)"


def test_first_tokens_that_come_later_are_named() -> None:
    model, _ = read(server(0.02, "a:1", queued=0.2), server(0.03, "b:1", speculates=False, queued=0.1))
    assert model.verdict.says == "users wait less (measured)"
    assert "First tokens come later: mean 200.0 ms against 100.0 ms" in model.verdict.reasons


def test_saved_pages_of_a_server_and_of_its_baseline(capsys: pytest.CaptureFixture[str]) -> None:
    for pages in ((LOAD, BASELINE), (BASELINE, LOAD)):
        code, out, err = run(*pages, "--method", "ngram", "--markdown", capsys=capsys)
        assert (code, err) == (0, "")
        assert "users wait longer (measured)" in out
        assert "Measured speedup 0.60 against the baseline at like load" in out
        assert "speculation off" in out


def test_a_page_of_a_server_whose_other_servers_speculate_too_is_unchanged() -> None:
    (model,) = report(Lifetime(DP2), method="ngram").models
    assert not any("baseline" in note for note in model.notes)


def test_the_document_shows_both(capsys: pytest.CaptureFixture[str]) -> None:
    shown = str(document(report(Lifetime(LOAD, BASELINE), method="ngram"), Settings(), engines=True))
    assert "tiny (ngram)" in shown
    assert "tiny (none)" in shown
    assert verdict_of(report(Lifetime(LOAD, BASELINE), method="ngram").models[0]).startswith("users wait longer")
    assert not capsys.readouterr().err


def test_servers_whose_drafts_are_not_counted_are_no_baselines_of_each_other() -> None:
    filtered = [
        replace(
            FAST,
            source=source,
            counted={one: value for one, value in FAST.counted.items() if one[0] != speculation.DRAFTS.name},
        )
        for source in ("a:1", "b:1")
    ]
    (together,) = read(*filtered)
    assert [engine.server for engine in together.engines] == ["a:1", "b:1"]
    assert together.state == UNCOUNTED.code.says
