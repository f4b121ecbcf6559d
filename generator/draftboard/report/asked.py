"""Asking a Prometheus for the base signals: from records where rules keep them, else from raw series.

What is made of them (ratios, verdict, advice) is computed from the answers, so that counts and ratios of one report
are of one moment.
"""

import math
import re
from collections.abc import Callable
from dataclasses import dataclass, replace

from draftboard.durations import Duration
from draftboard.errors import DraftboardError
from draftboard.expr.counts import Counts
from draftboard.expr.promql import first_of
from draftboard.expr.scope import Edition, Level, Matcher, Scope
from draftboard.expr.tree import Expr, setting
from draftboard.expr.vector import Labels, Vector
from draftboard.prometheus import Client
from draftboard.settings import Settings
from draftboard.signals import Signal
from draftboard.signals.capacity import kv_cache_usage, prefix_cache_hits, prompt_tokens
from draftboard.signals.comparison import acceptance_change
from draftboard.signals.decisions import state
from draftboard.signals.depth import configured_k
from draftboard.signals.integrity import identity_error
from draftboard.signals.latency import FELT
from draftboard.signals.requests import request_rate, requests_running, requests_waiting
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

_ASKED = (
    *(drafts, draft_tokens, accepted_tokens, accepted_tokens_per_pos, generation_tokens, prompt_tokens),
    *(decode_steps, first_tokens, request_rate, *(family.buckets for family in FELT.values())),
    *(state, configured_k, requests_running, requests_waiting, kv_cache_usage, prefix_cache_hits),
    *(family.mean for family in FELT.values()),
)
_NUMBERS = {"position": re.compile("[0-9]{1,4}"), "le": re.compile(r"[0-9]+(\.[0-9]*)?(e[+-]?[0-9]+)?|\+Inf")}
"""Labels that are computed with, as vLLM and Prometheus write them."""
_LATE = 2
"""Evaluations that may be missed before records are no longer read."""


@dataclass(frozen=True)
class Question:
    """What is asked, of when, and of which model (of all: "")."""

    client: Client
    settings: Settings
    span: Duration
    at: float
    model: str = ""
    method: str = ""
    """How drafts are made where no label says it."""
    recorded: bool = True
    """Whether records are read where there are any."""

    @property
    def compares(self) -> bool:
        """Whether then and now are apart, so that they can be compared."""
        return self.span <= self.settings.rules.compare_with

    def of_last_evaluation(self) -> "Question":
        """The same at the time of the latest records; of raw series alone where nothing was recorded lately.

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

    def ask(self, levels: tuple[Level, ...], progress: Callable[[str, int, int], None]) -> Counts:
        """Ask for every base signal at some levels.

        Raises:
            DraftboardError: Prometheus does not answer.
        """
        remembered = (*([acceptance_change] if self.compares else []), measured_speedup)
        asked = [
            (signal, level) for level in levels for signal in (*_ASKED, *(remembered if level is Level.MODEL else ()))
        ]
        answers: dict[tuple[str, Level], Vector] = {}
        for done, (signal, level) in enumerate(asked):
            progress("asking Prometheus", done, len(asked))
            factor = self.span.seconds if signal.per_second else 1.0
            found = self._values(signal, signal, level)
            answers[signal.name, level] = {labels: value * factor for labels, value in found.items()}
        if not self.compares:
            answers[acceptance_change.name, Level.MODEL] = {}
        return Counts(self.settings, answers=answers)

    def broken(self) -> Vector:
        """Engines whose counters contradict each other, by identity: how far it is broken."""
        limit = setting(lambda settings: settings.thresholds.inconsistent)
        return self._values(identity_error, identity_error > limit, Level.ENGINE)

    def _values(self, signal: Signal, expression: Expr, level: Level) -> dict[Labels, float]:
        """By labels; a selector cannot leave out series that do not carry the model's label."""
        own = signal.by[0] if signal.by else ""
        found: dict[Labels, float] = {}
        for series in self.client.query(self._promql(signal, expression, level), self.at):
            labels = {name: text for name, text in series.labels.items() if name != "__name__"}
            if self.model and labels.get(self.settings.labels.model_name) != self.model:
                continue
            if self.method:
                labels.setdefault(self.settings.labels.spec_method, self.method)
            text, value = labels.get(own, ""), series.samples[0][1]
            if own in _NUMBERS and not _NUMBERS[own].fullmatch(text):
                raise DraftboardError(
                    f"{self.client.url}: {signal.title}: the label {own} is {text[:60]!r}, not a number"
                )
            if math.isfinite(value):
                found[frozenset(labels.items())] = value
        return found

    def _promql(self, signal: Signal, expression: Expr, level: Level) -> str:
        raw = self._scope(level, Edition.ASKED)(expression)
        kept = signal.record_at(level, self.settings) and self.span == self.settings.rules.rate_window
        recorded = kept and self.recorded
        return first_of(self._scope(level, Edition.RULES)(expression), raw) if recorded else raw

    def _scope(self, level: Level, edition: Edition) -> Scope:
        scope = Scope(self.settings, level, edition, span=self.span if edition is Edition.ASKED else None)
        if not self.model:
            return scope
        pattern = re.escape(self.model).replace("\\", "\\\\").replace('"', '\\"')
        return scope.where(Matcher.of(self.settings.labels.model_name, pattern))
