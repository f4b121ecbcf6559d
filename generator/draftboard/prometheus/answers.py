"""What Prometheus' HTTP API answers: the parts that are read, and the shape that they must have."""

from typing import Generic, TypeVar

from pydantic import BaseModel, ConfigDict, Field, TypeAdapter

_Row = TypeVar("_Row")


class _Part(BaseModel):
    """What else is there is not read."""

    model_config = ConfigDict(frozen=True)


class Instant(_Part):
    """A series at one time."""

    metric: dict[str, str]
    value: tuple[float, float]
    """Unix seconds, and the value, which is written as text: NaN and +Inf have no number in JSON."""


class Stretch(_Part):
    """A series over a time."""

    metric: dict[str, str]
    values: tuple[tuple[float, float], ...]


class ActiveTarget(_Part):
    """A server that is scraped."""

    labels: dict[str, str]
    interval: str = Field("", alias="scrapeInterval")
    error: str = Field("", alias="lastError")


class Rule(_Part):
    """A record or an alert."""

    name: str
    error: str = Field("", alias="lastError")


class Group(_Part):
    """Rules that are evaluated one after the other."""

    name: str
    rules: tuple[Rule, ...]


class Rows(Generic[_Row]):
    """A part of an answer, which is a list."""

    def __init__(self, part: str, row: type[_Row]) -> None:
        self.part = part
        self._rows = TypeAdapter(list[row])  # type: ignore[valid-type]

    def read(self, found: object) -> list[_Row]:
        """The rows.

        Raises:
            ValueError: one of them has another shape.
        """
        return self._rows.validate_python(found)


VECTOR, MATRIX = Rows("result", Instant), Rows("result", Stretch)
TARGETS, GROUPS = Rows("activeTargets", ActiveTarget), Rows("groups", Group)
