"""The heart: one Signal per operator's question. `ALL` holds every one, each after those it is made of."""

from draftboard.expr.scope import Edition, Level, Scope
from draftboard.signals import (
    acceptance,
    capacity,
    comparison,
    decisions,
    depth,
    economics,
    events,
    gpu,
    integrity,
    latency,
    requests,
    slo,
    state,
    traffic,
    users,
)
from draftboard.signals.signal import Signal

FAMILIES: dict[str, tuple[Signal, ...]] = {
    "speculation": (
        *traffic.SIGNALS,
        *acceptance.SIGNALS,
        *depth.SIGNALS,
        *comparison.SIGNALS,
        *economics.SIGNALS,
        *decisions.SIGNALS,
        *state.SIGNALS,
        *events.SIGNALS,
        *integrity.SIGNALS,
    ),
    "requests": (*requests.SIGNALS, *capacity.SIGNALS),
    "objectives": slo.SIGNALS,
    "latency-first-token": latency.first_token.signals,
    "latency-per-token": (*latency.per_token.signals, *users.SIGNALS),
    "latency-step": latency.step.signals,
    "latency-end-to-end": latency.end_to_end.signals,
    "latency-queue": latency.queue.signals,
    "latency-prefill": latency.prefill.signals,
    "latency-decode": latency.decode.signals,
    "latency-inference": latency.inference.signals,
    "gpu": gpu.SIGNALS,
}
"""Signals that are made of each other, and of none of another family: each family can be evaluated by itself."""
ALL: tuple[Signal, ...] = tuple(signal for family in FAMILIES.values() for signal in family)

__all__ = ["ALL", "FAMILIES", "Edition", "Level", "Scope", "Signal"]
