"""Compares two sides: speedup, cost, verdict, tail, gates and notes."""

import math
from collections.abc import Iterator, Mapping
from dataclasses import replace

from draftboard.compare.gates import (
    drop_gate,
    interval_in_words,
    speedup_gate,
    too_few,
    too_few_samples,
    too_few_windows,
)
from draftboard.compare.objects import Comparison, Cost, Measured, Row, Tail, Value, Variant, Verdict
from draftboard.compare.rows import apart, groups, in_words, value_of
from draftboard.compare.sides import Side, Sides, conditions, engines_in_words, over, trend
from draftboard.durations import Duration
from draftboard.errors import DraftboardError
from draftboard.report import SOONER, Felt, Speculation, named, standardised, warnings, why_none
from draftboard.settings import Settings
from draftboard.signals.acceptance import coverage, draft_length, tokens_per_step
from draftboard.signals.economics import expected_speedup, needed_per_step
from draftboard.signals.latency import FELT, per_token, step
from draftboard.signals.signal import Code, within, worded
from draftboard.signals.users import measured_speedup, speedup_band
from draftboard.status import Status

_DEFAULTS = Settings()
_MEAN = "model.latency.per_token.mean"
_WAITING = "model.traffic.requests_waiting"
_WHOLE = 0.99  # Coverage from which nearly every step drafts.
MIXED = Code(3, "mixed workload: median better, P99 worse", Status.WARN)
APART = Code(2, "P99 further above the median, and not better", Status.WARN)
LESS = Code(1, "P99 better, but by less than the median", Status.GOOD)
TOGETHER = Code(0, "P99 in line with the median", Status.GOOD)
CODES = (TOGETHER, LESS, APART, MIXED)
_JUDGED_BY = ("per_token", "end_to_end")
_COARSE = (
    f"P50 or P99 of {' and '.join(within(FELT[name].title) for name in _JUDGED_BY)} is below the histogram's "
    "resolution: use finer buckets (--custom-histogram-buckets, vLLM 0.32 and newer)"
)
_NO_PERCENTILES = "the engine exports no percentiles"
_BY_SAMPLE: Mapping[str, tuple[str, ...]] = {
    "requests": (),
    "tokens": ("The engine does not count requests: times are judged by tokens, acceptance by drafts",),
}
_NEXT = (
    "Run the same load on the candidate with homogeneous prompts at a low temperature, save its report, and compare "
    "again with --confirm REPORT: a better P99 there confirms mixed work as the reason."
)


def compare(
    baseline: Side,
    candidate: Side,
    settings: Settings = _DEFAULTS,
    *,
    force: bool = False,
    max_drop_pp: float | None = None,
    min_speedup: float | None = None,
    whole_interval: bool = False,
    gpu_hour_price: float | None = None,
    gpus: int = 1,
    baseline_gpus: int | None = None,
    confirmation: Side | None = None,
    sessions: Duration | None = None,
) -> Comparison:
    """Compare a candidate with a baseline; DraftboardError where the runs differ, unless `force`.

    `whole_interval` requires the whole 95 % interval of a gate's value to be within the limit.
    `gpu_hour_price` is of one GPU, `gpus` are those of an engine; the baseline's engines have as many, or
    `baseline_gpus`. `confirmation` is the candidate again, under the same load of homogeneous work, to explain a worse
    tail. `sessions` is how long a session stays with a server: of runs that hold too few of them nothing is judged.
    """
    sides, hardware = (baseline, candidate), (baseline_gpus or gpus, gpus)
    if few := too_few_windows(sides, sessions):
        sides = baseline.without_parts(), candidate.without_parts()
    unlike, unknown = conditions(sides, settings)
    if hardware[0] != hardware[1]:
        unlike += (f"{hardware[0]} against {hardware[1]} GPUs per engine",)
    if unlike and not force:
        raise DraftboardError(
            f"not comparable: {'; '.join(unlike)} (load and lengths may differ by {settings.thresholds.load:.0%}); "
            "use --force to compare anyway"
        )
    alike = baseline.engines == candidate.engines is not None and hardware[0] == hardware[1]
    if gpu_hour_price is not None and not alike:
        used = " against ".join(
            f"{engines_in_words(side.engines)} with {count} GPU{'s' if count > 1 else ''} each"
            for side, count in zip(sides, hardware, strict=True)
        )
        raise DraftboardError(
            f"cost is not comparable: {used}; measure as many on each side, or leave out --gpu-hour-price"
        )
    busy = min(side.at(_WAITING) or 0.0 for side in sides) >= 1
    measured, compared = _measured(sides, settings, alike=alike, busy=busy), groups(sides)
    gates = []
    if max_drop_pp is not None:
        gates.append(drop_gate(sides, max_drop_pp, settings, whole=whole_interval, few=few))
    if min_speedup is not None:
        gates.append(speedup_gate(sides, measured, min_speedup, settings, whole=whole_interval, few=few))
    return Comparison(
        baseline=_variant(baseline),
        candidate=_variant(candidate),
        unlike=unlike,
        verdict=_verdict(sides, measured, settings, few),
        measured=measured,
        tail=_tail(sides, {row.name: row for group in compared for row in group.rows}, settings, confirmation),
        cost=None if gpu_hour_price is None else _cost(sides, gpu_hour_price, gpus, busy=busy),
        groups=compared,
        gates=tuple(gates),
        notes=(*_BY_SAMPLE[baseline.sample], *_notes(sides, measured, unknown, settings, few)),
    )


def _variant(side: Side) -> Variant:
    of_model = {name: getattr(side.model, name) for name in ("model", "method", "labels", "state")}
    of_report = {name: getattr(side.report, name) for name in ("origin", "sources", "taken_at", "seconds", "sampling")}
    counted = {name: getattr(side, name) for name in ("engines", "requests", "tokens", "drafts")}
    return Variant(name=named(side.model), **counted, **of_model, **of_report)


def _measured(sides: Sides, settings: Settings, *, alike: bool, busy: bool) -> Measured:
    def gain(path: str) -> float | None:
        return over(sides[1].at(path), sides[0].at(path))

    drafting = None if sides[0].model.speculation else sides[1].model.speculation
    steps, speedup = gain("model.latency.step.mean"), over(sides[0].at(_MEAN), sides[1].at(_MEAN))
    old, new = (side.ratios.get(per_token.mean.name) for side in sides)
    drafted = drafting.draft_length if drafting else None
    implied = steps - drafted * drafting.draft_cost if drafting and drafted is not None and steps else None
    throughput = over(*(side.per_engine("model.traffic.generation_tokens") for side in reversed(sides)))
    return Measured(
        speedup=speedup,
        speedup_interval=old.over(new) if speedup and old and new else None,
        standardised=standardised(sides[0].model.parts, sides[1].model.parts, settings) if speedup else None,
        throughput=throughput,
        step_cost=steps,
        speedup_by_steps=over(gain("model.traffic.tokens_per_step"), steps),
        implied_v=implied,
        draft_cost=drafting.draft_cost if drafting and steps else None,
        saving=1 - 1 / throughput if throughput and alike and busy else None,
    )


def _cost(sides: Sides, gpu_hour_price: float, gpus: int, *, busy: bool) -> Cost:
    rates = [side.per_engine("model.traffic.generation_tokens") for side in sides]
    before, after = (
        gpu_hour_price * gpus / (rate * 3600) * 1e6 if busy and rate and rate > 0 else None for rate in rates
    )
    return Cost(gpu_hour_price=gpu_hour_price, gpus=gpus, baseline=before, candidate=after)


def _verdict(sides: Sides, measured: Measured, settings: Settings, few: str) -> Verdict:
    small, speedup = few or too_few_samples(sides, settings), measured.speedup
    if small or speedup is None:
        return Verdict(says=None, reasons=(small or f"{per_token.title} is 0 on a side: no ratio exists",))
    before, after = (worded(per_token.mean, side.at(_MEAN)) for side in sides)
    gain = f"{speedup:.2f}{interval_in_words(measured.speedup_interval)}"
    reasons = [f"{per_token.mean.title} {before} against {after}: {within(measured_speedup.title)} {gain}"]
    if measured.step_cost is not None and measured.speedup_by_steps is not None:
        plain, yielded = (worded(tokens_per_step, side.model.traffic.tokens_per_step) for side in sides)
        reasons.append(
            f"A step takes {measured.step_cost:.2f} times as long and yields {yielded} tokens, the baseline's {plain}: "
            f"speedup by decode steps {measured.speedup_by_steps:.2f}"
        )
    # Clients that keep a fixed number of requests in flight would make both equal.
    if measured.throughput is not None and trend(speedup, 1, settings) * trend(measured.throughput, 1, settings) < 0:
        waits = "longer" if speedup < 1 else "less: fewer requests fit (KV cache), or fewer arrived"
        reasons.append(
            f"Throughput per engine is {measured.throughput:.2f} times the baseline's, but each user waits {waits}"
        )
    felt = Felt(end_to_end=_both(sides, "end_to_end"), first_token=_both(sides, "first_token"))
    band = speedup_band(speedup, measured.speedup_interval, settings)
    says = SOONER.says if felt.withheld and band.name == measured_speedup.bands[-1].name else band.says
    return Verdict(says=says, reasons=(*reasons, *felt.reasons(settings)))


def _both(sides: Sides, time: str) -> tuple[float | None, float | None]:
    before, after = (side.at(f"model.latency.{time}.mean") for side in sides)
    return before, after


def _tail(sides: Sides, rows: Mapping[str, Row], settings: Settings, third: Side | None) -> Tail:
    """Judges the tail by the first latency with enough resolution; `third` is the candidate with homogeneous work."""
    if sides[0].sample != "requests":
        return Tail(says=None, of=None, reasons=(_NO_PERCENTILES,), next=None, confirmed=None)
    least, fewest = settings.traffic.requests_to_compare_tails, min(side.samples for side in sides)
    small = f"too few requests: {fewest:,.0f} on a side (minimum {least:,.0f})" if fewest < least else ""
    for name in () if small else _JUDGED_BY:
        p50, p99 = rows.get(f"{name}_p50"), rows.get(f"{name}_p99")
        code = _code(p50, p99, settings) if p50 and p99 else None
        if p50 and p99 and code:
            resolved = apart(p50.baseline, p99.baseline) and apart(p50.candidate, p99.candidate)
            was, now = over(p99.baseline.value, p50.baseline.value), over(p99.candidate.value, p50.candidate.value)
            ratios = f"; P99 / median {was:.2f} to {now:.2f}" if was and now and resolved else ""
            median, slowest = (f"{in_words(row, row.baseline)} to {in_words(row, row.candidate)}" for row in (p50, p99))
            reason = f"{FELT[name].title}: P50 {median}, P99 {slowest}{ratios}"
            tail = Tail(says=code.says, of=name, reasons=(reason,), next=None, confirmed=None)
            return _explained(tail, p99, third, settings) if code in {MIXED, APART} else tail
    return Tail(says=None, of=None, reasons=(small or _COARSE,), next=None, confirmed=None)


def _code(p50: Row, p99: Row, settings: Settings) -> Code | None:
    noise = settings.thresholds.slower
    median, slowest = (_gain(row.baseline, row.candidate, noise) for row in (p50, p99))
    if median is None or slowest is None:
        return None
    if median > 0 > slowest:
        return MIXED
    # Even a median below resolution bounds its ratio to P99.
    now, was = over(p99.candidate.value, _range(p50.candidate)[1]), over(_range(p99.baseline)[1], p50.baseline.value)
    if now is None or was is None or now <= settings.thresholds.tail * was:
        return TOGETHER
    return LESS if slowest > 0 else APART


def _explained(tail: Tail, p99: Row, third: Side | None, settings: Settings) -> Tail:
    if third is None:
        return replace(tail, next=_NEXT)
    alone, least = value_of(third, f"model.latency.{tail.of}.p99"), settings.traffic.requests_to_compare_tails
    gain = _gain(p99.candidate, alone, settings.thresholds.slower) if third.samples >= least else None
    runs = f"P99 {in_words(p99, alone)} with homogeneous work, {in_words(p99, p99.candidate)} without"
    says = f"Not confirmed: {runs}: look for another reason, such as load or preemptions"
    if gain is None:
        says = "Inconclusive: the third run has too few requests, or P99 is below the histogram's resolution"
    elif gain > 0:
        says = f"Confirmed: {runs}: mixed work is the reason"
    return replace(tail, reasons=(*tail.reasons, says), confirmed=None if gain is None else gain > 0)


def _gain(before: Value, after: Value, noise: float) -> int | None:
    """1 if better, -1 if worse, 0 within the noise; None where the resolution is too low."""
    (least_before, most_before), (least_after, most_after) = _range(before), _range(after)
    if most_after < noise * least_before:
        return 1
    return -1 if most_before < noise * least_after else 0 if least_before and least_after else None


def _range(value: Value) -> tuple[float, float]:
    return value.value or 0.0, value.value or value.under or math.inf


def _notes(sides: Sides, measured: Measured, unknown: tuple[str, ...], settings: Settings, few: str) -> Iterator[str]:
    if unknown:
        yield f"Unknown on at least one side, so not checked: {', '.join(unknown)}"
    if sides[0].engines != sides[1].engines:
        engines = " against ".join(engines_in_words(side.engines) for side in sides)
        yield f"{engines}: load and throughput are per engine, and no saving is given, which assumes the same GPUs"
    if small := too_few(sides, "drafts", settings.traffic.drafts_to_judge, known=True):
        yield f"Acceptance is not judged: {small}"
    before, after = (side.model.speculation for side in sides)
    if before and after and before.configured_k != after.configured_k:
        drafted = " against ".join(worded(draft_length, each.draft_length) for each in (before, after))
        yield f"Acceptance is not comparable across K: {drafted} tokens drafted; compare by speedup"
    if after and measured.implied_v is not None and measured.step_cost is not None:
        share, alone = after.coverage, measured.implied_v
        if share and share < _WHOLE and after.draft_length is not None:
            # Steps without a draft take as long as plain ones, and are in the mean.
            alone = 1 + (measured.step_cost - 1) / share - after.draft_length * after.draft_cost
            yield (
                f"{coverage.title} is {worded(coverage, share)}, so {within(step.title)} includes plain steps; the "
                f"implied v of steps with a draft is {alone:.2f}"
            )
        yield from _other_costs(after, measured.step_cost, alone, settings)
    for name, side in zip(("Baseline", "Candidate"), sides, strict=True):
        if why := few or why_none(side.model.parts, side.report.origin):
            yield f"{name}: no 95 % intervals: {why}"
        yield from (f"{name}: {note}" for note in (*warnings(side.model), *side.model.notes, *side.report.notes))


def _other_costs(of: Speculation, step_cost: float, inflation: float, settings: Settings) -> Iterator[str]:
    """That a run's costs are not those on which its expected figures rest."""
    resting = f"{expected_speedup.title} and {within(needed_per_step.title)} rest on"
    if of.assumed and of.assumed.step_cost and step_cost not in of.assumed.step_cost:
        yield f"{resting} a step cost of {of.assumed.step_cost} ({of.assumed.basis}); this run had {step_cost:.2f}"
    if not of.assumed and trend(inflation, of.verify_inflation, settings):
        v = f"v = {of.verify_inflation:g} (settings, draft_cost.verify_inflation)"
        yield f"{resting} {v}; this run had {inflation:.2f}"
