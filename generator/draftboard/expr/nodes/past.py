"""Signals by name, their past, and expressions that are evaluated over another span or by another evaluator."""

from dataclasses import dataclass
from typing import Literal

from draftboard.durations import Duration
from draftboard.expr.nodes.expression import Expr, Number, Recorded, Rescoped, Span, StandIn
from draftboard.quantity import EVALUATION


@dataclass(frozen=True)
class Ref(StandIn):
    """A signal by its name: of itself, or of one that is defined later."""

    name: str


@dataclass(frozen=True)
class Over(Rescoped):
    """With rates over another span than the rules' window; of raw series only."""

    span: Span


@dataclass(frozen=True)
class AtEnd(Rescoped):
    """At the end of what a graph shows: one value for the whole of it."""


@dataclass(frozen=True)
class AsRecorded(Rescoped):
    """What rules have recorded, for who reads raw series otherwise; nothing where there are no rules."""


@dataclass(frozen=True)
class OfOneMoment(Rescoped):
    """In rules from raw series alone: records of another group are of another moment."""


NO_OFFSET = Duration(0)


@dataclass(frozen=True)
class OverTime(Expr):
    """A function of an expression's own past: over its record, or over a subquery at the rules' or another pace."""

    function: str
    argument: Expr
    span: Span
    offset: Span = NO_OFFSET  # How much of the latest past is left out.
    pace: Span = EVALUATION
    share: Number | None = None  # Of `quantile_over_time`.


@dataclass(frozen=True)
class Before(Expr):
    """What a signal's own record held last, or a function of it, within a span: a signal that goes on from its past."""

    signal: Ref
    span: Span
    function: str = "last_over_time"
    offset: Span = NO_OFFSET
    pace: Span = EVALUATION


@dataclass(frozen=True)
class Extreme(Expr):
    """The least or the greatest of a signal within the window, of its values at each evaluation."""

    how: Literal["min", "max"]
    signal: Recorded
