"""Which servers are there: those that answer, that ought to answer, and that answer without what they should expose."""

from collections.abc import Callable

from draftboard.catalogue import Metric, around, serving
from draftboard.durations import Duration
from draftboard.expr.labels import Carrying
from draftboard.expr.scope import Level, Matcher, Scope
from draftboard.expr.tree import Aggregate, Before, Expr, Function, Given, Names, Raw, first_of, on, over_level
from draftboard.settings import Settings
from draftboard.signals.signal import Code, Signal, Unit
from draftboard.status import Status

Matchers = Callable[[Settings], tuple[Matcher, ...]]


def _target(scope: Scope) -> tuple[str, ...]:
    return scope.settings.labels.target


def _served(scope: Scope) -> tuple[str, ...]:
    return (*_target(scope), scope.settings.labels.model_name)


def _target_series(scope: Scope) -> tuple[str, ...]:
    return scope.settings.labels.target_series


def _silence(scope: Scope) -> str:
    return str(scope.settings.rules.silence)


def remembered(scope: Scope) -> str:
    """How long a server is remembered, as the window of a function."""
    return str(scope.settings.rules.remember)


def _startup(settings: Settings) -> Duration:
    return settings.rules.startup


def _labelled(settings: Settings) -> tuple[Matcher, ...]:
    return (Matcher(settings.labels.spec_method, "!=", ""),)


def _stays(settings: Settings) -> tuple[Matcher, ...]:
    return (Matcher(settings.labels.scale_to_zero, "=", ""),)


def _answers(matchers: Matchers = lambda _: ()) -> Expr:
    """1 for targets that answered a scrape lately, else 0: a single failed scrape is no outage."""
    lately = Function("max_over_time", Raw(around.UP, window=_silence, matchers=matchers))
    return lately & Raw(around.UP, matchers=matchers)  # What left discovery is no target.


def _last(metric: Metric, window: Callable[[Scope], str], chosen_by: Names | None = None) -> Expr:
    return Function("last_over_time", Raw(metric, window=window, chosen_by=chosen_by))


def answers_without(metric: Metric, matchers: Matchers) -> Expr:
    """1 for targets that answer and do not expose a metric, in the same scrapes."""
    exposed = _last(metric, _silence, _target_series)
    return _answers(matchers).equals(1).combined("unless", exposed, on(_target))


_seen_lately = _last(serving.REQUESTS_RUNNING, remembered, _target_series)
"""Engines of the chosen targets, of whatever model: a server of another model was seen too."""


def _known(s: Scope) -> Expr:
    """Seen now, or known before and still a target. Raw series alone tell no more than what was seen lately."""
    if not s.edition.reads_records:
        return over_level("group", _last(serving.REQUESTS_RUNNING, remembered))
    now = over_level("group", Raw(serving.REQUESTS_RUNNING))
    just_before = Before(lambda: known, lambda settings: settings.rules.evaluation_interval * 2)
    ever = Before(lambda: known, lambda settings: settings.rules.remember)
    seen = over_level("group", _seen_lately)  # Rules that were loaded lately have no past of their own.
    # Only across a gap it is also the model that another has replaced.
    before = just_before.combined("or", ever, on(_target)).combined("or", seen, on(_target))
    absent = before.combined("and", Raw(around.UP), on(_target)).combined("unless", now, on(_target))
    return first_of(now, over_level("group", absent))


known = Signal(
    name="known",
    title="Servers known",
    question="Which servers does Prometheus know as vLLM servers, and which model does each serve?",
    description="1 for each target that has exposed vLLM series, with the model that it served last, for as long "
    "as it is a target.",
    action="Compare with your deployment: a server that is missing here is not watched.",
    note="A server that fails stays known, however long it is down.",
    unit=Unit.CODE,
    expr=Given(_known),
    record="vllm_known:bool",
    levels=(Level.TARGET,),
    codes=(Code(1, "known", Status.NEUTRAL),),
    empty="no vLLM target is scraped",
)
known_down = known.at(Level.TARGET).combined("and", _answers().equals(0), on(_target))
"""Servers that do not answer."""


def _ever_seen(s: Scope) -> Expr:
    """Whatever model is chosen: a server of another was seen too."""
    return known.at(Level.TARGET) if s.edition.reads_records else _seen_lately


_never_seen = _answers(_labelled).equals(0).combined("unless", Given(_ever_seen), on(_target))
"""Labelled targets that do not answer and never have."""
_ought_to_answer = first_of(
    Function("max_over_time", Raw(around.UP, window=lambda s: str(_startup(s.settings)))).equals(1),
    _last(around.UP, remembered).ago(_startup),
)
"""Targets that once answered, and those that were scraped in vain before a new server's time to start."""

down = first_of(
    over_level("group", _seen_lately.combined("and", known_down, on(_served))),
    over_level("group", known_down.combined("unless", _seen_lately, on(_target))),
    Aggregate("max", _target_series, _never_seen.combined("and", _ought_to_answer, on(_target))),
)
"""Engines of a target that does not answer, or that target itself where they are forgotten; and labelled targets that
ought to have answered by now."""
starting = Aggregate("max", _target_series, _never_seen)
"""Those that have never answered; the ones that ought to have are down, which is asked before."""
silent = Aggregate("max", _target_series, answers_without(serving.REQUESTS_RUNNING, _labelled))
"""Labelled targets that answer, but say nothing of an engine."""


def _servers(s: Scope) -> Expr:
    """Targets that have shown their model, and labelled ones that have not: those serve none that could be chosen."""
    if not s.edition.reads_records:
        return known.at(Level.TARGET)
    unknown = Raw(around.UP, matchers=_labelled).combined("unless", known.at(Level.TARGET), on(_target))
    return first_of(known.at(Level.TARGET), Aggregate("group", _target_series, unknown))


def of_servers(how: str, series: Expr, *extra: str) -> Expr:
    """One value for each vLLM server, with its model, and each value of the extra labels.

    For series that other programs expose too, and that know no model.
    """
    by_target = Aggregate(how, lambda scope: (*_target_series(scope), *extra), series)
    return Carrying(by_target, lambda settings: settings.labels.model_name, Given(_servers), _target)


expected = Function("last_over_time", Raw(serving.REQUESTS_RUNNING, remembered, _stays))
"""Engines seen lately that are not meant to go away."""
there = first_of(known.at(Level.TARGET), expected.combined("and", Raw(around.UP), on(_target)))
"""Scrape targets, each with every model that it has served lately."""
