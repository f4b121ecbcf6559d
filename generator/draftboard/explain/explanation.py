"""An explanation as data."""

from dataclasses import dataclass

from draftboard.output import Described


@dataclass(frozen=True)
class Used(Described):
    """A setting that an expression holds."""

    setting: str
    """Its path in the settings file."""
    value: str


@dataclass(frozen=True)
class Metric(Described):
    """Raw series that an expression reads."""

    name: str
    """As the engine exports it."""
    meaning: str
    value: float | None
    """Growth of a counter within the window, the sample on which its rate rests; of a gauge the last value. Summed."""
    is_counter: bool


@dataclass(frozen=True)
class Row(Described):
    """A row of a decision: the first that holds decides."""

    says: str
    holds: bool | None
    """Null where an earlier row decided, so that this one was not evaluated."""
    because: str
    """Its condition, with live values."""


@dataclass(frozen=True)
class Step(Described):
    """A signal within the tree."""

    name: str
    depth: int
    """0 for what is explained; a signal stands below the first one that is computed from it."""
    title: str
    description: str
    record: str | None
    """Null where it is computed in place."""
    values: tuple[str, ...]
    """In words, one for each series; empty where there is no sample."""
    numbers: tuple[float, ...]
    """The same values as numbers."""
    empty: str
    """What it means that there is no sample."""
    formula: str
    """What it is computed from, with live values."""
    promql: str
    settings: tuple[Used, ...]
    metrics: tuple[Metric, ...]
    """Those that it reads itself, without the signals below it."""
    rows: tuple[Row, ...]
    """Of a signal that is a decision."""
    made_of: tuple[str, ...]
    """Names of the signals that it is computed from."""


@dataclass(frozen=True)
class Series(Described):
    """One of the series that are explained."""

    labels: dict[str, str]
    drafts: float | None
    """Drafts verified within the window: the sample size of what is said of speculation."""
    steps: tuple[Step, ...]
    """The tree, depth first; of a number that rests on assumed costs the trees of both its ends."""


@dataclass(frozen=True, kw_only=True)
class Explanation(Described):
    """What a signal, record or alert is computed from."""

    schema_version: int = 1
    """Raised when a field is removed or changes its meaning; new fields do not change it."""
    name: str
    kind: str
    """`signal`, `record` or `alert`."""
    source: str
    """Where the values come from; empty for an explanation without values."""
    at: float | None
    """Evaluation time in Unix seconds; null where it is not known."""
    window: str
    """Of rates."""
    series: tuple[Series, ...]
