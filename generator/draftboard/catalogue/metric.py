"""What is known of a raw series family: how it is exposed, by whom, with which labels."""

from dataclasses import dataclass, field
from enum import Enum
from functools import cached_property

OLDEST = "0.8.5"
"""The oldest release of vLLM whose series were read."""
RECORDED = "0.32.0"
"""The release whose pages were recorded from running servers: newer series are known from vLLM's source alone."""


def release_numbers(release: str) -> tuple[int, ...]:
    """A release of vLLM as numbers, by which releases are ordered."""
    return tuple(map(int, release.split(".")))


class Kind(Enum):
    """What a series is, hence what may be done with it."""

    COUNTER = "counter"  # only rate() and increase() of it mean anything
    GAUGE = "gauge"
    HISTOGRAM = "histogram"  # exposes _bucket, _sum and _count


class Presence(Enum):
    """When a server exposes the series."""

    ALWAYS = "always, unless --disable-log-stats"
    SPECULATING = "only with a speculative configuration; then from the start, at 0"
    HTTP = "always, from the first request on"
    ONE_PROCESS = "only where one process serves: not with several API servers"
    PROMETHEUS = "made by Prometheus"
    GPU_EXPORTER = "where dcgm-exporter runs"
    OF_PROMETHEUS = "where the Prometheus that evaluates the rules is scraped"
    OF_RULER = "where a ruler of Mimir or Cortex is scraped"
    OF_ALERTMANAGER = "where Alertmanager is scraped"
    NODE_EXPORTER = "where node-exporter runs"
    PROBED = "where the blackbox exporter probes a model"
    KUBERNETES = "where kube-state-metrics runs, and its series name the model"
    PROBE = "where vLLM loads Draftboard's plugin"
    PROPOSED = "not in vLLM 0.33: read where a server exports it"
    COUNTED = "from the first increment on"
    BUSY = "while requests run"
    DRAFTED = "from the first response that drafted"


ELSEWHERE = frozenset(
    {Presence.PROMETHEUS, Presence.GPU_EXPORTER, Presence.OF_PROMETHEUS, Presence.OF_RULER, Presence.OF_ALERTMANAGER}
    | {Presence.NODE_EXPORTER, Presence.PROBED, Presence.KUBERNETES, Presence.PROBE, Presence.PROPOSED}
)
"""Of series that no server of vLLM exposes."""


class Owner(Enum):
    """Which labels every series of the metric carries besides its own."""

    ENGINE = "engine"  # target labels, model_name, engine
    CONFIG = "config"  # target labels, engine
    FRONTEND = "frontend"  # target labels, model_name
    TARGET = "target"  # target labels
    RULE = "rule"  # what records keep
    EXPORTER = "exporter"  # target labels of another program, of which only the scope is shared


@dataclass(frozen=True, kw_only=True)
class Metric:
    """One raw series family as Prometheus stores it."""

    name: str
    kind: Kind = Kind.COUNTER
    unit: str
    meaning: str  # in our words
    help: str = ""  # in the words of the page that exposes it
    presence: Presence = Presence.ALWAYS
    since: str = OLDEST  # first vLLM release known to export it
    until: str = ""  # last vLLM release that exports it; empty where the newest does
    own_labels: tuple[str, ...] = ()  # beyond those of its owner
    values: dict[str, tuple[str, ...]] = field(
        default_factory=dict, hash=False
    )  # by own label: all that servers expose
    owner: Owner = Owner.ENGINE
    part_of: str = ""  # the histogram whose part it is

    def exists_in(self, release: str) -> bool:
        """Whether this release of vLLM (three numbers) exports it."""
        number = release_numbers(release)
        return release_numbers(self.since) <= number and (not self.until or number <= release_numbers(self.until))

    @property
    def family(self) -> str:
        """The name under which a page describes it: of a counter without the suffix of its samples."""
        return self.name.removesuffix("_total") if self.kind is Kind.COUNTER else self.name

    @property
    def parts(self) -> "tuple[Metric, ...]":
        """What is exposed of it, each with a name of its own: of a histogram three parts."""
        return (self,)


@dataclass(frozen=True, kw_only=True)
class Histogram(Metric):
    """A classic histogram: three families of counters, for the sum, the number and the bounds of its samples."""

    kind: Kind = Kind.HISTOGRAM
    unit: str = "seconds"
    counts: str = "requests"  # what one sample is
    buckets: tuple[float, ...]  # upper bounds, without +Inf, unless the server was started with others
    custom: str = ""  # its name in vLLM's `--custom-histogram-buckets` (0.32); empty where that cannot replace it
    within_context: bool = False  # whether a server has only the bounds up to its --max-model-len

    def bounds(self, max_model_len: int) -> tuple[float, ...]:
        """Upper bounds of a server with that context window, without +Inf."""
        if not self.within_context:
            return self.buckets
        return tuple(bound for bound in self.buckets if bound <= max_model_len)

    @cached_property
    def bucket(self) -> Metric:
        """Samples up to each upper bound `le`."""
        return self._part("_bucket", self.counts, "le")

    @cached_property
    def sum(self) -> Metric:
        """Sum of all samples."""
        return self._part("_sum", self.unit)

    @cached_property
    def count(self) -> Metric:
        """Number of samples."""
        return self._part("_count", self.counts)

    @property
    def parts(self) -> tuple[Metric, ...]:
        """Bounds, sum and number."""
        return (self.bucket, self.sum, self.count)

    def _part(self, suffix: str, unit: str, *labels: str) -> Metric:
        kept = {name: getattr(self, name) for name in ("meaning", "presence", "since", "until", "owner")}
        own = (*self.own_labels, *labels)
        return Metric(name=self.name + suffix, unit=unit, own_labels=own, part_of=self.name, **kept)
