"""All signals, one for each question of an operator. `ALL` has them in order, each after those that it reads."""

from collections.abc import Iterator
from types import ModuleType

from draftboard.expr.scope import Edition, Level, Scope
from draftboard.signals import (
    absence,
    acceptance,
    advice,
    alike,
    capacity,
    causes,
    classes,
    comparison,
    costs,
    decline,
    depth,
    drafting,
    economics,
    events,
    fleet,
    gains,
    gpu,
    health,
    integrity,
    latency,
    lengths,
    monitoring,
    next_steps,
    overview,
    presence,
    requests,
    responses,
    siblings,
    silence,
    slo,
    slo_events,
    stalls,
    states,
    steps,
    traffic,
    tried,
    users,
    verdicts,
    versus,
)
from draftboard.signals.signal import Signal


def _signals_in(part: object) -> Iterator[Signal]:
    if isinstance(part, Signal):
        yield part
    elif isinstance(part, dict):
        yield from (inner for inner in part.values() if isinstance(inner, Signal))


def _of(*modules: ModuleType) -> tuple[Signal, ...]:
    return tuple(
        dict.fromkeys(signal for module in modules for part in vars(module).values() for signal in _signals_in(part))
    )


FAMILIES: dict[str, tuple[Signal, ...]] = {
    "speculation": _of(
        *(presence, traffic, acceptance, drafting, depth, comparison, steps, costs),
        *(economics, gains, tried, integrity, states, absence, events, classes, decline),
    ),
    "requests": _of(requests, responses, stalls, capacity, lengths),
    "siblings": _of(siblings),
    "silence": _of(silence),
    "objectives": _of(slo_events, slo),
    "latency-first-token": (*latency.first_token.signals, latency.first_token_tail),
    "latency-per-token": (
        *latency.per_token.signals,
        latency.per_token_tail,
        *(alike.baseline_prompt_length, alike.baseline_answer_length, alike.objection),
        *(users.measured_speedup, users.speedup_uncertainty, users.speedup_low, users.speedup_high),
        users.tail_change,
    ),
    "latency-step": latency.step.signals,
    "latency-end-to-end": (*latency.end_to_end.signals, latency.end_to_end_tail),
    "latency-parts": latency.PARTS,
    "verdict": (verdicts.verdict, *health.SIGNALS, advice.advice, causes.health_cause, *_of(next_steps)),
    "overview": _of(overview, fleet, versus),
    "gpu": _of(gpu),
    "monitoring": _of(monitoring),
}
"""Signals that read each other. Of another family they read which servers are known and how busy; the verdict, the
objectives and comparisons of servers read all families."""
ALL: tuple[Signal, ...] = tuple(signal for family in FAMILIES.values() for signal in family)
