"""Service level objectives (SLOs), and the buckets that measure them."""

from dataclasses import dataclass
from typing import Annotated, Literal, Self, get_args

from pydantic import Field, model_validator

from draftboard.catalogue import Histogram, latency
from draftboard.durations import Duration
from draftboard.files import Table
from draftboard.settings.fields import AboveZero, Positive, Share

Bounds = Annotated[tuple[AboveZero, ...], Field(strict=False, min_length=1, max_length=200)]
SloName = Literal["time_to_first_token", "time_per_output_token", "end_to_end", "errors"]
SLO_NAMES: tuple[SloName, ...] = get_args(SloName)
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
    """At least this share of requests without an error."""

    objective: Share = Field(examples=[0.99])

    @property
    def allowed(self) -> float:
        """Share of requests that may miss it; rounded, so that 1 - 0.99 is 0.01."""
        return round(1 - self.objective, 12)


class TimeObjective(Objective):
    """At least this share of requests within this time."""

    threshold_seconds: AboveZero = Field(examples=[0.5])
    """Must be the upper bound of a bucket."""


class Objectives(Table):
    """Service level objectives (SLOs) over one rolling window. None applies until it is declared."""

    window: Positive = Duration(30 * 86_400)
    least_bad_events: int = Field(default=10, ge=1, le=1_000_000)
    """Minimum requests that miss an objective within the long window of a burn rate. Fewer fire no alert. Heuristic."""
    time_to_first_token: TimeObjective | None = None
    time_per_output_token: TimeObjective | None = None
    end_to_end: TimeObjective | None = None
    errors: Objective | None = None

    @property
    def declared(self) -> dict[SloName, Objective]:
        """The objectives that hold, by name."""
        named = {name: getattr(self, name) for name in SLO_NAMES}
        return {name: objective for name, objective in named.items() if objective}

    @property
    def thresholds(self) -> dict[SloName, float]:
        """Seconds of the declared objectives of time."""
        times = {name: each for name, each in self.declared.items() if isinstance(each, TimeObjective)}
        return {name: each.threshold_seconds for name, each in times.items()}

    @property
    def burn_factors(self) -> dict[str, float]:
        """The burn rate at which an alert fires, by its long window."""
        return {str(pace.long): pace.factor(self.window) for pace in (*FAST, *SLOW)}

    @model_validator(mode="after")
    def _lasts_longer_than_a_burn(self) -> Self:
        longest = BURN_WINDOWS[-1]
        if self.window <= longest:
            raise ValueError(f"window = {self.window} is too short: longer than {longest}, the longest burn rate")
        return self


def check_measurable(objectives: Objectives, buckets: Buckets) -> None:
    """ValueError where a declared time is not the bound of a bucket: the share within another time is unknown."""
    for name, seconds in objectives.thresholds.items():
        histogram = HISTOGRAMS[name]
        bounds: tuple[float, ...] = getattr(buckets, histogram.custom)
        if seconds not in bounds:
            nearest = sorted(bound for _, bound in sorted((abs(bound - seconds), bound) for bound in bounds)[:2])
            raise ValueError(
                f"slo.{name}.threshold_seconds = {seconds:g} is not a bucket bound of {histogram.name}: the nearest "
                f"are {' and '.join(f'{bound:g}' for bound in nearest)}; take one, or declare the servers' bounds in "
                f"buckets.{histogram.custom}"
            )
