"""One look at the models: a row for each, and the details of one."""

from collections.abc import Callable
from dataclasses import dataclass, replace

from draftboard import explain, output
from draftboard.expr.vector import Labels
from draftboard.output import Document
from draftboard.reading import Recorded, Servers
from draftboard.report import ModelReport, Report, document, named, read, report, status_of, verdict_of
from draftboard.settings import Settings
from draftboard.signals import acceptance, requests, traffic
from draftboard.signals.latency import FELT
from draftboard.signals.signal import worded
from draftboard.signals.verdicts import verdict
from draftboard.status import Status

COLUMNS = {"Model": 0, "": 1, "Verdict": 0, "Position": 9, "Accepted": 9, "Queue": 6, "TTFT": 9, "tokens/s": 9}
"""Each with its width in characters; 0 shares what the others leave."""
_SHARES = " ▁▂▃▄▅▆▇█"
_BADNESS = list(Status)
_FIRST_TOKEN = FELT["first_token"].mean


@dataclass(frozen=True)
class Look:
    """A report, and the way to the conditions behind a model's verdict."""

    report: Report
    settings: Settings
    explain: Callable[[Labels], Document]

    @property
    def models(self) -> list[ModelReport]:
        """Worst first; of equals the busiest."""
        return sorted(self.report.models, key=lambda model: (_badness(model), -(model.traffic.generation_tokens or 0)))

    def details(self, model: ModelReport) -> Document:
        """All numbers of a model, the expected speedup of every draft length among them."""
        return document(replace(self.report, models=(model,)), self.settings, engines=bool(model.engines))

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
        )
    reading = read(source, settings, method)
    return Look(
        reading.report(),
        reading.settings,
        lambda only: explain.document(explain.of_reading(verdict.name, reading, only=only)),
    )


def row(model: ModelReport) -> tuple[tuple[str, Status], ...]:
    """The cells of a model, in the order of COLUMNS; safe for a terminal."""
    speculation, load, first = model.speculation, model.traffic, model.latency.first_token
    survival = speculation.survival if speculation else ()
    headline = ": ".join(filter(None, (model.waiting.says, verdict_of(model))))
    cells = (
        named(model),
        "",
        headline,
        "".join(_SHARES[round(min(max(share, 0), 1) * (len(_SHARES) - 1))] for share in survival),
        worded(acceptance.acceptance, speculation.acceptance if speculation else None),
        worded(requests.requests_waiting, load.requests_waiting),
        worded(_FIRST_TOKEN, first.mean if first else None),
        worded(traffic.generation_tokens, load.generation_tokens),
    )
    status = _status(model)
    shades = (Status.NEUTRAL, Status.NEUTRAL, status, *(Status.NEUTRAL,) * 5)
    return tuple((output.escape.terminal(cell), shade) for cell, shade in zip(cells, shades, strict=True))


def _status(model: ModelReport) -> Status:
    return Status.BAD if model.waiting.says else status_of(model)


def _badness(model: ModelReport) -> int:
    return _BADNESS.index(_status(model))
