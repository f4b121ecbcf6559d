"""Why figures changed, as typed objects, which are also JSON."""

from dataclasses import dataclass

from draftboard.output import Described

UNEXPLAINED = "not explained"
LENGTH, TIME = "Mean acceptance length, tokens", "Decoding time per output token, ms"


@dataclass(frozen=True, kw_only=True)
class Part(Described):
    """What one cause adds to a figure; the parts of a figure add up to its change."""

    cause: str
    """Its name; "not explained" for what none accounts for."""
    detail: str
    """What is known of it: from what to what, whose requests, which engine."""
    amount: float
    """In the figure's unit; negative where it lowers the figure."""
    error: float | None
    """Standard error in the figure's unit, from the scatter between windows; None with fewer than three on a side."""

    @property
    def certain(self) -> bool:
        """Whether it is unlikely to be noise."""
        return self.error is not None and abs(self.amount) > 2 * self.error


@dataclass(frozen=True, kw_only=True)
class Figure(Described):
    """A figure before and after."""

    title: str
    """Its name and unit."""
    before: float
    """Its value before the change, in the unit of the title."""
    after: float
    """Its value after the change, in the unit of the title."""
    error: float | None
    """Standard error of the change, in the unit of the title; None with fewer than three windows on a side."""
    parts: tuple[Part, ...]
    """The largest first."""

    @property
    def changed(self) -> bool:
        """Whether it is unlikely to be noise, and large enough to look for a cause."""
        change = abs(self.after - self.before)
        return self.error is not None and change > max(2 * self.error, 0.02 * abs(self.before))

    def __str__(self) -> str:
        """In a sentence: from what to what, and the parts that matter."""
        change = self.after - self.before
        verb = "fell" if change < 0 else "rose"
        title, _, unit = self.title.partition(", ")
        opening = f"{title} {verb} from {self.before:.3g} to {self.after:.3g} {unit} ({change / self.before:+.0%})"
        parts = "; ".join(f"{part.amount:+.2g} {part.cause} ({part.detail})" for part in self.named)
        return f"{opening}: {parts or UNEXPLAINED}"

    @property
    def named(self) -> tuple[Part, ...]:
        """The parts that matter: certain, and at least a tenth of the sum of all parts without their signs."""
        whole = sum(abs(part.amount) for part in self.parts)
        return tuple(part for part in self.parts if part.certain and abs(part.amount) >= 0.1 * whole)


@dataclass(frozen=True, kw_only=True)
class Explanation(Described):
    """Why the figures of a model changed at one time."""

    at: float
    """Unix seconds: the end of the first window after the change."""
    seen_before: float
    """Unix seconds: the end of the last window before it."""
    windows: tuple[int, int]
    """How many, before and after."""
    figures: tuple[Figure, ...]
    """Acceptance length, where drafts were counted on both sides, and decoding time per output token."""

    @property
    def causes(self) -> tuple[str, ...]:
        """Names of what changed any figure, the weightiest first; without what is not explained, unless nothing is."""
        named = [part.cause for figure in self.figures if figure.changed for part in figure.named]
        return tuple(dict.fromkeys(named))
