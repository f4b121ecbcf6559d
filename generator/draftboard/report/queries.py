"""What a report asks of a Prometheus: base signals at one moment, counts in parts of the window, changes before it."""

import math
import re
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from functools import cached_property

from draftboard.catalogue import latency, probe
from draftboard.catalogue.serving import GENERATION_TOKENS
from draftboard.durations import Duration
from draftboard.errors import DraftboardError
from draftboard.expr.counts import Counts
from draftboard.expr.nodes import AsRecorded, Expr, Function, Raw, Span, Window, labelled, over_level, rate
from draftboard.expr.reads import exists
from draftboard.expr.to_numbers import values_of
from draftboard.expr.to_promql import promql_of
from draftboard.expr.vector import Labels, Vector, kept
from draftboard.history import Change
from draftboard.history.finding import last_changes
from draftboard.intervals import LEAST, PARTS, Estimate
from draftboard.output import Progress
from draftboard.prometheus import Client, Series
from draftboard.quantity import Setting
from draftboard.reading import drafting_of
from draftboard.reading.past import of_model
from draftboard.report.bound import LINE, bound
from draftboard.report.lensed import Lensed, lensed
from draftboard.report.measuring import BESIDE
from draftboard.report.numbers import COUNTED, Part, Traffic
from draftboard.report.own import (
    ACCEPTED,
    BATCH,
    DRAFTED,
    DRAFTS,
    PURE_SECONDS,
    PURE_STEPS,
    SECONDS,
    STEPS,
    Stretch,
    stretches,
)
from draftboard.report.scatter import SCRAPES, Parts, speedups
from draftboard.settings import Settings, spelled
from draftboard.signals import Edition, Level, Scope, Signal, traffic
from draftboard.signals.advice import fall_age
from draftboard.signals.comparison import BEFORE
from draftboard.signals.costs import decode_batch, intensity, pipelined, step_cost
from draftboard.signals.drafting import configured_k, draft_tokens_per_pos, lowest_k
from draftboard.signals.gains import slower_k
from draftboard.signals.health import health
from draftboard.signals.integrity import ERRORS, identity_error
from draftboard.signals.latency import FELT
from draftboard.signals.states import state
from draftboard.signals.users import measured_speedup, speedup_high, speedup_low, speedup_uncertainty

_BASE = dict.fromkeys(
    (
        *(traffic.drafts, traffic.draft_tokens, traffic.accepted_tokens, traffic.accepted_tokens_per_pos),
        *(traffic.decode_steps, traffic.first_tokens, draft_tokens_per_pos, state, configured_k, lowest_k),
        *(decode_batch, pipelined),
        *(signal for family in FELT.values() for signal in (family.buckets, family.mean)),
        *(of.signal for of in bound(Traffic).values() if of.shown is not LINE),
    )
)
"""Signals from whose answers everything else follows."""
_BEFORE = (
    *(traffic.drafts, traffic.draft_tokens, traffic.accepted_tokens, traffic.accepted_tokens_per_pos),
    *(draft_tokens_per_pos, configured_k, lowest_k),
)
"""Those that the change of acceptance also reads of an earlier window: in one query they would be too long."""
_Steps = tuple[int, str, str]  # Their place in time, and the plugin's labels of them; empty for all steps.
_OWN_STEPS: Mapping[str, Expr] = {
    STEPS: traffic.decode_steps,
    SECONDS: rate(latency.STEP_LATENCY.sum),
    DRAFTS: traffic.drafts,
    DRAFTED: traffic.draft_tokens,
    ACCEPTED: traffic.accepted_tokens,
    BATCH: decode_batch,
    PURE_STEPS: rate(probe.DECODE_STEPS),
    PURE_SECONDS: rate(probe.DECODE_STEP_SECONDS),
}
_OF_INFO = ("method", "adaptive")
_NUMBERS = {"position": re.compile("[0-9]{1,4}"), "le": re.compile(r"[0-9]+(\.[0-9]*)?(e[+-]?[0-9]+)?|\+Inf")}
"""Labels that are computed with, as vLLM and Prometheus write them."""
_UNREAD = "The last change is not known: {}"


@dataclass(frozen=True)
class Queries:
    """The questions of a report to a Prometheus, over one window that ends at one moment."""

    client: Client
    settings: Settings
    span: Duration
    at: float
    model: str
    method: str  # How drafts are made where no label says it.

    @property
    def compares(self) -> bool:
        """Whether then and now are apart."""
        return self.span <= self.settings.rules.compare_with

    @property
    def looks_back(self) -> Duration:
        """To the beginning of the window before, with which this one is compared."""
        return Duration(self.span.seconds + self.settings.rules.compare_with.seconds)

    def changes(self) -> tuple[Mapping[Labels, Change], tuple[str, ...]]:
        """The last change of each service; where they cannot be read, none and why: a report does without."""
        try:
            return last_changes(self.client, self.settings, self.model, self.at), ()
        except DraftboardError as error:
            return {}, (_UNREAD.format(error),)

    def parts(self) -> Parts:
        """What each model counted in parts of the span; none where those would be shorter than scrapes tell apart."""
        scrape = self.settings.rules.scrape_interval.seconds
        step = max(SCRAPES * scrape, math.ceil(self.span.seconds / PARTS))
        count = self.span.seconds // step
        if count < LEAST:
            return {}
        # A scrape more, from which the first one of the part counts: each increase is in one part.
        scope = self._scope(Level.MODEL, Duration(step + scrape))
        start, result = self.at - (count - 1) * step, dict[Labels, list[dict[str, float]]]()
        for name, metric in COUNTED.items():
            expression = rate(metric)
            if not exists(expression, scope):
                continue
            for labels, series in self._known(
                self.client.query_range(promql_of(expression, scope), start, self.at, step)
            ):
                counted = result.setdefault(
                    frozenset(labels.items()), [dict.fromkeys(COUNTED, 0.0) for _ in range(count)]
                )
                for moment, value in series.samples:
                    counted[round((moment - start) / step)][name] = value * step if math.isfinite(value) else 0.0
        return {labels: tuple(Part(**each) for each in counted) for labels, counted in result.items()}

    def steps(self) -> Mapping[Labels, tuple[Stretch, ...]]:
        """Decode steps of each model over the usual past (rules.baseline), a window of rates after the other."""
        window = self.settings.rules.rate_window
        scope, step = self._scope(Level.MODEL, window), window.seconds
        start = self.at - self.settings.rules.baseline.seconds + step
        found: dict[Labels, dict[_Steps, dict[str, float]]] = {}
        for name, expression in _OWN_STEPS.items():
            if not exists(expression, scope):
                continue
            for labels, series in self._known(
                self.client.query_range(promql_of(expression, scope), start, self.at, step)
            ):
                batch, k = (labels.pop(label, "") for label in probe.DECODE_STEPS.own_labels)
                of_model = found.setdefault(frozenset(labels.items()), {})
                for moment, value in series.samples:
                    if math.isfinite(value):
                        of_model.setdefault((round((moment - start) / step), batch, k), {})[name] = value * step
        return {
            labels: tuple(
                stretch
                for (at, batch, k), counted in sorted(of_model.items())
                for stretch in stretches(at, batch, k, counted, step)
            )
            for labels, of_model in found.items()
        }

    def lived(self) -> Mapping[Labels, float]:
        """Seconds that a model's oldest series counted, where it began within the span: increases are of that time."""
        scrape = self.settings.rules.scrape_interval
        stamps = over_level("min", Function("timestamp", Raw(GENERATION_TOKENS)))
        first = f"min_over_time({promql_of(stamps, self._scope(Level.MODEL))}[{self.span}:{scrape}])"
        # Prometheus extrapolates an increase by up to half an interval.
        ages = {
            frozenset(labels.items()): self.at - series.samples[0][1] + scrape.seconds / 2
            for labels, series in self._known(self.client.query(first, self.at))
        }
        return {labels: age for labels, age in ages.items() if age < self.span.seconds - SCRAPES * scrape.seconds}

    def begins(self, signal: Signal, within: Duration) -> bool:
        """Whether a signal has no value that long before the end."""
        return not self.client.query(promql_of(signal, self._scope(Level.MODEL)), self.at - within.seconds)

    def ask(self, levels: tuple[Level, ...], parts: Parts, progress: Progress) -> Counts:
        """Ask for every base signal at some levels."""
        answers, before = dict[tuple[str, Level], Vector](), dict[tuple[str, Level], Vector]()
        asked = [
            *((answers, signal, self._scope(level)) for level in levels for signal in _BASE),
            *((answers, signal, self._scope(Level.MODEL)) for signal in (*BESIDE, step_cost, slower_k, intensity)),
            *((before, signal, self._scope(Level.MODEL).ago(BEFORE)) for signal in _BEFORE if self.compares),
        ]
        for done, (into, signal, scope) in enumerate(asked):
            progress("asking Prometheus", done, len(asked))
            if signal.exists(self.settings):
                factor = self.span.seconds if signal.per_second else 1.0
                result = self._values(signal, signal, scope)
                into[signal.name, scope.level] = {labels: value * factor for labels, value in result.items()}
        measured = answers.get((measured_speedup.name, Level.MODEL), {})
        intervals = speedups(parts, measured, self.settings)
        if len(intervals) < len(measured):
            intervals = self._recorded_intervals(measured) | intervals
        answers[speedup_low.name, Level.MODEL] = {labels: result.low for labels, result in intervals.items()}
        answers[speedup_high.name, Level.MODEL] = {labels: result.high for labels, result in intervals.items()}
        ago: Mapping[Span, Counts] = {BEFORE: Counts(self.settings, answers=before)} if self.compares else {}
        return Counts(self.settings, answers=answers | self._remembered(levels), ago=ago)

    def _remembered(self, levels: tuple[Level, ...]) -> dict[tuple[str, Level], Vector]:
        """What rules know of alerts and the past: health and a fall; nothing without them, or of another window."""
        if self.span != self.settings.rules.rate_window:
            return {}
        asked = [*((health, AsRecorded(health), level) for level in levels), (fall_age, fall_age, Level.MODEL)]
        read = (((of.name, level), self._values(of, expr, self._scope(level))) for of, expr, level in asked)
        return {key: vector for key, vector in read if vector}

    def _recorded_intervals(self, measured: Vector) -> dict[Labels, Estimate]:
        """As the rules recorded them, which is of their own window."""
        if self.span != self.settings.rules.rate_window:
            return {}
        recorded = self._values(speedup_uncertainty, speedup_uncertainty, self._scope(Level.MODEL))
        answers = {(measured_speedup.name, Level.MODEL): measured, (speedup_uncertainty.name, Level.MODEL): recorded}
        low, high = (values_of(end, Counts(self.settings, answers=answers)) for end in (speedup_low, speedup_high))
        return {labels: Estimate(measured[labels], low[labels], high[labels]) for labels in low}

    def lensed(self) -> Lensed:
        """What the lens counts of each model; one query where none runs."""
        scope = self._scope(Level.MODEL)
        return lensed(lambda expr: self._known(self.client.query(promql_of(expr, scope), self.at)), self.settings)

    def broken(self) -> Vector:
        """Engines whose counters contradict each other, by identity: how far it is broken."""
        limit, scope = Setting("thresholds.inconsistent"), self._scope(Level.ENGINE)
        asked = {name: error for name, error in ERRORS.items() if exists(error, scope)}
        return {  # One query for each: together they are too long for VictoriaMetrics where counters begin late.
            labels: value
            for name, error in asked.items()
            for labels, value in self._values(identity_error, labelled(error > limit, "identity", name), scope).items()
        }

    def _values(self, signal: Signal, expression: Expr, scope: Scope) -> dict[Labels, float]:
        """By labels."""
        own = signal.by[0] if signal.by else ""
        result: dict[Labels, float] = {}
        for labels, series in self._known(self.client.query(promql_of(expression, scope), self.at)):
            text, value = labels.get(own, ""), series.samples[0][1]
            if own in _NUMBERS and not _NUMBERS[own].fullmatch(text):
                what = f"{signal.title}: the label {own} is {text[:60]!r}, not a number"
                raise DraftboardError(f"{self.client.url}: {what}")
            if math.isfinite(value):
                result[frozenset(labels.items())] = value
        return result

    def _known(self, answer: Iterable[Series]) -> Iterator[tuple[dict[str, str], Series]]:
        """Of the model that is asked for: a selector cannot leave out series that do not carry the model's label."""
        for series in answer:
            labels = series.unnamed
            if self.model and labels.get(self.settings.labels.model_name) != self.model:
                continue
            meant = self._meant(labels)
            yield (labels if meant != labels and self._model_in(meant) in self.several_spellings else meant), series

    def _meant(self, labels: Mapping[str, str]) -> dict[str, str]:
        """The labels with the way to draft as it is known, and as methods are spelled."""
        names = self.settings.labels
        drafting = self._drafting.get(self._model_in(labels), set())
        # Engines that no label tells apart and that draft in several ways have no way to name.
        values = next(iter(drafting)) if len(drafting) == 1 else (self.method, "")
        known = zip((names.spec_method, names.spec_verification), values, strict=True)
        meant = {name: text for name, text in known if text} | dict(labels)
        if method := meant.get(names.spec_method):
            meant[names.spec_method] = spelled(method, self.settings) or method
        return meant

    @cached_property
    def several_spellings(self) -> frozenset[Labels]:
        """Models whose targets name, or named, one way to draft in several ways."""
        found, last = dict[Labels, set[Labels]](), Function("last_over_time", Raw(GENERATION_TOKENS, self.looks_back))
        for series in self.client.query(promql_of(over_level("max", last), self._scope(Level.MODEL)), self.at):
            found.setdefault(self._model_in(self._meant(series.labels)), set()).add(self._model_in(series.labels))
        return frozenset(model for model, written in found.items() if len(written) > 1)

    @cached_property
    def _drafting(self) -> dict[Labels, set[tuple[str, str]]]:
        """By model: values of the labels of the method and of verification, as the engines' plugins tell."""
        result: dict[Labels, set[tuple[str, str]]] = {}
        info = Function("last_over_time", Raw(probe.INFO, Window.RATE))
        if not exists(info, self._scope(Level.MODEL)):
            return result
        for series in self.client.query(
            promql_of(over_level("max", info, *_OF_INFO), self._scope(Level.MODEL)), self.at
        ):
            drafting = drafting_of(series.labels, self.settings, self.method)
            result.setdefault(self._model_in(series.labels), set()).add(drafting)
        return result

    def _model_in(self, labels: Mapping[str, str]) -> Labels:
        return kept(frozenset(labels.items()), self.settings.labels.model_level)

    def _scope(self, level: Level, span: Duration | None = None) -> Scope:
        return of_model(Scope(self.settings, level, Edition.ONCE, span=span or self.span), self.model)
