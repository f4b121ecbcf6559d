"""Expressions that write labels: made from other labels, from values, or by counting up."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass

from draftboard.expr import promql, vector
from draftboard.expr.counts import View
from draftboard.expr.scope import Scope
from draftboard.expr.tree import Expr, FirstOf, Function, Names, expr, named, over_level, vector_of
from draftboard.expr.vector import Labels, Vector
from draftboard.settings import Settings


@dataclass(frozen=True, eq=False)
class LabelReplace(Expr):
    """`label_replace`: a label made from another where that one matches."""

    argument: Expr
    label: str | Callable[[Settings], str]
    replacement: str
    source: str | Callable[[Settings], str]
    pattern: str

    def promql(self, scope: Scope) -> str:
        source, label = named(self.source)(scope.settings), named(self.label)(scope.settings)
        quoted = (f'"{part}"' for part in (label, self.replacement, source, self.pattern))
        return promql.call("label_replace", self.argument.promql(scope), *quoted)

    def values(self, view: View) -> Vector | float:
        label, source = named(self.label)(view.scope.settings), named(self.source)(view.scope.settings)
        pattern = self.pattern.replace(r"\\", "\\")
        return vector.relabelled(vector_of(self.argument, view), label, self.replacement, source, pattern)


@dataclass(frozen=True, eq=False)
class Carrying(Expr):
    """Each series with a label of its partner: the one series of `other`, of value 1, that has the same labels `by`.

    Where several could be partners, any of them is.
    """

    argument: Expr
    label: Callable[[Settings], str]
    other: Expr
    by: Names

    def promql(self, scope: Scope) -> str:
        by, label = self.by(scope), self.label(scope.settings)
        partners = promql.aggregate("topk", by, "1", self.other.promql(scope))
        matching = f"on ({', '.join(by)}) group_left ({label})"
        return promql.binary(self.argument.promql(scope), "*", partners, matching)

    def values(self, view: View) -> Vector | float:
        by, label = self.by(view.scope), self.label(view.scope.settings)
        partners = {vector.kept(one, by): vector.value_of(one, label) for one in vector_of(self.other, view)}
        found = ((each, vector.kept(each, by), value) for each, value in vector_of(self.argument, view).items())
        return {vector.with_label(each, label, partners[key]): value for each, key, value in found if key in partners}


def labelled(argument: Expr, label: str, value: str) -> Expr:
    """With a label set to a fixed value."""
    return LabelReplace(argument, label, value, "", "")


def told_apart(label: str, parts: Mapping[str, Expr]) -> Expr:
    """Several expressions in one, each with its name in a label."""
    return FirstOf(tuple(labelled(part, label, name) for name, part in parts.items()))


def renamed(argument: Expr, label: str, source: str) -> Expr:
    """With one label in place of another, at the level seen."""
    return over_level("sum", LabelReplace(argument, label, "$1", source, "(.*)"), label)


def successor(argument: Expr, label: str, source: str, largest: int) -> Expr:
    """With a label set to the number in `source` plus one, for numbers up to `largest`."""
    # PromQL has no arithmetic on label values: the last digit is rewritten, and numbers that end in 9 carry.
    for digit in range(min(largest, 8) + 1):
        argument = LabelReplace(argument, label, f"${{1}}{digit + 1}", source, f"(.*){digit}")
    for nines in range(9, largest + 1, 10):
        argument = LabelReplace(argument, label, str(nines + 1), source, str(nines))
    return argument


def numbers(label: str, first: int, last: int) -> Expr:
    """The numbers themselves, each labelled with itself: what turns a label's value into a value."""
    return told_apart(label, {str(n): Function("vector", expr(n)) for n in range(first, last + 1)})


@dataclass(frozen=True, eq=False)
class LabelJoin(Expr):
    """The values of several labels in one."""

    argument: Expr
    label: Callable[[Settings], str]
    separator: str
    sources: Names

    def promql(self, scope: Scope) -> str:
        parts = (self.label(scope.settings), self.separator, *self.sources(scope))
        return promql.call("label_join", self.argument.promql(scope), *(f'"{part}"' for part in parts))

    def values(self, view: View) -> Vector | float:
        label, sources = self.label(view.scope.settings), self.sources(view.scope)
        found = vector_of(self.argument, view)
        joined = {each: self.separator.join(vector.value_of(each, one) for one in sources) for each in found}
        return {vector.with_label(labels, label, joined[labels]): value for labels, value in found.items()}


@dataclass(frozen=True, eq=False)
class CountValues(Expr):
    """Number of series of each value, the value in a label."""

    label: str
    argument: Expr

    def promql(self, scope: Scope) -> str:
        return promql.aggregate("count_values", scope.labels, f'"{self.label}"', self.argument.promql(scope))

    def values(self, view: View) -> Vector | float:
        counts: dict[Labels, float] = {}
        for labels, value in vector_of(self.argument, view).items():
            group = vector.with_label(vector.kept(labels, view.scope.labels), self.label, f"{value:g}")
            counts[group] = counts.get(group, 0.0) + 1
        return counts


def up_to(largest: int) -> str:
    """A regular expression for the whole numbers 0 to `largest`, below 100."""
    tens, ones = divmod(largest, 10)
    if tens == 0:
        return f"[0-{ones}]" if ones else "0"
    lower = {1: "[0-9]", 2: "1?[0-9]"}.get(tens, f"[1-{tens - 1}]?[0-9]")
    return f"{lower}|{tens}[0-{ones}]" if ones else f"{lower}|{tens}0"
