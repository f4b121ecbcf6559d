"""From numbers to a judgement: what the signals say of a model or an engine, the verdict and its reasons."""

import string
from dataclasses import dataclass, fields, replace
from typing import Any

from draftboard.reading.counted import Numbers
from draftboard.report.objects import Broken, Judged, Latencies, Latency, Sample, Speculation, Traffic, Verdict
from draftboard.settings import Settings
from draftboard.signals import ALL, Signal
from draftboard.signals.acceptance import acceptance
from draftboard.signals.capacity import prefix_cache_hits, prompt_tokens
from draftboard.signals.decisions import ADVICE, STATES, VERDICT_REASON, Choice, advice, state
from draftboard.signals.depth import configured_k
from draftboard.signals.economics import best_k, best_speedup, expected_speedup
from draftboard.signals.integrity import IDENTITIES, identity_error
from draftboard.signals.latency import FELT
from draftboard.signals.requests import request_rate
from draftboard.signals.signal import Code, within
from draftboard.signals.traffic import (
    accepted_tokens,
    accepted_tokens_per_pos,
    draft_tokens,
    drafts,
    first_tokens,
    generation_tokens,
)
from draftboard.signals.users import measured_speedup
from draftboard.signals.wording import worded
from draftboard.status import Status

V0_ENGINE = Choice(
    Code(-1, "vLLM's V0 engine", Status.WARN),
    drafts,
    "it does not count drafts, so there is no mean acceptance length, and its ratio counts tokens behind a rejection, "
    "too: vLLM 0.10 and newer export what is needed",
)
_INCOMPLETE = "drafts are counted, but not all that is needed to judge them: is something filtered out of the series?"
_BY_NAME = {signal.name: signal for signal in ALL}
_GAIN_DIGITS = 3
"""Decimals of a share that is shown in tenths of a per cent."""


@dataclass(frozen=True)
class Case:
    """A model or an engine to be judged, and what is known beside its numbers."""

    numbers: Numbers
    seconds: float | None = None
    """How long was counted; None where nobody knows: then there are no rates."""
    broken: tuple[Broken, ...] = ()
    """Identities of its counters that do not hold."""
    v0: bool = False
    """Whether vLLM's V0 engine exposes it."""

    @property
    def settings(self) -> Settings:
        """Thresholds and costs."""
        return self.numbers.settings


def judge(case: Case) -> Judged:
    """The numbers of a model or an engine, and what follows from them."""
    sample = _sample(case)
    if sample is None:
        verdict = Verdict(says=None, advice=None, reasons=(_state(case).reason or _INCOMPLETE,))
    else:
        verdict = _withheld(case, sample) or _verdict(case)
    return Judged(
        state=_state(case).code.says,
        verdict=_with_measured(case, verdict),
        sample=sample,
        speculation=_speculation(case, judged=verdict.says is not None) if sample else None,
        latency=Latencies(**{name: _latency(case.numbers, name) for name in FELT}),
        traffic=_traffic(case),
        notes=(),
    )


def _state(case: Case) -> Choice:
    if case.v0 and case.numbers.value(drafts) is None:
        return V0_ENGINE
    return STATES.of(case.numbers.value(state)) or STATES.choices["silent"]


def _sample(case: Case) -> Sample | None:
    """The four counters, where anything was drafted and none of them is missing."""
    numbers = case.numbers
    counted, drafted, accepted = (numbers.value(signal) for signal in (drafts, draft_tokens, accepted_tokens))
    positions = numbers.each(accepted_tokens_per_pos)
    if not counted or drafted is None or accepted is None or not positions:
        return None
    return Sample(
        drafts=counted,
        draft_tokens=drafted,
        accepted_tokens=accepted,
        accepted_per_position=positions,
        least=case.settings.traffic.drafts_to_judge,
    )


def _speculation(case: Case, *, judged: bool) -> Speculation:
    found = _named_as_signals(case, Speculation)
    found["survival"] = found["survival"][: case.settings.max_draft_tokens]
    # Without a drafted token, or a first position, there is no ratio of accepted ones: none was accepted.
    found |= {name: found[name] or 0.0 for name in ("acceptance", "alpha_hat", "first_position")}
    found["best_k"] = int(found["best_k"] or 0)
    found["band"] = acceptance.step_of(found["acceptance"], case.settings).says if judged else None
    found["verify_inflation"] = case.settings.draft_cost.verify_inflation
    return Speculation(**found)


def _named_as_signals(case: Case, kind: type[Speculation | Traffic]) -> dict[str, Any]:
    """The values of all fields that are named as a signal: one number, or several by the signal's own label."""
    found: dict[str, Any] = {}
    for name in (field.name for field in fields(kind) if field.name in _BY_NAME):
        signal = _BY_NAME[name]
        found[name] = case.numbers.each(signal) if signal.by else _shown(case, signal)
    return found


def _shown(case: Case, signal: Signal) -> float | None:
    """A value as it is shown: a rate per second, where it is known how many seconds were counted."""
    value = case.numbers.value(signal)
    if value is None or not signal.unit.per_second:
        return value
    return value / case.seconds if case.seconds else None


def _traffic(case: Case) -> Traffic:
    numbers = case.numbers
    answered = numbers.value(first_tokens)
    return Traffic(
        **_named_as_signals(case, Traffic) | {"prefix_cache_hits": numbers.by(prefix_cache_hits).get("local")},
        prompt_length=_over(numbers.value(prompt_tokens), answered),
        answer_length=_over(numbers.value(generation_tokens), answered),
        generated=numbers.value(generation_tokens),
        requests=numbers.value(request_rate),
    )


def _over(part: float | None, whole: float | None) -> float | None:
    return part / whole if part is not None and whole else None


def _latency(numbers: Numbers, name: str) -> Latency | None:
    family = FELT[name]
    buckets = numbers.by(family.buckets)
    count = max(buckets.values(), default=0.0)
    p50, p95, p99 = (numbers.value(signal) for signal in (family.p50, family.p95, family.p99))
    if not count or p50 is None or p95 is None or p99 is None:
        return None
    return Latency(
        count=count,
        mean=numbers.value(family.mean) or 0.0,
        p50=p50,
        p95=p95,
        p99=p99,
        resolution=float(next(iter(buckets))),
        unresolved=numbers.value(family.unresolved) or 0.0,
    )


def broken_identities(numbers: Numbers, engine: str) -> tuple[Broken, ...]:
    """What an engine's own counters contradict: the positions that it lacks, and identities that vLLM's code holds."""
    limit = numbers.settings.thresholds.inconsistent
    errors = numbers.by(identity_error) if numbers.value(drafts) else {}
    return missing_positions(numbers, engine) + tuple(
        Broken(identity=name, says=says, error=errors[name], engine=engine)
        for name, says in IDENTITIES.items()
        if errors.get(name, 0.0) > limit
    )


def missing_positions(numbers: Numbers, engine: str) -> tuple[Broken, ...]:
    """A position below a present one that is not counted: neither K nor survival can be derived then."""
    there = [int(position) for position in numbers.by(accepted_tokens_per_pos)]
    deepest = max(there, default=0)
    missing = len(set(range(deepest)) - set(there))
    if not missing:
        return ()
    says = f"position {deepest} is counted without {missing} of the {deepest} positions before it"
    return (Broken(identity="positions_missing", says=says, error=missing / (deepest + 1), engine=engine),)


def _withheld(case: Case, sample: Sample) -> Verdict | None:
    """Why drafts get no verdict; None where they can be judged."""
    counted = f"{sample.drafts:,.0f} draft{'' if round(sample.drafts) == 1 else 's'}"
    # Under structured output a grammar may void all that was drafted; not all of the time.
    reasons = (
        (
            bool(case.broken),
            "counters contradict each other",
            "counters contradict each other: nothing can be judged by them",
        ),
        (not sample.enough, "too few drafts", f"too few: {counted}, and a verdict takes {sample.least:,.0f}"),
        (
            not sample.draft_tokens,
            "drafts hold no tokens",
            f"{counted}, and not one token in them: is every draft voided by a grammar, or does a counter stand still?",
        ),
    )
    found = (Verdict(says=None, advice=None, reasons=(why,), withheld=short) for holds, short, why in reasons if holds)
    return next(found, None)


def _verdict(case: Case) -> Verdict:
    chosen = ADVICE.of(case.numbers.value(advice)) or ADVICE.choices["keep"]
    said = expected_speedup.step_of(case.numbers.value(expected_speedup) or 0.0, case.settings).says
    words = _Words(case)
    reasons = (words.format(VERDICT_REASON), words.format(chosen.reason), *_of_best_k(case))
    return Verdict(says=said, advice=chosen.code.says, reasons=tuple(filter(None, reasons)))


def _of_best_k(case: Case) -> tuple[str, ...]:
    numbers = case.numbers
    best, now, at_best = (numbers.value(signal) or 0.0 for signal in (best_k, expected_speedup, best_speedup))
    k = numbers.value(configured_k) or 0.0
    told = _Words(case).format("{best_k.title} is {best_k}: {expected_speedup.title!l} {best_speedup}")
    if best < k:
        gain = at_best / now - 1
        # Nothing is gained where several k are as fast, or where K lies deeper than is judged.
        gained = f"{told}, {gain:.1%} more than K = {worded(configured_k, k)} gives now"
        return (gained,) if round(gain, _GAIN_DIGITS) > 0 else ()
    return (f"{told}; longer than K = {worded(configured_k, k)} was not tried",)


def _with_measured(case: Case, verdict: Verdict) -> Verdict:
    """A measured slowdown outweighs what is expected."""
    measured = case.numbers.value(measured_speedup)
    step = None if measured is None else measured_speedup.step_of(measured, case.settings)
    if step is None or step.status is not Status.BAD:
        return verdict
    value = worded(measured_speedup, measured)
    reason = (
        f"{measured_speedup.title} is {value}, under {case.settings.thresholds.slower:g}: {step.says} than the "
        "baseline's. See first that the load of both is alike, then draft less under load, or turn it off"
    )
    return replace(verdict, reasons=(reason, *verdict.reasons), measured=f"{step.says} (measured {value})")


class _Words(string.Formatter):
    """A reason with values: `{acceptance}` is the signal's value in words, `!l` begins a title in lower case."""

    def __init__(self, case: Case) -> None:
        self._case = case

    def get_value(self, key: int | str, args: object, kwargs: object) -> object:  # noqa: ARG002
        """A signal, or a table of the settings."""
        settings = self._case.settings
        return _BY_NAME.get(str(key)) or {"thresholds": settings.thresholds, "costs": settings.draft_cost}[str(key)]

    def convert_field(self, value: Any, conversion: str | None) -> Any:  # noqa: ANN401
        """A title within a sentence."""
        return within(value) if conversion else value

    def format_field(self, value: object, format_spec: str) -> str:
        """The value of a signal; with a format as a number."""
        if not isinstance(value, Signal):
            return format(value, format_spec)
        found = self._case.numbers.value(value)
        return format(found, format_spec) if format_spec else worded(value, found)
