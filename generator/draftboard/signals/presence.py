"""Which servers are up, which are expected to be, and which are up without the series that they should expose."""

from draftboard.catalogue import Metric, around
from draftboard.expr.nodes import (
    NO_OFFSET,
    Aggregate,
    AtMost,
    Before,
    Carrying,
    Evaluator,
    Expr,
    Function,
    If,
    Labels,
    Match,
    MetricOfDialect,
    Names,
    Now,
    OverTime,
    Raw,
    Ref,
    Span,
    first_of,
    on,
    over_level,
)
from draftboard.expr.scope import Level
from draftboard.quantity import EVALUATION, LOOK_BACK, RATE_WINDOW, SCRAPE, SILENCE, Quantity, Setting, largest
from draftboard.signals.baseline import METHOD
from draftboard.signals.signal import Code, Signal, Unit
from draftboard.status import Status

SEEN_BY = MetricOfDialect("seen_by")
"""What every engine exposes for as long as it runs."""
NO_SERVER = "no vLLM server is known"
"""What is so without targets, without rules, and where Prometheus does not answer."""
REMEMBERED = Setting("rules.remember")
"""How long a server counts as known."""
_STARTUP = Setting("rules.startup")
_TARGET, _TARGET_SERIES, _MODEL = Labels("target"), Labels("target_series"), Labels("model_name")
_SAME_TARGET = on(_TARGET)
_LABELLED = (Match(METHOD, "!=", ""),)
_STAYS = (Match(Labels("scale_to_zero"), "=", ""),)


# The newest sample of any target is as old as its scrape interval at most, by default of Prometheus a minute.
_FRESH = largest(SCRAPE * 3 // 2, 90)
ARRIVES = Function("timestamp", Raw(around.UP)) > Now() - _FRESH
"""Targets whose samples arrive: where there is none, that a target is missing means nothing."""
arriving = over_level("group", ARRIVES)


def _answers(matchers: tuple[Match, ...] = ()) -> Expr:
    """1 for targets that answered a scrape lately, else 0: a single failed scrape is no outage."""
    return _answered_lately(matchers) & Raw(around.UP, matchers=matchers)  # What left discovery is no target.


def _answered_lately(matchers: tuple[Match, ...] = ()) -> Expr:
    return Function("max_over_time", Raw(around.UP, SILENCE, matchers))


def latest(figure: Expr, ago: Span = NO_OFFSET) -> Expr:
    """By its own record, of whose values some rulers see one an evaluation late."""
    return OverTime("last_over_time", figure, EVALUATION * 2, ago)


def last_known(figure: Expr, ago: Span) -> Expr:
    """Its value at an evaluation so long ago, or the last before a gap: one of up to `rules.remember` is bridged.

    Where a series ended, and evaluations went on, of up to that less `LOOK_BACK`.
    """
    lately, before = (
        OverTime("last_over_time", figure, *one) for one in ((LOOK_BACK, ago), (REMEMBERED, ago, LOOK_BACK))
    )
    return first_of(lately, before)


def last_recorded(name: str, function: str = "last_over_time") -> Expr:
    """What the record of a signal held last: where it goes on from its own past."""
    record = Ref(name)
    return first_of(Before(record, LOOK_BACK, function), Before(record, REMEMBERED, function, pace=LOOK_BACK))


MANY = 50
"""Models or engines on one server: more than any has. Further names are invented, and each would be an alert."""


def _last(metric: Metric | MetricOfDialect, window: Quantity, chosen_by: Names | None = None) -> Expr:
    return Function("last_over_time", Raw(metric, window, chosen_by=chosen_by))


def answers_without(metric: Metric | MetricOfDialect, matchers: tuple[Match, ...]) -> Expr:
    """1 for targets that answer and do not expose a metric, in the same scrapes."""
    exposed = _last(metric, SILENCE, (_TARGET_SERIES,))
    return _answers(matchers).equals(1).combined("unless", exposed, _SAME_TARGET)


_seen_lately = _last(SEEN_BY, REMEMBERED, (_TARGET_SERIES,))
"""Engines of the chosen targets, of whatever model: a server of another model was seen too."""
seen = Signal(
    name="seen",
    title="Engines seen",
    question="Which engines has a target had lately?",
    description="1 for each engine that was scraped within rules.remember (by default 1h).",
    action="Compare with your deployment.",
    note="Names the engines of a target that is down.",
    unit=Unit.CODE,
    expr=over_level("group", _seen_lately),
    record="vllm_seen:bool",
    levels=(Level.ENGINE,),
    codes=(Code(1, "seen", Status.NEUTRAL),),
    empty=NO_SERVER,
)
_engines_seen = If(Evaluator.RECORDS, seen.at(Level.ENGINE), _seen_lately)


def _known_by_records() -> Expr:
    """Seen now, or known before and still a target."""
    now = over_level("group", Raw(SEEN_BY))
    just_before, ever = Before(Ref("known"), EVALUATION * 2), Before(Ref("known"), REMEMBERED, pace=LOOK_BACK)
    lately = over_level("group", _engines_seen)  # Rules that were loaded lately have no past of their own.
    # Only across a gap it is also the model that another has replaced.
    before = just_before.combined("or", ever, _SAME_TARGET).combined("or", lately, _SAME_TARGET)
    absent = before.combined("and", Raw(around.UP), _SAME_TARGET).combined("unless", now, _SAME_TARGET)
    return AtMost(MANY, (_TARGET,), first_of(now, over_level("group", absent)))


known = Signal(
    name="known",
    title="Servers known",
    question="Which targets are vLLM servers, and which model does each serve?",
    description="1 for each scrape target that has exposed vLLM series, with the model that it served last.",
    action="Compare with your deployment: a server that is missing here is not watched.",
    note="A server that fails stays known, however long it is down.",
    unit=Unit.CODE,
    # Raw series alone hold no more than what was seen lately.
    expr=If(Evaluator.RECORDS, _known_by_records(), over_level("group", _last(SEEN_BY, REMEMBERED))),
    record="vllm_known:bool",
    levels=(Level.TARGET,),
    codes=(Code(1, "known", Status.NEUTRAL),),
    empty=NO_SERVER,
)
known_down = known.at(Level.TARGET).combined("and", _answers().equals(0), _SAME_TARGET)
"""Servers that do not answer."""
known_up = known.at(Level.TARGET).combined("and", _answered_lately().equals(1), _SAME_TARGET)
"""Servers that answer. Whether one that leaves discovery does, nobody knows: its record lasts until it is evaluated."""


_ever_seen = If(Evaluator.RECORDS, known.at(Level.TARGET), _seen_lately)
"""Whatever model is chosen: a server of another was seen too."""
_never_seen = (
    first_of(_answers(_LABELLED), _answers((Match(Labels("job"), "=~", Setting("series.jobs")),)))
    .equals(0)
    .combined("unless", _ever_seen, _SAME_TARGET)
)
"""Targets with a method label, or of a job of vLLM, that do not answer and never have."""
_up = Raw(around.UP)
_expected_up = first_of(
    OverTime("max_over_time", _up, _STARTUP).equals(1),
    *(_up.ago(_STARTUP), OverTime("last_over_time", _up, REMEMBERED, _STARTUP)),
)
"""Targets that once answered, and those that were scraped in vain before a new server's time to start."""

down = first_of(
    over_level("group", _engines_seen.combined("and", known_down, on(_TARGET, _MODEL))),
    over_level("group", known_down.combined("unless", _engines_seen, _SAME_TARGET)),
    Aggregate("max", (_TARGET_SERIES,), _never_seen.combined("and", _expected_up, _SAME_TARGET)),
)
"""Engines of a target that does not answer, or that target itself where they are forgotten; and labelled targets that
ought to have answered by now."""
starting = Aggregate("max", (_TARGET_SERIES,), _never_seen)
"""Those that have never answered; those expected to answer are down, which is evaluated first."""
silent = Aggregate("max", (_TARGET_SERIES,), answers_without(SEEN_BY, _LABELLED))
"""Labelled targets that answer, but say nothing of an engine."""


_unknown = Raw(around.UP, matchers=_LABELLED).combined("unless", known.at(Level.TARGET), _SAME_TARGET)
_servers = If(
    Evaluator.RECORDS,
    first_of(known.at(Level.TARGET), Aggregate("group", (_TARGET_SERIES,), _unknown)),
    known.at(Level.TARGET),
)
"""Targets that have shown their model, and labelled ones that have not: those serve none that could be chosen."""


def of_servers(how: str, series: Expr, *extra: str) -> Expr:
    """One value for each vLLM server, with its model, and each value of the extra labels.

    For series that other programs expose too, and that know no model.
    """
    return _carrying_model(how, series, _servers, *extra)


def of_known(how: str, series: Expr) -> Expr:
    """Of those servers that have shown their model."""
    return _carrying_model(how, series, known.at(Level.TARGET))


def _carrying_model(how: str, series: Expr, servers: Expr, *extra: str) -> Expr:
    return Carrying(Aggregate(how, (_TARGET_SERIES, *extra), series), _MODEL, servers, (_TARGET,))


_now = Raw(SEEN_BY, matchers=_STAYS)
stays = Signal(
    name="stays",
    title="Engines that shall stay",
    question="Which engines are missed when they go?",
    description="Requests that ran on each engine when it was last scraped, within rules.remember (by default 1h).",
    action="Label servers that may disappear scale_to_zero.",
    unit=Unit.REQUESTS,
    # As it was at each evaluation: the engine that came and went in between served nobody.
    expr=over_level("max", first_of(_now, OverTime("last_over_time", _now, REMEMBERED))),
    record="vllm_stays:max",
    levels=(Level.ENGINE,),
    empty=f"{NO_SERVER}, or all may disappear",
    decimals=0,
)
expected = If(Evaluator.RECORDS, stays.at(Level.ENGINE), stays.expr)
"""Engines seen lately that are not meant to go away."""
_LATELY = RATE_WINDOW * 3
stayed = (
    OverTime("last_over_time", known, _LATELY)
    .at(Level.TARGET)
    .combined("and", Function("last_over_time", Raw(around.UP, _LATELY, _STAYS)), _SAME_TARGET)
)
"""Servers known lately, however long they were down, that were not meant to go away."""
scraped = first_of(known.at(Level.TARGET), expected.combined("and", Raw(around.UP), _SAME_TARGET))
"""Scrape targets, each with every model that it has served lately."""
