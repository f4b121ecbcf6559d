"""Values from values: numbers, functions, aggregations."""

from dataclasses import dataclass

from draftboard.expr.nodes.expression import Expr, Number
from draftboard.expr.nodes.labels import LEVEL, Names
from draftboard.quantity import Quantity, Setting


@dataclass(frozen=True)
class Parameter(Expr):
    """A number that the reader of a dashboard chooses; for all others the default."""

    name: str
    default: Quantity | float


@dataclass(frozen=True)
class Now(Expr):
    """The time of evaluation, in Unix time; counts have none."""


@dataclass(frozen=True)
class Function(Expr):
    """A function of one vector."""

    name: str
    argument: Expr


@dataclass(frozen=True)
class Quantile(Expr):
    """A quantile of a histogram's buckets, estimated within its bucket as `histogram_quantile` does."""

    share: Number | Parameter
    buckets: Expr


@dataclass(frozen=True)
class QuantileBucket(Expr):
    """The lower or the upper bound of the bucket that a quantile of a histogram lies in: as much as is known of it.

    A quantile above the last bound lies in no bucket: both bounds are that one.
    """

    share: Number
    buckets: Expr
    upper: bool


@dataclass(frozen=True)
class AtLeast(Expr):
    """A vector whose values are raised to a number where they are below it."""

    argument: Expr
    least: float


@dataclass(frozen=True)
class Interpolated(Expr):
    """A function of a vector that a setting gives at some points: linear between them, constant beyond."""

    argument: Expr
    points: Setting  # Pairs, from the smallest.


@dataclass(frozen=True)
class Constant(Expr):
    """One value for every series of another expression, with that one's labels."""

    value: Quantity | float
    like: Expr


def constant(value: Quantity | float, like: Expr) -> Constant:
    """One value for every series of another expression."""
    return Constant(value, like)


@dataclass(frozen=True)
class Aggregate(Expr):
    """One value for all series with the same labels `by`."""

    how: str
    by: Names
    argument: Expr


def over_level(how: str, argument: Expr, *extra: str) -> Aggregate:
    """One value for each series of the level, and each value of the extra labels."""
    return Aggregate(how, (LEVEL, *extra), argument)


@dataclass(frozen=True)
class AtMost(Expr):
    """So many of the series with the same labels `by`, each with all its labels: the greatest."""

    most: int
    by: Names
    argument: Expr


@dataclass(frozen=True)
class Spread(Expr):
    """A quantile of the values of all series with the same labels `by`."""

    share: float
    by: Names
    argument: Expr
