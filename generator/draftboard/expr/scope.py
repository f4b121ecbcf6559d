"""The Scope: from where an expression is seen, and hence which selector, window and labels its PromQL has."""

import re
from collections.abc import Mapping
from dataclasses import dataclass, replace
from enum import Enum
from types import MappingProxyType

from draftboard.catalogue import Metric, Owner
from draftboard.durations import Duration
from draftboard.errors import DraftboardError
from draftboard.expr import promql
from draftboard.quantity import RATE_WINDOW, Quantity, duration, later, span_text
from draftboard.settings import Settings

RATE_INTERVAL = "$__rate_interval"


class Level(Enum):
    """How far a signal is aggregated; the settings say which labels each level keeps."""

    TARGET = "target"
    ENGINE = "engine"
    MODEL = "model"
    SERVICE = "service"  # A model of a job, however it drafts.
    HOST = "host"
    MONITOR = "monitor"  # One Prometheus, Alertmanager or exporter.
    SCOPE = "scope"  # What shares the widest label of the scope, such as a cluster.
    FLEET = "fleet"

    def labels(self, settings: Settings) -> tuple[str, ...]:
        """Labels that a series of this level carries."""
        return settings.labels.of_level(self.value)


RECORD_NAMES = "|".join(f"{level.value}:.*" for level in Level)
"""Pattern of the names of records, which no server's page has."""


class Edition(Enum):
    """Who evaluates the expression, and from what."""

    RULES = "rules"  # The rule evaluator: records where there are any, raw series otherwise, a fixed window.
    RECORDS = "records"  # A panel that reads records, filtered by the dashboard's variables.
    RAW = "raw"  # A panel that reads raw series only, in Grafana's own window: needs no rules.
    ONCE = "once"  # A single evaluation: raw series only, in a window of its own.

    @property
    def on_dashboard(self) -> bool:
        """Whether variables of a dashboard filter it."""
        return self in {Edition.RECORDS, Edition.RAW}

    @property
    def reads_records(self) -> bool:
        """Whether it reads what rules have recorded."""
        return self in {Edition.RULES, Edition.RECORDS}


@dataclass(frozen=True)
class Matcher:
    """A label matcher of PromQL."""

    label: str
    operator: str  # `=`, `!=`, `=~` or `!~`.
    pattern: str

    @classmethod
    def of(cls, label: str, *values: str, negated: bool = False) -> "Matcher":
        """Any of the values, which may be regular expressions; or none of them."""
        pattern = "|".join(values)
        plain = re.fullmatch(r"[\w-]*|[\d.]+", pattern)
        operators = ("!=", "!~") if negated else ("=", "=~")
        return cls(label, operators[0 if plain else 1], pattern)

    @classmethod
    def exactly(cls, label: str, value: str) -> "Matcher":
        """Just this value, whatever its characters."""
        # A text of PromQL holds no end of a line.
        pattern = re.escape(value).replace("\\\n", "\\n")
        return cls.of(label, pattern.replace("\\", "\\\\").replace('"', '\\"'))

    @property
    def text(self) -> str:
        """As it stands in a selector."""
        return f'{self.label}{self.operator}"{self.pattern}"'

    def fits(self, value: str) -> bool:
        """Whether a label's value is selected; a label that does not exist has the value ""."""
        exact = self.operator in {"=", "!="}
        equal = value == self.pattern if exact else re.fullmatch(self.pattern, value) is not None
        return equal != self.operator.startswith("!")


@dataclass(frozen=True)
class Scope:
    """From where an expression is seen: a selector, a window and the labels kept."""

    settings: Settings
    level: Level = Level.MODEL
    edition: Edition = Edition.RULES
    offset: Quantity | Duration | None = None
    only: tuple[Matcher, ...] = ()  # Further matchers, each applied to the series that carry its label.
    span: Quantity | Duration | None = None  # A window of its own, for raw series.
    every_variant: bool = False  # Whatever method and variant a dashboard selects.
    beside: tuple[tuple[str, str], ...] = ()
    """Labels, and the variable of each whose series a dashboard shows beside those that are chosen."""
    ended: bool = False  # At the end of what is shown, whichever moment is evaluated.
    records: frozenset[str] | None = None
    """Records whose present is read by name, where not all are; others are computed in place."""
    longest: int | None = None  # Characters of a signal's PromQL, beyond which nobody needs to know it.

    def __post_init__(self) -> None:
        """Raise ValueError for a window that records do not have."""
        if self.span and self.edition.reads_records and self.span != RATE_WINDOW:
            kept = self.settings.rules.rate_window
            if duration(self.span, self.settings) != kept:
                raise ValueError(f"records keep rates over {kept}, not over {self.span}: read raw series for that")

    @property
    def labels(self) -> tuple[str, ...]:
        """Labels that a series of this scope's level keeps."""
        return self.level.labels(self.settings)

    @property
    def window(self) -> str:
        """Window of every rate."""
        if self.span is None and self.edition is Edition.RAW:
            return RATE_INTERVAL
        return span_text(self.span or RATE_WINDOW, self.settings)

    def at(self, level: Level) -> "Scope":
        """At another level."""
        if level is self.level and level is not Level.SERVICE:
            return self
        return replace(self, level=level, every_variant=self.every_variant or self.level is Level.SERVICE)

    def over(self, span: Quantity | Duration) -> "Scope":
        """With rates over another window; ValueError where it reads records, which keep theirs."""
        return replace(self, span=span)

    def by_rules(self) -> "Scope":
        """Of what rules have recorded."""
        if self.edition is Edition.RULES and self.span is None:
            return self
        return replace(self, edition=Edition.RULES, span=None)

    def of_one_moment(self) -> "Scope":
        """In rules, of the present of raw series alone."""
        return replace(self, records=frozenset()) if self.edition is Edition.RULES else self

    def ago(self, span: Quantity | Duration) -> "Scope":
        """So much earlier."""
        if self.offset is None:
            return replace(self, offset=span)
        return replace(self, offset=later(span, self.offset))

    def at_end(self) -> "Scope":
        """At the end of what is shown: one value for the whole of a graph."""
        return replace(self, ended=True)

    def where(self, *matchers: Matcher) -> "Scope":
        """Of the series that fit."""
        return replace(self, only=(*self.only, *matchers))

    def reads(self, record: str, *, past: bool = False) -> bool:
        """Whether it reads a record by name: of the past of each, of the present of some."""
        return self.records is None or past or self.offset is not None or record in self.records

    def raw(
        self,
        metric: Metric,
        *,
        window: str = "",
        matchers: tuple[Matcher, ...] = (),
        chosen_by: tuple[str, ...] | None = None,
        name: str = "",
    ) -> str:
        """The metric's own series, selected as this scope selects; by some labels only, if they are given.

        `name` is that of its part, where it is made of several. DraftboardError where the dialect does not have it.
        """
        spelling = self.settings.dialect.spelled(metric)
        if spelling is None:
            raise DraftboardError(f"{self.settings.dialect.engine} does not export {metric.name}, which this needs")
        # Alerts carry what records keep and exporters what they have, not all that the user's selector may ask for.
        scraped = metric.owner not in {Owner.RULE, Owner.EXPORTER}
        carried = self.carried(metric) if chosen_by is None else chosen_by
        optional = metric.owner is Owner.RULE
        chosen = (*matchers, *(Matcher(label, "=", value) for label, value in spelling.only))
        options: dict[str, bool] = {"scraped": scraped, "optional": optional}
        return self.series(
            name or spelling.name, carried, window=window, extra=chosen, labels=spelling.labels, **options
        )

    def carried(self, metric: Metric) -> tuple[str, ...]:
        """Labels that the metric's series carry."""
        names = self.settings.labels
        labels = {
            Owner.ENGINE: names.engine_level,
            Owner.CONFIG: (*names.target_series, names.engine),
            Owner.FRONTEND: (*names.target_series, names.model_name),
            Owner.TARGET: names.target_series,
            Owner.RULE: names.model_level,
            Owner.EXPORTER: (),  # It may be in another namespace than the servers.
        }[metric.owner]
        return (*labels, *metric.own_labels)

    def series(
        self,
        name: str,
        carried: tuple[str, ...],
        *,
        window: str = "",
        extra: tuple[Matcher, ...] = (),
        scraped: bool = False,
        optional: bool = False,
        labels: Mapping[str, str] = MappingProxyType({}),
    ) -> str:
        """A selector of series that carry some labels: the user's own matchers go with scraped series.

        Where a label is optional, a series without it is selected whatever is chosen; `labels` have other names there.
        """
        matchers = [matcher for matcher in (self.settings.selector,) if scraped and matcher]
        if self.edition.on_dashboard:
            # Each label that dashboards filter by has a variable of its name. A service is all its variants, and the
            # monitoring is no server to choose.
            names = self.settings.labels
            left_out = names.variant_labels if self.every_variant or self.level is Level.SERVICE else ()
            left_out = names.filters if self.level is Level.MONITOR else left_out
            filters = (label for label in names.filters if label not in left_out)
            absent = "|" if optional else ""
            also = {label: f"|${variable}" for label, variable in self.beside}
            matchers += [f'{label}=~"${label}{also.get(label, absent)}"' for label in filters if label in carried]
        chosen = (*self.selecting(carried), *extra)
        matchers += [replace(matcher, label=labels.get(matcher.label, matcher.label)).text for matcher in chosen]
        offset = "0s" if self.offset is None else span_text(self.offset, self.settings)
        return promql.selector(name, matchers, window=window, offset=offset, at_end=self.ended)

    def selecting(self, carried: tuple[str, ...]) -> tuple[Matcher, ...]:
        """The matchers that apply to series with these labels."""
        return tuple(matcher for matcher in self.only if matcher.label in carried)

    def selected(self, text: str, *matchers: Matcher) -> str:
        """The PromQL; ValueError where one of the matchers selects nothing in it."""
        for matcher in matchers:
            named = {matcher.label, *self.settings.dialect.labels_for(matcher.label)}
            texts = (re.escape(replace(matcher, label=label).text) for label in named)
            if not re.search(rf"[{{ ]({'|'.join(texts)})", text):
                raise ValueError(f"nothing in the expression carries the label {matcher.label}: cannot select by it")
        return text
