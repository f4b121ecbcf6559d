"""History in a Prometheus: values of several expressions at the same times."""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from difflib import SequenceMatcher
from typing import NamedTuple, Self

from draftboard.catalogue.serving import GENERATION_TOKENS
from draftboard.durations import Duration
from draftboard.errors import DraftboardError
from draftboard.expr.nodes import Expr, Function, Raw, over_level
from draftboard.expr.scope import Edition, Level, Matcher, Scope
from draftboard.expr.to_promql import promql_of
from draftboard.expr.vector import Labels
from draftboard.output import Progress, no_progress
from draftboard.prometheus import Client
from draftboard.settings import Settings

_MOST = 1e15  # Of anything that is counted.
_LISTED = 5


class Remembered(NamedTuple):
    """One value."""

    name: str  # Of the expression.
    labels: Labels
    at: float  # Unix seconds.
    value: float


@dataclass(frozen=True)
class Past:
    """Moments from a first to a last one, in steps of so many seconds."""

    first: float
    last: float
    step: float

    @classmethod
    def before(cls, at: float, span: Duration, window: Duration) -> Self:
        """The end of every window of a range before a time. DraftboardError: the range has none."""
        if span < window:
            raise DraftboardError(f"--range {span} is shorter than the window of rates, {window}")
        return cls(at - span.seconds + window.seconds, at, window.seconds)

    @property
    def windows(self) -> int:
        """How many there are."""
        return int((self.last - self.first) // self.step) + 1

    def read(
        self, client: Client, scope: Scope, expressions: Mapping[str, Expr], progress: Progress = no_progress
    ) -> Iterator[Remembered]:
        """Every value that can be one: from 0 to what anybody counts. A query for each expression."""
        for done, (name, expression) in enumerate(expressions.items()):
            progress("querying Prometheus", done, len(expressions))
            for series in client.query_range(promql_of(expression, scope), self.first, self.last, self.step):
                labels = frozenset(series.unnamed.items())
                yield from (Remembered(name, labels, at, value) for at, value in series.samples if 0 <= value < _MOST)


def of_model(scope: Scope, model: str) -> Scope:
    """The scope restricted to a model; unchanged where none is named."""
    return scope.where(Matcher.exactly(scope.settings.labels.model_name, model)) if model else scope


def other_models(client: Client, settings: Settings, model: str, span: Duration, at: float) -> str:
    """For an error on a model that is not there: the names that were served in the span, the nearest first."""
    label = settings.labels.model_name
    served = over_level("group", Function("last_over_time", Raw(GENERATION_TOKENS, span)))
    try:
        answer = client.query(promql_of(served, Scope(settings, Level.MODEL, Edition.ONCE)), at) if model else []
    except DraftboardError:  # The model is not there, whatever keeps the others from being named.
        return ""
    names = {series.labels.get(label, "") for series in answer} - {"", model}
    nearest = sorted(names, key=lambda name: (-SequenceMatcher(None, model, name[:100]).ratio(), name))
    more = len(nearest) - _LISTED
    return f"; served: {', '.join(nearest[:_LISTED])}" + (f" and {more} more" if more > 0 else "") if nearest else ""
