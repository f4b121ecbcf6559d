"""Quantities: settings, and what is calculated from them, as data that can be compared, printed and read.

A duration counts as its seconds.
"""

import math
import operator
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import reduce
from itertools import accumulate
from typing import Any, Literal, Protocol

from draftboard.durations import Duration

Operator = Literal["+", "-", "*", "/", "//", "max", "min", "ceil", "neg"]


class Quantity:
    """A number that follows from settings."""

    def __add__(self, other: "Quantity | float | Duration") -> "Quantity":
        return _calculated("+", self, other)

    def __radd__(self, other: float) -> "Quantity":
        return _calculated("+", other, self)

    def __sub__(self, other: "Quantity | float | Duration") -> "Quantity":
        return _calculated("-", self, other)

    def __rsub__(self, other: float) -> "Quantity":
        return _calculated("-", other, self)

    def __mul__(self, other: "Quantity | float") -> "Quantity":
        return _calculated("*", self, other)

    def __rmul__(self, other: float) -> "Quantity":
        return _calculated("*", other, self)

    def __truediv__(self, other: "Quantity | float | Duration") -> "Quantity":
        return _calculated("/", self, other)

    def __rtruediv__(self, other: float) -> "Quantity":
        return _calculated("/", other, self)

    def __floordiv__(self, other: float) -> "Quantity":
        return _calculated("//", self, other)

    def __neg__(self) -> "Quantity":
        return Calculated("neg", (self,))


@dataclass(frozen=True)
class Setting(Quantity):
    """A setting by its path, such as `thresholds.drop`, or a property of a table of settings."""

    path: str
    otherwise: Quantity | float | None = None  # Where the setting has no value of its own.

    def of(self, settings: Any) -> Any:  # noqa: ANN401  (whatever the setting holds)
        """What the setting holds: of settings, or of a mapping of their tables."""
        return reduce(_held, self.path.split("."), settings)

    def is_derived(self, settings: Any) -> bool:  # noqa: ANN401  (the tables of settings)
        """Whether it follows from settings or from data, so that no settings file takes it."""
        names = self.path.split(".")
        tables = accumulate(names[:-1], _held, initial=settings)
        return any(
            isinstance(getattr(type(table), name, None), property) for table, name in zip(tables, names, strict=True)
        )


def _held(table: Any, name: str) -> Any:  # noqa: ANN401  (whatever settings hold)
    return table[name] if isinstance(table, Mapping) else getattr(table, name)


@dataclass(frozen=True)
class Calculated(Quantity):
    """An operator and what it is applied to."""

    operator: Operator
    operands: tuple["Quantity | float", ...]


def _calculated(symbol: Operator, *operands: "Quantity | float | Duration") -> Quantity:
    if not all(isinstance(one, (Quantity, float, int, Duration)) for one in operands):
        return NotImplemented  # type: ignore[no-any-return]  # The other operand decides.
    return Calculated(symbol, tuple(one.seconds if isinstance(one, Duration) else one for one in operands))


def largest(*operands: Quantity | float) -> Quantity:
    """The largest of several."""
    return Calculated("max", operands)


def smallest(*operands: Quantity | float) -> Quantity:
    """The smallest of several."""
    return Calculated("min", operands)


def later(span: Quantity | Duration, other: Quantity | Duration) -> Quantity | Duration:
    """One span after another."""
    if isinstance(span, Duration):
        return span + other if isinstance(other, Duration) else other + span
    return span + other


def ceil(operand: Quantity) -> Quantity:
    """The least whole number that is no smaller."""
    return Calculated("ceil", (operand,))


_OPERATORS: Mapping[Operator, Callable[..., float]] = {
    "+": operator.add,
    "-": operator.sub,
    "*": operator.mul,
    "/": operator.truediv,
    "//": operator.floordiv,
    "max": max,
    "min": min,
    "ceil": math.ceil,
    "neg": operator.neg,
}


def value(quantity: Quantity | float | Duration, settings: Any) -> float:  # noqa: ANN401  (see `Setting.of`)
    """The quantity with these settings; a duration in seconds."""
    match quantity:
        case Setting():
            held = quantity.of(settings)
            if held is None and quantity.otherwise is not None:
                return value(quantity.otherwise, settings)
            return held.seconds if isinstance(held, Duration) else held
        case Calculated():
            return _OPERATORS[quantity.operator](*(value(one, settings) for one in quantity.operands))
        case Duration():
            return quantity.seconds
        case Quantity():
            raise TypeError(f"{quantity!r} has no value")
        case _:
            return quantity


def duration(quantity: Quantity | float | Duration, settings: Any) -> Duration:  # noqa: ANN401
    """The quantity as a duration."""
    return Duration(int(value(quantity, settings)))


def settings_of(quantity: Quantity | float | Duration) -> tuple[Setting, ...]:
    """The settings that it reads, in the order of reading."""
    if isinstance(quantity, Setting):
        return (quantity,)
    operands = quantity.operands if isinstance(quantity, Calculated) else ()
    return tuple(dict.fromkeys(one for operand in operands for one in settings_of(operand)))


class LeftOpen(Protocol):
    """How quantities are written where settings are still open."""

    def number(self, quantity: Quantity) -> str | None:
        """What stands for a number in a text; None where no setting in it is open."""

    def span(self, quantity: Quantity) -> str | None:
        """What stands for a duration in a text; None where no setting in it is open."""

    def leaf(self, quantity: Quantity) -> str | None:
        """What stands for a number that is no part of a text; None where no setting in it is open."""


def number_text(quantity: Quantity | float, settings: Any) -> str:  # noqa: ANN401
    """The quantity in PromQL: whole numbers without a fraction."""
    opened = settings.left_open.number(quantity) if settings.left_open and isinstance(quantity, Quantity) else None
    return opened or repr(value(quantity, settings)).removesuffix(".0")


def span_text(quantity: Quantity | Duration, settings: Any) -> str:  # noqa: ANN401
    """The quantity as a duration in Prometheus' notation."""
    opened = settings.left_open.span(quantity) if settings.left_open and isinstance(quantity, Quantity) else None
    return opened or str(duration(quantity, settings))


def leaf(quantity: Quantity | float, settings: Any) -> Quantity | float:  # noqa: ANN401
    """The quantity as a value of a document: its number; the quantity itself where settings are left open."""
    return quantity if settings.left_open and isinstance(quantity, Quantity) else value(quantity, settings)


SCRAPE = Setting("rules.scrape_interval")
EVALUATION = Setting("rules.evaluation_interval")
LOOK_BACK = Duration(300)
"""For how long a sample counts as the present: what is looked at so often has seen every sample."""
SLOW_EVALUATION = largest(EVALUATION, 240)
"""How often what reads a day is evaluated: below the time for which a sample counts as the present."""
RATE_WINDOW = Setting("rules.window", otherwise=largest(SCRAPE * 4, 300))
"""The window of every rate: at least four scrapes, which bridge a failed one."""
SILENCE = Setting("rules.down_after", otherwise=largest(SCRAPE * 5 // 2, 150))
"""How long a server answers no scrape before it counts as down."""
PACE = largest(EVALUATION, SCRAPE)
"""How far apart the points of a graph are: no closer than scrapes and evaluations."""
