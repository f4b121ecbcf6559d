"""What a histogram tells: an exact mean, and of each percentile the bucket that holds it."""

from collections.abc import Callable
from dataclasses import dataclass, replace

from draftboard.catalogue import Histogram
from draftboard.expr.nodes import Expr, Number, QuantileBucket, rate
from draftboard.expr.scope import Level
from draftboard.signals.signal import Better, Signal, Unit, within

_PERCENTS = (50, 95, 99)
Ranges = tuple[tuple[int, Signal, Signal], ...]
"""Percentiles, each with the bounds of the bucket that it lies in."""


@dataclass(frozen=True)
class Distribution:
    """A histogram of whatever."""

    title: str
    """What it is of."""
    ranges: Ranges
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


def ranges_of(bound: Callable[[int, bool], Signal]) -> Ranges:
    """Of each percentile the lower bound, then the upper one."""
    return tuple((percent, bound(percent, False), bound(percent, True)) for percent in _PERCENTS)


def together_of(mean: Signal, ranges: Ranges) -> tuple[Signal, ...]:
    """The mean and all bounds, of all models that are selected."""
    every = (mean, *(bound for _, *bounds in ranges for bound in bounds))
    return tuple(replace(one, name=f"{one.name}_together", levels=(Level.FLEET,)) for one in every)


def record_of(metric: Histogram) -> str:
    """With which the names of its records begin."""
    return metric.name.replace("vllm:", "vllm_")


def nothing_in(metric: Histogram) -> str:
    """What an empty panel says."""
    return f"no {metric.counts} in the window"
