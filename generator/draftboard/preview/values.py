"""Values in words and colours: overrides, mappings, thresholds and units of a panel."""

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

from pydantic import ValidationError

from draftboard.errors import DraftboardError
from draftboard.preview.colours import TEXT, colour
from draftboard.preview.document import FieldConfig, Fields, Json, Mapping, Matcher, Thresholds, first_of
from draftboard.preview.frames import Column, Value, printable
from draftboard.preview.transformations import pattern
from draftboard.preview.units import humanised


@dataclass(frozen=True)
class Shown:
    """A value as it is read."""

    text: str
    colour: str = TEXT


def fields_of(column: Column, config: FieldConfig) -> Fields:
    """How a column is shown: the panel's defaults, and what overrides say of this column."""
    result = dict(config.defaults)
    for override in config.overrides:
        if _matches(override.matcher, column):
            for one in override.properties:
                _put(result, one.id, one.value)
    return _read(result)


def defaults_of(config: FieldConfig) -> Fields:
    """How the panel shows what no override names."""
    return _read(config.defaults)


def _read(fields: Json) -> Fields:
    try:
        return Fields.model_validate(fields)
    except ValidationError as error:
        raise DraftboardError(f"fieldConfig: {first_of(error)}") from None


def show(value: Value, fields: Fields) -> Shown:
    """Words for it if it has any, else the number in its unit; coloured by the same, else by the thresholds."""
    if value is None:
        return Shown(fields.no_value)
    mapped = _mapped(value, fields.mappings)
    text = mapped.get("text") or (value if isinstance(value, str) else humanised(value, fields.unit, fields.decimals))
    named = mapped.get("color") or ("text" if isinstance(value, str) else step_colour(value, fields.thresholds))
    return Shown(printable(str(text)), colour(str(named)))


def step_colour(value: float, thresholds: Thresholds) -> str:
    """Name of the colour of the highest step that the value reaches."""
    reached = [step.color for step in thresholds.steps if step.value is None or value >= step.value]
    return reached[-1] if reached else "text"


def _matches(matcher: Matcher, column: Column) -> bool:
    match matcher.id:
        case "byName":
            return matcher.options in {column.name, column.title}
        case "byRegexp":
            return bool(pattern(str(matcher.options)).search(column.title))
        case "byFrameRefID":
            return bool(matcher.options == column.ref)
        case _:
            raise DraftboardError(f"an override's matcher {matcher.id!r} is none that a preview knows")


def _put(fields: Json, path: str, value: Any) -> None:  # noqa: ANN401  (any JSON value)
    """Set what an override's property names: `unit`, or within `custom` `custom.cellOptions`."""
    outer, _, inner = path.partition(".")
    fields[outer] = {**fields.get(outer, {}), inner: value} if inner else value


def _mapped(value: float | str, mappings: tuple[Mapping, ...]) -> Json:
    """What the first mapping that knows the value makes of it."""
    return next((result for mapping in mappings for result in _results(value, mapping)), {})


def _results(value: float | str, mapping: Mapping) -> Iterator[Json]:
    match mapping.type:
        case "value":
            key = value if isinstance(value, str) else f"{value:g}"
            if key in mapping.options:
                yield mapping.options[key]
        case "range":
            low, high = mapping.options.get("from"), mapping.options.get("to")
            inside = not isinstance(value, str) and (low is None or value >= low) and (high is None or value <= high)
            if inside:
                yield mapping.options["result"]
        case _:
            raise DraftboardError(f"a mapping of type {mapping.type!r} is none that a preview knows")
