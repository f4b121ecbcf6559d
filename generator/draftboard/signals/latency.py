"""How long users wait, and how long steps take: quantiles of engines together, never a mean of quantiles."""

from dataclasses import dataclass, replace

from draftboard.catalogue import Histogram, latency
from draftboard.expr.nodes import Evaluator, Expr, If, IsSet, Not, Number, Parameter, Quantile, RecordOf, rate
from draftboard.expr.scope import Level
from draftboard.quantity import Setting
from draftboard.settings.objectives import HISTOGRAMS
from draftboard.signals.signal import NO_BANDS, Band, Better, Code, Signal, Unit, good_under, within
from draftboard.signals.traffic import BOTH_LEVELS
from draftboard.status import Status

QUANTILE = "quantile"
"""The parameter that names the percentile, or the mean."""
BELOW_RESOLUTION = Code(0, "below resolution", Status.QUIET)
"""Stands for a quantile that lies under the histogram's first bound, where an estimate would be made up."""
_UNDER_THE_AXIS = replace(BELOW_RESOLUTION, value=-1)
"""`BELOW_RESOLUTION` in a graph: its line leaves the graph, where 0 would be drawn as a time."""


def _under_the_axis(percentile: Expr) -> Expr:
    return percentile - percentile.combined("== bool", 0)


def as_line(signal: Signal) -> Signal:
    """A percentile as it is drawn in a graph: below the resolution it is under the axis, not 0."""
    if BELOW_RESOLUTION not in signal.codes:
        return signal
    drawn = _under_the_axis(signal)
    return replace(signal, name=f"{signal.name}_line", expr=drawn, codes=(_UNDER_THE_AXIS,), record=None)


@dataclass(frozen=True)
class Latency:
    """A histogram of time as signals."""

    chosen: Signal  # The mean or percentile that a dashboard's variable names.
    buckets: Signal
    mean: Signal
    p50: Signal
    p95: Signal
    p99: Signal
    tail: Signal
    unresolved: Signal

    @property
    def title(self) -> str:
        """What it is the time of."""
        return self.chosen.title

    @property
    def signals(self) -> tuple[Signal, ...]:
        """All that have a record."""
        return (self.buckets, self.mean, self.unresolved, self.p50, self.p95, self.p99, self.tail)


def distribution_of(
    metric: Histogram, *, name: str, what: str, action: str, unit: Unit, short: str = ""
) -> tuple[Signal, Signal]:
    """The histogram itself, and its mean."""
    record, empty = metric.name.replace("vllm:", "vllm_"), f"no {metric.counts} in the window"
    buckets = Signal(
        name=f"{name}_buckets",
        title=f"{what} by bucket",
        question=f"What is the distribution of the {within(what)}?",
        description=f"{what}: samples per second up to each bound, engines together.",
        action="If there are two peaks, look for two kinds of requests.",
        note=metric.meaning,
        unit=Unit.SAMPLES_PER_SECOND,
        expr=rate(metric.bucket),
        record=f"{record}_bucket:rate{{window}}",
        by=("le",),
        empty=empty,
    )
    mean = Signal(
        name=f"{name}_mean",
        title=f"Mean {within(what)}",
        short=short and f"{short} mean",
        question=f"What is the mean of the {within(what)}?",
        description=f"{what}, sum / count: exact, whatever the buckets.",
        action=action,
        note=metric.meaning,
        unit=unit,
        better=Better.LOWER,
        expr=rate(metric.sum) / rate(metric.count),
        record=f"{record}:mean_rate{{window}}",
        empty=empty,
    )
    return buckets, mean


def _latency(
    metric: Histogram, *, name: str, what: str, short: str, action: str, p99_levels: tuple[Level, ...] = (Level.MODEL,)
) -> Latency:
    buckets, mean = distribution_of(metric, name=name, what=what, short=short, action=action, unit=Unit.SECONDS)
    record = metric.name.replace("vllm:", "vllm_")
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
        record=f"{record}:unresolved_rate{{window}}",
        empty=buckets.empty,
    )

    def resolved(share: Number | Parameter) -> Expr:
        return unresolved.combined("< bool", share)

    def quantile(percent: int, levels: tuple[Level, ...] = (Level.MODEL,)) -> Signal:
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
            record=f"{record}:p{percent}_rate{{window}}",
            levels=levels,
            bands=_within_the_slo(metric),
            codes=(BELOW_RESOLUTION,),
            empty=buckets.empty,
        )

    p50, p95, p99 = quantile(50), quantile(95), quantile(99, p99_levels)
    tail = Signal(
        name=f"{name}_tail",
        title=f"{what}: P99 over P50",
        short=f"{short} P99/P50",
        question=f"How much worse is the {within(what)} of the slowest?",
        description=f"P99 / P50 of the {within(what)}.",
        action="If it is large, look for two kinds of requests in one model.",
        note="Drafts that help only some requests increase it. Not shown where the median is below resolution.",
        unit=Unit.TIMES_MEDIAN,
        better=Better.LOWER,
        expr=p99 / p50,
        record=f"{record}:p99_over_p50_rate{{window}}",
        empty=f"{buckets.empty}, or the median is below resolution",
    )
    share = Parameter(QUANTILE, 0.99)
    computed = (Quantile(share, buckets) + 1) * resolved(share) - 1
    chosen = Signal(
        name=f"{name}_chosen",
        title=what,
        question=f"How long is the {within(what)} of most {metric.counts}?",
        description=f"{metric.meaning.removesuffix('.')}; percentiles are estimated within a bucket, and have no line "
        "below the first bound.",
        action=action,
        unit=Unit.SECONDS,
        better=Better.LOWER,
        # -1 where it is below resolution.
        expr=If(Evaluator.RECORD_PANEL, _under_the_axis(RecordOf(f"{record}:{{}}_rate", QUANTILE)), computed),
        bands=_within_the_slo(metric),
        codes=(_UNDER_THE_AXIS,),
        empty=buckets.empty,
    )
    return Latency(chosen, buckets, mean, p50, p95, p99, tail, unresolved)


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
per_token = _latency(
    latency.TIME_PER_OUTPUT_TOKEN,
    name="per_token",
    what="Time per output token",
    short="TPOT",
    action="If it grows, look at step latency and acceptance.",
    p99_levels=BOTH_LEVELS,  # What users of an engine feel of it.
)
step = _latency(
    latency.STEP_LATENCY,
    name="step",
    what="Step latency",
    short="ITL",
    action="If it grows, look at batches and prefills.",
)
end_to_end = _latency(
    latency.END_TO_END_LATENCY,
    name="end_to_end",
    what="End-to-end latency",
    short="E2E",
    action="If it grows, see which part does: queue, prefill or decode.",
)
queue = _latency(
    latency.QUEUE_TIME,
    name="queue",
    what="Queue time",
    short="Queue",
    action="If it grows, add engines or admit fewer requests.",
)
prefill = _latency(
    latency.PREFILL_TIME,
    name="prefill",
    what="Prefill time",
    short="Prefill",
    action="If it grows, look at prompt lengths and prefix cache hits.",
)
decode = _latency(
    latency.DECODE_TIME,
    name="decode",
    what="Decode time",
    short="Decode",
    action="If it grows, look at output lengths, step latency and acceptance.",
)
inference = _latency(
    latency.INFERENCE_TIME,
    name="inference",
    what="Inference time",
    short="Inference",
    action="If it grows, see which part does: prefill or decode.",
)
FELT = {"first_token": first_token, "per_token": per_token, "step": step, "end_to_end": end_to_end}
"""What reports tell of time: what users wait for, and how long steps take."""
