"""How long users wait, and how long steps take: quantiles of engines together, never a mean of quantiles."""

from dataclasses import dataclass

from draftboard.catalogue import Histogram, latency
from draftboard.expr.tree import Quantile, rate
from draftboard.signals.signal import Better, Code, Signal, Unit, within
from draftboard.status import Status

BELOW_RESOLUTION = Code(0, "below resolution", Status.QUIET)
"""Stands for a quantile that lies under the histogram's first bound, where an estimate would be made up."""


@dataclass(frozen=True)
class Latency:
    """A histogram of time as signals."""

    title: str
    description: str
    buckets: Signal
    mean: Signal
    p50: Signal
    p95: Signal
    p99: Signal
    tail: Signal
    unresolved: Signal

    @property
    def signals(self) -> tuple[Signal, ...]:
        """All of them."""
        return (self.buckets, self.mean, self.unresolved, self.p50, self.p95, self.p99, self.tail)


def distribution_of(metric: Histogram, *, name: str, what: str, unit: Unit) -> tuple[Signal, Signal]:
    """The histogram itself, and its mean."""
    record, empty = metric.name.replace("vllm:", "vllm_"), f"no {metric.counts} in the window"
    buckets = Signal(
        name=f"{name}_buckets",
        title=f"{what} by bucket",
        question=f"How is the {within(what)} distributed?",
        description=f"{metric.meaning} Samples per second up to each bound, engines together.",
        unit=unit,
        expr=rate(metric.bucket),
        record=f"{record}_bucket:rate{{window}}",
        by=("le",),
        empty=empty,
    )
    mean = Signal(
        name=f"{name}_mean",
        title=f"Mean {within(what)}",
        question=f"What is the {within(what)} on average?",
        description=f"{metric.meaning} Sum / count: exact, whatever the buckets.",
        unit=unit,
        better=Better.LOWER,
        expr=rate(metric.sum) / rate(metric.count),
        record=f"{record}:mean_rate{{window}}",
        empty=empty,
    )
    return buckets, mean


def _latency(metric: Histogram, *, name: str, what: str) -> Latency:
    buckets, mean = distribution_of(metric, name=name, what=what, unit=Unit.SECONDS)
    record = metric.name.replace("vllm:", "vllm_")
    estimate = (
        "Percentiles are estimated within a bucket, engines together. 0 means below resolution: the first bucket "
        "holds it, and no finer value is known. Values above the last bound read as that bound."
    )
    unresolved = Signal(
        name=f"{name}_unresolved",
        title=f"{what} below resolution",
        question=f"Is the {within(what)} measured finely enough?",
        description=f"Share of {metric.counts} whose {within(what)} is under the histogram's first bound: a quantile "
        "among them is unknown. Use finer buckets: vLLM's --custom-histogram-buckets (0.32 and newer).",
        better=Better.LOWER,
        # Buckets are cumulative: the least is the first, the greatest holds all.
        expr=buckets.min("le") / buckets.max("le"),
        record=f"{record}:unresolved_rate{{window}}",
        empty=buckets.empty,
    )

    def quantile(percent: int) -> Signal:
        return Signal(
            name=f"{name}_p{percent}",
            title=f"P{percent} {within(what)}",
            question=f"Which {within(what)} do {percent} % of {metric.counts} stay under?",
            description=f"{metric.meaning} {percent} % take less. {estimate}",
            unit=Unit.SECONDS,
            better=Better.LOWER,
            expr=Quantile(percent / 100, buckets) * unresolved.combined("< bool", percent / 100),
            record=f"{record}:p{percent}_rate{{window}}",
            codes=(BELOW_RESOLUTION,),
            empty=buckets.empty,
        )

    p50, p95, p99 = quantile(50), quantile(95), quantile(99)
    tail = Signal(
        name=f"{name}_tail",
        title=f"{what}: P99 over P50",
        question=f"How much worse is the {within(what)} of the slowest?",
        description=f"P99 / P50 of the {within(what)}. Two kinds of work in one model, of which one drafts well, "
        "stretch it. Not shown where the median is below resolution.",
        unit=Unit.TIMES_MEDIAN,
        better=Better.LOWER,
        expr=p99 / p50,
        record=f"{record}:p99_over_p50_rate{{window}}",
        empty=f"{buckets.empty}, or the median is below resolution",
    )
    description = f"{metric.meaning} The mean is exact. {estimate}"
    return Latency(what, description, buckets, mean, p50, p95, p99, tail, unresolved)


first_token = _latency(latency.TIME_TO_FIRST_TOKEN, name="first_token", what="Time to first token")
per_token = _latency(latency.TIME_PER_OUTPUT_TOKEN, name="per_token", what="Time per output token")
step = _latency(latency.STEP_LATENCY, name="step", what="Step latency")
end_to_end = _latency(latency.END_TO_END_LATENCY, name="end_to_end", what="End-to-end latency")
queue = _latency(latency.QUEUE_TIME, name="queue", what="Queue time")
prefill = _latency(latency.PREFILL_TIME, name="prefill", what="Prefill time")
decode = _latency(latency.DECODE_TIME, name="decode", what="Decode time")
inference = _latency(latency.INFERENCE_TIME, name="inference", what="Inference time")
FELT = {"first_token": first_token, "per_token": per_token, "step": step, "end_to_end": end_to_end}
"""What reports tell of time: what users wait for, and how long steps take."""
