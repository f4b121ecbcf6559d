"""From sums to a judgement: the numbers, the verdict, and the sentences that give its reasons."""

from collections.abc import Sequence
from dataclasses import dataclass, replace

from draftboard import theory
from draftboard.report.histogram import Distribution
from draftboard.report.objects import Broken, Latencies, Latency, Sample, Speculation, Traffic, Verdict
from draftboard.report.totals import Totals
from draftboard.settings import Settings
from draftboard.signals.acceptance import acceptance, acceptance_length, draft_length
from draftboard.signals.comparison import acceptance_change
from draftboard.signals.decisions import ADVICE, STATES
from draftboard.signals.depth import configured_k, first_position, last_position
from draftboard.signals.economics import BREAK_EVEN, best_k, best_speedup, break_even, expected_speedup
from draftboard.signals.integrity import IDENTITIES
from draftboard.signals.judgement import Case, state_of
from draftboard.signals.signal import Code, within
from draftboard.signals.state import DOWN
from draftboard.signals.users import measured_speedup
from draftboard.signals.wording import worded
from draftboard.status import Status

V0_ENGINE = Code(-1, "vLLM's V0 engine", Status.WARN)
_QUIET = {
    STATES["off"]: "no series of speculation is exposed: the server was started without a speculative configuration",
    STATES["idle"]: "nothing was generated, so there is nothing to judge",
    STATES["not drafting"]: "tokens were generated without a single draft: no text repeats (n-gram, suffix), or K is 0 "
    "under load",
    STATES["silent"]: "no vLLM series is exposed: started with --disable-log-stats, or not a vLLM server",
    DOWN: "the server does not answer",
    STATES["starting"]: "the server has not answered yet",
    V0_ENGINE: "it does not count drafts, so there is no mean acceptance length, and its ratio counts tokens behind a "
    "rejection, too: vLLM 0.10 and newer tell what is needed",
}
"""Why there is no verdict, by state."""
_GAIN_DIGITS = 3
"""Decimals of a share that is shown in tenths of a per cent."""
_INCOMPLETE = "drafts are counted, but not all that is needed to judge them: is something filtered out of the series?"


@dataclass(frozen=True, kw_only=True)
class Judgement:
    """What a report says of some engines together."""

    state: Code
    verdict: Verdict
    sample: Sample | None
    speculation: Speculation | None
    latency: Latencies
    traffic: Traffic


def judge(
    sums: Totals,
    seconds: float | None,
    method: str,
    settings: Settings,
    *,
    change: float | None = None,
    state: Code | None = None,
    broken: Sequence[Broken] = (),
    measured: float | None = None,
) -> Judgement:
    """Judge what was counted in some seconds, by a method that may be unknown ("").

    `change` is acceptance now over before, where somebody remembers. `state` is told where the counters do not tell.
    `broken` identities leave nothing to judge by. `measured` is the speedup against a baseline, where one runs.
    """
    state = state or state_of(sums.drafts, sums.generation_tokens)
    counted, least = sums.counted, settings.traffic.drafts_to_judge
    latency = Latencies(**{name: _latency(times) for name, times in sums.latencies.items() if times.count})
    traffic = _traffic(sums, seconds)
    if counted is None:
        quiet = Verdict(says=None, advice=None, reasons=(_QUIET.get(state, _INCOMPLETE),))
        verdict = _with_measured(quiet, measured, settings)
        return Judgement(state=state, verdict=verdict, sample=None, speculation=None, latency=latency, traffic=traffic)
    case = Case(
        counted=counted,
        configured_k=sums.configured_k or 0.0,
        method=method,
        settings=settings,
        acceptance_change=change,
    )
    sample = Sample(
        drafts=counted.drafts,
        draft_tokens=counted.draft_tokens,
        accepted_tokens=counted.accepted_tokens,
        accepted_per_position=counted.accepted_per_position,
        least=least,
    )
    verdict = _none_of(sample, broken) or _verdict(case)
    speculation = _speculation(case, sums, seconds, judged=verdict.says is not None)
    verdict = _with_measured(verdict, measured, settings)
    return Judgement(
        state=state, verdict=verdict, sample=sample, speculation=speculation, latency=latency, traffic=traffic
    )


def _speculation(case: Case, sums: Totals, seconds: float | None, *, judged: bool) -> Speculation:
    counted, survival = case.counted, case.survival
    k, at_best = case.best
    drafted, accepted = counted.draft_tokens, counted.accepted_tokens
    return Speculation(
        acceptance=counted.acceptance,
        band=acceptance.step_of(counted.acceptance, case.settings).says if judged else None,
        acceptance_length=counted.acceptance_length,
        break_even=case.break_even,
        draft_length=counted.draft_length,
        configured_k=case.configured_k,
        draft_cost=case.cost,
        verify_inflation=case.inflation,
        expected_speedup=case.expected_speedup,
        best_k=k,
        best_speedup=at_best,
        coverage=_over(counted.drafts, sums.decode_steps),
        share_from_drafts=_over(accepted, sums.generation_tokens),
        draft_efficiency=counted.draft_efficiency,
        wasted_tokens=_over(drafted - accepted, seconds),
        alpha_hat=counted.alpha_hat,
        first_position=survival[0],
        last_position=case.last_position,
        survival=survival,
        conditional_acceptance=theory.conditional_acceptance(survival),
        accepted_length_share=theory.accepted_length_shares(survival),
        tokens_per_step_at=theory.tokens_per_step_at(survival),
        speedup_at=case.speedup_at,
    )


def _traffic(sums: Totals, seconds: float | None) -> Traffic:
    yielded = None
    if sums.generation_tokens is not None and sums.first_tokens is not None:
        yielded = _over(sums.generation_tokens - sums.first_tokens, sums.decode_steps)
    return Traffic(
        generation_tokens=_over(sums.generation_tokens, seconds),
        prompt_tokens=_over(sums.prompt_tokens, seconds),
        request_rate=_over(sums.requests, seconds),
        tokens_per_step=yielded,
        prompt_length=_over(sums.prompt_tokens, sums.first_tokens),
        answer_length=_over(sums.generation_tokens, sums.first_tokens),
        generated=sums.generation_tokens,
        requests=sums.requests,
        requests_running=sums.requests_running,
        requests_waiting=sums.requests_waiting,
        kv_cache_usage=sums.kv_cache_usage,
        prefix_cache_hits=sums.prefix_cache_hits,
    )


def _latency(times: Distribution) -> Latency:
    return Latency(
        count=times.count,
        mean=times.mean,
        p50=times.quantile(0.5),
        p95=times.quantile(0.95),
        p99=times.quantile(0.99),
        resolution=times.resolution,
        unresolved=times.unresolved,
    )


def _over(part: float | None, whole: float | None) -> float | None:
    """No traffic gives no ratio, as in the records."""
    return part / whole if part is not None and whole else None


def broken_identities(sums: Totals, engine: str, settings: Settings) -> tuple[Broken, ...]:
    """What an engine's own counters contradict: the positions that it lacks, and identities that vLLM's code holds."""
    errors = sums.counted.identity_errors if sums.counted else {}
    return missing_positions(sums, engine) + tuple(
        Broken(identity=name, says=IDENTITIES[name], error=error, engine=engine)
        for name, error in errors.items()
        if error > settings.thresholds.inconsistent
    )


def missing_positions(sums: Totals, engine: str) -> tuple[Broken, ...]:
    """Broken where a position lacks that a deeper one needs: K cannot be read then, nor survival."""
    missing = sums.missing_positions
    if not missing:
        return ()
    deepest = max(sums.accepted_by_position)
    says = f"position {deepest} is counted without {len(missing)} of the {deepest} positions before it"
    return (Broken(identity="positions_missing", says=says, error=len(missing) / (deepest + 1), engine=engine),)


def _none_of(sample: Sample, broken: Sequence[Broken]) -> Verdict | None:
    """Why drafts get no verdict; None where they can be judged."""
    drafts = f"{sample.drafts:,.0f} draft{'' if round(sample.drafts) == 1 else 's'}"
    if broken:
        why = "counters contradict each other"
        return _withheld(why, f"{why}: nothing can be judged by them")
    if not sample.enough:
        return _withheld("too few drafts", f"too few: {drafts}, and a verdict takes {sample.least:,.0f}")
    if not sample.draft_tokens:
        # Under structured output a grammar may void all that was drafted; not all of the time.
        reason = (
            f"{drafts}, and not one token in them: is every draft voided by a grammar, or does a counter stand still?"
        )
        return _withheld("drafts hold no tokens", reason)
    return None


def _withheld(why: str, reason: str) -> Verdict:
    return Verdict(says=None, advice=None, reasons=(reason,), withheld=why)


def _with_measured(verdict: Verdict, measured: float | None, settings: Settings) -> Verdict:
    """A measured slowdown outweighs what is expected."""
    step = None if measured is None else measured_speedup.step_of(measured, settings)
    if step is None or step.status is not Status.BAD:
        return verdict
    value = worded(measured_speedup, measured)
    reason = (
        f"{measured_speedup.title} is {value}, under {settings.thresholds.slower:g}: {step.says} than the baseline's. "
        "See first that the load of both is alike, then draft less under load, or turn it off"
    )
    return replace(verdict, reasons=(reason, *verdict.reasons), measured=f"{step.says} (measured {value})")


def _verdict(case: Case) -> Verdict:
    counted = case.counted
    pays = (
        f"{acceptance_length.title} {worded(acceptance_length, counted.acceptance_length)} tokens, "
        f"{within(break_even.title)} {worded(break_even, case.break_even)} "
        f"({worded(draft_length, counted.draft_length)} drafted x c {case.cost:g} + v {case.inflation:g}): "
        f"{within(expected_speedup.title)} {worded(expected_speedup, case.expected_speedup)} times plain decoding"
    )
    reasons = (pays, *_of_advice(case), *_of_best_k(case))
    return Verdict(says=case.verdict.says, advice=case.advice.says, reasons=reasons)


def _of_best_k(case: Case) -> tuple[str, ...]:
    k, at_best = case.best
    gain, most = at_best / case.expected_speedup - 1, f"K = {worded(configured_k, case.configured_k)}"
    promised = f"{best_k.title} is {k}: {within(expected_speedup.title)} {worded(best_speedup, at_best)}"
    if k < case.configured_k:
        # Nothing is gained where several k are as fast, or where K lies deeper than is judged.
        return (f"{promised}, {gain:.1%} more than {most} gives now",) if round(gain, _GAIN_DIGITS) > 0 else ()
    return (f"{promised}; longer than {most} was not tried",)


def _of_advice(case: Case) -> tuple[str, ...]:
    """Why just this is advised; to keep things needs no further reason."""
    t, survival = case.settings.thresholds, case.counted.survival
    last = f"{last_position.title} in {worded(last_position, case.last_position)} of drafts"
    reasons = {
        "workload": f"{acceptance_change.title} is {worded(acceptance_change, case.acceptance_change)}, "
        f"under {t.drop:.0%}: workload or drafter changed, and no K mends that",
        "off": f"no k is expected to reach {BREAK_EVEN:g}, what plain decoding gives",
        "drafter": f"{first_position.title} in {worded(first_position, survival[0])} of drafts, "
        f"under {t.first_position:.0%}: this drafter is misaligned with its target",
        "shorter": f"{last}, which yields less than it costs",
        "longer": f"{last}, over {t.last_position_high:.0%}: a longer draft may still be accepted",
    }
    return tuple(reason for name, reason in reasons.items() if ADVICE[name] == case.advice)
