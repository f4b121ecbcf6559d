"""Whether speculation pays, and on what that rests."""

from collections.abc import Mapping, Sequence

from draftboard.evidence import SETTLES, UNKNOWN_LOAD
from draftboard.expr.nodes import Condition, Expr, If, IsSet, first_of
from draftboard.quantity import Setting
from draftboard.signals import economics, users
from draftboard.signals.acceptance import tokens_per_step
from draftboard.signals.alike import OBJECTION, no_sooner, objection
from draftboard.signals.baseline import METHOD
from draftboard.signals.costs import ASSUMED as COSTS_ASSUMED
from draftboard.signals.costs import KEEPS_A_PAST, batch_to_baseline, decode_batch, step_cost
from draftboard.signals.decision import Choice, Decision
from draftboard.signals.integrity import contradicting
from draftboard.signals.signal import Band, Code, Signal, Unit
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


def _rows(
    bands: Sequence[Band],
    is_in: Mapping[str, Expr],
    basis: str,
    first: int,
    reason: str,
    *,
    where: Expr = enough_drafts,
    possible: Condition | None = None,
) -> dict[str, Choice]:
    """A row for each band of a speedup, from the lowest; codes are counted from `first`, `is_in` says when it holds."""
    return {
        f"{band.name}, {basis}": Choice(
            Code(first + number, f"{band.says} ({basis})", band.status),
            is_in[band.name] & where,
            reason.replace("{basis}", basis),
            basis,
            possible,
        )
        for number, band in enumerate(bands)
    }


_LOSES, _EVEN, _PAYS = economics.SPEEDUP_BANDS
UNCLEAR = Band("unclear", _EVEN.at, Status.ODD)
"""Where it depends on the costs whether speculation pays."""
_not_all = economics.expected_speedup_low < Setting("thresholds.pays_clearly")
_EXPECTED_IS = {
    _LOSES.name: economics.expected_speedup_high < economics.BREAK_EVEN,
    _EVEN.name: _not_all,
    UNCLEAR.name: _not_all,
    _PAYS.name: economics.expected_speedup_low,
}
"""What holds at both ends, from the first on; between measured costs, which are one number, is about even."""
_calibrated = enough_drafts.where(METHOD, Setting("draft_cost.calibrated"))

_SLACK = 0.05
"""What rounding, and windows a scrape apart, may amount to."""
_alike = 1 - Setting("thresholds.load")
_known_costs = If(IsSet("draft_cost.calibrated"), first_of(step_cost, _calibrated), step_cost)
_NOT_ALIKE = "The variants are not alike: {what}s of {{{what}_length}} against {{baseline_{what}_length}} tokens"


def _refuted(code: int, says: str, when: Expr, reason: str) -> Choice:
    return Choice(Code(code, says, Status.ODD), when & enough_drafts, reason, possible=KEEPS_A_PAST)


_uneven = first_of(
    (batch_to_baseline < _alike) * users.measured_speedup < _alike,
    (batch_to_baseline > 1 / _alike) * users.measured_speedup > 1 / _alike,
)
"""Where batches differ by more than sooner answers empty them at an equal request rate."""
_REFUTED = {
    "unlike prompts": _refuted(
        *(17, "variants not alike: prompts", OBJECTION.any_of(objection, "prompts")),
        _NOT_ALIKE.format(what="prompt") + ", or one finds far more of them in its prefix cache",
    ),
    "unlike answers": _refuted(
        *(18, "variants not alike: answers", OBJECTION.any_of(objection, "answers")), _NOT_ALIKE.format(what="answer")
    ),
    "unlike batches": _refuted(
        *(23, "variants not alike: batches", _uneven),
        "Decode steps are in batches of {batch_to_baseline} times the baseline's, more than a speedup of "
        "{measured_speedup} changes them: requests gather on few engines of one side",
    ),
    "too fast": _refuted(
        *(19, "measured above tokens per step", users.measured_speedup * _alike > tokens_per_step),
        "{measured_speedup.title} {measured_speedup} is above {tokens_per_step.within} ({tokens_per_step}), which none "
        "can be: the variants differ in something else",
    ),
    "too cheap": _refuted(
        *(20, "measured steps below plain ones", step_cost < 1 - _SLACK),
        "A step takes {step_cost} times the baseline's, where none with drafts takes less than a plain one: the "
        "variants differ in something else",
    ),
    "apart": _refuted(
        21,
        "users and steps disagree",
        first_of(
            users.measured_speedup < economics.expected_speedup_low * _alike,
            users.measured_speedup * _alike > economics.expected_speedup_high,
        )
        & _known_costs,
        "Users' times say {measured_speedup}, and {tokens_per_step.within} over the known cost of a step say "
        "{expected_speedup_low} to {expected_speedup_high}",
    ),
}
"""What numbers of one page cannot be at once, but for what like load allows: looked at before any verdict."""
REFUTED = tuple(_REFUTED)

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
        **_REFUTED,
        **_rows(users.measured_speedup.bands[:-1], users.speedup_is, MEASURED, 3, _BY_USERS),
        "sooner": Choice(
            Code(22, f"tokens come sooner, answers do not ({MEASURED})", Status.WARN),
            no_sooner & users.measured_speedup & enough_drafts,
            _BY_USERS,
            MEASURED,
        ),
        **_rows(users.measured_speedup.bands[-1:], users.speedup_is, MEASURED, 5, _BY_USERS),
        **_rows(
            *(economics.SPEEDUP_BANDS, _EXPECTED_IS, BY_STEPS, 10, _BY_STEPS),
            where=enough_drafts & step_cost,
            possible=KEEPS_A_PAST,
        ),
        **_rows(
            *(economics.SPEEDUP_BANDS, _EXPECTED_IS, "calibrated", 13, _BY_COSTS),
            where=_calibrated,
            possible=IsSet("draft_cost.calibrated"),
        ),
        **_rows((_LOSES, UNCLEAR, _PAYS), _EXPECTED_IS, ASSUMED, 0, _BY_COSTS),
        "unknown load": Choice(
            Code(16, UNKNOWN_LOAD, Status.ODD),
            (drafts > 0) & (decode_batch > Setting("draft_cost.largest_batch")),
            f"No published measurement had a batch of {{decode_batch:,.0f}} requests: {SETTLES}",
            possible=COSTS_ASSUMED,
        ),
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
    "step times measured in batches of the same size, with calibrated costs, or what holds at both ends of assumed "
    "ones.",
    action="Where speculation costs more than it saves, follow the advice.",
    note="The expected speedup is that over all decode steps. Unclear: it pays at one end of the costs, not at the "
    "other. Withheld where the counters contradict each other, where numbers disprove a measurement, or where there "
    "are too few drafts. The bounds are settings.",
    unit=Unit.CODE,
    expr=VERDICT.expr,
    record="vllm_spec_decode_verdict:enum_rate{window}",
    codes=VERDICT.codes,
)

loses = VERDICT.any_of(verdict, *(f"loses, {basis}" for basis in _EXPECTATIONS))
"""Where it is expected, at all costs, that speculation costs more than it saves, and users' own times do not tell."""
refuted = VERDICT.any_of(verdict, *REFUTED)
"""Where numbers disprove a measurement, so that there is no verdict."""
unclear = VERDICT.any_of(verdict, f"{UNCLEAR.name}, {ASSUMED}", "unknown load")
"""Where it depends on costs that nobody measured whether speculation pays."""


def verdict_is(band: str, measured: str, *further: str) -> Expr:
    """Where the verdict is this band of the expected speedup, or that one of the measured, or one of these rows."""
    rows = (f"{measured}, {MEASURED}", *further, *(f"{band}, {basis}" for basis in _EXPECTATIONS))
    return VERDICT.any_of(verdict, *(row for row in rows if row in VERDICT.choices))


even = verdict_is("even", "even", "sooner")
"""Where speculation gains about nothing."""
