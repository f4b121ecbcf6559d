"""How long users wait, and how long steps take: quantiles of engines together, never a mean of quantiles."""

from dataclasses import dataclass, replace

from draftboard.catalogue import Histogram, latency
from draftboard.expr.nodes import Aggregate, Evaluator, Expr, If, IsSet, Not, Number, Quantile, first_of, merged, rate
from draftboard.expr.scope import Level
from draftboard.quantity import Setting
from draftboard.settings.objectives import HISTOGRAMS
from draftboard.signals.distribution import (
    Distribution,
    Ranges,
    bound_of,
    mean_of,
    nothing_in,
    ranges_of,
    record_of,
    together_of,
)
from draftboard.signals.signal import NO_BANDS, Band, Better, Code, Signal, Unit, good_under, within
from draftboard.signals.traffic import BOTH_LEVELS, decode_steps, decoded_tokens, of_one_moment, step_seconds
from draftboard.status import Status

BELOW_RESOLUTION = Code(0, "below resolution", Status.QUIET)
"""Stands for a quantile that lies under the histogram's first bound, where an estimate would be made up."""


@dataclass(frozen=True)
class Latency(Distribution):
    """A histogram of time as signals."""

    name: str
    """With which the names of its signals begin."""
    buckets: Signal
    mean: Signal
    p50: Signal
    p95: Signal
    p99: Signal
    unresolved: Signal

    @property
    def signals(self) -> tuple[Signal, ...]:
        """All of engines together, and of each model."""
        return (self.buckets, self.mean, self.unresolved, self.p50, self.p95, self.p99)


def _latency(
    metric: Histogram,
    *,
    name: str,
    what: str,
    short: str,
    action: str,
    by_token: Expr | None = None,
    counters: tuple[Signal, Signal] | None = None,
    is_recorded: bool = True,
) -> Latency:
    """All signals of a histogram.

    `by_token`: the mean, where tokens count and not samples; `counters`: its sum and its count, where these are
    recorded; `is_recorded`: whether its buckets are.
    """
    record = record_of(metric)
    mean = mean_of(metric, name=name, what=what, short=short, action=action)
    if counters:
        mean = replace(mean, expr=counters[0] / counters[1])
    if by_token:
        mean = replace(
            mean,
            description=f"{what}: time of decode steps / tokens that they yield, so that every token counts once.",
            note="A mean over requests would count answers of one token, which vLLM records as 0 s; percentiles do.",
            expr=first_of(by_token, mean.expr),
            levels=BOTH_LEVELS,  # What users of an engine feel of it.
        )
    buckets = Signal(
        name=f"{name}_buckets",
        title=f"{what} by bucket",
        question=f"What is the distribution of the {within(what)}?",
        description=f"{what}: samples per second up to each bound, engines together.",
        action="If there are two peaks, look for two kinds of requests.",
        note=metric.meaning,
        unit=Unit.SAMPLES_PER_SECOND,
        expr=rate(metric.bucket),
        record=f"{record}_bucket:rate{{window}}" if is_recorded else None,
        by=("le",),
        empty=nothing_in(metric),
    )
    estimate = (
        "Engines together. 0 means below resolution: the first bucket holds it, and no finer value is known. Values "
        "above the last bound read as that bound."
    )
    unresolved = Signal(
        name=f"{name}_unresolved",
        title=f"{what} below resolution",
        short=short,
        question=f"Is the {within(what)} measured finely enough?",
        description=f"Share of {metric.counts} whose {within(what)} is under the histogram's first bound: a quantile "
        "among them is unknown.",
        action="If it is large, use finer buckets: vLLM's --custom-histogram-buckets (0.32 and newer).",
        better=Better.LOWER,
        # Buckets are cumulative: the least is the first, the greatest holds all.
        expr=buckets.min("le") / buckets.max("le"),
        record=f"{record}:unresolved_rate{{window}}" if is_recorded else None,
        empty=buckets.empty,
    )

    def resolved(share: Number) -> Expr:
        return unresolved.combined("< bool", share)

    def quantile(percent: int) -> Signal:
        return Signal(
            name=f"{name}_p{percent}",
            title=f"P{percent} {within(what)}",
            short=f"{short} P{percent}",
            question=f"Which {within(what)} do {percent} % of {metric.counts} stay under?",
            description=f"The {within(what)} of {percent} % of {metric.counts} is below this, estimated within a "
            "bucket.",
            action=action,
            note=f"{metric.meaning} {estimate}",
            unit=Unit.SECONDS,
            better=Better.LOWER,
            expr=Quantile(share := Number(percent / 100), buckets) * resolved(share),
            bands=_within_the_slo(metric),
            codes=(BELOW_RESOLUTION,),
            empty=buckets.empty,
        )

    def bounds(of: Expr) -> Ranges:
        def bound(percent: int, upper: bool) -> Signal:
            bands = _within_the_slo(metric) if upper else NO_BANDS
            one = bound_of(metric, percent, of, upper=upper, name=name, what=what, short=short, action=action)
            return replace(one, bands=bands)

        return ranges_of(bound)

    of_models = If(Evaluator.RECORDS, Aggregate("sum", ("le",), buckets.at(Level.MODEL)), buckets)
    counted = (decoded_tokens if by_token else buckets.max("le")).at(Level.MODEL)
    weighted = Aggregate("sum", (), mean.at(Level.MODEL) * counted) / Aggregate("sum", (), counted)
    of_all = replace(mean, record=None, expr=If(Evaluator.RECORDS, weighted, mean.expr))
    p50, p95, p99 = quantile(50), quantile(95), quantile(99)
    together = together_of(of_all, bounds(of_models))
    return Latency(what, bounds(buckets), together, name, buckets, mean, p50, p95, p99, unresolved)


def _within_the_slo(metric: Histogram) -> tuple[Band, ...]:
    """Bands by the declared objective of a latency, if there is one."""
    name = next((name for name, histogram in HISTOGRAMS.items() if histogram is metric), None)
    if name is None:
        return NO_BANDS
    declared = IsSet("slo.declared", name)
    bands = good_under(Setting(f"slo.thresholds.{name}"), good="in-time", beyond="late", status=Status.BAD)
    return (*(replace(band, enabled=declared) for band in bands), replace(NO_BANDS[0], enabled=Not(declared)))


first_token = _latency(
    latency.TIME_TO_FIRST_TOKEN,
    name="first_token",
    what="Time to first token",
    short="TTFT",
    action="If it grows, look at queue and prefill time.",
)
BY_TOKEN = of_one_moment(step_seconds / decoded_tokens)
"""Time of decode steps / tokens that they yield."""
per_token = _latency(
    latency.TIME_PER_OUTPUT_TOKEN,
    name="per_token",
    what="Time per output token",
    short="TPOT",
    action="If it grows, look at step latency and acceptance.",
    by_token=BY_TOKEN,
)
step = _latency(
    latency.STEP_LATENCY,
    name="step",
    what="Step latency",
    short="ITL",
    action="If it grows, look at batches and prefills.",
    counters=(step_seconds, decode_steps),
    is_recorded=False,  # No page shows more of it than the mean.
)
end_to_end = _latency(
    latency.END_TO_END_LATENCY,
    name="end_to_end",
    what="End-to-end latency",
    short="E2E",
    action="If it grows, see which part does: queue, prefill or decode.",
)
queue = mean_of(
    latency.QUEUE_TIME,
    name="queue",
    what="Queue time",
    short="Queue",
    action="If it grows, add engines or admit fewer requests.",
)
prefill = mean_of(
    latency.PREFILL_TIME,
    name="prefill",
    what="Prefill time",
    short="Prefill",
    action="If it grows, look at prompt lengths and prefix cache hits.",
)
decode = mean_of(
    latency.DECODE_TIME,
    name="decode",
    what="Decode time",
    short="Decode",
    action="If it grows, look at output lengths, step latency and acceptance.",
)
PARTS = (queue, prefill, decode)
"""What the time of a request is made of."""
FELT = {"first_token": first_token, "per_token": per_token, "step": step, "end_to_end": end_to_end}
"""What reports tell of time: what users wait for, and how long steps take."""


def _tail(of: Latency) -> Signal:
    """How far the slowest are from the median."""
    what, short = within(of.title), of.mean.short.removesuffix(" mean")
    return Signal(
        name=f"{of.name}_tail",
        title=f"{of.title}: P99 over P50",
        short=f"{short} P99/P50",
        question=f"How much worse is the {what} of the slowest?",
        description=f"P99 / P50 of the {what}, where they lie in different buckets.",
        action="If it is large, look for two kinds of requests in one model.",
        note="Drafts that help only some requests increase it. In one bucket both are made of its bounds alone.",
        unit=Unit.TIMES_MEDIAN,
        better=Better.LOWER,
        expr=(of.p99 / of.p50) & (of.bounds(99)[0] >= of.bounds(50)[1]),
        record=(of.buckets.record or "").replace("_bucket:rate", ":p99_over_p50_rate"),
        empty=f"{of.mean.empty}, or P50 and P99 lie in one bucket",
    )


first_token_tail, per_token_tail, end_to_end_tail = (_tail(each) for each in (first_token, per_token, end_to_end))


def by_latency(*latencies: Latency) -> tuple[Signal, ...]:
    """Mean and bounds of percentiles of several latencies, of all models together."""
    first = latencies[0]
    return tuple(
        replace(
            signal,
            name=signal.name.removeprefix(f"{first.name}_").replace("_together", "_by_latency"),
            short=signal.short.removeprefix(f"{first.mean.short.removesuffix(' mean')} "),
            expr=merged("latency", {each.title: each.together[index] for each in latencies}),
            by=("latency",),
            bands=NO_BANDS,
        )
        for index, signal in enumerate(first.together)
    )
