"""What users are promised, and with which buckets it is measured."""

from dataclasses import dataclass
from typing import Annotated, Literal, Self

from pydantic import Field, model_validator

from draftboard.catalogue import Histogram, latency
from draftboard.documents import Table
from draftboard.durations import Duration
from draftboard.settings.fields import AboveZero, Positive, Share

Bounds = Annotated[tuple[AboveZero, ...], Field(strict=False, min_length=1, max_length=200)]
Promise = Literal["time_to_first_token", "time_per_output_token", "end_to_end", "errors"]
HISTOGRAMS: dict[str, Histogram] = {
    "time_to_first_token": latency.TIME_TO_FIRST_TOKEN,
    "time_per_output_token": latency.TIME_PER_OUTPUT_TOKEN,
    "end_to_end": latency.END_TO_END_LATENCY,
}
"""Which histogram tells how a promise of time is kept."""
_MINUTES, _HOURS, _DAYS = 60, 3_600, 86_400
_EXACT = 12
"""Decimals that a share of a window is rounded to."""


@dataclass(frozen=True)
class Pace:
    """A share of the budget, spent within a long window; the short one tells whether it goes on."""

    share: float
    long: Duration
    short: Duration | None
    """None stands for the window of every rate."""

    def factor(self, window: Duration) -> float:
        """How many times faster than lasts a window's budget burns at this pace; at 1 and slower it lasts."""
        return max(1.0, round(self.share * window.seconds / self.long.seconds, _EXACT))


# Google's Site Reliability Workbook, chapter "Alerting on SLOs".
FAST = (
    Pace(0.02, Duration(1 * _HOURS), None),
    Pace(0.05, Duration(6 * _HOURS), Duration(30 * _MINUTES)),
)
SLOW = (
    Pace(0.10, Duration(1 * _DAYS), Duration(2 * _HOURS)),
    Pace(0.10, Duration(3 * _DAYS), Duration(6 * _HOURS)),
)
BURN_WINDOWS = sorted({window for pace in (*FAST, *SLOW) for window in (pace.short, pace.long) if window})
"""All of them. The window of every rate must be shorter, the promise last longer."""


class Buckets(Table):
    """Upper bounds of the servers' histograms, in seconds: vLLM's own, or those of `--custom-histogram-buckets`."""

    time_to_first_token: Bounds = latency.TIME_TO_FIRST_TOKEN.buckets
    inter_token_latency: Bounds = latency.STEP_LATENCY.buckets
    request_latency: Bounds = latency.END_TO_END_LATENCY.buckets

    @model_validator(mode="after")
    def _rise(self) -> Self:
        for name in type(self).model_fields:
            bounds = getattr(self, name)
            if list(bounds) != sorted(set(bounds)):
                raise ValueError(f"{name} must rise, each bound once")
        return self


class TimeObjective(Table):
    """At least this share of requests within this time. Both are examples (HEUR) until they are your promise."""

    objective: Share
    threshold_seconds: AboveZero


class ErrorObjective(Table):
    """At least this share of requests answered. An example (HEUR) until it is your promise."""

    objective: Share


class Objectives(Table):
    """Service level objectives, each over the same rolling window."""

    window: Positive = Duration(30 * 86_400)
    watched: tuple[Promise, ...] = Field(
        default=("time_to_first_token", "time_per_output_token", "end_to_end", "errors"), strict=False, min_length=1
    )
    """Leave out what you do not promise."""
    time_to_first_token: TimeObjective = TimeObjective(objective=0.99, threshold_seconds=1.0)
    time_per_output_token: TimeObjective = TimeObjective(objective=0.99, threshold_seconds=0.1)
    end_to_end: TimeObjective = TimeObjective(objective=0.95, threshold_seconds=60.0)
    errors: ErrorObjective = ErrorObjective(objective=0.99)

    def of(self, promise: Promise) -> TimeObjective | ErrorObjective:
        """The objective of that name."""
        objective: TimeObjective | ErrorObjective = getattr(self, promise)
        return objective

    def threshold(self, promise: Promise) -> float:
        """Seconds promised by an objective of time."""
        objective: TimeObjective = getattr(self, promise)
        return objective.threshold_seconds

    @model_validator(mode="after")
    def _lasts_longer_than_a_burn(self) -> Self:
        if self.window <= BURN_WINDOWS[-1]:
            raise ValueError(
                f"window = {self.window} is too short: longer than {BURN_WINDOWS[-1]}, the longest burn rate"
            )
        if len(set(self.watched)) < len(self.watched):
            raise ValueError("watched names an objective twice")
        return self


def check_measurable(objectives: Objectives, buckets: Buckets) -> None:
    """Whether each promised time is a bucket's bound, so that the share within it can be told.

    Raises:
        ValueError: it lies between two bounds, or outside of all.
    """
    for promise in objectives.watched:
        if promise not in HISTOGRAMS:
            continue
        seconds, family = objectives.threshold(promise), HISTOGRAMS[promise].custom
        bounds: tuple[float, ...] = getattr(buckets, family)
        if seconds not in bounds:
            nearest = [f"{bound:g}" for bound in sorted(sorted(bounds, key=lambda bound: abs(bound - seconds))[:2])]
            raise ValueError(
                f"slo.{promise}.threshold_seconds = {seconds:g} is no bucket bound of {HISTOGRAMS[promise].name}: "
                f"the nearest are {' and '.join(nearest)}; take one, or declare the servers' bounds in buckets.{family}"
            )
