"""What a dialect is: how an engine or a pipeline names what vLLM exports, and when a server exposes it."""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from functools import cached_property
from typing import Literal, NamedTuple

from draftboard.catalogue import CATALOGUE, serving
from draftboard.catalogue.metric import Kind, Metric, Presence

VLLM = "vllm:"


class Understood(NamedTuple):
    """A sample as part of a series of vLLM's."""

    name: str
    labels: dict[str, str]
    weight: float  # What the sample counts in it: -1 where it is subtracted.


@dataclass(frozen=True)
class Spelling:
    """A metric as a dialect writes it."""

    name: str
    labels: Mapping[str, str] = field(default_factory=dict)  # Names of the metric's own labels: ours, theirs.
    only: tuple[tuple[str, str], ...] = ()  # Labels and values of those series that are meant, where not all are.
    less: str = ""  # A counter that is subtracted, where the engine counts only the sum of both.

    def part(self, suffix: str) -> "Spelling":
        """A histogram's part."""
        return Spelling(self.name + suffix, self.labels, self.only)

    @property
    def names(self) -> tuple[str, ...]:
        """All names that it is made of."""
        return (self.name, self.less) if self.less else (self.name,)


@dataclass(frozen=True, eq=False)
class Dialect:
    """How an engine or a pipeline names series."""

    name: str  # In the settings.
    engine: str  # In words.
    prefixes: tuple[str, ...]  # How its series begin: first as rules read them.
    spellings: Mapping[Metric, Spelling] | None = None
    """By metric; None where every series of vLLM is there, under the prefix."""
    lacks: frozenset[Presence] = frozenset()  # Series around the engine that are not there.
    exposed: Mapping[Metric, Presence] = field(default_factory=dict)
    """When series of the engine are there; the others as their kind, or when vLLM's own are."""
    exposed_kinds: Mapping[Kind, Presence] = field(default_factory=dict)
    sign: str = ""  # A series that shows the program before the engine has exposed any of its own.
    engine_label: str = ""  # The label that tells engines of one target apart, where it is not vLLM's.
    begins_after: Mapping[Metric, Metric] = field(default_factory=dict)
    """By counter: one of its engine that is there before it, so that its first value was counted since then."""
    seen_by: Metric = serving.REQUESTS_RUNNING  # The series by which a server is known for as long as it runs.
    in_flight: Metric | None = None  # A gauge of requests inside each engine, where vLLM's own does not stay.
    finished: Metric | None = None  # A counter of requests by replica, beside `in_flight`, from the first.
    has_models: bool = True  # Whether series carry the label of a model.
    length: Metric | None = None  # A gauge of the acceptance length, where no counters give it.
    rate: Metric | None = None  # A gauge of the acceptance, likewise.
    drafted_by_position: Metric | None = None  # A counter of drafted tokens by position, where an engine has it.
    misleading: frozenset[str] = frozenset()  # Names of signals whose series mean something else here.
    reports: str = ""  # Of it, where that is not all.
    omits: str = ""  # What it does not report.

    def spelled(self, metric: Metric) -> Spelling | None:
        """A metric, or a part of a histogram, in this dialect; None where it is not exported."""
        if metric.presence in self.lacks:
            return None
        if not metric.name.startswith(VLLM) and metric is not self.drafted_by_position:
            return Spelling(metric.name)
        if self.spellings is None:
            return Spelling(self.prefixes[0] + metric.name.removeprefix(VLLM))
        if metric in self.spellings:
            return self.spellings[metric]
        whole = next((one for one in self.spellings if one.name == metric.part_of), None)
        return self.spellings[whole].part(metric.name.removeprefix(whole.name)) if whole else None

    @property
    def own(self) -> tuple[Metric, ...]:
        """Its own series, which vLLM does not have."""
        own = (self.length, self.rate, self.drafted_by_position, self.in_flight, self.finished)
        return tuple(one for one in own if one)

    @cached_property
    def own_names(self) -> frozenset[str]:
        """Names of its own series."""
        return frozenset(metric.name for metric in self.own)

    def presence(self, metric: Metric) -> Presence:
        """When a server exposes it."""
        if metric.presence not in {Presence.ALWAYS, Presence.SPECULATING}:
            return metric.presence
        return self.exposed.get(metric) or self.exposed_kinds.get(metric.kind, metric.presence)

    @property
    def shows_speculation(self) -> tuple[Metric, ...]:
        """The series that only a server exposes that speculates, or has drafted."""
        return tuple(
            metric
            for metric in CATALOGUE
            if metric.presence is Presence.SPECULATING and self.presence(metric) is not Presence.ALWAYS
        )

    @property
    def is_plain_known(self) -> bool:
        """Whether a server without speculation differs from one that has not drafted yet."""
        return all(self.presence(metric) is Presence.SPECULATING for metric in self.shows_speculation)

    @property
    def sample(self) -> Literal["requests", "tokens"]:
        """What a time per output token is counted by: tokens, where the engine does not count requests."""
        return "requests" if self.spelled(serving.REQUESTS_FINISHED) else "tokens"

    @property
    def own_labels(self) -> frozenset[str]:
        """Labels that its series have instead of vLLM's."""
        spellings = (self.spellings or {}).values()
        return frozenset(
            label for one in spellings for label in (*one.labels.values(), *(name for name, _ in one.only))
        )

    def labels_for(self, label: str) -> Iterator[str]:
        """What some of its series call one of our labels."""
        for spelling in (self.spellings or {}).values():
            if label in spelling.labels:
                yield spelling.labels[label]

    @cached_property
    def missing(self) -> frozenset[str]:
        """Names, vLLM's, of the series that it does not export."""
        return frozenset(part.name for metric in CATALOGUE for part in metric.parts if not self.spelled(part))

    @cached_property
    def _by_spelling(self) -> Mapping[str, tuple[tuple[Metric, Spelling], ...]]:
        result: dict[str, list[tuple[Metric, Spelling]]] = {}
        for part in (part for metric in (self.spellings or {}) for part in metric.parts):
            if spelling := self.spelled(part):
                for name in spelling.names:
                    result.setdefault(name, []).append((part, spelling))
        return {name: tuple(pairs) for name, pairs in result.items()}

    @cached_property
    def exported(self) -> frozenset[str]:
        """Names of all its series that are read."""
        written = (name for metric in CATALOGUE for part in metric.parts for name in self.written(part))
        return frozenset([*(metric.name for metric in self.own), *written, *filter(None, [self.sign])])

    def written(self, metric: Metric) -> Iterator[str]:
        """Names that a metric has in it, of any release; none where it is not exported."""
        for name in spelling.names if (spelling := self.spelled(metric)) else ():
            ending = name.removeprefix(self.prefixes[0])
            yield from (prefix + ending for prefix in self.prefixes) if ending != name else (ending,)

    def meant(self, name: str) -> Iterator[str]:
        """The names of vLLM's series that one of its own stands for."""
        prefix = next((prefix for prefix in self.prefixes if name.startswith(prefix)), None)
        if prefix and self.spellings is None:
            yield VLLM + name.removeprefix(prefix)
        elif name in self._by_spelling:
            yield from (metric.name for metric, _ in self._by_spelling[name])
        else:
            yield name

    def understood(self, name: str, labels: Mapping[str, str]) -> Iterator[Understood]:
        """One of its samples under the names that vLLM has for it: one sample may be part of several counts."""
        pairs = self._by_spelling.get(name)
        if pairs is None:
            yield from (Understood(meant, dict(labels), 1) for meant in self.meant(name))
            return
        for metric, spelling in pairs:
            if all(labels.get(label) == value for label, value in spelling.only):
                ours = {theirs: own for own, theirs in spelling.labels.items()}
                own = {ours.get(label, label): value for label, value in labels.items()}
                yield Understood(metric.name, own, -1 if name == spelling.less else 1)

    @cached_property
    def differences(self) -> Mapping[str, tuple[str, str]]:
        """By vLLM's name of a series that only a difference gives: the names of both counters."""
        pairs = (pair for pairs in self._by_spelling.values() for pair in pairs)
        return {metric.name: (spelling.name, spelling.less) for metric, spelling in pairs if spelling.less}

    def named(self, name: str) -> str:
        """A name of vLLM's series as it is here; unchanged where it is not there."""
        if self.spellings is None and name.startswith(VLLM):
            return self.prefixes[0] + name.removeprefix(VLLM)
        metric = next((part for one in CATALOGUE for part in (one, *one.parts) if part.name == name), None)
        spelling = metric and self.spelled(metric)
        return spelling.name if spelling else name
