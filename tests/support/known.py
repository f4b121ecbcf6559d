"""Values that a report has in most cases."""

from typing import TypeVar

_Value = TypeVar("_Value")


def known(value: _Value | None) -> _Value:
    """The value, which the case at hand has."""
    assert value is not None
    return value
