"""Whether speculation pays, and on what that rests."""

from collections.abc import Mapping

from draftboard.expr.nodes import Condition, Expr, IsSet
from draftboard.quantity import Setting
from draftboard.signals import economics, users
from draftboard.signals.baseline import METHOD
from draftboard.signals.costs import KEEPS_A_PAST, step_cost
from draftboard.signals.decision import Choice, Decision
from draftboard.signals.integrity import contradicting
from draftboard.signals.signal import Code, Signal, Unit
from draftboard.signals.traffic import draft_tokens, drafts, enough_drafts
from draftboard.status import Status

_EXPECTED = (
    "{tokens_per_step.title} {tokens_per_step}, {needed_per_step.within} {needed_per_step}: {expected_speedup.within} "
    "{expected_speedup} times plain decoding, over all steps "
)
_BY_COSTS = _EXPECTED + "(c {draft_cost:g} and v {verify_inflation:.3g} are {basis})"
_BY_STEPS = _EXPECTED + "(a step takes {step_cost} times the baseline's, in batches of the same size)"
MEASURED = "measured"
"""The basis of a verdict that rests on users' own times."""
BY_STEPS = "measured by steps"
"""The basis of a verdict that rests on step times in batches of the baseline's size."""
ASSUMED = "assumed"
"""The basis of a verdict that rests on costs that nobody measured."""
_BY_USERS = "{measured_speedup.title} {measured_speedup} against the baseline at like load"


def _by_bands(
    signal: Signal,
    basis: str,
    first: int,
    reason: str,
    *,
    is_in: Mapping[str, Expr] | None = None,
    where: Expr = enough_drafts,
    possible: Condition | None = None,
) -> dict[str, Choice]:
    """A row for each band of a speedup, from the lowest; codes are counted from `first`.

    `is_in` says by band when it holds, where its bound alone does not.
    """
    bands = signal.bands
    return {
        f"{band.name}, {basis}": Choice(
            Code(first + number, f"{band.says} ({basis})", band.status),
            (is_in[band.name] if is_in else signal if upper is None else signal < upper) & where,
            reason.replace("{basis}", basis),
            basis,
            possible,
        )
        for number, (band, upper) in enumerate(zip(bands, (*(band.at for band in bands[1:]), None), strict=True))
    }


_calibrated = enough_drafts.where(METHOD, Setting("draft_cost.calibrated"))

# A measurement outranks what is expected; neither counts where the counters themselves are wrong, or too few.
VERDICT = Decision(
    {
        "contradiction": Choice(
            Code(6, "counters contradict each other", Status.ODD),
            drafts & contradicting,
            "The counters contradict each other, so there is no verdict",
        ),
        "few drafts": Choice(
            Code(7, "not enough drafts", Status.QUIET),
            (drafts > 0).combined("unless", enough_drafts),
            "Not enough drafts ({drafts_in_window} of {least.drafts_to_judge:g})",
        ),
        "empty": Choice(
            Code(9, "drafts hold no tokens", Status.ODD),
            (drafts > 0) & draft_tokens.equals(0),
            "No token was drafted: a grammar rejects every draft, or a counter does not increase",
        ),
        **_by_bands(users.measured_speedup, MEASURED, 3, _BY_USERS, is_in=users.speedup_is),
        **_by_bands(
            *(economics.expected_speedup, BY_STEPS, 10, _BY_STEPS),
            where=enough_drafts & step_cost,
            possible=KEEPS_A_PAST,
        ),
        **_by_bands(
            *(economics.expected_speedup, "calibrated", 13, _BY_COSTS),
            where=_calibrated,
            possible=IsSet("draft_cost.calibrated"),
        ),
        **_by_bands(economics.expected_speedup, ASSUMED, 0, _BY_COSTS),
        "unknown": Choice(
            Code(8, "decode steps are unknown", Status.ODD),
            drafts > 0,
            "The share of steps with a draft needs inter_token_latency_seconds, generated and drafted tokens, of which "
            "one is not exposed",
        ),
    }
)

_EXPECTATIONS = (BY_STEPS, "calibrated", ASSUMED)

verdict = Signal(
    name="verdict",
    title="Verdict",
    question="Does speculation pay for this model?",
    description="Measured speedup against a baseline at like load, where there is one; else the expected speedup: with "
    "step times measured in batches of the same size, with calibrated costs, or with assumed ones.",
    action="Where speculation costs more than it saves, follow the advice.",
    note="The expected speedup is that over all decode steps. Withheld where the counters contradict each "
    "other or there are too few drafts. The bounds are settings.",
    unit=Unit.CODE,
    expr=VERDICT.expr,
    record="vllm_spec_decode_verdict:enum_rate{window}",
    codes=VERDICT.codes,
)

loses = VERDICT.any_of(verdict, *(f"loses, {basis}" for basis in _EXPECTATIONS))
"""Where it is expected that speculation costs more than it saves, and users' own times do not tell."""


def verdict_is(band: str, measured: str) -> Expr:
    """Where the verdict is this band of the expected speedup, or that one of the measured."""
    return VERDICT.any_of(verdict, f"{measured}, measured", *(f"{band}, {basis}" for basis in _EXPECTATIONS))
