"""Grafana's transformations of query results: those that Draftboard's dashboards use."""

import math
import re
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import replace

from draftboard.errors import DraftboardError
from draftboard.preview.document import Json, Transformation
from draftboard.preview.frames import Column, Frame, Kind, Value, number_of

Frames = list[Frame]
_Row = dict[str, Value]


def transformed(frames: Frames, steps: Sequence[Transformation]) -> Frames:
    """The frames after all transformations, in their order.

    Raises:
        DraftboardError: a transformation is none of those that are known here, or its options are not as expected.
    """
    for step in steps:
        if step.id not in _KNOWN:
            raise DraftboardError(
                f"transformation {step.id!r} is none that a preview knows: {', '.join(sorted(_KNOWN))}"
            )
        try:
            frames = _KNOWN[step.id](frames, step.options)
        except (KeyError, TypeError, AttributeError) as error:
            raise DraftboardError(f"transformation {step.id!r}: options not as expected: {error!r}") from None
    return frames


def _filter_by_name(frames: Frames, options: Json) -> Frames:
    """Keep columns whose names a pattern includes, or does not exclude."""
    wanted = pattern(_named(options, "include", default=""))
    unwanted = pattern(_named(options, "exclude", default=r"(?!)"))
    return [
        Frame(tuple(c for c in frame.columns if wanted.search(c.title) and not unwanted.search(c.title)))
        for frame in frames
    ]


def _named(options: Json, key: str, default: str) -> str:
    return str(options[key]["pattern"]) if key in options else default


def pattern(text: str) -> re.Pattern[str]:
    """A regular expression as Grafana writes it, with or without slashes around it.

    Raises:
        DraftboardError: it is none.
    """
    try:
        return re.compile(text[1:-1] if text.startswith("/") and text.endswith("/") else text)
    except re.error as error:
        raise DraftboardError(f"{text!r} is no regular expression: {error}") from None


def _merge(frames: Frames, _: Json) -> Frames:
    """One frame: rows that agree in all columns that every frame has, and contradict in none, become one."""
    held = [frame for frame in frames if frame.columns]
    if not held:
        return frames[:1]
    columns = {column.name: column for frame in reversed(held) for column in frame.columns}
    names = list(dict.fromkeys(column.name for frame in held for column in frame.columns))
    shared = [name for name in names if all(any(c.name == name for c in frame.columns) for frame in held)]
    if not shared:
        return held
    rows: list[_Row] = []
    alike: dict[tuple[Value, ...], list[_Row]] = {}
    for row in (row for frame in held for row in _rows(frame)):
        group = alike.setdefault(tuple(row[name] for name in shared), [])
        fitting = [other for other in group if all(other.get(name) in {None, value} for name, value in row.items())]
        for other in fitting:
            other.update(row)
        if not fitting:
            group.append(row)
            rows.append(row)
    return [Frame(tuple(replace(columns[name], values=tuple(row.get(name) for row in rows)) for name in names))]


def _rows(frame: Frame) -> Iterator[_Row]:
    for index in range(frame.rows):
        yield {column.name: column.values[index] for column in frame.columns}


def _organize(frames: Frames, options: Json) -> Frames:
    """Leave out, put in order, rename."""
    excluded, order, renamed = (options.get(key, {}) for key in ("excludeByName", "indexByName", "renameByName"))
    return [
        Frame(
            tuple(
                replace(column, name=renamed.get(column.name, column.name))
                for column in sorted(frame.columns, key=lambda column: order.get(column.name, math.inf))
                if not excluded.get(column.name)
            )
        )
        for frame in frames
    ]


def _convert_type(frames: Frames, options: Json) -> Frames:
    """Texts to numbers, or numbers to texts."""
    kinds = {one["targetField"]: _CONVERTED[one["destinationType"]] for one in options["conversions"]}
    return [Frame(tuple(kinds[c.name](c) if c.name in kinds else c for c in frame.columns)) for frame in frames]


def _to_number(column: Column) -> Column:
    return replace(column, kind=Kind.NUMBER, values=tuple(map(number_of, column.values)))


def _to_text(column: Column) -> Column:
    return replace(column, kind=Kind.TEXT, values=tuple(None if v is None else text_of(v) for v in column.values))


def text_of(value: float | str) -> str:
    """A value as a name: whole numbers without a point."""
    return value if isinstance(value, str) else f"{value:g}"


def _sort_by(frames: Frames, options: Json) -> Frames:
    """Rows by one column, smallest first unless told otherwise; absent values last."""
    (by,) = options["sort"]
    return [_sorted(frame, by["field"], backwards=bool(by.get("desc"))) for frame in frames]


def _sorted(frame: Frame, name: str, *, backwards: bool) -> Frame:
    keys = next((column.values for column in frame.columns if column.name == name), None)
    if keys is None:
        return frame
    present = [index for index, key in enumerate(keys) if key is not None]
    present.sort(key=lambda index: keys[index] or 0, reverse=backwards)
    return _picked(frame, [*present, *(index for index, key in enumerate(keys) if key is None)])


def _picked(frame: Frame, rows: Iterable[int]) -> Frame:
    picked = list(rows)
    return Frame(tuple(replace(c, values=tuple(c.values[row] for row in picked)) for c in frame.columns))


def _to_matrix(frames: Frames, options: Json) -> Frames:
    """A row for each value of one column, a column for each value of another, a third's values in the cells."""
    if len(frames) != 1:
        return frames
    named = {column.name: column for column in frames[0].columns}
    fields = [options[key] for key in ("rowField", "columnField", "valueField")]
    if any(name not in named for name in fields):
        return frames
    down, across, values = (named[name] for name in fields)
    cells = dict(zip(zip(down.values, across.values, strict=True), values.values, strict=True))
    rows, columns = list(dict.fromkeys(down.values)), list(dict.fromkeys(across.values))
    corner = replace(down, name=f"{down.name}\\{across.name}", values=tuple(rows))
    return [
        Frame(
            (
                corner,
                *(
                    replace(values, name=text_of(column or ""), values=tuple(cells.get((row, column)) for row in rows))
                    for column in columns
                ),
            )
        )
    ]


def _partition(frames: Frames, options: Json) -> Frames:
    """A frame for each combination of values of some columns, which are left out and named in the titles."""
    return [part for frame in frames for part in _parts(frame, options["fields"])]


def _parts(frame: Frame, names: Sequence[str]) -> Iterator[Frame]:
    keys = [column for column in frame.columns if column.name in names]
    if not keys:
        yield frame
        return
    members: dict[tuple[Value, ...], list[int]] = {}
    for row, key in enumerate(zip(*(column.values for column in keys), strict=True)):
        members.setdefault(key, []).append(row)
    for key, rows in members.items():
        labels = {column.name: text_of(value or "") for column, value in zip(keys, key, strict=True)}
        kept = Frame(tuple(replace(c, labels=labels) for c in frame.columns if c.name not in names))
        yield _picked(kept, rows)


_CONVERTED: dict[str, Callable[[Column], Column]] = {"number": _to_number, "string": _to_text}
_KNOWN: dict[str, Callable[[Frames, Json], Frames]] = {
    "convertFieldType": _convert_type,
    "filterFieldsByName": _filter_by_name,
    "groupingToMatrix": _to_matrix,
    "merge": _merge,
    "organize": _organize,
    "partitionByValues": _partition,
    "sortBy": _sort_by,
}
