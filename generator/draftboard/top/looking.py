"""One look at the models: a row for each, and the details of one."""

from collections.abc import Callable
from dataclasses import dataclass, replace
from operator import attrgetter

from draftboard import explain
from draftboard.expr.vector import Labels
from draftboard.output import Document, Text
from draftboard.reading import Recorded, Servers
from draftboard.report import ModelReport, Report, document, health_of, named, read, report, verdict_text, worst_first
from draftboard.settings import Settings
from draftboard.signals import requests, traffic
from draftboard.signals.latency import FELT
from draftboard.signals.signal import NOTHING, worded
from draftboard.signals.verdicts import verdict

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
        whole, key = self.whole(model), attrgetter("model", "method", "labels")
        same = tuple(one for one in whole.models if key(one) == key(model))
        return document(replace(whole, models=same), self.settings, engines=True)

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
            lambda model: report(replace(source, model=model.model), settings, method=method, engines=True),
        )
    reading = read(source, settings, method)
    return Look(
        reading.report(engines=False),  # To judge hundreds of engines takes seconds.
        reading.settings,
        lambda only: explain.document(explain.of_reading(verdict.name, reading, only=only)),
        lambda _: reading.report(),
    )


def row(model: ModelReport) -> tuple[Text, ...]:
    """The cells of a model, in the order of COLUMNS."""
    speculation, load, first = model.speculation, model.traffic, model.latency.first_token
    survival = speculation.survival if speculation else ()
    worst = health_of(model)
    return (
        Text(named(model)),
        Text(worst.says, worst.status) if worst else Text(NOTHING),
        verdict_text(model),
        Text("".join(_SHARES[round(min(max(share, 0), 1) * (len(_SHARES) - 1))] for share in survival)),
        Text(worded(requests.requests_waiting, load.requests_waiting)),
        Text(worded(_FIRST_TOKEN, first.mean if first else None)),
        Text(worded(traffic.generation_tokens, load.generation_tokens)),
    )
