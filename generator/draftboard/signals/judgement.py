"""The decisions of the signals on plain numbers, for where there is no Prometheus to ask: verdict and advice.

They are those of the expressions beside them in `economics`; a test asks a real Prometheus whether both agree.
"""

from dataclasses import dataclass

from draftboard import theory
from draftboard.settings import Settings
from draftboard.signals.economics import ADVICE, BREAK_EVEN, verdict
from draftboard.signals.signal import Band, Code
from draftboard.signals.state import STATES


def draft_cost(method: str, settings: Settings) -> float:
    """c: the settings' cost for a method, which may be unknown ("")."""
    return settings.draft_cost.by_method.get(method, settings.draft_cost.default)


@dataclass(frozen=True, kw_only=True)
class Case:
    """A model or engine to be judged."""

    counted: theory.Counted
    configured_k: float
    """Positions that vLLM counts; the mean, where engines differ."""
    method: str
    """The drafter's, as the settings name it; empty where nobody says."""
    settings: Settings
    acceptance_change: float | None = None
    """Acceptance now over before; None where there is no before."""

    @property
    def cost(self) -> float:
        """Draft cost c."""
        return draft_cost(self.method, self.settings)

    @property
    def inflation(self) -> float:
        """Verify inflation v."""
        return self.settings.draft_cost.verify_inflation

    @property
    def survival(self) -> tuple[float, ...]:
        """By position, as deep as the settings judge."""
        return self.counted.survival[: self.settings.max_draft_tokens]

    @property
    def last_position(self) -> float:
        """Share of drafts accepted to the last position; survival never rises, so it is the smallest."""
        return min(self.counted.survival, default=0.0)

    @property
    def break_even(self) -> float:
        """Mean acceptance length at which speculation pays for itself."""
        return theory.step_cost(self.counted.draft_length, self.cost, self.inflation)

    @property
    def expected_speedup(self) -> float:
        """Of speculative steps, over plain ones."""
        return self.counted.acceptance_length / self.break_even

    @property
    def speedup_at(self) -> tuple[float, ...]:
        """Of drafts of up to k = 1..K tokens."""
        return theory.speedup_at(self.survival, self.cost, self.inflation, self.counted.draft_length)

    @property
    def best(self) -> tuple[int, float]:
        """The best k, and its speedup."""
        return theory.best_k(self.survival, self.cost, self.inflation, self.counted.draft_length)

    @property
    def verdict(self) -> Band:
        """The expected speedup in words."""
        return verdict.step_of(self.expected_speedup, self.settings)

    @property
    def advice(self) -> Code:
        """The first that holds."""
        t = self.settings.thresholds
        hardly_reached, loses = self.last_position < t.last_position_low, self.expected_speedup < BREAK_EVEN
        conditions = {
            "workload": self.acceptance_change is not None and self.acceptance_change < t.drop,
            "off": self.best[1] < BREAK_EVEN,
            "drafter": self._has_a_drafter and self.survival[0] < t.first_position,
            "shorter": (hardly_reached or loses) and self._tail_costs,
            "longer": self.last_position > t.last_position_high and not self._last_token_costs,
        }
        return ADVICE[next((name for name, holds in conditions.items() if holds), "keep")]

    @property
    def _has_a_drafter(self) -> bool:
        return bool(self.method) and self.method not in self.settings.methods.lookup

    @property
    def _tail_costs(self) -> bool:
        full = self.settings.thresholds.full_drafts * self.configured_k
        return self.counted.draft_length >= full and self._last_token_costs and self.best[0] < self.configured_k

    @property
    def _last_token_costs(self) -> bool:
        """Whether the last drafted token yields less than it costs."""
        return self.last_position < self.cost * self.expected_speedup


def state_of(drafts: float | None, generation_tokens: float | None) -> Code:
    """What an engine that answers is doing, by the growth of two counters; None where one is not exposed."""
    if drafts:
        return STATES["drafting"]
    if drafts is not None:
        return STATES["not drafting" if generation_tokens else "idle"]
    return STATES["off" if generation_tokens is not None else "silent"]
