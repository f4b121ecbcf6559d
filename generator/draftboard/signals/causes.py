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
from draftboard.signals.health import HEALTH, health
from draftboard.signals.signal import Code, Signal, Unit
from draftboard.signals.states import state, target_up
from draftboard.status import Status

AT_ONCE = " servers fell at once"
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


def _worded(code: Expr, decision: Decision, words: Mapping[str, str]) -> Expr:
    """Series with one of the codes, its words in a label."""
    worded: Expr = CountValues(_WHY, decision.any_of(code, *words))
    for row, text in words.items():
        worded = LabelReplace(worded, _WHY, text, _WHY, str(decision[row].value))
    return worded


def _one(of: Expr, by: Names, label: Label, pattern: str) -> Expr:
    """One of several with the same labels `by`: as long as it is one of them, that which was named before."""
    named = LabelReplace(Before(Ref("health_cause"), EVALUATION * 2), label, "$1", _WHY, pattern)
    before = Aggregate("group", (*by, label), named)
    kept = of.combined("and", before, Matching((*by, label), just=True)).combined("or", of, Matching(by, just=True))
    return AtMost(1, by, If(Evaluator.RECORDS, kept, of))


def _servers() -> Expr:
    """Models with a server that does not answer: its address, and how many more there are."""
    down = Aggregate("group", (LEVEL, _INSTANCE), target_up.at(Level.TARGET).equals(0))
    one = _one(down, (LEVEL,), _INSTANCE, "([^ ]+) .*not answer")
    more = CountValues(_MORE, (over_level("count", down) - 1) > 0)
    both = LabelJoin(Carrying(one, _MORE, more, (LEVEL,)), _WHY, " and ", (_INSTANCE, _MORE))
    several = LabelReplace(both, _WHY, "$1 more do not answer", _WHY, "(.*)")
    alone = LabelReplace(one, _WHY, "$1 does not answer", _INSTANCE, "(.*)")
    return several.combined("or", alone, on(LEVEL))


def _together() -> Expr:
    """Models with servers that fell with others within two evaluations: how many of all models, until they are back.

    Servers with one value of the first label of the scope, such as a cluster. What they share is a likelier cause.
    """
    up = target_up.at(Level.TARGET)
    # Scrapes of servers that fall at one time are up to an evaluation apart. What was down before fell earlier; of what
    # was not known, nobody knows when.
    fell = up.equals(0) & (up.ago(EVALUATION * 2) > 0)
    every = Aggregate("count", (_WIDEST,), Aggregate("group", (Labels("target"),), fell))
    of_model = over_level("group", fell).combined("*", every, on(_WIDEST, group="left")) > 1
    fallen = LabelReplace(CountValues(_WHY, of_model), _WHY, f"$1{AT_ONCE}", _WHY, "(.*)")
    named = Before(Ref("health_cause"), EVALUATION * 2).where(_WHY, f"[0-9]+{AT_ONCE}")
    return fallen.combined("or", named * 1, _ALIKE).combined("and", _where("down", "servers down"), _ALIKE)


def _alerts(severity: str) -> Expr:
    """Models with the name of an alert that fires on them, on their service or on a server."""
    firing, fires = events.of_severity(severity), "(.*) fires"
    of_model = _one(over_level("group", firing, _ALERT), (LEVEL,), _ALERT, fires)
    service = (Labels("scope"), Labels("job"), Labels("model_name"))
    of_service = _one(Aggregate("group", (*service, _ALERT), firing.where(METHOD, "")), service, _ALERT, fires)
    either = of_model.combined("or", Carrying(constant(1, state), _ALERT, of_service, service), on(LEVEL))
    return LabelReplace(either, _WHY, "$1 fires", _ALERT, "(.*)")


def _where(*rows: str) -> Expr:
    return HEALTH.any_of(_HEALTH, *rows)


_advised = _worded(advice, ADVICE, _OF_ADVICE).combined("and", _where("costs more", "about even"), _ALIKE)
_room = labelled(constant(1, capacity.room_in_kv_cache), _WHY, "requests wait, KV cache has room")
_parts = (
    _room.combined("and", _where("users wait"), _ALIKE),
    _servers().combined("and", _where("down", "servers down"), _ALIKE),
    *(_alerts(severity).combined("and", _where(severity), _ALIKE) for severity in ("critical", "warning")),
    _advised,
)
_first = _worded(_HEALTH, HEALTH, _OF_HEALTH)
for _part in reversed(_parts):
    _first = _part.combined("or", _first, _ALIKE)
_first = If(Evaluator.RECORDS, _together().combined("or", _first, _ALIKE), _first)

health_cause = Signal(
    name="health_cause",
    title="Cause of the health",
    short="Why",
    question="Why does the model need somebody?",
    description="What the health of a model rests on, in words: the server, the alert, or what its figures say.",
    action="Look there first.",
    note="As much as scrapes know: a server that does not answer is named, its log says why. Of several servers or "
    "alerts one is named. None of models that need nobody.",
    unit=Unit.CODE,
    expr=over_level("group", _first, _WHY),
    record="vllm_health:cause",
    by=(_WHY,),
    codes=(Code(1, "known", Status.NEUTRAL),),
    empty="no model needs somebody",
)
