"""A report of a Prometheus: every base signal from raw series, over one window that ends at one moment.

Ratios, verdict and advice are computed from the answers. Records are not read, but for the uncertainty of the measured
speedup where parts of the window are too few to tell it, and for the step cost, which needs days
of a baseline: each group of rules is evaluated at a time of its own, and counts would stand beside steps of another.
"""

import math
import re
import time
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, replace
from functools import cached_property

from draftboard.catalogue import latency, probe
from draftboard.durations import Duration
from draftboard.errors import DraftboardError
from draftboard.expr.counts import Counts
from draftboard.expr.tree import Expr, Function, Raw, over_level, rate, setting
from draftboard.expr.vector import Labels, Vector, dropped, kept, value_of
from draftboard.history import Change, last_changes
from draftboard.intervals import LEAST, PARTS, Estimate
from draftboard.output import Progress
from draftboard.prometheus import Client, Series
from draftboard.reading import Numbers, Reader, Recorded, drafting_of, of_model
from draftboard.report.judge import Case, engine_report, missing_positions, model_report, told_in_part
from draftboard.report.objects import SCHEMA_VERSION, Broken, EngineReport, ModelReport, Origin, Part, Report
from draftboard.report.scatter import SCRAPES, Parts, speedups, why_not
from draftboard.settings import Settings
from draftboard.signals import Edition, Level, Scope, Signal, capacity, requests, traffic
from draftboard.signals.comparison import acceptance_change
from draftboard.signals.costs import step_cost
from draftboard.signals.decisions import state
from draftboard.signals.depth import configured_k, draft_tokens_per_pos, lowest_k
from draftboard.signals.integrity import IDENTITIES, identity_error
from draftboard.signals.latency import FELT
from draftboard.signals.users import measured_speedup, speedup_high, speedup_low, speedup_uncertainty

_ASKED = (
    *(traffic.drafts, traffic.draft_tokens, traffic.accepted_tokens, traffic.accepted_tokens_per_pos),
    *(traffic.generation_tokens, capacity.prompt_tokens, traffic.decode_steps, traffic.first_tokens),
    *(requests.request_rate, *(family.buckets for family in FELT.values()), state, configured_k, lowest_k),
    *(requests.requests_running, requests.requests_waiting, requests.unfinished),
    *(capacity.kv_cache_usage, capacity.prefix_cache_hits, capacity.batch, capacity.engines, draft_tokens_per_pos),
    *(family.mean for family in FELT.values()),
)
_KEYS = (state, traffic.drafts, traffic.generation_tokens)
_WITH_POSITIONS = (lowest_k, configured_k)
"""What every server that counts accepted tokens by position has."""
_OF_INFO = ("method", "adaptive")
_NUMBERS = {"position": re.compile("[0-9]{1,4}"), "le": re.compile(r"[0-9]+(\.[0-9]*)?(e[+-]?[0-9]+)?|\+Inf")}
"""Labels that are computed with, as vLLM and Prometheus write them."""
_OVERLAP = (
    f"{acceptance_change.title} is not known: it compares with {{before}} ago, and {{span}} then and {{span}} now "
    "overlap. Ask over a shorter --range."
)
_NO_INTERVAL = f"{measured_speedup.title} has no 95 % interval: {{}}"
_IN_PARTS = {
    "requests": rate(latency.TIME_PER_OUTPUT_TOKEN.count),
    "seconds_per_token": rate(latency.TIME_PER_OUTPUT_TOKEN.sum),
    "drafts": traffic.drafts,
    "draft_tokens": traffic.draft_tokens,
    "accepted_tokens": traffic.accepted_tokens,
}
_UNREAD = "The last change is not known: {}"
_UNKNOWN = "the counters contradict each other, in a way that the record does not name"


def of_prometheus(source: Recorded, settings: Settings, method: str, *, engines: bool, progress: Progress) -> Report:
    """Every model that Prometheus knows of, or the one that is asked for."""
    # By default of a moment whose scrapes have all arrived: one that arrives between two questions would part them.
    at = time.time() - settings.rules.scrape_interval.seconds if source.at is None else source.at
    with Client(source.url, source.access) as client:
        span = source.span or settings.rules.rate_window
        question = _Question(client, settings, span, at, source.model, method)
        parts = question.parts()
        counts = question.ask((Level.MODEL, Level.ENGINE) if engines else (Level.MODEL,), parts, progress)
        models, by_engine = Reader(counts, Level.MODEL), Reader(counts, Level.ENGINE) if engines else None
        changes, unread = question.changes()
        answer = _Answer(settings, span.seconds, models, by_engine, question.broken(), parts, changes)
        url = client.url
    keys = models.keys(*_KEYS)
    if not keys:
        of, dialect = f" of {source.model}" if source.model else "", settings.dialect
        raise DraftboardError(
            f"{url}: no {dialect.engine} series{of} in the last {span}: is a server scraped, and twice in that time? "
            f'Looked for {dialect.prefixes[0]}...; settings, [series] dialect = "{dialect.name}", choose other names'
        )
    for reader in (models, by_engine) if by_engine else (models,):
        _check(reader, url)
    return Report(
        schema_version=SCHEMA_VERSION,
        origin=Origin.PROMETHEUS,
        sources=(url,),
        taken_at=question.at,
        seconds=span.seconds,
        models=tuple(answer.model(key) for key in keys),
        dialect=settings.dialect.name,
        notes=(
            *told_in_part(settings.dialect),
            *(() if question.compares else (_OVERLAP.format(span=span, before=settings.rules.compare_with),)),
            *unread,
        ),
    )


def _check(reader: Reader, url: str) -> None:
    """DraftboardError for a server that answers one question and not another, which the same series answer."""
    positions = traffic.accepted_tokens_per_pos
    for key in reader.keys(positions):
        for signal in (signal for signal in _WITH_POSITIONS if reader.of(key).value(signal) is None):
            of = value_of(key, reader.counts.settings.labels.model_name) or "a model without a name"
            raise DraftboardError(
                f"{url}: no answer to {signal.title!r} of {of}, but to {positions.title!r}, which the same series "
                "give: is that a Prometheus, and does a proxy before it drop answers?"
            )


def _led_to(change: Change, key: Labels, settings: Settings) -> bool:
    """Whether a change ended in this way to draft; `--method` may name what no label does."""
    names, after = settings.labels, change.after
    return after.method in {None, value_of(key, names.spec_method)} and (after.variant or "") == value_of(
        key, names.variant
    )


@dataclass(frozen=True)
class _Question:
    client: Client
    settings: Settings
    span: Duration
    at: float
    model: str
    method: str  # How drafts are made where no label says it.

    @property
    def compares(self) -> bool:
        """Whether then and now are apart, so that they can be compared."""
        return self.span <= self.settings.rules.compare_with

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
        start, found = self.at - (count - 1) * step, dict[Labels, list[dict[str, float]]]()
        for name, expression in _IN_PARTS.items():
            if expression.is_gone(scope):
                continue
            for labels, series in self._known(self.client.query_range(scope(expression), start, self.at, step)):
                counted = found.setdefault(
                    frozenset(labels.items()), [dict.fromkeys(_IN_PARTS, 0.0) for _ in range(count)]
                )
                for moment, value in series.samples:
                    counted[round((moment - start) / step)][name] = value * step if math.isfinite(value) else 0.0
        return {labels: tuple(Part(**each) for each in counted) for labels, counted in found.items()}

    def ask(self, levels: tuple[Level, ...], parts: Parts, progress: Progress) -> Counts:
        """Ask for every base signal at some levels."""
        remembered = (*([acceptance_change] if self.compares else []), measured_speedup, step_cost)
        asked = [
            (signal, level)
            for level in levels
            for signal in (*_ASKED, *(remembered if level is Level.MODEL else ()))
            if signal.asked_from(self._scope(level))
        ]
        answers: dict[tuple[str, Level], Vector] = {(acceptance_change.name, Level.MODEL): {}}
        for done, (signal, level) in enumerate(asked):
            progress("asking Prometheus", done, len(asked))
            factor = self.span.seconds if signal.per_second else 1.0
            found = self._values(signal, signal, level)
            answers[signal.name, level] = {labels: value * factor for labels, value in found.items()}
        measured = answers.get((measured_speedup.name, Level.MODEL), {})
        intervals = speedups(parts, measured, self.settings)
        if len(intervals) < len(measured):
            intervals = self._recorded_intervals(measured) | intervals
        answers[speedup_low.name, Level.MODEL] = {labels: found.low for labels, found in intervals.items()}
        answers[speedup_high.name, Level.MODEL] = {labels: found.high for labels, found in intervals.items()}
        return Counts(self.settings, answers=answers)

    def _recorded_intervals(self, measured: Vector) -> dict[Labels, Estimate]:
        """As the rules recorded them, which is of their own window."""
        if self.span != self.settings.rules.rate_window:
            return {}
        recorded = self._values(speedup_uncertainty, speedup_uncertainty, Level.MODEL)
        answers = {(measured_speedup.name, Level.MODEL): measured, (speedup_uncertainty.name, Level.MODEL): recorded}
        low, high = (Counts(self.settings, answers=answers).read(end) for end in (speedup_low, speedup_high))
        return {labels: Estimate(measured[labels], low[labels], high[labels]) for labels in low}

    def broken(self) -> Vector:
        """Engines whose counters contradict each other, by identity: how far it is broken."""
        limit = setting(lambda settings: settings.thresholds.inconsistent)
        asked = identity_error.asked(self.settings)
        return self._values(identity_error, identity_error > limit, Level.ENGINE) if asked else {}

    def _values(self, signal: Signal, expression: Expr, level: Level) -> dict[Labels, float]:
        """By labels."""
        own = signal.by[0] if signal.by else ""
        found: dict[Labels, float] = {}
        for labels, series in self._known(self.client.query(self._scope(level)(expression), self.at)):
            text, value = labels.get(own, ""), series.samples[0][1]
            if own in _NUMBERS and not _NUMBERS[own].fullmatch(text):
                what = f"{signal.title}: the label {own} is {text[:60]!r}, not a number"
                raise DraftboardError(f"{self.client.url}: {what}")
            if math.isfinite(value):
                found[frozenset(labels.items())] = value
        return found

    def _known(self, answer: Iterable[Series]) -> Iterator[tuple[dict[str, str], Series]]:
        """Of the model that is asked for: a selector cannot leave out series that do not carry the model's label."""
        for series in answer:
            labels = {name: text for name, text in series.labels.items() if name != "__name__"}
            if self.model and labels.get(self.settings.labels.model_name) != self.model:
                continue
            names = self.settings.labels
            told = self._told.get(self._model_in(labels), set())
            # Engines that no label tells apart and that draft in several ways have no way to name.
            values = next(iter(told)) if len(told) == 1 else (self.method, "")
            for name, text in zip((names.spec_method, names.spec_verification), values, strict=True):
                if text:
                    labels.setdefault(name, text)
            yield labels, series

    @cached_property
    def _told(self) -> dict[Labels, set[tuple[str, str]]]:
        """By model: values of the labels of the method and of verification, as the engines' plugins tell."""
        info = Function("last_over_time", Raw(probe.INFO, window=lambda scope: scope.window))
        found: dict[Labels, set[tuple[str, str]]] = {}
        for series in self.client.query(self._scope(Level.MODEL)(over_level("max", info, *_OF_INFO)), self.at):
            told = drafting_of(series.labels, self.settings, self.method)
            found.setdefault(self._model_in(series.labels), set()).add(told)
        return found

    def _model_in(self, labels: Mapping[str, str]) -> Labels:
        return kept(frozenset(labels.items()), self.settings.labels.model_level)

    def _scope(self, level: Level, span: Duration | None = None) -> Scope:
        return of_model(Scope(self.settings, level, Edition.ASKED, span=span or self.span), self.model)


@dataclass(frozen=True)
class _Answer:
    settings: Settings
    seconds: float
    models: Reader
    engines: Reader | None
    broken: Vector
    parts: Parts
    changes: Mapping[Labels, Change]

    def model(self, key: Labels) -> ModelReport:
        """The entry of a model."""
        names, labels = self.settings.labels, dict(key)
        method, model = labels.pop(names.spec_method, ""), labels.pop(names.model_name, "")
        case = self._case(self.models.of(key), "its engines together")
        engines = tuple(self._engines(case.numbers, self.engines)) if self.engines else ()
        own = self.parts.get(key, ())
        notes = (
            (_NO_INTERVAL.format(why_not(self.parts, key, self.settings)),)
            if case.numbers.value(measured_speedup) is not None and case.numbers.value(speedup_low) is None
            else ()
        )
        change = self.changes.get(kept(key, Level.SERVICE.labels(self.settings)))
        found = model_report(case, model, method, labels=labels, engines=engines, parts=own, notes=notes)
        return replace(found, last_change=change if change and _led_to(change, key, self.settings) else None)

    def _engines(self, model: Numbers, engines: Reader) -> Iterator[EngineReport]:
        names = self.settings.labels
        for key in self._keys_of_engines.get(model.labels, ()):
            case = self._case(engines.of(key), self._place(key))
            yield engine_report(case, model, value_of(key, names.engine), value_of(key, names.instance))

    @cached_property
    def _keys_of_engines(self) -> dict[Labels, list[Labels]]:
        """By model, so that a fleet of many models is gone through once."""
        found: dict[Labels, list[Labels]] = {}
        for key in self.engines.keys(*_KEYS) if self.engines else ():
            found.setdefault(self._model_of(key), []).append(key)
        return found

    def _case(self, numbers: Numbers, name: str) -> Case:
        """With the identities that an engine, or any engine of a model, breaks."""
        broken = [*missing_positions(numbers, name)]
        for labels, error in sorted(self.broken.items(), key=lambda pair: sorted(pair[0])):
            engine, identity = dropped(labels, ("identity",)), value_of(labels, "identity")
            if numbers.labels in {engine, self._model_of(engine)}:
                says = IDENTITIES.get(identity, _UNKNOWN)
                broken.append(Broken(identity=identity, says=says, error=error, engine=self._place(engine)))
        return Case(numbers, self.seconds, tuple(broken))

    def _model_of(self, engine: Labels) -> Labels:
        return dropped(engine, (self.settings.labels.instance, self.settings.labels.engine))

    def _place(self, engine: Labels) -> str:
        names = self.settings.labels
        return f"engine {value_of(engine, names.engine)} of {value_of(engine, names.instance)}"
