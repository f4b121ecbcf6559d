"""The Scope: from where a signal is looked at, and hence which selector, window and level its expression has."""

import re
from dataclasses import dataclass, replace
from enum import Enum

from draftboard.catalogue import Metric, Owner
from draftboard.durations import Duration
from draftboard.expr import promql
from draftboard.settings import Settings
from draftboard.signals.signal import Level, Signal

RATE_INTERVAL = "$__rate_interval"
Matchers = tuple[tuple[str, str], ...]
"""Label and matcher, each."""


class Edition(Enum):
    """Who evaluates the expression, and from what."""

    RULES = "rules"
    """The rule evaluator: records where there are any, raw series otherwise, a fixed window."""
    RECORDS = "records"
    """A panel that reads records, filtered by the dashboard's variables."""
    RAW = "raw"
    """A panel that reads raw series only, in Grafana's own window: needs no rules."""
    ASKED = "asked"
    """A question asked once: raw series only, in a window of its own."""

    @property
    def on_dashboard(self) -> bool:
        """Whether variables of a dashboard filter it."""
        return self in {Edition.RECORDS, Edition.RAW}

    @property
    def reads_records(self) -> bool:
        """Whether it reads what rules have recorded."""
        return self in {Edition.RULES, Edition.RECORDS}


@dataclass(frozen=True)
class Scope:
    """A selector, a window and the labels kept; calling it with a signal gives that signal's PromQL here."""

    settings: Settings
    level: Level = Level.MODEL
    edition: Edition = Edition.RULES
    offset: Duration | None = None
    only: Matchers = ()
    """Further matchers, each applied to the series that carry its label."""
    span: Duration | None = None
    """A window of its own, for raw series."""

    @property
    def labels(self) -> tuple[str, ...]:
        """Labels that a series of this scope's level keeps."""
        return self.level.labels(self.settings)

    @property
    def window(self) -> str:
        """Window of every rate."""
        if self.span:
            return str(self.span)
        return RATE_INTERVAL if self.edition is Edition.RAW else str(self.settings.rules.rate_window)

    @property
    def draft_cost(self) -> str:
        """Draft cost `c` of what-if questions: the dashboard's variable, or the settings' default."""
        if self.edition.on_dashboard:
            return "$draft_cost"
        return promql.number(self.settings.draft_cost.default)

    @property
    def verify_inflation(self) -> str:
        """Verify inflation `v` of what-if questions."""
        if self.edition.on_dashboard:
            return "$verify_inflation"
        return promql.number(self.settings.draft_cost.verify_inflation)

    def at(self, level: Level) -> "Scope":
        """The same view at another level."""
        return replace(self, level=level)

    def ago(self, offset: Duration) -> "Scope":
        """The same view of the past."""
        return replace(self, offset=offset)

    def over(self, span: Duration) -> "Scope":
        """The same view with rates over another window."""
        return replace(self, span=span)

    def where(self, label: str, *values: str) -> "Scope":
        """The same view of the series whose label has one of the values, which may be regular expressions."""
        return self._matching(label, ("=", "=~"), values)

    def where_not(self, label: str, *values: str) -> "Scope":
        """The same view of the other series, those without the label too; without values, of all."""
        return self._matching(label, ("!=", "!~"), values) if values else self

    def _matching(self, label: str, operators: tuple[str, str], values: tuple[str, ...]) -> "Scope":
        pattern = "|".join(values)
        operator = operators[0] if re.fullmatch(r"[\w-]*|[\d.]+", pattern) else operators[1]
        return replace(self, only=(*self.only, (label, f'{label}{operator}"{pattern}"')))

    def __call__(self, signal: Signal) -> str:
        """The signal's PromQL from here: its record where there is one to read, else its expression."""
        record = self._readable_record(signal)
        return self._series(record, (*self.labels, *signal.by)) if record else signal.expr(self)

    def definition(self, signal: Signal) -> str:
        """PromQL that computes the signal here, for a rule that records it."""
        if self.level is Level.MODEL and signal.rollup:
            return promql.aggregate(signal.rollup, (*self.labels, *signal.by), self.at(Level.ENGINE)(signal))
        return signal.expr(self)

    def over_time(self, function: str, signal: Signal, span: Duration, offset: Duration | None = None) -> str:
        """`function` of the signal's own past: over its record, or over a subquery at the rules' pace."""
        ago = str(offset) if offset else ""
        record = self._readable_record(signal)
        if record:
            return promql.call(
                function,
                self._series(record, (*self.labels, *signal.by), window=str(span), offset=ago),
            )
        pace = self.settings.rules.evaluation_interval
        return promql.call(function, promql.subquery(signal.expr(self), str(span), str(pace), ago))

    def rate(self, metric: Metric, by: tuple[str, ...] | None = None) -> str:
        """Per-second increase of a counter, summed over everything but this level's labels and the metric's own.

        `by` names those of its own labels that stay, where not all do.
        """
        vector = promql.rate(self.raw(metric, window=self.window))
        return promql.sum_by((*self.labels, *(metric.own_labels if by is None else by)), vector)

    def rate_of_all(self, *metrics: Metric) -> str:
        """Per-second increase of several counters together: what one of them lacks does not silence the others."""
        rates = (promql.rate(self.raw(metric, window=self.window)) for metric in metrics)
        return promql.sum_by(self.labels, promql.first_of(*rates))

    def raw(
        self,
        metric: Metric,
        *,
        window: str = "",
        matchers: tuple[str, ...] = (),
        chosen_by: tuple[str, ...] | None = None,
    ) -> str:
        """The metric's own series, selected as this scope selects; by some labels only, if they are given."""
        names = self.settings.labels
        labels = {
            Owner.ENGINE: names.engine_level,
            Owner.CONFIG: (*names.target_level, names.engine),
            Owner.FRONTEND: (*names.target_level, names.model_name),
            Owner.TARGET: names.target_level,
            Owner.RULE: names.model_level,
            Owner.GPU: names.scope,
        }[metric.owner]
        # Alerts carry what records keep and GPUs what their exporter has, not all that the user's selector may ask for.
        scraped = metric.owner not in {Owner.RULE, Owner.GPU}
        carried = (*labels, *metric.own_labels) if chosen_by is None else chosen_by
        return self._series(metric.name, carried, window=window, extra=matchers, scraped=scraped)

    def _readable_record(self, signal: Signal) -> str | None:
        return signal.record_at(self.level, self.settings) if self.edition.reads_records else None

    def _series(
        self,
        name: str,
        carried: tuple[str, ...],
        *,
        window: str = "",
        offset: str = "",
        extra: tuple[str, ...] = (),
        scraped: bool = False,
    ) -> str:
        matchers = [matcher for matcher in (self.settings.selector,) if scraped and matcher]
        if self.edition.on_dashboard:
            matchers += [f'{label}=~"${label}"' for label in self._variables() if label in carried]
        matchers += [matcher for label, matcher in self.only if label in carried]
        matchers += extra
        offset = offset or (str(self.offset) if self.offset else "")
        return promql.selector(name, matchers, window=window, offset=offset)

    def _variables(self) -> tuple[str, ...]:
        """Labels that dashboards filter by, each with a variable of the same name."""
        labels = self.settings.labels
        return tuple(label for label in labels.engine_level if label not in labels.scope)
