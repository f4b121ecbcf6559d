"""Series of metrics and records, and rates of counters."""

from dataclasses import dataclass
from enum import Enum
from typing import Literal

from draftboard.catalogue import Metric
from draftboard.expr.nodes.expression import Expr, Span
from draftboard.expr.nodes.labels import Match, Names
from draftboard.expr.nodes.values import Function, over_level


class Window(Enum):
    """The range of a function of raw series."""

    RATE = "that of rates: in panels of raw series Grafana's own, which follows the zoom"
    FIXED = "that of the rules, or of a question; whatever a panel shows"


@dataclass(frozen=True)
class MetricOfDialect:
    """A metric that only some dialects have, by the name of the dialect's field."""

    field: Literal["rate", "length", "drafted_by_position", "in_flight", "finished", "seen_by"]


@dataclass(frozen=True)
class Raw(Expr):
    """A metric's own series: the last samples, or with a window the range that a function takes."""

    metric: Metric | MetricOfDialect
    window: Window | Span | None = None
    matchers: tuple[Match, ...] = ()
    chosen_by: Names | None = None  # Labels by which the scope selects, where not by all that the series carry.


@dataclass(frozen=True)
class InWindow(Expr):
    """A rate as what was counted within the rules' window."""

    rate: Expr


def rate(metric: Metric, by: tuple[str, ...] | None = None) -> Expr:
    """Per-second increase of a counter, by the level's labels and those of its own that stay: all, or `by`."""
    return over_level("sum", rate_of_each(metric), *(metric.own_labels if by is None else by))


def rate_of_each(metric: Metric) -> Expr:
    """Per-second increase of each series of a counter."""
    return Function("rate", Raw(metric, Window.RATE))
