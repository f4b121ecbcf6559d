"""Quantiles, means and resolution of every latency record, against the raw buckets in plain Python."""

from bisect import bisect_left

import pytest

from conftest import RECORDING
from draftboard.catalogue import Histogram, latency
from draftboard.lab.replay import Replay
from draftboard.signals import Scope, Signal
from draftboard.signals import latency as signals
from support.counters import Counter, Labels, read

pytestmark = [pytest.mark.prometheus, pytest.mark.xdist_group("demo_run")]

HISTOGRAMS = {
    "first_token": latency.TIME_TO_FIRST_TOKEN,
    "per_token": latency.TIME_PER_OUTPUT_TOKEN,
    "step": latency.STEP_LATENCY,
    "end_to_end": latency.END_TO_END_LATENCY,
    "queue": latency.QUEUE_TIME,
    "prefill": latency.PREFILL_TIME,
    "decode": latency.DECODE_TIME,
    "inference": latency.INFERENCE_TIME,
}
of_every_latency = pytest.mark.parametrize("name", HISTOGRAMS)
METHODS = ("ngram", "none")


@pytest.fixture(scope="module")
def raw() -> dict[str, dict[Labels, Counter]]:
    return read(RECORDING, {part.name for one in HISTOGRAMS.values() for part in (one.bucket, one.sum, one.count)})


def seen(raw: dict[str, dict[Labels, Counter]], name: str, method: str, start: float, end: float) -> dict[str, Counter]:
    """What a server counted in a window, by `le`; empty where there are no two samples."""
    inside = {
        dict(labels).get("le", ""): counter.between(start, end)
        for labels, counter in raw[name].items()
        if ("spec_method", method) in labels
    }
    return {le: counter for le, counter in inside.items() if len(counter.times) > 1}


def grown(raw: dict[str, dict[Labels, Counter]], name: str, method: str, start: float, end: float) -> dict[str, float]:
    """How much that grew."""
    return {le: counter.increase for le, counter in seen(raw, name, method, start, end).items()}


def bucket_of(quantile: float, buckets: dict[str, float], bounds: list[float]) -> int:
    """Index of the bucket that holds a quantile."""
    cumulative = [buckets[str(bound)] if bound != float("inf") else buckets["+Inf"] for bound in bounds]
    return bisect_left(cumulative, quantile * cumulative[-1])


def recorded(replay: Replay, signal: Signal, method: str) -> list[tuple[float, float]]:
    expr = Scope(replay.settings)(signal)
    answer = replay.client.query_range(expr, replay.start, replay.end, replay.step)
    return [sample for series in answer if series.labels["spec_method"] == method for sample in series.samples]


@of_every_latency
def test_a_quantile_lies_in_the_bucket_that_holds_it_and_is_0_in_the_first(
    name: str, demo_run: Replay, raw: dict[str, dict[Labels, Counter]]
) -> None:
    metric: Histogram = HISTOGRAMS[name]
    asked = getattr(signals, name)
    bounds = [*metric.buckets, float("inf")]
    window = demo_run.settings.rules.rate_window.seconds
    exact = near = 0
    for method in METHODS:
        for share, signal in ((0.5, asked.p50), (0.95, asked.p95), (0.99, asked.p99)):
            for at, value in recorded(demo_run, signal, method):
                counters = seen(raw, metric.bucket.name, method, at - window, at)
                buckets = {le: counter.increase for le, counter in counters.items()}
                if not buckets or buckets["+Inf"] == 0:
                    continue
                index = bucket_of(share, buckets, bounds)
                # Where a server begins, each bucket is extrapolated to its own zero: a neighbour may win.
                begins = any(counter.begins_here for counter in counters.values())
                low = ([0.0] * 2 + bounds)[index - begins + 1]
                high = (bounds + bounds[-1:])[index + begins]
                assert low <= value <= high, (at, method, share)
                if index == 0 and not begins:
                    assert value == 0, (at, method, share)
                exact, near = exact + (not begins), near + begins
    assert exact > 250
    assert near > 0


@of_every_latency
def test_a_mean_is_the_sum_over_the_count(name: str, demo_run: Replay, raw: dict[str, dict[Labels, Counter]]) -> None:
    metric, asked = HISTOGRAMS[name], getattr(signals, name)
    window = demo_run.settings.rules.rate_window.seconds
    compared = 0
    for method in METHODS:
        for at, value in recorded(demo_run, asked.mean, method):
            total = grown(raw, metric.sum.name, method, at - window, at)
            count = grown(raw, metric.count.name, method, at - window, at)
            if count.get("", 0) > 0 and at - window > demo_run.start:
                assert value == pytest.approx(total[""] / count[""], rel=0.02), (at, method)
                compared += 1
    assert compared > 100


@of_every_latency
def test_the_unresolved_share_is_the_first_bucket_s(
    name: str, demo_run: Replay, raw: dict[str, dict[Labels, Counter]]
) -> None:
    metric, asked = HISTOGRAMS[name], getattr(signals, name)
    window = demo_run.settings.rules.rate_window.seconds
    compared = 0
    for method in METHODS:
        for at, value in recorded(demo_run, asked.unresolved, method):
            buckets = grown(raw, metric.bucket.name, method, at - window, at)
            if buckets.get("+Inf", 0) > 0 and at - window > demo_run.start:
                first = buckets[str(metric.buckets[0])] / buckets["+Inf"]
                assert value == pytest.approx(first, rel=0.02, abs=0.005), (at, method)
                compared += 1
    assert compared > 100
