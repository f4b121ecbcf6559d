"""Binds fields of a report to signals: a field's value, title, unit and description are those of its signal."""

from collections.abc import Mapping
from dataclasses import dataclass, fields
from enum import Enum, auto
from functools import cache
from typing import Any, NamedTuple, TypeVar, get_type_hints

from pydantic import GetJsonSchemaHandler
from pydantic_core import CoreSchema

from draftboard.reading import Numbers
from draftboard.signals import Signal

_T = TypeVar("_T")


class Shown(Enum):
    """Where a document shows a number."""

    LINE = auto()  # A line of the model's table, in the order of the fields.
    LOAD = auto()  # In the sentence on the load.
    JSON = auto()  # Nowhere.


LINE, LOAD = Shown.LINE, Shown.LOAD


@dataclass(frozen=True)
class FromSignal:
    """The signal of a field, as `Annotated[float | None, FromSignal(signal, LINE)]`."""

    signal: Signal
    shown: Shown = Shown.JSON
    after: Signal | None = None  # The line above it, where that is not the field before.
    if_known: bool = False  # Whether there is no line without a value.
    by_engine: bool = False  # Whether the table of engines has it, too.
    value: str = ""  # Of the signal's own label, where the field holds one of its values.

    def __get_pydantic_json_schema__(self, schema: CoreSchema, handler: GetJsonSchemaHandler) -> dict[str, Any]:
        """Describe the field as its signal where it has no docstring."""
        described = handler(schema)
        description = f"{self.signal.title}. {self.signal.description} {self.signal.note}".rstrip()
        return {"description": description} | described

    def of(self, numbers: Numbers, seconds: float | None) -> Any:  # noqa: ANN401  (a number, or several by label)
        """The value of the field: a count over the seconds where the signal is a rate."""
        if self.value:
            return numbers.by(self.signal).get(self.value)
        if self.signal.by:
            return numbers.each(self.signal)
        value = numbers.value(self.signal)
        return per(value, seconds) if self.signal.unit.per_second else value


def per(part: float | None, whole: float | None) -> float | None:
    """A quotient; None where nothing can be divided."""
    return part / whole if part is not None and whole else None


def annotated(kind: type, annotation: type[_T]) -> dict[str, _T]:
    """The fields of a class that are annotated with an object of some type, in order."""
    hints = get_type_hints(kind, include_extras=True)
    metadata = ((field.name, one) for field in fields(kind) for one in getattr(hints[field.name], "__metadata__", ()))
    return {name: one for name, one in metadata if isinstance(one, annotation)}


@cache
def bound(kind: type) -> Mapping[str, FromSignal]:
    """The fields of a class that are bound to signals, in order."""
    return annotated(kind, FromSignal)


def values(kind: type, numbers: Numbers, seconds: float | None) -> dict[str, Any]:
    """The values of all bound fields of a class."""
    return {name: of.of(numbers, seconds) for name, of in bound(kind).items()}


class Line(NamedTuple):
    """A line of the table of a model: the field of its value, in a class of the report."""

    kind: type
    field: str
    of: FromSignal


def lines(*kinds: type) -> tuple[Line, ...]:
    """The lines of these classes, in order."""
    result: list[Line] = []
    for kind in kinds:
        for name, of in bound(kind).items():
            if of.shown is LINE:
                after = (place for place, line in enumerate(result, start=1) if line.of.signal is of.after)
                result.insert(next(after, len(result)), Line(kind, name, of))
    return tuple(result)
