"""Reading what a view found: its fields, its colours, and the list of what is wrong with it."""

import re
from collections.abc import Iterable, Iterator
from typing import NamedTuple

from grafana.views import Json, View

Colour = tuple[int, int, int]


class Shown(NamedTuple):
    """A field of a panel."""

    view: View
    panel: Json
    field: Json
    ref: str

    @property
    def where(self) -> str:
        """For a message."""
        return f"{self.view.where(self.panel)} {self.field['display']!r}"


def panels(views: Iterable[View], *kinds: str) -> Iterator[tuple[View, Json]]:
    """Panels of these kinds, or all."""
    for view in views:
        for panel in view.panels:
            if not kinds or panel["type"] in kinds:
                yield view, panel


def fields(views: Iterable[View], *kinds: str) -> Iterator[Shown]:
    """Fields of panels of these kinds that are not hidden, without times."""
    for view, panel in panels(views, *kinds):
        for frame in panel["frames"]:
            for field in frame["fields"]:
                if field["type"] != "time" and not field["hidden"]:
                    yield Shown(view, panel, field, frame.get("refId", ""))


def lines(panel: Json) -> list[Json]:
    """The numbers that a panel draws, each as a line, a group of bars or a cloud of points."""
    found = []
    for frame in panel["frames"]:
        numbers = [field for field in frame["fields"] if field["type"] == "number" and not field["hidden"]]
        # A scatter plot's first number is its x axis.
        found += numbers[1:] if panel["type"] == "xychart" else numbers
    return found


def colour(text: str) -> Colour | None:
    """Red, green and blue of a CSS colour; None where it is transparent."""
    if text == "transparent" or re.fullmatch(r"rgba\(.*, ?0\)", text):
        return None
    if short := re.fullmatch(r"#([0-9a-f]{6})([0-9a-f]{2})?", text, re.IGNORECASE):
        red, green, blue = bytes.fromhex(short[1])
        return red, green, blue
    numbers = re.fullmatch(r"rgba?\((\d+), ?(\d+), ?(\d+)(?:, ?[\d.]+)?\)", text)
    assert numbers, f"{text!r} is no colour that is known here"
    return int(numbers[1]), int(numbers[2]), int(numbers[3])


def is_grey(found: Colour | None) -> bool:
    """Whether a colour says nothing by itself."""
    return found is None or max(found) - min(found) < 0.2 * max(found)


def failures(views: Iterable[View]) -> Iterator[str]:
    """Exceptions of a page, and its requests that failed."""
    return (f"{view.name}: {text}" for view in views for text in (*view.found["said"], *view.found["failures"]))


def refusals(views: Iterable[View]) -> Iterator[str]:
    """Panels that show an error, and queries that fail or are answered with a warning."""
    for view in views:
        yield from (f"{view.where(panel)}: {error}" for panel in view.panels for error in panel["errors"])
        for query in view.found["queries"]:
            for text in (query.get("error"), *query.get("warnings", [])):
                if text:
                    yield f"{view.name}: {query['expr']}: {text}"


def none_of(problems: Iterable[str]) -> None:
    """Fail with all of them; the same problem in both widths counts once for each."""
    found = list(dict.fromkeys(problems))
    assert not found, f"{len(found)} problems:\n" + "\n".join(found)
