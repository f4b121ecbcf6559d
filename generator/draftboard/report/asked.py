"""Asking a Prometheus: the signals' own expressions, read from records where rules keep them, else from raw series."""

import math
import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace

from draftboard.durations import Duration
from draftboard.errors import DraftboardError
from draftboard.expr.promql import binary, first_of, number
from draftboard.prometheus import Client
from draftboard.report.histogram import Distribution
from draftboard.report.totals import LATENCIES, Totals
from draftboard.settings import Settings
from draftboard.signals import Edition, Level, Scope, Signal
from draftboard.signals.capacity import kv_cache_usage, prefix_cache_hits, prompt_tokens
from draftboard.signals.comparison import acceptance_change
from draftboard.signals.decisions import state
from draftboard.signals.depth import configured_k
from draftboard.signals.integrity import identity_error
from draftboard.signals.requests import request_rate, requests_running, requests_waiting
from draftboard.signals.signal import Code
from draftboard.signals.traffic import (
    accepted_tokens,
    accepted_tokens_per_pos,
    decode_steps,
    draft_tokens,
    drafts,
    first_tokens,
    generation_tokens,
)
from draftboard.signals.users import measured_speedup

Key = tuple[tuple[str, str], ...]
"""Labels of a model or an engine, sorted by name."""
_COUNTED = (
    *(drafts, draft_tokens, accepted_tokens, accepted_tokens_per_pos, generation_tokens, prompt_tokens),
    *(decode_steps, first_tokens, request_rate, *(of_time.buckets for of_time, _ in LATENCIES.values())),
)
"""Rates, which times the window are counts."""
_READ = (
    *(state, configured_k, requests_running, requests_waiting, kv_cache_usage, prefix_cache_hits),
    *(of_time.mean for of_time, _ in LATENCIES.values()),
)
_NUMBERS = {"position": re.compile("[0-9]{1,4}"), "le": re.compile(r"[0-9]+(\.[0-9]*)?(e[+-]?[0-9]+)?|\+Inf")}
"""Labels that are computed with, as vLLM and Prometheus write them."""
_LATE = 2
"""Evaluations that may be missed before records are no longer read."""


@dataclass(frozen=True)
class Asked:
    """What Prometheus said of the models or engines: each signal's values, by labels and by the signal's own label."""

    seconds: float
    values: Mapping[str, Mapping[Key, Mapping[str, float]]] = field(repr=False)

    @property
    def keys(self) -> list[Key]:
        """Everything that any signal spoke of."""
        return sorted(
            {key for signal in (state, drafts, generation_tokens) for key in self.values.get(signal.name, {})}
        )

    def value(self, signal: Signal, key: Key) -> float | None:
        """Its value, of a signal without a label of its own."""
        return self.values.get(signal.name, {}).get(key, {}).get("")

    def state(self, key: Key) -> Code | None:
        """What it is doing; None where nothing is known of it."""
        value = self.value(state, key)
        return next((code for code in state.codes if code.value == value), None)

    def totals(self, key: Key) -> Totals:
        """What was counted: rates times the window."""

        def counted(signal: Signal) -> float | None:
            rate = self.value(signal, key)
            return None if rate is None else rate * self.seconds

        positions = self.values[accepted_tokens_per_pos.name].get(key, {})
        return Totals(
            drafts=counted(drafts),
            draft_tokens=counted(draft_tokens),
            accepted_tokens=counted(accepted_tokens),
            accepted_by_position={int(position): rate * self.seconds for position, rate in positions.items()},
            configured_k=self.value(configured_k, key),
            generation_tokens=counted(generation_tokens),
            prompt_tokens=counted(prompt_tokens),
            decode_steps=counted(decode_steps),
            first_tokens=counted(first_tokens),
            requests=counted(request_rate),
            latencies=self._latencies(key),
            requests_running=self.value(requests_running, key),
            requests_waiting=self.value(requests_waiting, key),
            kv_cache_usage=self.value(kv_cache_usage, key),
            prefix_cache_hits=self.values[prefix_cache_hits.name].get(key, {}).get("local"),
        )

    def _latencies(self, key: Key) -> dict[str, Distribution]:
        found = {}
        for name, (of_time, _) in LATENCIES.items():
            rates = self.values[of_time.buckets.name].get(key, {})
            buckets = {le: rate * self.seconds for le, rate in rates.items()}
            count = Distribution.of([buckets], 0.0).count
            found[name] = Distribution.of([buckets], (self.value(of_time.mean, key) or 0.0) * count)
        return found


@dataclass(frozen=True)
class Question:
    """What is asked, of when, and of which model (of all: "")."""

    client: Client
    settings: Settings
    span: Duration
    at: float
    model: str = ""
    recorded: bool = True
    """Whether records are read where there are any."""

    @property
    def compares(self) -> bool:
        """Whether then and now are apart, so that they can be compared."""
        return self.span <= self.settings.rules.compare_with

    def of_last_evaluation(self) -> "Question":
        """The same, of the time up to which the records speak; of raw series alone where nothing was recorded lately.

        Raises:
            DraftboardError: Prometheus does not answer.
        """
        rules = self.settings.rules
        if self.span != rules.rate_window:
            return self
        record = self._scope(Level.MODEL, Edition.RULES)(state)
        stamps = [series.samples[0][1] for series in self.client.query(f"timestamp({record})", self.at)]
        latest = max((stamp for stamp in stamps if stamp <= self.at), default=-math.inf)
        if self.at - latest > _LATE * rules.evaluation_interval.seconds:
            return replace(self, recorded=False)
        return replace(self, at=latest)

    def ask(self, level: Level, progress: Callable[[str, int, int], None]) -> Asked:
        """Ask for every base signal at a level.

        Raises:
            DraftboardError: Prometheus does not answer.
        """
        remembered = (*([acceptance_change] if self.compares else []), measured_speedup)
        signals = (*_COUNTED, *_READ, *(remembered if level is Level.MODEL else ()))
        values = {}
        for done, signal in enumerate(signals):
            progress("asking Prometheus", done, len(signals))
            values[signal.name] = self._values(signal, self._expr(signal, level))
        return Asked(self.span.seconds, values)

    def broken(self) -> list[tuple[Key, str, float]]:
        """Engines whose counters contradict each other: which identity, and how far it is broken."""
        limit = number(self.settings.thresholds.inconsistent)
        expr = binary(self._expr(identity_error, Level.ENGINE), ">", limit)
        found = self._values(identity_error, expr)
        return [(key, name, error) for key, errors in found.items() for name, error in sorted(errors.items())]

    def _expr(self, signal: Signal, level: Level) -> str:
        raw = self._scope(level, Edition.ASKED)(signal)
        kept = signal.record_at(level, self.settings) and self.span == self.settings.rules.rate_window
        recorded = kept and self.recorded
        return first_of(self._scope(level, Edition.RULES)(signal), raw) if recorded else raw

    def _scope(self, level: Level, edition: Edition) -> Scope:
        scope = Scope(self.settings, level, edition, span=self.span if edition is Edition.ASKED else None)
        if not self.model:
            return scope
        pattern = re.escape(self.model).replace("\\", "\\\\").replace('"', '\\"')
        return scope.where(self.settings.labels.model_name, pattern)

    def _values(self, signal: Signal, expr: str) -> dict[Key, dict[str, float]]:
        """By labels and own label; a selector cannot leave out series that do not carry the model's label."""
        own = signal.by[0] if signal.by else ""
        found: dict[Key, dict[str, float]] = {}
        for series in self.client.query(expr, self.at):
            labels = {name: text for name, text in series.labels.items() if name not in {"__name__", own}}
            if self.model and labels.get(self.settings.labels.model_name) != self.model:
                continue
            key = tuple(sorted(labels.items()))
            text, value = series.labels.get(own, ""), series.samples[0][1]
            if own in _NUMBERS and not _NUMBERS[own].fullmatch(text):
                raise DraftboardError(f"{self.client.url}: {signal.title}: the label {own} is {text[:60]!r}, no number")
            if math.isfinite(value):
                found.setdefault(key, {})[text] = value
        return found
