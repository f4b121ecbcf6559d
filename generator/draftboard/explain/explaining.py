"""The explanation of a signal, record or alert from live values."""

import time
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field, replace

from draftboard.alerts import Alert
from draftboard.alerts.runbook import fires_when
from draftboard.catalogue.metric import Kind
from draftboard.durations import Duration
from draftboard.errors import DraftboardError
from draftboard.explain.explanation import Explanation, Metric, Row, Series, Step, Used
from draftboard.explain.subject import Subject, subject_named
from draftboard.explain.values import FromCounts, FromPrometheus, NoValues, Values
from draftboard.explain.words import in_words
from draftboard.expr import nodes
from draftboard.expr.nodes import Expr, InWindow, over_level
from draftboard.expr.reads import exists, leaves_of, operands, settings_in
from draftboard.expr.resolve import alternatives, matcher, metric_of, rescoped
from draftboard.expr.to_promql import definition, promql_of
from draftboard.expr.vector import Labels, Vector, kept
from draftboard.prometheus import Client
from draftboard.quantity import Quantity, number_text, span_text
from draftboard.reading import Recorded
from draftboard.report import Reading
from draftboard.settings import Settings
from draftboard.signals import Edition, Level, Scope, Signal, traffic
from draftboard.signals.economics import (
    break_even,
    break_even_high,
    break_even_low,
    expected_speedup,
    expected_speedup_high,
    expected_speedup_low,
    needed_per_step,
    step_cost_high,
    step_cost_low,
)
from draftboard.signals.gains import best_k, best_k_low
from draftboard.signals.signal import worded

MOST_SERIES = 8
"""More series at once are not explained: a person reads one after the other."""
_LISTED = 6
"""Names or values of labels in an error."""
_ENDS = {
    expected_speedup: (expected_speedup_low, expected_speedup_high),
    needed_per_step: (step_cost_low, step_cost_high),
    break_even: (break_even_low, break_even_high),
    best_k: (best_k_low, best_k),
}
"""What reports, records and pages have in place of a number, where costs are assumed."""
_KEYS = (traffic.drafts, traffic.generation_tokens)


def explain(name: str, settings: Settings, *, depth: int = 1) -> Explanation:
    """What a signal, record or alert is computed from, without values."""
    return _explained(name, settings, NoValues(), depth=depth)


def of_reading(name: str, reading: Reading, *, depth: int = 1, only: Labels = frozenset()) -> Explanation:
    """With the values of servers or pages; of the series whose labels agree with `only`."""
    source, values, seconds = ", ".join(reading.sources), FromCounts(reading.counts), reading.grown.seconds
    window = "the time since the server started" if seconds is None else str(Duration(round(seconds)))
    return _explained(
        *(name, reading.settings, values), source=source, window=window, at=reading.at, depth=depth, only=only
    )


def of_prometheus(
    name: str, source: Recorded, settings: Settings, *, depth: int = 1, only: Labels = frozenset()
) -> Explanation:
    """With the values of a Prometheus: of records where it has any, else of raw series."""
    at = time.time() if source.at is None else source.at
    with Client(source.url, source.access) as client:
        recorded = FromPrometheus(client, settings, at, Edition.RULES)
        edition = Edition.RULES if recorded.of(traffic.generation_tokens, Level.MODEL) else Edition.ONCE
        values = FromPrometheus(client, settings, at, edition)
        return _explained(name, settings, values, source=client.url, at=at, depth=depth, only=only)


def _explained(
    name: str,
    settings: Settings,
    values: Values,
    *,
    depth: int,
    source: str = "",
    window: str = "",
    at: float | None = None,
    only: Labels = frozenset(),
) -> Explanation:
    subject = subject_named(name, settings)
    keys = _keys(subject, settings, values, only)
    if len(keys) > MOST_SERIES:
        example = next((pair for pair in sorted(keys[0]) if pair[0] == settings.labels.model_name), ("NAME", "VALUE"))
        raise DraftboardError(
            f"{name} has {len(keys)} series, of which at most {MOST_SERIES} are explained at once: choose by a label, "
            f"as in --label {'='.join(example)}"
        )
    return Explanation(
        name=name,
        kind=subject.kind,
        source=source,
        at=at,
        window=window or str(settings.rules.rate_window),
        series=tuple(_Explaining(subject, settings, values, key, depth).series() for key in keys or [only]),
    )


def _keys(subject: Subject, settings: Settings, values: Values, only: Labels) -> list[Labels]:
    names, seen = subject.level.labels(settings), frozenset[tuple[str, str]]()
    for source in (subject.signal, *(key for key in _KEYS if subject.level in key.levels)):
        vector = values.of(source, subject.level)
        seen |= frozenset[tuple[str, str]]().union(*(kept(labels, names) for labels in vector))
        keys = {kept(labels, names) for labels in _agreeing(vector, dict(only))}
        if keys and only <= seen:
            return sorted(keys, key=sorted)
    if seen:
        _require_known(only, seen)
    return []


def _require_known(only: Labels, seen: Labels) -> None:
    """DraftboardError for a label that no series has."""
    for name, text in sorted(only - seen):
        of_name = sorted(value for label, value in seen if label == name)
        known = ", ".join((of_name or sorted({label for label, _ in seen}))[:_LISTED])
        what = f"{name}={text}: no series has this value, but {known}" if of_name else f"{name}: series have {known}"
        raise DraftboardError(f"--label {what}")


def _agreeing(vector: Vector, wanted: Mapping[str, str]) -> Vector:
    """The elements with these labels, as far as any element carries them; a label that is not there is empty."""
    carried = {name for labels in vector for name, _ in labels} & wanted.keys()
    return {
        labels: value
        for labels, value in vector.items()
        if all(dict(labels).get(name, "") == wanted[name] for name in carried)
    }


@dataclass
class _Explaining:
    subject: Subject
    settings: Settings
    values: Values
    key: Labels
    most_depth: int
    _known: dict[tuple[str, Level], Vector] = field(default_factory=dict)

    def series(self) -> Series:
        scope = Scope(self.settings, self.subject.level)
        drafts = self._of(traffic.drafts_in_window, Level.MODEL)
        own, seen = self.subject.signal, set[str]()
        ends = _ENDS.get(own, ()) if self.settings.draft_cost.is_assumed else ()
        roots = tuple(end for end in ends if end.exists(self.settings)) or (own,)
        steps = tuple(step for root in roots for step in self._tree(root, scope, 0, seen))
        if self.subject.alert:
            steps = (self._alert(self.subject.alert, scope), *(_deeper(step) for step in steps))
        return Series(dict(sorted(self.key)), sum(drafts.values()) if drafts else None, steps)

    @property
    def _wanted(self) -> dict[str, str]:
        """With the labels that the series does not have: others that have them are other series."""
        return dict.fromkeys(self.subject.level.labels(self.settings), "") | dict(self.key)

    def _of(self, signal: Signal, level: Level) -> Vector:
        place = (signal.name, level)
        if place not in self._known:
            self._known[place] = _agreeing(self.values.of(signal, level), self._wanted)
        return self._known[place]

    def _shown(self, signal: Signal, scope: Scope) -> str:
        found = sorted(self._of(signal, scope.level).values())
        if not found:
            return "no sample"
        if len(found) == 1 or found[0] == found[-1]:
            return self._worded(signal, found[0])
        return f"{worded(signal, found[0])} to {self._worded(signal, found[-1])}, {len(found)} series"

    def _worded(self, signal: Signal, value: float) -> str:
        """The value with "/s" where it is a rate of Prometheus: counts hold the growth in the window instead."""
        return worded(signal, value) + ("/s" if signal.per_second and self.values.rates else "")

    def _tree(self, signal: Signal, scope: Scope, depth: int, seen: set[str]) -> Iterator[Step]:
        seen.add(signal.name)
        leaves = (pair for pair in leaves_of(signal, scope) if exists(*pair))
        below = [(leaf, there) for leaf, there in leaves if isinstance(leaf, Signal) and leaf is not signal]
        yield self._step(signal, scope, depth)
        if depth < self.most_depth:
            for leaf, there in below:
                if leaf.name not in seen:
                    yield from self._tree(leaf, there, depth + 1, seen)

    def _step(self, signal: Signal, scope: Scope, depth: int) -> Step:
        values = self._of(signal, scope.level)
        leaves = [pair for pair in leaves_of(signal, scope) if exists(*pair)]
        rows = tuple(self._rows(signal, scope))
        return Step(
            name=signal.name,
            depth=depth,
            title=signal.title,
            description=signal.described(self.settings),
            record=signal.record_name(scope.level, self.settings),
            values=tuple(self._worded(signal, value) for value in values.values()),
            numbers=tuple(values.values()),
            empty=signal.empty,
            formula="" if rows else in_words(signal.expr, scope, self._shown),
            promql=str(definition(signal, scope)),
            settings=tuple(self._settings(signal.expr, scope)),
            metrics=tuple(
                dict.fromkeys(self._metric(leaf, there) for leaf, there in leaves if isinstance(leaf, nodes.Raw))
            ),
            rows=rows,
            made_of=tuple(dict.fromkeys(leaf.name for leaf, _ in leaves if isinstance(leaf, Signal))),
        )

    def _alert(self, alert: Alert, scope: Scope) -> Step:
        condition = alert.watched_condition(self.settings)
        held = _agreeing(self.values.of(condition, scope.level), self._wanted)
        pending = alert.policy(self.settings).pending_period
        return Step(
            name=alert.name,
            depth=0,
            title=alert.summary.removesuffix("."),
            description=f"Fires when {fires_when(alert, self.settings)}, after {pending}",
            record=None,
            values=("the condition holds",) if held else (),
            numbers=tuple(held.values()),
            empty="the condition does not hold",
            formula=in_words(condition, scope, self._shown),
            promql=promql_of(condition, scope),
            settings=tuple(self._settings(condition, scope)),
            metrics=(),
            rows=(),
            made_of=(alert.signal.name,),
        )

    def _metric(self, raw: nodes.Raw, scope: Scope) -> Metric:
        metric = metric_of(raw, scope)
        spelling = self.settings.dialect.spelled(metric)
        matchers = [matcher(match, scope) for match in raw.matchers]
        is_counter = metric.kind is Kind.COUNTER
        each = (
            nodes.Function("rate", replace(raw, window=nodes.Window.RATE)) if is_counter else replace(raw, window=None)
        )
        summed = over_level("sum", each)
        # Series that are selected by a label carry another value of it than what is explained.
        selected = {match.label for match in matchers}
        wanted = {label: text for label, text in self._wanted.items() if label not in selected}
        counted = self.values.of(InWindow(summed) if is_counter else summed, scope.level) if spelling else {}
        values = _agreeing(counted, wanted)
        chosen = ", ".join(match.text for match in matchers)
        name = (spelling.name if spelling else metric.name) + (f"{{{chosen}}}" if chosen else "")
        return Metric(name, metric.meaning, sum(values.values()) if values else None, is_counter)

    def _settings(self, expression: Expr, scope: Scope) -> Iterator[Used]:
        """The settings that it holds itself, each once, without what follows from others."""
        used = dict.fromkeys(one for node in _own_nodes(expression, scope) for one in settings_in(node))
        for setting in used:
            if setting.is_derived(self.settings):
                continue
            held = setting.of(self.settings)
            if held is None and isinstance(setting.otherwise, Quantity):
                held = span_text(setting, self.settings)
            text = number_text(setting, self.settings) if isinstance(held, (int, float)) else str(held)
            yield Used(setting.path, text)

    def _rows(self, signal: Signal, scope: Scope) -> Iterator[Row]:
        says = {code.value: code.says for code in signal.codes}
        decided = False
        for row, there in _decision(signal.expr, scope):
            code = says.get(int(number_text(row.value, self.settings)), str(row.value))
            if decided:
                yield Row(code, None, "")
                continue
            decided = bool(_agreeing(self.values.of(row.like, there.level), self._wanted))
            yield Row(code, decided, in_words(row.like, there, self._shown))


def _decision(expression: Expr, scope: Scope) -> list[tuple[nodes.Constant, Scope]]:
    """The rows of a decision, in their order: a constant each; nothing where the expression is none."""
    if isinstance(expression, nodes.FirstOf):
        rows = alternatives(expression, scope)
        constants = [(one, scope) for one in rows if isinstance(one, nodes.Constant)]
        return constants if len(constants) == len(rows) > 1 else []
    if isinstance(expression, nodes.Binary) and expression.operator == "and":
        return _decision(expression.left, scope)
    if isinstance(expression, nodes.Aggregate):
        return _decision(expression.argument, scope)
    return _decision(expression.argument, rescoped(expression, scope)) if isinstance(expression, nodes.Rescoped) else []


def _own_nodes(expression: Expr, scope: Scope) -> Iterator[Expr]:
    yield expression
    for part, there in operands(expression, scope):
        if not isinstance(part, Signal):
            yield from _own_nodes(part, there)


def _deeper(step: Step) -> Step:
    return replace(step, depth=step.depth + 1)
