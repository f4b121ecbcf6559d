"""What the panels of one dashboard have in common, and the scopes, labels and legends that follow from it."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from functools import cached_property, partial
from typing import Any

from draftboard.dashboards import leads, lines
from draftboard.dashboards.cost import BEYOND, affordable
from draftboard.dashboards.labels import SERIES, SHORT_NAME, label_join, label_replace
from draftboard.dashboards.lines import Lines
from draftboard.expr.reads import exists
from draftboard.expr.to_promql import promql_of
from draftboard.quantity import RATE_WINDOW
from draftboard.settings import Settings
from draftboard.settings.rules import dashboard_uid
from draftboard.signals import Edition, Level, Scope, Signal

_LEGENDS = {
    "accepted": "{{accepted}} accepted",
    "gpu": "GPU {{gpu}}",
    "k": "k = {{k}}",
    "percentile": "P{{percentile}}",
    "position": "position {{position}}",
}
"""Legends of labels whose values need a word beside them."""


@dataclass(frozen=True)
class Context:
    """Settings, edition, the series that graphs draw, and the variables that select baselines, by label."""

    settings: Settings
    edition: Edition
    lines: Lines
    baselines: Mapping[str, str]
    page: str
    uids: Mapping[str, str]
    """Of this page and of those beside it, by name."""
    one_model: bool = False
    """Whether the series of a model are its variants, and named by these alone."""

    def lead(self, signal: Signal, pages: Mapping[str, str]) -> tuple[str, str] | None:
        """Uid of the page that explains a signal, and what a link says; of health and what to do that of each row."""
        if signal in leads.OF_EACH_ROW and pages:
            return f"${{__data.fields.{leads.PAGE}}}", leads.OF_ITS_PAGE
        page, says = leads.of_signal(signal, self.page, self.uids)
        return (self.uids[page], says) if page != self.page and page in self.uids else None

    def series_links(self, signal: Signal, level: Level) -> list[dict[str, Any]]:
        """A link from each series of a signal to the page that explains it for what the series is of."""
        lead = self.lead(signal, {})
        return leads.of_series(*lead, level.labels(self.settings), self.settings) if lead else []

    def scope(self, level: Level, *, instant: bool = False) -> Scope:
        """The scope of a query; rates of an instant query are over the records' window, at any zoom."""
        window = RATE_WINDOW if instant and self.edition is Edition.RAW else None
        return replace(self._scope, level=level, span=window)

    def promql(self, level: Level, *, instant: bool = False) -> Callable[[Signal], str]:
        """What makes the query of a signal, seen from that scope."""
        return partial(promql_of, scope=self.scope(level, instant=instant))

    @cached_property
    def _scope(self) -> Scope:
        longest = BEYOND if self.edition is Edition.RAW else None
        return Scope(self.settings, edition=self.edition, beside=tuple(self.baselines.items()), longest=longest)

    def exists(self, signal: Signal) -> bool:
        """Whether the settings enable the signal, and the series of this edition have it."""
        return signal.exists(self.settings) and exists(signal, self.scope(signal.levels[-1]))

    def affords(self, expr: str) -> bool:
        """Whether this edition can afford a query; recording rules have computed what records hold."""
        return self.edition is not Edition.RAW or affordable(expr, self.settings)

    def name_last(self) -> str:
        """The legend of models where Grafana cuts names on the left: what is mostly equal comes first."""
        identifying, common = self._labels(Level.MODEL)
        return legend(*reversed([*identifying, *common]))

    def legend(self, level: Level, *own: str) -> str:
        """The labels that identify a series, the most specific first: where panels are narrow, a name is cut."""
        identifying, common = self._labels(level)
        if self.one_model and level is Level.MODEL:
            names = self.settings.labels
            return legend(*names.variant_labels[:2], *own)
        return legend(*identifying, *(label for label in own if label != lines.SLO), *common)

    def one_label_a_model(self, signal: Signal, *, instant: bool = False) -> str:
        """A signal of the first models, their labels joined to one, so that each model is one series of a chart."""
        scope = self.scope(Level.MODEL, instant=instant)
        identifying, common = self._labels(Level.MODEL)
        series = self.lines.now(signal, scope) if instant else self.lines.of(signal, scope)
        joined = label_join(series, SERIES, " ", *identifying, *common)
        pattern, replacement = SHORT_NAME
        return label_replace(joined, SERIES, replacement, SERIES, pattern)

    def _labels(self, level: Level) -> tuple[list[str], list[str]]:
        """The labels of a level: from the model to the way it drafts, and those that are mostly equal."""
        names, labels = self.settings.labels, level.labels(self.settings)
        identifying = (names.model_name, names.instance, names.engine, *names.variant_labels, names.host)
        return [label for label in identifying if label in labels], [one for one in labels if one not in identifying]


def legend(*labels: str) -> str:
    """The legend of series that these labels identify."""
    return " ".join(_LEGENDS.get(label, f"{{{{{label}}}}}") for label in labels)


def uid(page: str, edition: Edition) -> str:
    """The uid of a page's dashboard in an edition."""
    return dashboard_uid(page, raw=edition is Edition.RAW)
