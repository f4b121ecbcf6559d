"""What the first page tells beside each model's health: totals, what to do next, and what speculation saves."""

from collections.abc import Iterable
from functools import partial
from operator import attrgetter

from draftboard.catalogue import serving
from draftboard.expr.nodes import (
    Aggregate,
    ByLabel,
    Evaluator,
    Expr,
    Function,
    If,
    IsSet,
    Labels,
    Not,
    Now,
    Number,
    Raw,
    constant,
    first_of,
    over_level,
)
from draftboard.expr.scope import Level
from draftboard.quantity import SILENCE, Setting
from draftboard.signals import advice, events, health, stalls, states, users, verdicts
from draftboard.signals.advice import ADVICE
from draftboard.signals.decision import Choice, Decision
from draftboard.signals.health import HEALTH
from draftboard.signals.signal import Band, Better, Code, Signal, Unit, good_under
from draftboard.signals.states import STATES
from draftboard.signals.verdicts import VERDICT
from draftboard.status import Status

_HEALTH = health.health.at(Level.MODEL)
_JUDGED = ("costs more", "about even", "pays")


def _is(row: str) -> Expr:
    return _HEALTH.equals(HEALTH[row].value)


def _not_judged() -> Expr:
    others = _HEALTH
    for row in _JUDGED:
        others = others.combined("!=", HEALTH[row].value)
    return others


def _engines_in(*rows: str) -> Expr:
    """Each model's engines in some states: their number where that is recorded, else one by one."""
    codes, engines = tuple(STATES[row] for row in rows), states.state.at(Level.ENGINE)
    recorded = states.engines_by_state.where("state", *(code.says for code in codes)).sum("state")
    each = first_of(*(engines.equals(code.value) for code in codes))
    return If(Evaluator.RECORDS, recorded, over_level("count", each))


def _alerts_of(severity: str) -> Expr:
    return events.firing_alerts.where("severity", severity)


def _total(how: str, of: Expr) -> Expr:
    return Aggregate(how, (), of.at(Level.MODEL))


def _counted(how: str, which: Expr, among: Expr) -> Expr:
    """None is 0 where there is something to count, and unknown elsewhere."""
    return first_of(_total(how, which), constant(0, _total("max", among)))


def _engines_counted(which: Expr) -> Expr:
    return _counted("sum", which, states.state)


def _tile(title: str, what: str, counted: Expr, status: Status = Status.NEUTRAL, *, unit: Unit, empty: str) -> Signal:
    """How many there are; from one on it has a status."""
    return Signal(
        name="_".join((unit.words, *title.split())),
        title=f"{unit.words.capitalize()}: {title}",
        short=title,
        question=f"How many {unit.words} {what}?",
        description=f"{unit.words.capitalize()} that {what}.",
        action="Look at them one by one in the table of models.",
        unit=unit,
        expr=counted,
        levels=(Level.FLEET,),
        bands=(Band("none", None, Status.NEUTRAL), Band("some", 1, status)),
        empty=empty,
        decimals=0,
    )


def _named(tiles: Iterable[Signal]) -> dict[str, Signal]:
    return {tile.short: tile for tile in tiles}


_models = partial(_tile, unit=Unit.MODELS, empty=health.health.empty)
_engines = partial(_tile, unit=Unit.ENGINES, empty=states.state.empty)
_alerts = partial(_tile, unit=Unit.ALERTS, empty="no alerting rules are loaded")
MODELS = _named(
    _models(title, what, _counted("count", which, _HEALTH), status)
    for title, what, which, status in (
        ("cost more", "cost more than they save", _is("costs more"), Status.BAD),
        ("about even", "are about even", _is("about even"), Status.WARN),
        ("pay", "pay", _is("pays"), Status.NEUTRAL),
        ("not judged", "do not draft, or not enough to be judged", _not_judged(), Status.NEUTRAL),
    )
)
ENGINES = _named(
    _engines(title, what, counted, status)
    for title, what, counted, status in (
        ("down", "do not answer", _engines_counted(_engines_in("down")), Status.DOWN),
        ("stuck", "have running requests and generate nothing", _engines_counted(stalls.stuck_engines), Status.DOWN),
        (
            "not drafting",
            "serve without drafting or vLLM metrics",
            _engines_counted(_engines_in("not drafting", "silent")),
            Status.STUCK,
        ),
        (
            "fine",
            "draft, are idle, start, or are baselines",
            # By its state, an engine that is stuck is idle.
            _engines_counted(_engines_in("drafting", "idle", "off", "starting"))
            - _engines_counted(stalls.stuck_engines),
            Status.NEUTRAL,
        ),
    )
)
# The watchdog fires as long as alerts are evaluated at all.
ALERTS = _named(
    _alerts(severity, f"fire and are {word}", _counted("count", _alerts_of(severity), events.watchdog), status)
    for severity, word, status in (
        ("critical", "critical", Status.BAD),
        ("warning", "warnings", Status.WARN),
        ("info", "for information", Status.NEUTRAL),
    )
)
_FIRST_STEPS = Decision(
    {
        "down": Choice(Code(20, "restart it", Status.DOWN), _is("down")),
        "not drafting": Choice(Code(21, "find out why it does not draft", Status.STUCK), _is("not drafting")),
        "unclear": Choice(Code(22, "run draftboard doctor", Status.ODD), _is("unclear")),
    }
)
next_step = Signal(
    name="next_step",
    title="Next step",
    question="What should be done first?",
    description="What to do for a model that is down, does not draft or has contradicting counters; for others the "
    "advice on K.",
    action="Take it as the start of a search.",
    unit=Unit.CODE,
    expr=first_of(_FIRST_STEPS.expr, advice.advice),
    codes=(*ADVICE.codes, *_FIRST_STEPS.codes),
    empty="no verdict",
)
verdict_basis = Signal(
    name="verdict_basis",
    title="Basis",
    question="What does the verdict rest on?",
    description="Whether a verdict is measured against a baseline or rests on assumed costs; none if withheld.",
    action="Where it is assumed, run a baseline to measure.",
    unit=Unit.CODE,
    expr=verdicts.verdict,
    codes=tuple(
        Code(choice.code.value, choice.basis or "none", Status.NEUTRAL)
        for choice in sorted(VERDICT.choices.values(), key=attrgetter("code.value"))
    ),
    empty="no verdict",
)


_drafting = _engines_in("drafting")
_PER_ENGINE = Setting("cost.gpus_per_engine")
_gpus = If(
    IsSet("cost.gpus_of_model"),
    ByLabel(Setting("cost.gpus_of_model"), _PER_ENGINE, Labels("model_name"), _drafting),
    Number(_PER_ENGINE),
)
"""GPUs of one engine, for each model with engines that draft."""
_saved = (users.measured_speedup - 1) * _drafting * _gpus
_PRICED = IsSet("cost.price_per_gpu_hour")
_FORMULA = "(Measured speedup - 1) x engines that draft x GPUs of an engine"
_ACTION = "Where it is negative, draft less or turn it off."
_NOTE = (
    "GPUs that plain decoding would need in addition for equal tokens per second at this batch size. Valid under load: "
    "idle servers save nothing. Only from a measured speedup; without a baseline there is none."
)


_SAVING_BANDS = (Band("costs", None, Status.BAD), Band("saves", 0, Status.GOOD))
_saving = partial(
    Signal, better=Better.HIGHER, bands=_SAVING_BANDS, decimals=1, least=None, empty=users.measured_speedup.empty
)
gpus_saved = _saving(
    name="gpus_saved",
    title="GPUs saved",
    question="How many GPUs does speculation save?",
    description=f"{_FORMULA}, at this load.",
    action=_ACTION,
    note=_NOTE,
    unit=Unit.GPUS,
    expr=_saved,
    enabled=Not(_PRICED),
)
money_saved = _saving(
    name="money_saved",
    title="Money saved",
    question="How much money does speculation save?",
    description=f"{_FORMULA} x price of a GPU hour, at this load.",
    action=_ACTION,
    note=_NOTE,
    unit=Unit.MONEY,
    expr=_saved * Setting("cost.price_per_gpu_hour", otherwise=0.0),
    enabled=_PRICED,
)


_latest = Function("timestamp", If(Evaluator.RECORDS, _HEALTH, Raw(serving.GENERATION_TOKENS)))
data_age = Signal(
    name="data_age",
    title="Data age",
    question="How old are the figures?",
    description="Time since the newest sample of any model.",
    action="If it is above rules.down_after (by default 2m30s), look at Prometheus and its rules.",
    unit=Unit.SECONDS,
    better=Better.LOWER,
    expr=Now() - _total("max", _latest),
    levels=(Level.FLEET,),
    bands=good_under(SILENCE, good="fresh", beyond="old"),
    empty="no data within 5 minutes",
    decimals=0,
)
