"""Why a model needs somebody, in words: which server does not answer, which alert fires, what its figures say."""

from collections.abc import Mapping

from draftboard.expr.nodes import (
    LEVEL,
    Aggregate,
    AtMost,
    Before,
    Carrying,
    CountValues,
    Evaluator,
    Expr,
    If,
    Label,
    LabelJoin,
    LabelReplace,
    Labels,
    Matching,
    Names,
    Ref,
    constant,
    first_of,
    labelled,
    on,
    over_level,
)
from draftboard.expr.scope import Level
from draftboard.quantity import EVALUATION
from draftboard.signals import capacity, events
from draftboard.signals.advice import ADVICE, advice
from draftboard.signals.baseline import METHOD
from draftboard.signals.decision import Decision
from draftboard.signals.health import HEALTH, WELL, health
from draftboard.signals.signal import Code, Signal, Unit
from draftboard.signals.states import STATES, state, target_up
from draftboard.status import Status

AT_ONCE = " fell at once"
_WIDEST = Labels("widest")
_WHY, _MORE, _ALERT, _INSTANCE = "why", "more", "alertname", Labels("instance")
_HEALTH = health.at(Level.MODEL)
_OF_HEALTH = {
    "gone": "no server is a scrape target any more",
    "stuck": "requests run, and no token comes",
    "requests fail": "its servers answer with errors",
    "users wait": "more requests come than it serves",
    "no drafter": "its servers expose no draft metrics",
    "not drafting": "tokens come without drafts",
    "about even": "steps cost about what they save",
    "unclear": "its figures contradict each other or lack",
    "silent": "its servers expose no vLLM metrics",
    "costs more": "steps cost more than they save",
}
_OF_ADVICE = {
    "slower": "users wait longer than on the baseline",
    "workload": "acceptance fell: workload or drafter changed",
    "unfit": "drafts are hardly ever accepted",
    "shorter": "its drafts are too long",
    "off": "no K pays",
    "drafter": "first drafted tokens are often rejected",
}
_ALIKE = on(LEVEL)
_ITS_SERVICE = (Labels("scope"), Labels("job"), Labels("model_name"))


def _where(*rows: str) -> Expr:
    return HEALTH.any_of(_HEALTH, *rows)


def _worded(code: Expr, decision: Decision, words: Mapping[str, str]) -> Expr:
    """Series with one of the codes, its words in a label."""
    return first_of(*(labelled(decision.any_of(code, row), _WHY, text) for row, text in words.items()))


def _as_named(of: Expr, by: Names, label: Label, pattern: str) -> Expr:
    """Series that differ in one label besides `by`: the greatest is that which was named before, while it is there."""
    named = LabelReplace(Before(Ref("health_cause"), EVALUATION * 2), label, "$1", _WHY, pattern)
    before = labelled(Aggregate("group", (*by, label), named), _WHY, "before")
    # Those that are there count 2, that which was named before 1 more.
    kept = Aggregate("sum", (*by, label), first_of(constant(2, of), before)) > 1
    return If(Evaluator.RECORDS, kept, of)


def _servers() -> Expr:
    """Models with a server that does not answer: its address, and how many more there are."""
    down = target_up.at(Level.TARGET).equals(0)
    in_need = down.combined("and", _where("down", "servers down"), _ALIKE)
    one = AtMost(1, (LEVEL,), _as_named(in_need, (LEVEL,), _INSTANCE, "([^ ]+) .*not answer"))
    more = CountValues(_MORE, over_level("count", down) - 1)
    both = LabelJoin(Carrying(one, _MORE, more, (LEVEL,)), _WHY, " and ", (_INSTANCE, _MORE))
    several = LabelReplace(both, _WHY, "$1 more do not answer", _WHY, "(.*)")
    return LabelReplace(several, _WHY, "$1 does not answer", _WHY, "(.*) and 0 more do not answer")


def _together() -> Expr:
    """Models with servers that fell with others within two evaluations: how many, till they are back.

    Servers with one value of the first label of the scope, such as a cluster. What they share is a likelier cause.
    """
    up = target_up.at(Level.TARGET)
    # Scrapes of servers that fall at one time are up to an evaluation apart. What was down before fell earlier; of what
    # was not known, nobody knows when.
    fell = up.equals(0) & (up.ago(EVALUATION * 2) > 0)
    servers, models = (
        Aggregate("count", (_WIDEST,), Aggregate("group", each, fell))
        for each in ((Labels("target"),), (_WIDEST, Labels("model_name")))
    )
    of_model = over_level("group", fell).combined("*", servers, on(_WIDEST, group="left")) > 1
    counted = Carrying(CountValues(_WHY, of_model), _MORE, CountValues(_MORE, models), (_WIDEST,))
    both = LabelJoin(counted, _WHY, " servers of ", (_WHY, _MORE))
    several = LabelReplace(both, _WHY, f"$1 models{AT_ONCE}", _WHY, "(.*)")
    fallen = LabelReplace(several, _WHY, f"$1{AT_ONCE}", _WHY, "(.* servers) of 1 models.*")
    named = Before(Ref("health_cause"), EVALUATION * 2).where(_WHY, f".+{AT_ONCE}")
    return fallen.combined("or", named * 1, _ALIKE).combined("and", _where("down", "servers down"), _ALIKE)


def _alerts() -> Expr:
    """Models with the name of an alert that fires on them or on a server, else on their service."""

    def firing(by: Names, *, of_service: bool) -> Expr:
        alerts = {severity: events.of_severity(severity) for severity in ("critical", "warning")}
        named = (
            Aggregate("group", (*by, _ALERT), one.where(METHOD, "") if of_service else one).combined(
                "and", _where(severity), Matching(by, just=True)
            )
            for severity, one in alerts.items()
        )
        return _as_named(first_of(*named), by, _ALERT, "(.*) fires")

    of_model = AtMost(1, (LEVEL,), firing((LEVEL,), of_service=False))
    of_service = Carrying(_where("critical", "warning"), _ALERT, firing(_ITS_SERVICE, of_service=True), _ITS_SERVICE)
    return LabelReplace(of_model.combined("or", of_service, _ALIKE), _WHY, "$1 fires", _ALERT, "(.*)")


unlabelled = STATES.any_of(state.at(Level.MODEL), "drafting").where(METHOD, "") & (_HEALTH >= WELL)
"""Models that need nobody, and whose servers no label says how they draft."""
_range = labelled(unlabelled, _WHY, "no method label: costs of any method")
_advised = _worded(advice, ADVICE, _OF_ADVICE).combined("and", _where("costs more", "about even"), _ALIKE)
_room = labelled(_where("users wait") & capacity.room_in_kv_cache, _WHY, "requests wait, KV cache has room")
_figures = first_of(_advised, _room).combined("or", first_of(_worded(_HEALTH, HEALTH, _OF_HEALTH), _range), _ALIKE)
_each = first_of(_servers(), _alerts(), _figures)
_first = If(Evaluator.RECORDS, _together().combined("or", _each, _ALIKE), _each)

health_cause = Signal(
    name="health_cause",
    title="Cause of the health",
    short="Why",
    question="Why does the model need somebody?",
    description="What the health of a model rests on, in words: the server, the alert, or what its figures say.",
    action="Look there first.",
    note="As much as scrapes know: a server that does not answer is named, its log says why. Of several servers or "
    "alerts one is named. Of models that need nobody only that a label lacks, without which costs are assumed of any "
    "method and no baseline is compared.",
    unit=Unit.CODE,
    expr=over_level("group", _first, _WHY),
    record="vllm_health:cause",
    by=(_WHY,),
    codes=(Code(1, "known", Status.NEUTRAL),),
    empty="no model needs somebody",
)
