"""Series under other labels, and values that stand in labels."""

from collections.abc import Mapping
from dataclasses import dataclass

from draftboard.expr.nodes.expression import Expr, FirstOf, StandIn
from draftboard.expr.nodes.labels import Label, Names
from draftboard.expr.nodes.values import over_level
from draftboard.quantity import Quantity, Setting


@dataclass(frozen=True)
class LabelReplace(Expr):
    """`label_replace`: a label made from another where that one matches."""

    argument: Expr
    label: Label
    replacement: str
    source: Label
    pattern: str


@dataclass(frozen=True)
class LabelJoin(Expr):
    """The values of several labels in one."""

    argument: Expr
    label: Label
    separator: str
    sources: Names


@dataclass(frozen=True)
class Carrying(Expr):
    """Each series with a label of its partner: the one series of `other` that has the same labels `by`.

    Where several could be partners, the greatest is.
    """

    argument: Expr
    label: Label
    other: Expr
    by: Names


@dataclass(frozen=True)
class CountValues(Expr):
    """Number of series of each value, the value in a label; those that differ in the labels `by` apart."""

    label: str
    argument: Expr
    by: tuple[str, ...] = ()


def labelled(argument: Expr, label: str, value: str) -> Expr:
    """With a label set to a fixed value."""
    return LabelReplace(argument, label, value, "", "")


def merged(label: str, parts: Mapping[str, Expr]) -> Expr:
    """Several expressions in one, each with its name in a label."""
    return FirstOf(tuple(labelled(part, label, name) for name, part in parts.items()))


def renamed(argument: Expr, label: str, source: str) -> Expr:
    """With one label in place of another, at the level seen."""
    return over_level("sum", LabelReplace(argument, label, "$1", source, "(.*)"), label)


@dataclass(frozen=True)
class Successor(StandIn):
    """With a label set to the number in `source` plus one, for numbers up to `largest`."""

    argument: Expr
    label: str
    source: str
    largest: Quantity | int


@dataclass(frozen=True)
class Numbers(StandIn):
    """The numbers themselves, each labelled with itself: what turns a label's value into a value."""

    label: str
    first: int
    last: Quantity | int


@dataclass(frozen=True)
class PrefixSums(StandIn):
    """Sums over the first k numbers of a label, from 0 on, for every k up to the most; k in a label."""

    argument: Expr
    over: str
    label: str
    most: Quantity | int


@dataclass(frozen=True)
class ByLabel(StandIn):
    """For every series of `like` what a table of the settings says of its label's value, else the default."""

    table: Setting  # By value of the label, or by regular expression.
    default: Setting
    label: Label
    like: Expr
