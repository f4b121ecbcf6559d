"""Which servers are there: those that answer, that ought to answer, and that answer without what they should expose."""

from collections.abc import Callable

from draftboard.catalogue import Metric, around, serving
from draftboard.durations import Duration
from draftboard.expr.scope import Level, Matcher, Scope
from draftboard.expr.tree import Aggregate, Expr, Function, Names, Raw, first_of, on, over_level
from draftboard.settings import Settings

Matchers = Callable[[Settings], tuple[Matcher, ...]]


def _target(scope: Scope) -> tuple[str, ...]:
    return scope.settings.labels.target


def _target_level(scope: Scope) -> tuple[str, ...]:
    return Level.TARGET.labels(scope.settings)


def _two_scrapes(scope: Scope) -> str:
    return str(scope.settings.rules.scrape_interval * 2)


def remembered(scope: Scope) -> str:
    """How long a server is remembered, as the window of a function."""
    return str(scope.settings.rules.remember)


def _startup(settings: Settings) -> Duration:
    return settings.rules.startup


def _labelled(settings: Settings) -> tuple[Matcher, ...]:
    return (Matcher(settings.labels.spec_method, "!=", ""),)


def _answers(matchers: Matchers = lambda _: ()) -> Expr:
    """1 for targets that answered one of the last two scrapes, else 0: a single failed scrape is no outage."""
    return Function("max_over_time", Raw(around.UP, window=_two_scrapes, matchers=matchers))


def _last(metric: Metric, window: Callable[[Scope], str], chosen_by: Names | None = None) -> Expr:
    return Function("last_over_time", Raw(metric, window=window, chosen_by=chosen_by))


def answers_without(metric: Metric, matchers: Matchers) -> Expr:
    """1 for targets that answer and do not expose a metric, in the same scrapes."""
    exposed = _last(metric, _two_scrapes, _target_level)
    return _answers(matchers).equals(1).combined("unless", exposed, on(_target))


_seen_lately = _last(serving.REQUESTS_RUNNING, remembered, _target_level)
"""Engines of the chosen targets, of whatever model: a server of another model was seen too."""
_never_seen = _answers(_labelled).equals(0).combined("unless", _seen_lately, on(_target))
"""Labelled targets that do not answer and have not lately."""
_ought_to_answer = first_of(
    Function("max_over_time", Raw(around.UP, window=lambda s: str(_startup(s.settings)))).equals(1),
    _last(around.UP, remembered).ago(_startup),
)
"""Targets that once answered, and those that were scraped in vain before a new server's time to start."""

down = first_of(
    over_level("group", _last(serving.REQUESTS_RUNNING, remembered).combined("and", _answers().equals(0), on(_target))),
    Aggregate("max", _target_level, _never_seen.combined("and", _ought_to_answer, on(_target))),
)
"""Engines seen lately on a target that does not answer, and labelled targets that ought to have answered by now."""
starting = Aggregate("max", _target_level, _never_seen)
"""Those that have never answered; the ones that ought to have are down, which is asked before."""
silent = Aggregate("max", _target_level, answers_without(serving.REQUESTS_RUNNING, _labelled))
"""Labelled targets that answer, but say nothing of an engine."""


def of_servers(vector: Expr) -> Expr:
    """Of a vector by target: what belongs to vLLM servers, seen lately or labelled; others expose it too."""
    return vector.combined("and", first_of(_seen_lately, Raw(around.UP, matchers=_labelled)), on(_target))
