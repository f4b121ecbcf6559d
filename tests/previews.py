"""Small dashboards, and a Prometheus of fixed answers, for tests of previews."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from draftboard.preview import Span, document, drawn, pages
from draftboard.prometheus import Series

SPAN = Span(1_800_000_000, 1_800_000_600)


@dataclass
class Answers:
    """The same series whatever is asked; what was asked is remembered."""

    series: Sequence[Series] = ()
    asked: list[str] = field(default_factory=list)

    def query(self, expr: str, time: float) -> list[Series]:
        self.asked.append(expr)
        return [Series(one.labels, ((time, one.samples[-1][1]),)) for one in self.series]

    def query_range(self, expr: str, start: float, end: float, step: float) -> list[Series]:
        self.asked.append(expr)
        times = [start + step * i for i in range(int((end - start) // step) + 1)]
        return [Series(one.labels, tuple((time, one.samples[-1][1]) for time in times)) for one in self.series]


def series(value: float, **labels: str) -> Series:
    return Series(labels, ((SPAN.start, value),))


def panel(kind: str, *, targets: Sequence[Mapping[str, Any]] = (), **more: Any) -> dict[str, Any]:
    asked = [
        {"expr": "up", "refId": "A", "legendFormat": "{{model_name}}"} | dict(target) for target in targets or [{}]
    ]
    place = {"h": 8, "w": 12, "x": 0, "y": 0}
    return {"type": kind, "title": f"A {kind}", "gridPos": place, "targets": asked} | more


def dashboard(*panels: dict[str, Any], **more: Any) -> dict[str, Any]:
    return {"uid": "test", "title": "A test", "panels": list(panels)} | more


def bodies(of: dict[str, Any], answers: Answers) -> list[Any]:
    """What the panels have become."""
    result = drawn(document.read(of, "test"), answers, SPAN)
    return [one.body for one in result.panels]


def page(of: dict[str, Any], answers: Answers) -> str:
    """The page of the dashboard."""
    result = drawn(document.read(of, "test"), answers, SPAN)
    return pages([result])["test.html"]
