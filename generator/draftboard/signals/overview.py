"""What the first page shows beside each model's health: totals, and what speculation saves."""

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
from draftboard.signals import capacity, economics, events, health, states, users, verdicts
from draftboard.signals.health import HEALTH
from draftboard.signals.signal import Band, Better, Code, Signal, Unit, good_under
from draftboard.signals.states import STATES
from draftboard.signals.verdicts import VERDICT
from draftboard.status import Status

_HEALTH = health.health.at(Level.MODEL)


def _engines_in(*rows: str) -> Expr:
    """Each model's engines in some states: their number where that is recorded, else one by one."""
    recorded = states.engines_by_state.where("state", *(STATES[row].says for row in rows)).sum("state")
    return If(Evaluator.RECORDS, recorded, over_level("count", STATES.any_of(states.state.at(Level.ENGINE), *rows)))


def _counted(which: Expr, among: Expr) -> Expr:
    """None is 0 where there is something to count, and unknown elsewhere."""
    return first_of(Aggregate("count", (), which), constant(0, Aggregate("max", (), among)))


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


_TODAY, _WATCHED = HEALTH["costs more"].value, HEALTH["behind"].value


def _by_need(level: Level, unit: Unit, empty: str) -> dict[str, Signal]:
    """How many need somebody, and how bad it is: as the colours of their health say."""
    one = health.health.at(level)
    return _named(
        _tile(title, what, _counted(which, one), status, unit=unit, empty=empty)
        for title, what, which, status in (
            (
                "failing",
                "are down, stuck, fail requests, let users wait or have a critical alert",
                one < _TODAY,
                Status.BAD,
            ),
            (
                "degraded",
                "cost more than they save, lost their drafter or have a warning",
                _between(one, _TODAY, _WATCHED),
                Status.DUE,
            ),
            (
                "watch",
                "are behind others, about even, unclear or do not draft",
                _between(one, _WATCHED, health.WELL),
                Status.WARN,
            ),
            (
                "pays",
                "pay, with servers and users well",
                _between(one, health.WELL, HEALTH["few drafts"].value),
                Status.NEUTRAL,
            ),
            (
                "other",
                "need nobody, and nobody knows whether they pay: not measured, idle, off or starting",
                one >= HEALTH["few drafts"].value,
                Status.NEUTRAL,
            ),
        )
    )


def _between(one: Expr, least: int, end: int) -> Expr:
    return (one >= least) < end


MODELS = _by_need(Level.MODEL, Unit.MODELS, health.health.empty)
ENGINES = _by_need(Level.ENGINE, Unit.ENGINES, states.state.empty)
_alerts = partial(_tile, unit=Unit.ALERTS, empty="no alerting rules are loaded")
# The watchdog fires as long as alerts are evaluated at all.
ALERTS = _named(
    _alerts(
        severity,
        f"fire and are {word}",
        _counted(events.listed(severity).at(Level.MODEL), events.watchdog.at(Level.MODEL)),
        status,
    )
    for severity, word, status in (
        ("critical", "critical", Status.BAD),
        ("warning", "warnings", Status.DUE),
        ("info", "for information", Status.NEUTRAL),
    )
)
speedup = Signal(
    name="speedup",
    title="Speedup, measured or at least expected",
    short="Speedup, x",
    question="How much faster than plain decoding?",
    description="Measured speedup against a baseline where there is one, else the expected one at the highest costs.",
    action="Where it is expected only, run a baseline to measure it.",
    unit=Unit.TIMES,
    better=Better.HIGHER,
    expr=first_of(users.measured_speedup, economics.expected_speedup_low),
    bands=economics.expected_speedup_low.bands,
    empty=economics.expected_speedup_low.empty,
    decimals=2,
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
_saved = ((users.measured_speedup - 1) * _drafting * _gpus) & capacity.saturated
_PRICED = IsSet("cost.price_per_gpu_hour")
_FORMULA = "(Measured speedup - 1) x engines that draft x GPUs of an engine"
_ACTION = "Where it is negative, follow the advice."
_NOTE = (
    "GPUs that plain decoding would need in addition for equal tokens per second. Only while requests wait, so that "
    "servers do what they can: at an idle batch sooner tokens save nothing. Only from a measured speedup."
)


_SAVING_BANDS = (Band("costs", None, Status.DUE), Band("saves", 0, Status.GOOD))
_saving = partial(
    Signal,
    better=Better.HIGHER,
    bands=_SAVING_BANDS,
    decimals=1,
    least=None,
    empty=f"no request waits, or {users.measured_speedup.empty}",
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
    expr=Now() - Aggregate("max", (), _latest.at(Level.MODEL)),
    levels=(Level.FLEET,),
    bands=good_under(SILENCE, good="fresh", beyond="old"),
    empty="no data within 5 minutes",
    decimals=0,
)
