"""What a histogram tells: an exact mean, and of each percentile the bucket that holds it."""

from dataclasses import dataclass

from draftboard.catalogue import Histogram
from draftboard.expr.nodes import Expr, Number, QuantileBucket, rate
from draftboard.signals.signal import Better, Signal, Unit, within

PERCENTS = (50, 95, 99)


@dataclass(frozen=True)
class Distribution:
    """A histogram of whatever."""

    title: str
    """What it is of."""
    ranges: tuple[tuple[int, Signal, Signal], ...]
    """Percentiles, each with the bounds of the bucket that it lies in."""
    together: tuple[Signal, ...]
    """Mean, then both bounds of each percentile, of all models that are selected."""

    def bounds(self, percent: int) -> tuple[Signal, Signal]:
        """Of the bucket that holds a percentile."""
        return next((lower, upper) for each, lower, upper in self.ranges if each == percent)


def mean_of(
    metric: Histogram, *, name: str, what: str, action: str, unit: Unit = Unit.SECONDS, short: str = ""
) -> Signal:
    """The mean of what a histogram counts: its sum over its count."""
    return Signal(
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
        record=f"{record_of(metric)}:mean_rate{{window}}",
        empty=nothing_in(metric),
    )


def bound_of(
    metric: Histogram,
    percent: int,
    of: Expr,
    *,
    upper: bool,
    name: str,
    what: str,
    short: str,
    action: str,
    unit: Unit = Unit.SECONDS,
) -> Signal:
    """An end of the bucket that holds a percentile, of the samples per second up to each bound."""
    says = "at most" if upper else "at least"
    return Signal(
        name=f"{name}_p{percent}_{'to' if upper else 'from'}",
        title=f"P{percent} {within(what)}, {says}",
        short=f"{short} P{percent} {'to' if upper else 'from'}",
        question=f"What is the {within(what)} of {percent} % of {metric.counts} {says}?",
        description=f"{'Upper' if upper else 'Lower'} bound of the bucket that holds P{percent} of the "
        f"{within(what)}: a histogram knows no more.",
        action=action,
        note=f"{metric.meaning} Above the last bound both bounds are that one.",
        unit=unit,
        better=Better.LOWER,
        expr=QuantileBucket(Number(percent / 100), of, upper),
        empty=nothing_in(metric),
    )


def record_of(metric: Histogram) -> str:
    """With which the names of its records begin."""
    return metric.name.replace("vllm:", "vllm_")


def nothing_in(metric: Histogram) -> str:
    """What an empty panel says."""
    return f"no {metric.counts} in the window"
