"""The base of all nodes, with its operators, and the nodes that these make."""

from abc import abstractmethod
from dataclasses import dataclass

from draftboard.durations import Duration
from draftboard.expr.nodes.labels import ALL_LABELS, Label, Matching, Pattern
from draftboard.expr.scope import Level
from draftboard.quantity import Quantity
from draftboard.settings import Settings

Span = Quantity | Duration
"""How far an expression looks back."""


class Expr:
    """What a signal is computed from. `/` gives no sample without traffic; `per` divides in any case."""

    def __add__(self, other: "Operand") -> "Expr":
        return Binary(self, "+", expr(other))

    def __radd__(self, other: "Quantity | float") -> "Expr":
        return Binary(expr(other), "+", self)

    def __sub__(self, other: "Operand") -> "Expr":
        return Binary(self, "-", expr(other))

    def __rsub__(self, other: "Quantity | float") -> "Expr":
        return Binary(expr(other), "-", self)

    def __mul__(self, other: "Operand") -> "Expr":
        return Binary(self, "*", expr(other))

    def __rmul__(self, other: "Quantity | float") -> "Expr":
        return Binary(expr(other), "*", self)

    def __truediv__(self, other: "Expr") -> "Expr":
        return self.ratio(other)

    def __lt__(self, other: "Operand") -> "Expr":
        return Binary(self, "<", expr(other))

    def __le__(self, other: "Operand") -> "Expr":
        return Binary(self, "<=", expr(other))

    def __gt__(self, other: "Operand") -> "Expr":
        return Binary(self, ">", expr(other))

    def __ge__(self, other: "Operand") -> "Expr":
        return Binary(self, ">=", expr(other))

    def __and__(self, other: "Expr") -> "Expr":
        return Binary(self, "and", other)

    def __or__(self, other: "Expr") -> "Expr":
        return FirstOf((self, other))

    def ratio(self, other: "Expr", match: Matching = ALL_LABELS) -> "Expr":
        """Over the other where that is above 0: no traffic gives no sample, never NaN."""
        return Binary(self, "/", other > 0, match)

    def per(self, other: "Expr", match: Matching = ALL_LABELS) -> "Expr":
        """Over the other, whatever that is."""
        return Binary(self, "/", other, match)

    def combined(self, operator: str, other: "Operand", match: Matching = ALL_LABELS) -> "Expr":
        """Any other operator, with its matching."""
        return Binary(self, operator, expr(other), match)

    def equals(self, other: "Operand", match: Matching = ALL_LABELS) -> "Expr":
        """Where both are equal."""
        return Binary(self, "==", expr(other), match)

    def where(self, label: Label, *values: Pattern) -> "Expr":
        """Of the series whose label has one of the values, which may be regular expressions."""
        return Select(self, label, values)

    def without(self, label: Label, *values: Pattern) -> "Expr":
        """Of the series whose label has none of the values."""
        return Select(self, label, values, negated=True)

    def sum(self, label: str) -> "Expr":
        """Sum over one label."""
        return Reduce("sum", label, self)

    def min(self, label: str) -> "Expr":
        """The least over one label."""
        return Reduce("min", label, self)

    def max(self, label: str) -> "Expr":
        """The greatest over one label."""
        return Reduce("max", label, self)

    def count(self, label: str) -> "Expr":
        """How many values one label has."""
        return Reduce("count", label, self)

    def at(self, level: Level) -> "Expr":
        """At another level."""
        return At(self, level)

    def ago(self, span: Span) -> "Expr":
        """As it was then."""
        return Ago(self, span)


class Recorded(Expr):
    """An expression with a name, which rules may record: a signal."""

    name: str
    expr: Expr
    by: tuple[str, ...]
    """Labels beyond those of the level."""
    rollup: str | None
    """Aggregation that makes the model-level record from engine-level ones, where that is exact."""

    @abstractmethod
    def exists(self, settings: Settings) -> bool:
        """Whether the settings enable it, and the dialect has the series that it needs."""

    @abstractmethod
    def record_name(self, level: Level, settings: Settings, *, if_exists: bool = True) -> str | None:
        """Full name of its record at a level; None where it is not recorded there, or does not exist."""


class StandIn(Expr):
    """A node that stands for others, which depend on the settings, dialect, level or evaluator."""


Operand = Expr | Quantity | float


@dataclass(frozen=True)
class Number(Expr):
    """A number, or a quantity that follows from the settings."""

    value: Quantity | float


def expr(operand: Operand) -> Expr:
    """A number as an expression."""
    return operand if isinstance(operand, Expr) else Number(operand)


@dataclass(frozen=True)
class Binary(Expr):
    """Two expressions and an operator."""

    left: Expr
    operator: str
    right: Expr
    matching: Matching = ALL_LABELS


@dataclass(frozen=True)
class Select(Expr):
    """Of the series that a matcher selects."""

    argument: Expr
    label: Label
    values: tuple[Pattern, ...]
    negated: bool = False


@dataclass(frozen=True)
class Reduce(Expr):
    """One value over the one label that a signal has beyond its level."""

    how: str
    label: str
    argument: Expr


@dataclass(frozen=True)
class FirstOf(Expr):
    """`a or b or ...`: each series comes from the first alternative that has it."""

    alternatives: tuple[Expr, ...]


def first_of(*alternatives: Expr) -> FirstOf:
    """`a or b or ...`."""
    return FirstOf(alternatives)


@dataclass(frozen=True)
class Rescoped(Expr):
    """An expression that is evaluated in another scope than the one around it."""

    argument: Expr


@dataclass(frozen=True)
class At(Rescoped):
    """At another level."""

    level: Level


@dataclass(frozen=True)
class Ago(Rescoped):
    """As it was some time ago."""

    span: Span
