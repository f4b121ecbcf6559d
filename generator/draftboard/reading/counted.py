"""Signals of servers, computed from their counts under the labels that Prometheus would have stored."""

from collections.abc import Mapping, Sequence
from collections.abc import Set as AbstractSet
from dataclasses import dataclass, field
from functools import cache, partial
from itertools import chain

from draftboard.catalogue import serving, speculation
from draftboard.expr.counts import Counts
from draftboard.expr.scope import Level
from draftboard.expr.to_numbers import values_of
from draftboard.expr.vector import Labels, kept, value_of
from draftboard.reading.growth import Tally
from draftboard.reading.samples import Labels as Own
from draftboard.settings import Settings
from draftboard.signals import Signal

MIXED = "servers with and without speculation in one"
"""Why the numbers of a model are nobody's, where `apart.plain_among` names servers of it."""


@dataclass(frozen=True)
class Entry:
    """Engines that a report has as one: those of a model, or apart from them those of its baseline."""

    tallies: Sequence[Tally]
    is_baseline: bool  # Whether they do not speculate, where another server of their model does.

    @property
    def model(self) -> str:
        """The model of them all; empty without an engine."""
        return next((one.model for one in self.tallies), "")

    def labels(self, settings: Settings, method: str = "") -> list[Labels]:
        """The labels of each engine's series; `method` is how they draft, where they do not export it."""
        method = settings.methods.baseline if self.is_baseline else method
        ways = {drafting_of(one.info, settings, method) for one in self.tallies}
        # Where they draft in several ways, none is that of all.
        drafting = next(iter(ways)) if len(ways) == 1 else (method, "")
        return [_labelled(one, settings, drafting) for one in self.tallies]


def entries_of(tallies: Sequence[Tally]) -> tuple[Entry, ...]:
    """The engines of each model and of each baseline, in the order of their first."""
    drafting: dict[str, set[str]] = {}  # Servers that speculate, by model.
    for one in tallies:
        if _drafts(one):
            drafting.setdefault(one.model, set()).add(one.source)
    entries: dict[tuple[str, bool], list[Tally]] = {}
    for one in tallies:
        speculate = drafting.get(one.model, set())
        is_baseline = len(speculate) > (one.source in speculate) and _is_plain(one)
        entries.setdefault((one.model, is_baseline), []).append(one)
    return tuple(Entry(own, is_baseline) for (_, is_baseline), own in entries.items())


def counts_of(tallies: Sequence[Tally], settings: Settings, method: str = "") -> Counts:
    """Counts of engines, labelled by the settings' names; `method` is how they draft, where they do not export it."""
    series: dict[str, dict[Labels, float]] = {}
    before: dict[str, dict[Labels, float]] = {}
    labelled = (zip(entry.tallies, entry.labels(settings, method), strict=True) for entry in entries_of(tallies))
    stored = cache(partial(_stored, whose=frozenset(settings.labels.engine_level)))  # All engines have the same few.
    for tally, whose in chain.from_iterable(labelled):
        known = dict[Own, Labels]()
        for (metric, labels), value in (*tally.counted.items(), *tally.gauges.items()):
            if (whole := known.get(labels)) is None:  # Histograms of one engine share most of their labels.
                whole = known[labels] = whose | stored(labels)
            # A gauge may have a series for each of the server's processes: the largest counts.
            values = series.setdefault(metric, {})
            values[whole] = max(value, values[whole]) if whole in values else value
        for metric, labels in tally.positions_before:
            before.setdefault(metric, {})[whose | set(labels)] = 0.0
    return Counts(settings, series, earlier=Counts(settings, before))


def _stored(labels: Own, whose: AbstractSet[str]) -> Labels:
    # A saved page may already have the labels that Prometheus adds. Servers write one bound as 1, 1.0 or 1e+00.
    return frozenset(
        (name, f"{float(text):g}" if name == "le" else text) for name, text in labels if text and name not in whose
    )


def labels_of(tally: Tally, settings: Settings, method: str = "") -> Labels:
    """The labels of an engine's series, which is read by itself."""
    return _labelled(tally, settings, drafting_of(tally.info, settings, method))


def _labelled(tally: Tally, settings: Settings, drafting: tuple[str, str]) -> Labels:
    names = settings.labels
    whose = (names.instance, names.model_name, names.engine, names.spec_method, names.spec_verification)
    labels = zip(whose, (tally.source, tally.model, tally.engine, *drafting), strict=True)
    return frozenset((name, text) for name, text in labels if text)


def _is_plain(tally: Tally) -> bool:
    """Without counters of drafts; or with some that stay at 0 while it serves, as engines have that always show them.

    Positions stay from an earlier draft.
    """
    is_counted = tally.total(speculation.DRAFTS) is not None
    return not _drafts(tally) and (not is_counted or bool(tally.total(serving.GENERATION_TOKENS)))


def _drafts(tally: Tally) -> bool:
    """Whether a server has drafted, or is known to be set up for it."""
    positions = tally.total(speculation.ACCEPTED_TOKENS_PER_POS)
    return bool(tally.total(speculation.DRAFTS)) or positions is not None


def drafting_of(info: Mapping[str, str], settings: Settings, method: str = "") -> tuple[str, str]:
    """Values of the labels spec_method and spec_verification, from the info series of the plugin for vLLM."""
    adaptive = settings.methods.adaptive[0] if info.get("adaptive") == "true" else ""
    return method or info.get("method", ""), adaptive


@dataclass(frozen=True)
class Reader:
    """Signals at one level; each is computed once."""

    counts: Counts
    level: Level
    _split: dict[str, Mapping[Labels, Mapping[str, float]]] = field(default_factory=dict)

    def of(self, labels: Labels) -> "Numbers":
        """The numbers of the model or engine with these labels."""
        return Numbers(self, labels)

    def keys(self, *signals: Signal) -> list[Labels]:
        """Every model or engine that one of the signals has a value for."""
        names = self.level.labels(self.counts.settings)
        keys = {kept(labels, names) for signal in signals for labels in values_of(signal, self.counts, self.level)}
        return sorted(keys, key=sorted)

    def split(self, signal: Signal) -> Mapping[Labels, Mapping[str, float]]:
        """Values of a signal by model or engine, then by its own label in numerical order; "" where it has none."""
        if signal.name not in self._split:
            own = signal.by[0] if signal.by else ""
            whose = self.counts.dropping((own,) if own else ())
            parts: dict[Labels, dict[str, float]] = {}
            for labels, value in values_of(signal, self.counts, self.level).items():
                parts.setdefault(whose(labels), {})[value_of(labels, own) if own else ""] = value
            self._split[signal.name] = {labels: _in_order(values) for labels, values in parts.items()}
        return self._split[signal.name]


@dataclass(frozen=True)
class Numbers:
    """The numbers of one model or engine: a rate is the growth within the window."""

    reader: Reader
    labels: Labels

    @property
    def settings(self) -> Settings:
        """The settings of the counts."""
        return self.reader.counts.settings

    def value(self, signal: Signal) -> float | None:
        """The value of a signal without a label of its own; None where there is none."""
        return self.by(signal).get("")

    def by(self, signal: Signal) -> Mapping[str, float]:
        """The values of a signal by its own label, in numerical order."""
        return self.reader.split(signal).get(self.labels, {})

    def each(self, signal: Signal) -> tuple[float, ...]:
        """The values of a signal in numerical order of its own label."""
        return tuple(self.by(signal).values())


def _in_order(values: Mapping[str, float]) -> Mapping[str, float]:
    return {text: values[text] for text in sorted(values, key=_order)} if len(values) > 1 else values


def _order(text: str) -> tuple[float, str]:
    try:
        return float(text), text
    except ValueError:
        return 0.0, text
