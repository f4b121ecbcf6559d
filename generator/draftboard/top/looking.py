"""One look at the models: a row for each, and the details of one."""

from collections.abc import Callable
from dataclasses import dataclass, replace

from draftboard import explain, output
from draftboard.expr.vector import Labels
from draftboard.output import Document
from draftboard.reading import Recorded, Servers
from draftboard.report import (
    ModelReport,
    Report,
    document,
    health_of,
    named,
    read,
    report,
    status_of,
    verdict_of,
    worst_first,
)
from draftboard.settings import Settings
from draftboard.signals import requests, traffic
from draftboard.signals.latency import FELT
from draftboard.signals.signal import NOTHING, worded
from draftboard.signals.verdicts import verdict
from draftboard.status import Status

COLUMNS = {"Model": 0, "Health": 11, "Verdict": 0, "Position": 9, "Queue": 6, "TTFT": 9, "tokens/s": 9}
"""Each with its width in characters; 0 shares what the others leave."""
_SHARES = " ▁▂▃▄▅▆▇█"
_FIRST_TOKEN = FELT["first_token"].mean


@dataclass(frozen=True)
class Look:
    """A report, and the way to the conditions behind a model's verdict."""

    report: Report
    settings: Settings
    explain: Callable[[Labels], Document]
    whole: Callable[[ModelReport], Report]  # With the engines of a model.

    @property
    def models(self) -> list[ModelReport]:
        """The worst first."""
        return worst_first(self.report.models)

    def details(self, model: ModelReport) -> Document:
        """All numbers of a model and of its engines, the expected speedup of every draft length among them."""
        return document(self.whole(model), self.settings, engines=True)

    def explanation(self, model: ModelReport) -> Document:
        """The conditions of its verdict, and why each holds or not."""
        names = self.settings.labels
        labels = {names.model_name: model.model} | model.labels
        return self.explain(frozenset(labels.items()))


def look(source: Servers | Recorded, settings: Settings, method: str = "") -> Look:
    """Read and judge. DraftboardError where the source cannot be read."""
    if isinstance(source, Recorded):
        return Look(
            report(source, settings, method=method),
            settings,
            lambda only: explain.document(explain.of_prometheus(verdict.name, source, settings, only=only)),
            lambda model: _with_engines(model, replace(source, model=model.model), settings, method),
        )
    reading = read(source, settings, method)
    found = reading.report()
    return Look(
        found,
        reading.settings,
        lambda only: explain.document(explain.of_reading(verdict.name, reading, only=only)),
        lambda model: replace(found, models=(model,)),
    )


def _with_engines(model: ModelReport, source: Recorded, settings: Settings, method: str) -> Report:
    """What a Prometheus knows of a model now, read again for its engines."""
    found = report(source, settings, method=method, engines=True)
    same = (one for one in found.models if (one.method, one.labels) == (model.method, model.labels))
    return replace(found, models=tuple(same))


def row(model: ModelReport) -> tuple[tuple[str, Status], ...]:
    """The cells of a model, in the order of COLUMNS; safe for a terminal."""
    speculation, load, first = model.speculation, model.traffic, model.latency.first_token
    survival = speculation.survival if speculation else ()
    worst = health_of(model)
    cells = (
        named(model),
        worst.says if worst else NOTHING,
        verdict_of(model),
        "".join(_SHARES[round(min(max(share, 0), 1) * (len(_SHARES) - 1))] for share in survival),
        worded(requests.requests_waiting, load.requests_waiting),
        worded(_FIRST_TOKEN, first.mean if first else None),
        worded(traffic.generation_tokens, load.generation_tokens),
    )
    graded = worst.status if worst else Status.NEUTRAL
    shades = (Status.NEUTRAL, graded, status_of(model), *(Status.NEUTRAL,) * 4)
    return tuple((output.escape.terminal(cell), shade) for cell, shade in zip(cells, shades, strict=True))
