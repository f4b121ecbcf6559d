"""The two sides of a comparison: a report, and the model of it that is compared."""

from dataclasses import dataclass

from draftboard.report import Latency, ModelReport, Report, named

_SMALLEST = 1e-15
_LONGEST = 60


@dataclass(frozen=True)
class Side:
    """One model of one report."""

    report: Report
    model: ModelReport

    @property
    def name(self) -> str:
        """Model, method and labels in words."""
        return named(self.model)

    @property
    def per_token(self) -> Latency | None:
        """Time per output token; None where no request finished."""
        return self.model.latency.per_token

    @property
    def requests(self) -> float:
        """Finished requests that say how long a token took."""
        return self.per_token.count if self.per_token else 0.0

    @property
    def drafts(self) -> float:
        """Drafts verified."""
        return self.model.sample.drafts if self.model.sample else 0.0

    @property
    def in_flight(self) -> float | None:
        """Mean number of requests between arrival and last token: rate x time there (Little's law)."""
        rate, whole = self.model.traffic.request_rate, self.model.latency.end_to_end
        return rate * whole.mean if rate is not None and whole else None


def over(part: float | None, whole: float | None) -> float | None:
    """A ratio of what is known and more than nothing."""
    if part is None or whole is None or part < _SMALLEST or whole < _SMALLEST:
        return None
    return part / whole


def quoted(name: str) -> str:
    """A name from elsewhere as it stands in one line."""
    return repr(name if len(name) <= _LONGEST else name[:_LONGEST] + "...")
