"""What servers counted, and a view of it from a scope: what the numeric reader of an expression reads."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cache, lru_cache

from draftboard.expr import vector
from draftboard.expr.nodes import Span
from draftboard.expr.scope import Level, Matcher, Scope
from draftboard.expr.vector import Histograms, Key, Vector
from draftboard.settings import Settings


@dataclass(frozen=True)
class Counts:
    """What servers counted within one window: the growth of counters, which stands for rates; gauges' last values."""

    settings: Settings
    series: Mapping[str, Vector] = field(default_factory=dict)  # By the name of the metric.
    answers: Mapping[tuple[str, Level], Vector] = field(default_factory=dict)
    """Results of a Prometheus, by the signal's name and level. Rates are growth here, too."""
    earlier: "Counts | None" = None  # At the beginning of the window, as far as that is known.
    ago: Mapping[Span, "Counts"] = field(default_factory=dict)
    """Of windows that ended so much earlier, where they were read, too."""
    read_before: dict[tuple[str, Level], Vector] = field(default_factory=dict, repr=False)
    """Values of signals, each computed once."""
    histograms: dict[int, tuple[Vector, Histograms]] = field(default_factory=dict, repr=False)
    """Buckets as histograms, by the identity of the vector, which is kept for that."""
    keeping: Callable[[tuple[str, ...]], Key] = field(default_factory=lambda: cache(vector.keeping), repr=False)
    """`vector.keeping` of these counts, whose keys remember what they make of labels."""
    dropping: Callable[[tuple[str, ...]], Key] = field(default_factory=lambda: cache(vector.dropping), repr=False)
    """`vector.dropping` likewise."""


@dataclass(frozen=True)
class View:
    """Counts as a scope sees them."""

    scope: Scope
    counts: Counts

    def through(self, scope: Scope) -> "View":
        """These counts, seen from another scope."""
        return replace(self, scope=scope)

    @property
    def earlier(self) -> "View | None":
        """This view at the beginning of the window."""
        return replace(self, counts=self.counts.earlier) if self.counts.earlier else None

    def ago(self, span: Span) -> "View | None":
        """This view of the window that ended so much earlier."""
        return replace(self, counts=self.counts.ago[span]) if span in self.counts.ago else None

    def once(self, name: str, compute: Callable[[], Vector]) -> Vector:
        """A signal's values at this level: those of a Prometheus, or computed once."""
        key, counts = (name, self.scope.level), self.counts
        found = counts.answers.get(key)
        if found is None and (found := counts.read_before.get(key)) is None:
            found = counts.read_before[key] = compute()
        return found

    def histograms(self, buckets: Vector) -> Histograms:
        """Buckets as histograms, of which several quantiles are read."""
        known = self.counts.histograms
        if id(buckets) not in known:
            known[id(buckets)] = buckets, vector.histograms(buckets, self.counts.dropping(("le",)))
        return known[id(buckets)][1]

    def selected(self, elements: Vector, carried: tuple[str, ...], extra: Sequence[Matcher] = ()) -> Vector:
        """The elements that fit the scope's matchers, as far as such series carry their labels."""
        for matcher in (*self.scope.selecting(carried), *extra):
            fits = lru_cache(matcher.fits)  # Many elements have few values of a label.
            elements = {
                labels: value for labels, value in elements.items() if fits(vector.value_of(labels, matcher.label))
            }
        return elements
