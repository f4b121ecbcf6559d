"""What an assistant may call. Each method is a tool; its docstring is what the assistant reads of it."""

import time
from dataclasses import dataclass

from draftboard import explain, history, plan
from draftboard.access import Access
from draftboard.alerts import of_settings
from draftboard.alerts.runbook import runbook
from draftboard.durations import Duration, moment
from draftboard.errors import DraftboardError
from draftboard.history.finding import of_past
from draftboard.output import Bullets, Document, as_markdown, escape
from draftboard.prometheus import Client
from draftboard.reading import Recorded
from draftboard.report import Report, document, named, report, verdict_of, worst_first
from draftboard.settings import Settings


@dataclass(frozen=True)
class Tools:
    """Answers from one Prometheus, as Markdown. They change nothing. What cannot be answered is a DraftboardError."""

    prometheus: str
    settings: Settings
    access: Access

    def verdict(self, model: str = "", at: str = "now", period: str = "") -> str:
        """Whether speculative decoding pays, why, and what to change, for each model or for one.

        Repeat the basis of a verdict (assumed, calibrated, measured), its range and the number of drafts with it. Where
        the answer says that a verdict is withheld or unclear, there is none. `at` is now-6h, Unix seconds or ISO 8601;
        `period` before it is 15m or 6h, by default the window of the rules.
        """
        found = self._report(model, at, _duration(period))
        return as_markdown(document(found, self.settings, engines=False))

    def health(self, at: str = "now") -> str:
        """Each model in a line, worst first: its health in one word, and the verdict on speculation with its basis."""
        found = self._report("", at)
        lines = (
            f"{named(model)}: {model.health or 'unknown'}; {verdict_of(model)}" for model in worst_first(found.models)
        )
        return as_markdown(Document((Bullets(tuple(lines)),)))

    def explanation(self, name: str, at: str = "now", labels: dict[str, str] | None = None, depth: int = 1) -> str:
        """From what a signal, record or alert is computed: expression, settings, live values.

        Of a decision, such as the record of the verdict, every condition is listed with the reason that it holds or
        does not. `labels` select series, such as {"model_name": "llama"}.
        """
        source = Recorded(self.prometheus, at=_time(at), access=self.access)
        only = frozenset((labels or {}).items())
        found = explain.of_prometheus(name, source, self.settings, depth=depth, only=only)
        return as_markdown(explain.document(found))

    def what_if(self, survival: list[float], method: str = "", longest: int | None = None) -> str:
        """The expected speedup of every draft length, from the share of drafts accepted at each position.

        `verdict` lists survival by position as shares from 0 to 1. The costs are those of the settings: where the
        answer calls them assumed, so is the speedup.
        """
        basis = plan.basis
        cost = basis.cost_ratio(self.settings, None, method or None)
        inflation = basis.verify_inflation(self.settings, None, method or None)
        lengths = plan.lengths.plan_draft_length(self.settings, cost, inflation, survival=survival, longest=longest)
        return as_markdown(lengths.document())

    def alerts(self, at: str = "now") -> str:
        """The alerts of Draftboard that fire, with their labels. `runbook` has what to do about each."""
        ours = {alert.name for alert in of_settings(self.settings)}
        with Client(self.prometheus, self.access) as client:
            rules = {rule.name for rule in client.rules()}
            firing = client.query('ALERTS{alertstate="firing"}', _time(at))
        if not ours & rules:
            return "This Prometheus has no alerting rules of Draftboard: silence says nothing. Run `draftboard doctor`."
        lines = [
            f"- {one.labels['alertname']}: {escape.markdown(escape.log(escape.terminal(_labels(one.labels))))}"
            for one in firing
            if one.labels.get("alertname") in ours
        ]
        return "\n".join(sorted(lines)) or "No alert of Draftboard fires; its rules are loaded."

    def runbook(self, alert: str) -> str:
        """What an alert means, what to do first, and how to find its cause."""
        for each in of_settings(self.settings):
            if each.name == alert:
                return runbook(each, self.settings)
        raise DraftboardError(f"no alert {alert!r}: `alerts` lists those that fire, {self.settings.links.runbooks} all")

    def changes(self, period: str = "1d", model: str = "", at: str = "now") -> str:
        """Changes of draft length, method and variant in the past, and whether each helped at like load."""
        end = _time(at)
        source = Recorded(self.prometheus, _duration(period), model, end, self.access)
        return as_markdown(history.document(of_past(source, self.settings, at=end)))

    def _report(self, model: str, at: str, span: Duration | None = None) -> Report:
        return report(Recorded(self.prometheus, span, model, _time(at), self.access), self.settings)


def _labels(labels: dict[str, str]) -> str:
    shown = sorted(name for name in labels if name not in ("__name__", "alertname"))
    return ", ".join(f"{name}={labels[name]}" for name in shown)


def _time(text: str) -> float:
    """Unix seconds; DraftboardError where the text is no time."""
    try:
        return moment("now-0s" if text == "now" else text, time.time())
    except ValueError as error:
        raise DraftboardError(f"at {text!r} {error}") from None


def _duration(text: str) -> Duration | None:
    """A duration; None of an empty text, DraftboardError where it is none."""
    try:
        return Duration.parse(text) if text else None
    except ValueError as error:
        raise DraftboardError(f"period {text!r} {error}") from None
