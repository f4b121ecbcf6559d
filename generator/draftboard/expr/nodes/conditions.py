"""Expressions that depend on the settings, the dialect, the level or the evaluator."""

from dataclasses import dataclass
from enum import Enum

from draftboard.catalogue import Metric, Presence
from draftboard.expr.nodes.expression import Expr, Recorded, StandIn
from draftboard.expr.nodes.series import MetricOfDialect
from draftboard.expr.scope import Level


class Evaluator(Enum):
    """What an expression depends on of whoever evaluates it."""

    RECORDS = "reads what rules have recorded"
    RECORDS_AT_ONCE = "reads what rules have recorded in this evaluation, which some rulers show in the next"
    RAW_PANEL = "is a panel of raw series: it cannot afford days of a past, and its window follows the zoom"
    ONCE = "evaluates once, from raw series: it computes no past"


@dataclass(frozen=True)
class AtLevel:
    """At this level."""

    level: Level


@dataclass(frozen=True)
class IsSet:
    """Where a setting holds something: not nothing, false, or an empty table; with a key, where its table has it."""

    path: str
    key: str = ""


@dataclass(frozen=True)
class InDialect:
    """Where the dialect has this metric: of its own, or one of vLLM's."""

    metric: MetricOfDialect | Metric


@dataclass(frozen=True)
class Exposed:
    """Where a server of the dialect exposes this metric just then."""

    metric: MetricOfDialect | Metric
    presence: Presence


@dataclass(frozen=True)
class IsRead:
    """Where the record of a signal is read, and not what it is made of."""

    signal: Recorded
    level: Level


@dataclass(frozen=True)
class Not:
    """Where a condition does not hold."""

    condition: "Condition"


Condition = Evaluator | AtLevel | IsSet | InDialect | Exposed | IsRead | Not


@dataclass(frozen=True)
class If(StandIn):
    """One expression where a condition holds, else another, or nothing."""

    condition: Condition
    then: Expr
    otherwise: Expr | None = None


@dataclass(frozen=True)
class OfDeclared(StandIn):
    """The parts of those objectives that are declared, each with its name in a label."""

    label: str
    parts: tuple[tuple[str, Expr], ...]
