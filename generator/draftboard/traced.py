"""Numbers and durations that know how they follow from settings, for files in which the settings are still open.

They calculate and compare as their values do. Written out they are placeholders: the expression, as Jsonnet, in
double brackets. A setting stands in it with its path, a duration as its seconds.
"""

import math
import operator
import re
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from typing import Self, cast

from draftboard.durations import Duration

SPAN = "span:"
"""How the placeholder of a duration's text begins, as in the name of a record."""
PLACEHOLDER = re.compile("⟦([^⟧]*)⟧")
_Operator = Callable[[float, float], float]


def _source(value: float) -> str:
    return value.source if isinstance(value, Traced) else repr(value)


def _before(sign: str, compute: _Operator) -> "Callable[[Traced, float], Traced]":
    return lambda self, other: Traced(compute(float(self), other), f"({self.source} {sign} {_source(other)})")


def _after(sign: str, compute: _Operator) -> "Callable[[Traced, float], Traced]":
    return lambda self, other: Traced(compute(other, float(self)), f"({_source(other)} {sign} {self.source})")


class Traced(float):
    """A number and the expression that gives it."""

    source: str

    def __new__(cls, value: float, source: str) -> Self:
        """The number `value`, for which `source` stands."""
        made = super().__new__(cls, value)
        made.source = source
        return made

    def __repr__(self) -> str:
        return f"⟦{self.source}⟧"

    __add__, __radd__ = _before("+", operator.add), _after("+", operator.add)
    __sub__, __rsub__ = _before("-", operator.sub), _after("-", operator.sub)
    __mul__, __rmul__ = _before("*", operator.mul), _after("*", operator.mul)
    __truediv__, __rtruediv__ = _before("/", operator.truediv), _after("/", operator.truediv)

    def __neg__(self) -> "Traced":
        return Traced(-float(self), f"-{self.source}")

    def __floordiv__(self, divisor: float) -> "Traced":
        return Traced(float(self) // divisor, f"std.floor({self.source} / {_source(divisor)})")

    def __ceil__(self) -> int:
        return cast("int", Traced(math.ceil(float(self)), f"std.ceil({self.source})"))


def larger(first: float, second: float) -> float:
    """The larger of both, traced if one of them is."""
    return _chosen(max, first, second)


def smaller(first: float, second: float) -> float:
    """The smaller of both, traced if one of them is."""
    return _chosen(min, first, second)


def _chosen(choose: Callable[[Iterable[float]], float], *values: float) -> float:
    if not any(isinstance(value, Traced) for value in values):
        return choose(values)
    return Traced(choose(map(float, values)), f"std.{choose.__name__}({', '.join(map(_source, values))})")


@dataclass(frozen=True, eq=False)
class TracedDuration(Duration):
    """A duration of a traced number of seconds; as text it is their span."""

    @classmethod
    def of(cls, seconds: float) -> "TracedDuration":
        """A duration of so many seconds."""
        return cls(cast("int", seconds))

    def __str__(self) -> str:
        return f"⟦{SPAN}{_source(self.seconds)}⟧"

    def __add__(self, other: Duration) -> Duration:
        return self.of(self.seconds + other.seconds) if other.seconds else self

    __radd__ = __add__

    def __mul__(self, factor: int) -> Duration:
        return self.of(self.seconds * factor)

    def __floordiv__(self, divisor: int) -> Duration:
        return self.of(self.seconds // divisor)

    def at_least(self, least: Duration) -> Duration:
        """The longer of both."""
        return self.of(larger(self.seconds, least.seconds))

    def at_most(self, most: Duration) -> Duration:
        """The shorter of both."""
        return self.of(smaller(self.seconds, most.seconds))

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Duration) and self.seconds == other.seconds

    def __hash__(self) -> int:
        return hash(self.seconds)

    def __lt__(self, other: Duration) -> bool:
        return self.seconds < other.seconds

    def __le__(self, other: Duration) -> bool:
        return self.seconds <= other.seconds

    def __gt__(self, other: Duration) -> bool:
        return self.seconds > other.seconds

    def __ge__(self, other: Duration) -> bool:
        return self.seconds >= other.seconds
