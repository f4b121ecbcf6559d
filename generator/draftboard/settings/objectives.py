"""Service level objectives (SLOs), and the buckets that measure them."""

from dataclasses import dataclass
from typing import Annotated, Literal, Self

from pydantic import Field, model_validator

from draftboard.catalogue import Histogram, latency
from draftboard.durations import Duration
from draftboard.files import Table
from draftboard.settings.fields import AboveZero, Positive, Share

Bounds = Annotated[tuple[AboveZero, ...], Field(strict=False, min_length=1, max_length=200)]
SloName = Literal["time_to_first_token", "time_per_output_token", "end_to_end", "errors"]
HISTOGRAMS: dict[str, Histogram] = {
    "time_to_first_token": latency.TIME_TO_FIRST_TOKEN,
    "time_per_output_token": latency.TIME_PER_OUTPUT_TOKEN,
    "end_to_end": latency.END_TO_END_LATENCY,
}
"""The histogram that measures each objective of time."""


@dataclass(frozen=True)
class Pace:
    """A share of the budget, spent within a long window; the short window shows whether it continues."""

    share: float
    long: Duration
    short: Duration | None  # None: the window of every rate.

    def factor(self, window: Duration) -> float:
        """Burn rate: how many times faster the budget burns than lasts for the SLO's window; at least 1."""
        return max(1.0, round(self.share * window.seconds / self.long.seconds, 12))


# Google's Site Reliability Workbook, chapter "Alerting on SLOs".
FAST = (Pace(0.02, Duration.parse("1h"), None), Pace(0.05, Duration.parse("6h"), Duration.parse("30m")))
SLOW = (Pace(0.10, Duration.parse("1d"), Duration.parse("2h")), Pace(0.10, Duration.parse("3d"), Duration.parse("6h")))
BURN_WINDOWS = sorted({window for pace in (*FAST, *SLOW) for window in (pace.short, pace.long) if window})
"""All of them. The window of every rate must be shorter, the SLO's window longer."""


class Buckets(Table):
    """Upper bounds of the servers' histograms, in seconds: vLLM's own, or those of `--custom-histogram-buckets`."""

    time_to_first_token: Bounds = latency.TIME_TO_FIRST_TOKEN.buckets
    inter_token_latency: Bounds = latency.STEP_LATENCY.buckets
    request_latency: Bounds = latency.END_TO_END_LATENCY.buckets

    @model_validator(mode="after")
    def _rise(self) -> Self:
        for name, bounds in self:
            if list(bounds) != sorted(set(bounds)):
                raise ValueError(f"{name} must rise, each bound once")
        return self


class Objective(Table):
    """At least this share of requests without an error. The default is an example (HEUR) until you set your own."""

    objective: Share


class TimeObjective(Objective):
    """At least this share of requests within this time. The defaults are examples (HEUR) until you set your own."""

    threshold_seconds: AboveZero


class Objectives(Table):
    """Service level objectives, each over the same rolling window."""

    window: Positive = Duration(30 * 86_400)
    watched: tuple[SloName, ...] = Field(
        default=("time_to_first_token", "time_per_output_token", "end_to_end", "errors"), strict=False, min_length=1
    )
    """The objectives that you have declared; leave out the others."""
    time_to_first_token: TimeObjective = TimeObjective(objective=0.99, threshold_seconds=1.0)
    time_per_output_token: TimeObjective = TimeObjective(objective=0.99, threshold_seconds=0.1)
    end_to_end: TimeObjective = TimeObjective(objective=0.95, threshold_seconds=60.0)
    errors: Objective = Objective(objective=0.99)

    def of(self, name: SloName) -> Objective:
        """The objective of that name."""
        objective: Objective = getattr(self, name)
        return objective

    def threshold(self, name: SloName) -> float:
        """Seconds of an objective of time."""
        objective: TimeObjective = getattr(self, name)
        return objective.threshold_seconds

    @model_validator(mode="after")
    def _lasts_longer_than_a_burn(self) -> Self:
        longest = BURN_WINDOWS[-1]
        if self.window <= longest:
            raise ValueError(f"window = {self.window} is too short: longer than {longest}, the longest burn rate")
        if len(set(self.watched)) < len(self.watched):
            raise ValueError("watched names an objective twice")
        return self


def check_measurable(objectives: Objectives, buckets: Buckets) -> None:
    """ValueError where a watched time is not the bound of a bucket: the share within another time is unknown."""
    for name in (name for name in objectives.watched if name in HISTOGRAMS):
        seconds, histogram = objectives.threshold(name), HISTOGRAMS[name]
        bounds: tuple[float, ...] = getattr(buckets, histogram.custom)
        if seconds not in bounds:
            nearest = sorted(sorted(bounds, key=lambda bound: abs(bound - seconds))[:2])
            raise ValueError(
                f"slo.{name}.threshold_seconds = {seconds:g} is not a bucket bound of {histogram.name}: the nearest "
                f"are {' and '.join(f'{bound:g}' for bound in nearest)}; take one, or declare the servers' bounds in "
                f"buckets.{histogram.custom}"
            )
