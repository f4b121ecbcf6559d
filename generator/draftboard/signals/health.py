"""The health of a model: its state and verdict in one word, the worst first."""

from draftboard.expr.nodes import first_of
from draftboard.signals.decision import Choice, Decision
from draftboard.signals.signal import Code, Signal, Unit
from draftboard.signals.states import STATES, state
from draftboard.signals.verdicts import VERDICT, verdict, verdict_is
from draftboard.status import Status

# Codes in order of badness, so that the least is the worst.
HEALTH = Decision(
    {
        "down": Choice(Code(0, "down", Status.DOWN), STATES.any_of(state, "down")),
        "costs more": Choice(Code(1, "costs more", Status.BAD), verdict_is("loses", "slower")),
        "about even": Choice(Code(3, "about even", Status.WARN), verdict_is("even", "even")),
        "pays": Choice(Code(5, "pays", Status.GOOD), verdict_is("pays", "faster")),
        "unclear": Choice(
            Code(4, "unclear", Status.ODD),
            first_of(VERDICT.any_of(verdict, "contradiction", "empty", "unknown"), STATES.any_of(state, "silent")),
        ),
        # The verdict follows the state by an evaluation.
        "few drafts": Choice(
            Code(6, "few drafts", Status.QUIET),
            first_of(VERDICT.any_of(verdict, "few drafts"), STATES.any_of(state, "drafting")),
        ),
        "not drafting": Choice(Code(2, "not drafting", Status.STUCK), STATES.any_of(state, "not drafting")),
        "idle": Choice(Code(7, "idle", Status.QUIET), STATES.any_of(state, "idle")),
        "off": Choice(Code(8, "off", Status.OFF), STATES.any_of(state, "off")),
        "starting": Choice(Code(9, "starting", Status.STARTING), STATES.any_of(state, "starting")),
    }
)

health = Signal(
    name="health",
    title="Health",
    question="Which model needs attention?",
    description="State and verdict of each model in one word, worst first: down, costs more, not drafting, about even, "
    "unclear, pays, few drafts, idle, off, starting.",
    action="Act on red and amber, from the top.",
    note="Unclear: the counters contradict each other, are incomplete, or are not exposed. A verdict counts in any "
    "state but down.",
    unit=Unit.CODE,
    expr=HEALTH.expr,
    record="vllm_spec_decode_standing:enum_rate{window}",
    codes=HEALTH.codes,
    empty="no vLLM target is scraped",
)
