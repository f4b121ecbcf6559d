"""The comparison: what two sides say of each other, and what follows from it."""

from dataclasses import dataclass

from draftboard import theory
from draftboard.compare.alike import differences, unknown
from draftboard.compare.gates import Limits, gates
from draftboard.compare.objects import SCHEMA_VERSION, Arm, Comparison, Cost, Measured, Verdict
from draftboard.compare.rows import groups
from draftboard.compare.sides import Side, over
from draftboard.compare.tail import tail
from draftboard.errors import DraftboardError
from draftboard.report import warnings
from draftboard.settings import Settings
from draftboard.signals.acceptance import coverage, draft_length, tokens_per_step
from draftboard.signals.economics import break_even, expected_speedup
from draftboard.signals.latency import per_token, step
from draftboard.signals.signal import within
from draftboard.signals.users import measured_speedup
from draftboard.signals.wording import worded

_DEFAULTS, _NO_LIMITS = Settings(), Limits()
_WHOLE = 0.99
"""Coverage from which nearly every step drafts."""


@dataclass(frozen=True)
class Price:
    """Of what serves, in any currency."""

    gpu_hour: float
    gpus: int = 1
    """On each side."""


def compare(
    baseline: Side,
    candidate: Side,
    settings: Settings = _DEFAULTS,
    *,
    force: bool = False,
    limits: Limits = _NO_LIMITS,
    price: Price | None = None,
    confirmation: Side | None = None,
) -> Comparison:
    """Compare a candidate with a baseline.

    Args:
        baseline: What it is compared with; one without speculation makes the implied verify inflation known.
        candidate: What is judged.
        settings: Thresholds, and how much traffic a verdict takes.
        force: Whether runs that are not alike are compared all the same.
        limits: Gates to judge.
        price: What the GPUs cost.
        confirmation: The candidate again, under the same load of homogeneous work: whether its tail tightens.

    Raises:
        DraftboardError: the runs are not alike, or a gate makes no sense of them.
    """
    unlike = differences(baseline, candidate, settings)
    if unlike and not force:
        raise DraftboardError(
            f"not comparable: {'; '.join(unlike)} (load and lengths may differ by {settings.thresholds.load:.0%}); "
            "--force compares all the same"
        )
    enough = min(baseline.requests, candidate.requests) >= settings.traffic.requests_to_compare
    measured = _measured(baseline, candidate)
    return Comparison(
        schema_version=SCHEMA_VERSION,
        baseline=_arm(baseline),
        candidate=_arm(candidate),
        unlike=unlike,
        verdict=_verdict(baseline, candidate, measured, settings)
        if enough
        else _too_few(baseline, candidate, settings),
        measured=measured,
        tail=tail(baseline, candidate, settings, confirmation),
        cost=_cost(baseline, candidate, price) if price else None,
        groups=groups(baseline, candidate),
        gates=gates(baseline, candidate, measured.speedup if enough else None, limits, settings),
        notes=_notes(baseline, candidate, measured, settings),
    )


def _arm(side: Side) -> Arm:
    model, report = side.model, side.report
    return Arm(
        name=side.name,
        model=model.model,
        method=model.method,
        labels=model.labels,
        state=model.state,
        origin=report.origin,
        sources=report.sources,
        taken_at=report.taken_at,
        seconds=report.seconds,
        sampling=report.sampling,
        requests=side.requests,
        drafts=side.drafts,
    )


def _measured(baseline: Side, candidate: Side) -> Measured:
    traffic, steps = (baseline.model.traffic, candidate.model.traffic), _steps(baseline, candidate)
    speedup = over(_mean(baseline), _mean(candidate))
    yielded = over(traffic[1].tokens_per_step, traffic[0].tokens_per_step)
    plain, found = baseline.model.speculation is None, candidate.model.speculation
    implied = steps - found.draft_length * found.draft_cost if plain and found and steps else None
    return Measured(
        speedup=speedup,
        throughput=over(traffic[1].generation_tokens, traffic[0].generation_tokens),
        step_cost=steps,
        speedup_by_steps=over(yielded, steps),
        implied_v=implied,
        draft_cost=found.draft_cost if found and implied is not None else None,
        saving=theory.saving(speedup) if speedup else None,
    )


def _mean(side: Side) -> float | None:
    return side.per_token.mean if side.per_token else None


def _steps(baseline: Side, candidate: Side) -> float | None:
    before, after = baseline.model.latency.step, candidate.model.latency.step
    return over(after.mean, before.mean) if before and after else None


def _cost(baseline: Side, candidate: Side, price: Price) -> Cost:
    def of(side: Side) -> float | None:
        tokens = side.model.traffic.generation_tokens
        return theory.cost_per_million(price.gpu_hour, price.gpus, tokens) if tokens and tokens > 0 else None

    return Cost(gpu_hour_price=price.gpu_hour, gpus=price.gpus, baseline=of(baseline), candidate=of(candidate))


def _too_few(baseline: Side, candidate: Side, settings: Settings) -> Verdict:
    counts = f"{baseline.requests:,.0f} and {candidate.requests:,.0f} finished requests"
    reason = f"too few: {counts}, and a verdict takes {settings.traffic.requests_to_compare:,.0f} on each side"
    return Verdict(says=None, reasons=(reason,))


def _verdict(baseline: Side, candidate: Side, found: Measured, settings: Settings) -> Verdict:
    if found.speedup is None:
        return Verdict(says=None, reasons=(f"{per_token.title} is 0 on a side: nothing can be divided by it",))
    before, after = (worded(per_token.mean, _mean(side)) for side in (baseline, candidate))
    says = measured_speedup.step_of(found.speedup, settings).says
    reason = f"{per_token.mean.title} {before} against {after}: {within(measured_speedup.title)} {found.speedup:.2f}"
    return Verdict(
        says=says, reasons=(reason, *_by_steps(baseline, candidate, found), *_by_throughput(found, settings))
    )


def _by_steps(baseline: Side, candidate: Side, found: Measured) -> tuple[str, ...]:
    """Why: what a step costs more, and what it yields more."""
    if found.step_cost is None or found.speedup_by_steps is None:
        return ()
    plain, yields = (worded(tokens_per_step, side.model.traffic.tokens_per_step) for side in (baseline, candidate))
    told = (
        f"A step takes {found.step_cost:.2f} times as long and yields {yields} tokens, where the baseline's yields "
        f"{plain}: {found.speedup_by_steps:.2f} by decode steps alone"
    )
    return (told,)


def _by_throughput(found: Measured, settings: Settings) -> tuple[str, ...]:
    """Where it and the speedup go apart: clients who keep so many requests in flight would see both alike."""
    noise, speedup, throughput = settings.thresholds.slower, found.speedup, found.throughput
    if speedup is None or throughput is None:
        return ()
    told = f"Throughput is {throughput:.2f} times the baseline's, and yet each user waits"
    if speedup < noise and throughput * noise > 1:
        return (f"{told} longer",)
    if speedup * noise > 1 and throughput < noise:
        return (f"{told} less: do fewer requests fit (KV cache), or did fewer come?",)
    return ()


def _notes(baseline: Side, candidate: Side, found: Measured, settings: Settings) -> tuple[str, ...]:
    return (
        *(
            f"Not known of both, so not checked: {', '.join(names)}"
            for names in [unknown(baseline, candidate)]
            if names
        ),
        *_of_drafts(baseline, candidate, settings),
        *_of_lengths(baseline, candidate),
        *_of_inflation(candidate, found, settings),
        *_of_side("Baseline", baseline),
        *_of_side("Candidate", candidate),
    )


def _of_drafts(baseline: Side, candidate: Side, settings: Settings) -> tuple[str, ...]:
    least = settings.traffic.drafts_to_judge
    few = {name: side.drafts for name, side in (("baseline", baseline), ("candidate", candidate))}
    told = [f"{name} {drafts:,.0f}" for name, drafts in few.items() if 0 < drafts < least]
    return (f"Too few drafts to judge acceptance by: {', '.join(told)}, and it takes {least:,.0f}",) if told else ()


def _of_lengths(baseline: Side, candidate: Side) -> tuple[str, ...]:
    before, after = baseline.model.speculation, candidate.model.speculation
    if not before or not after or before.configured_k == after.configured_k:
        return ()
    drafted = (worded(draft_length, found.draft_length) for found in (before, after))
    return (f"Acceptance is not comparable across K: {' against '.join(drafted)} tokens drafted; go by the speedup",)


def _of_inflation(candidate: Side, found: Measured, settings: Settings) -> tuple[str, ...]:
    """Step latency is of all steps; those without a draft cost what a plain one does."""
    drafting = candidate.model.speculation
    if found.implied_v is None or found.step_cost is None or not drafting:
        return ()
    share, alone, notes = drafting.coverage, found.implied_v, []
    if share and share < _WHOLE:
        alone = 1 + (found.step_cost - 1) / share - drafting.draft_length * drafting.draft_cost
        notes.append(
            f"{coverage.title} is {worded(coverage, share)}: {within(step.title)} is of plain steps, too; of steps "
            f"with a draft alone, the implied v is {alone:.2f}"
        )
    assumed, noise = drafting.verify_inflation, settings.thresholds.slower
    if alone < noise * assumed or assumed < noise * alone:
        notes.append(
            f"{expected_speedup.title} and {within(break_even.title)} rest on v = {assumed:g}, where this run had "
            f"{alone:.2f} (settings, draft_cost.verify_inflation)"
        )
    return tuple(notes)


def _of_side(name: str, side: Side) -> tuple[str, ...]:
    told = (*warnings(side.model), *side.model.notes, *side.report.notes)
    return tuple(f"{name}: {note}" for note in told)
