"""Health: the worst of servers, users and economics in one word, and since when."""

from draftboard.expr.nodes import (
    AtLevel,
    Before,
    Evaluator,
    Expr,
    If,
    Labels,
    Not,
    Now,
    OverTime,
    Ref,
    first_of,
    on,
    over_level,
)
from draftboard.expr.scope import Level
from draftboard.quantity import EVALUATION, RATE_WINDOW, Setting
from draftboard.signals import capacity, comparison, events, fleet, integrity, presence, requests, responses, stalls
from draftboard.signals.absence import gone
from draftboard.signals.baseline import METHOD
from draftboard.signals.decision import Choice, Decision
from draftboard.signals.signal import Code, Signal, Unit, within
from draftboard.signals.states import STATES, state
from draftboard.signals.traffic import BOTH_LEVELS
from draftboard.signals.verdicts import REFUTED, VERDICT, even, unclear, verdict, verdict_is
from draftboard.status import Status

_AN_ENGINE, _A_MODEL = AtLevel(Level.ENGINE), Not(AtLevel(Level.ENGINE))
_ITS_SERVER = on(Labels("target"))
_ITS_SERVICE = on(Labels("scope"), Labels("job"), Labels("model_name"))


def _with_server(fault: Expr) -> Expr:
    """Engines of the servers of which something holds; models with such a server."""
    server = fault.at(Level.TARGET)
    return If(_AN_ENGINE, state.combined("and", server, _ITS_SERVER), state & over_level("max", server))


def _of_service(fault: Expr) -> Expr:
    """Models whose service has the fault: the servers' HTTP knows no method."""
    return state.combined("and", fault.at(Level.SERVICE), _ITS_SERVICE)


def _alerting(severity: str) -> Expr:
    """Engines whose server, or models of which an alert fires; one on a service is on all of its models."""
    firing = events.of_severity(severity)
    of_service = state.combined("and", firing.where(METHOD, ""), _ITS_SERVICE)
    of_model = first_of(state & over_level("max", firing), of_service)
    return If(_AN_ENGINE, state.combined("and", firing, _ITS_SERVER), of_model)


_gone = OverTime("last_over_time", state, presence.REMEMBERED).combined("and", gone.at(Level.SERVICE), _ITS_SERVICE)
_partly_down = over_level("count", STATES.any_of(state.at(Level.ENGINE), "down"))
_failing = first_of(
    requests.failing(requests.errors, requests.request_rate),
    _of_service(requests.failing(responses.http_faults, responses.http_responses)),
)
# The wait may be infinite, and 0 times that is no number.
_waiting = state & (capacity.queue_wait > Setting("thresholds.queue_wait"))

# One order of badness, that of the codes: servers, users, economics, and last what nobody can act on. The first row
# that holds is the worst. Economics is what the verdict says.
HEALTH = Decision(
    {
        "gone": Choice(Code(0, "gone", Status.DOWN), _gone, possible=_A_MODEL),
        "down": Choice(Code(1, "down", Status.DOWN), STATES.any_of(state, "down")),
        "servers down": Choice(Code(2, "servers down", Status.DOWN), _partly_down, possible=_A_MODEL),
        "stuck": Choice(Code(3, "stuck", Status.BAD), first_of(stalls.stuck > 0, _with_server(stalls.unanswered))),
        "requests fail": Choice(Code(4, "requests fail", Status.BAD), _failing, possible=_A_MODEL),
        "users wait": Choice(Code(5, "users wait", Status.BAD), _waiting, possible=_A_MODEL),
        "critical": Choice(Code(6, "critical alert", Status.BAD), _alerting("critical")),
        "costs more": Choice(Code(7, "costs more", Status.DUE), verdict_is("loses", "slower"), possible=_A_MODEL),
        "below": Choice(Code(8, "costs more", Status.DUE), fleet.judged_margin < 0, possible=_AN_ENGINE),
        "no drafter": Choice(Code(9, "lost its drafter", Status.DUE), _with_server(integrity.metrics_missing)),
        "warning": Choice(Code(10, "warning", Status.DUE), _alerting("warning")),
        "behind": Choice(
            Code(11, "behind the others", Status.WARN),
            comparison.length_to_others < Setting("thresholds.outlier"),
            possible=_AN_ENGINE,
        ),
        "about even": Choice(Code(13, "about even", Status.WARN), even, possible=_A_MODEL),
        "unclear": Choice(
            Code(14, "unclear", Status.WARN),
            VERDICT.any_of(verdict, "contradiction", "empty", "unknown", *REFUTED),
            possible=_A_MODEL,
        ),
        "silent": Choice(Code(15, "no vLLM metrics", Status.WARN), STATES.any_of(state, "silent")),
        "pays": Choice(Code(16, "pays", Status.GOOD), verdict_is("pays", "faster"), possible=_A_MODEL),
        "above": Choice(Code(17, "pays", Status.GOOD), fleet.pays_at_any_cost, possible=_AN_ENGINE),
        "not measured": Choice(Code(22, "not measured", Status.QUIET), If(_A_MODEL, unclear, fleet.judged_margin)),
        # Too few drafts are no reason to look for drafts. The verdict follows the state by an evaluation.
        "few drafts": Choice(
            Code(18, "few drafts", Status.QUIET),
            first_of(If(_A_MODEL, VERDICT.any_of(verdict, "few drafts")), STATES.any_of(state, "drafting")),
        ),
        "not drafting": Choice(Code(12, "not drafting", Status.WARN), STATES.any_of(state, "not drafting")),
        "idle": Choice(Code(19, "idle", Status.QUIET), STATES.any_of(state, "idle")),
        "off": Choice(Code(20, "off", Status.QUIET), STATES.any_of(state, "off")),
        "starting": Choice(Code(21, "starting", Status.QUIET), STATES.any_of(state, "starting")),
    }
)
WELL = HEALTH["pays"].value
"""The least code of what needs nobody."""

health = Signal(
    name="health",
    title="Health",
    question="Which model needs attention?",
    description="The worst of servers, users and economics, in one word.",
    action="Act on red and amber, from the top.",
    note=f"From the worst: {', '.join(code.says for code in HEALTH.codes)}. Servers down: some do not answer. Users "
    "wait: a new request queues longer than thresholds.queue_wait. Critical alert, warning: an alert fires whose cause "
    "no other health names. Unclear: counters or measurements contradict each other, or are incomplete. Not "
    "measured: nobody measured what a step costs, and by published costs it may pay or not.",
    unit=Unit.CODE,
    expr=HEALTH.expr,
    record="vllm_health:enum_rate{window}",
    levels=BOTH_LEVELS,
    codes=HEALTH.codes,
    empty=presence.NO_SERVER,
)
unwell = Signal(
    name="unwell",
    title="Engines that needed somebody",
    question="Which engine was not fine, and when?",
    description="The health of engines while it was worse than paying, idle, starting or off; a gap means fine.",
    action="Look for what several of them share: a machine, a time, a model.",
    unit=Unit.CODE,
    expr=health < WELL,
    levels=(Level.ENGINE,),
    codes=HEALTH.codes,
    empty="every engine was fine",
)


KNOWN_FROM = events.rules_loaded + RATE_WINDOW * 2
"""Unix time: what is so since an earlier one may have begun earlier still, before rates were full."""


def since(of: Signal, record: str, returned: Expr | None = None) -> Signal:
    """The evaluation at which a state changed last: a record that goes on from its own past.

    `returned` is an earlier time, where a state that returned has not changed.
    """
    name = f"{of.name}_since"
    latest = presence.latest(of)
    # Of what is kept the latest, for rulers that see it late. Multiplied, it has no name, as the time of now has none.
    kept = first_of(Before(Ref(name), EVALUATION * 2, "max_over_time"), presence.last_recorded(name)) * 1
    unchanged = kept & latest.combined("==", presence.last_known(of, EVALUATION))
    now = Now() + latest * 0
    return Signal(
        name=name,
        title=f"Time of the last change: {within(of.title)}",
        question=f"Since when is the {within(of.title)} what it is?",
        description=f"Unix time of the evaluation at which the {within(of.title)} changed last, or first was known.",
        action="Look for what changed at that time.",
        note="It survives gaps of up to rules.remember (by default 1h) in which no rule is evaluated: a change within "
        "the gap counts from its end." + (_RETURNS if returned else ""),
        unit=Unit.SECONDS,
        expr=If(Evaluator.RECORDS, first_of(*((returned,) if returned else ()), unchanged, now), Now() + of * 0),
        record=record,
        levels=of.levels,
        empty=of.empty,
    )


# Few requests measure something now and nothing for the next minute. A code is the lower, the worse the health.
_RETURNS = " A health that returns within a window (rules.window), and was no worse in between, has not changed."
_as_before = presence.latest(health).combined("==", presence.latest(health, RATE_WINDOW))
_returned = Before(Ref("health_since"), EVALUATION * 2, offset=RATE_WINDOW) * 1 & _as_before.combined(
    "<=", OverTime("min_over_time", health, RATE_WINDOW)
)
health_since = since(health, "vllm_health:since", _returned)
health_age = Signal(
    name="health_age",
    title="Time in this health",
    short="For",
    question="For how long?",
    description="Time since the health changed last.",
    action="Look for what changed at that time.",
    unit=Unit.AGE,
    expr=Now() - health_since,
    levels=BOTH_LEVELS,
    empty=health.empty,
    decimals=1,
)
SIGNALS = (health, unwell, health_since, health_age)
