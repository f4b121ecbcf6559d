"""What an alert is: a signal, its range that is worth a notification, minimum traffic, pending period, severity."""

from dataclasses import dataclass
from typing import Literal

from draftboard.catalogue import around, serving
from draftboard.durations import Duration
from draftboard.errors import DraftboardError
from draftboard.expr.nodes import Expr, If, InDialect, Match, Raw, first_of, ignoring, over_level
from draftboard.expr.reads import exists
from draftboard.expr.to_promql import promql_of
from draftboard.quantity import Quantity, Setting
from draftboard.settings import Overlay, Settings, Severity
from draftboard.signals import Level, Scope, Signal
from draftboard.signals.events import FIRING
from draftboard.signals.integrity import judged
from draftboard.signals.requests import request_rate
from draftboard.signals.signal import Better
from draftboard.signals.traffic import generation_tokens

LEAST_REQUESTS = Setting("traffic.requests_per_second")
COUNTS_REQUESTS = InDialect(serving.REQUESTS_FINISHED)
# Enough of each for a ratio of them; where requests are not counted, their tokens are.
enough_tokens = generation_tokens > Setting("traffic.tokens_per_second")
enough_requests = If(COUNTS_REQUESTS, request_rate > LEAST_REQUESTS, enough_tokens)


@dataclass(frozen=True)
class Policy:
    """How long an alert is pending, how long it keeps firing after its condition ended, and how urgent it is."""

    pending_period: Duration
    keep_firing_for: Duration
    severity: Severity


@dataclass(frozen=True, kw_only=True)
class Alert:
    """Fires while its signal lies in a threshold range or beyond it, and the guard holds."""

    name: str
    signal: Signal
    beyond: str  # A range or code of the signal, by name. Threshold and direction follow from it.
    for_: str  # The pending period: how long its condition must hold before it fires.
    keep_firing_for: str = "0s"  # Bridges short recoveries of a value that moves around its limit.
    severity: Severity = "warning"
    """`critical` pages: users wait now, and a person can act. `warning` is work for the day, `info` is advice; `none`
    reaches nobody."""
    level: Level = Level.MODEL
    guard: Expr | None = judged  # Minimum traffic for a judgement; None where no traffic is itself the fault.
    watched: Expr | None = None  # What the alert watches instead of the whole signal.
    until: Quantity | None = None  # Once it fires, until the signal is back across this instead of its threshold.
    followed: Expr | None = None  # What is compared with `until`, instead of the signal.
    when: str
    """Completes "Fires when ...": a template of settings and `${limit}`, the threshold in the signal's unit."""
    summary: str
    """A sentence. What it is about is added."""
    description: str
    """A template of settings, `${who}`, the alerting series in words, and `${value}`, formatted for the signal's unit.
    Prometheus fills in `{{ $labels.<name> }}`."""
    beside: Signal | None = None  # Recorded with the same labels; `${beside}` of the description is a query for it.
    dashboard: str
    explained: bool = False  # Whether `draftboard history --explain` says why: its signal is one of decoding.
    inhibited_by: tuple[str, ...] = ()
    """Alerts on the cause: while one fires on the same labels, Alertmanager sends no notification of this one."""

    def exists(self, settings: Settings) -> bool:
        """Whether the settings enable it, and its signal and the series that guard it exist."""
        enabled = settings.alerts.get(self.name, Overlay()).enabled
        watched = self._guarded(self.watched or self.signal)
        return enabled and self.signal.exists(settings) and exists(watched, Scope(settings, self.level))

    def threshold(self, settings: Settings) -> tuple[Literal["<", ">", "=="], Quantity | float]:
        """The comparison that finds values in the range or beyond it: below its upper bound, or above its lower bound.

        Below, for the lowest range, and for any but the highest of a signal that should be high.
        """
        codes = {code.name or code.says: code.value for code in self.signal.codes}
        if self.beyond in codes:
            return "==", codes[self.beyond]
        bands = self.signal.enabled_bands(settings)
        for band, upper in zip(bands, [*(band.at for band in bands[1:]), None], strict=True):
            if band.name == self.beyond:
                if upper is not None and (band.at is None or self.signal.better is Better.HIGHER):
                    return "<", upper
                if band.at is not None:
                    return ">", band.at
        known = ", ".join([*codes, *(band.name for band in bands if len(bands) > 1)]) or "none: give it bands"
        raise DraftboardError(
            f"alert {self.name}: signal {self.signal.name!r} has no band or code {self.beyond!r}; it has {known}"
        )

    def condition(self, scope: Scope) -> str:
        """The PromQL that the alert watches."""
        return promql_of(self.watched_condition(scope.settings), scope.at(self.level))

    def watched_condition(self, settings: Settings) -> Expr:
        """The expression that the alert watches: it has a value where the condition holds."""
        operator, limit = self.threshold(settings)
        condition = self._guarded((self.watched or self.signal).combined(operator, limit))
        if self.until is None:
            return condition
        own = Raw(around.ALERTS, matchers=(Match("alertname", "=", self.name), FIRING))
        still = over_level("max", self.followed or self.signal).combined(operator, self.until)
        return first_of(condition, still & over_level("group", own))

    def _guarded(self, condition: Expr) -> Expr:
        return condition.combined("and", self.guard, ignoring(*self.signal.by)) if self.guard else condition

    def policy(self, settings: Settings) -> Policy:
        """The alert's own policy, overridden by `[alerts.<name>]`."""
        chosen = settings.alerts.get(self.name, Overlay())
        try:
            pending, keep = Duration.parse(self.for_), Duration.parse(self.keep_firing_for)
        except ValueError as error:
            raise DraftboardError(f"alert {self.name}: each of for_ and keep_firing_for {error}") from None
        return Policy(
            chosen.pending_period or pending, chosen.keep_firing_for or keep, chosen.severity or self.severity
        )
