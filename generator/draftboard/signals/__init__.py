"""The heart: one Signal per operator's question. `ALL` holds every one, each after those it is made of."""

from draftboard.signals import acceptance, comparison, depth, economics, events, integrity, state, traffic
from draftboard.signals.scope import Edition, Scope
from draftboard.signals.signal import Level, Signal

ALL: tuple[Signal, ...] = (
    *traffic.SIGNALS,
    *acceptance.SIGNALS,
    *depth.SIGNALS,
    *comparison.SIGNALS,
    *economics.SIGNALS,
    *state.SIGNALS,
    *events.SIGNALS,
    *integrity.SIGNALS,
)

__all__ = ["ALL", "Edition", "Level", "Scope", "Signal"]
