"""What an alert is: a signal, the band of it that is worth a message, the least traffic, patience and severity."""

from dataclasses import dataclass
from typing import Literal

from draftboard.durations import Duration
from draftboard.errors import DraftboardError
from draftboard.expr.tree import Expr, ignoring, setting
from draftboard.settings import Settings
from draftboard.settings.alerts import AlertName, Overlay, Severity
from draftboard.signals import Level, Scope, Signal
from draftboard.signals.requests import request_rate
from draftboard.signals.signal import Better, Unit
from draftboard.signals.traffic import drafts, generation_tokens

LEAST_DRAFTS = setting(lambda settings: settings.traffic.drafts_per_second)
LEAST_REQUESTS = setting(lambda settings: settings.traffic.requests_per_second)
enough_drafts = drafts > LEAST_DRAFTS
"""Drafts enough for a ratio of them."""
enough_tokens = generation_tokens > setting(lambda settings: settings.traffic.tokens_per_second)
"""Tokens enough to call it traffic."""
enough_requests = request_rate > LEAST_REQUESTS
"""Finished requests enough for a ratio of them."""


@dataclass(frozen=True)
class Patience:
    """How long an alert waits, how long it fires on, and how urgent it is."""

    hold: Duration
    keep_firing_for: Duration
    severity: Severity


@dataclass(frozen=True, kw_only=True)
class Alert:
    """Fires while its signal lies in a band or beyond it, under the guard's traffic."""

    name: AlertName
    signal: Signal
    beyond: str
    """The band or code of the signal, by name. Limit and direction follow from it."""
    for_: str
    keep_firing_for: str = "0s"
    """Bridges short recoveries of a value that moves around its limit."""
    severity: Severity = "warning"
    """`critical` pages: users wait now, and a person can act. `warning` is work for the day, `info` is advice."""
    why: str
    """The reason for patience and severity, for the runbook."""
    level: Level = Level.MODEL
    guard: Expr | None = enough_drafts
    """Least traffic worth a judgement; None where silence itself is the finding."""
    watched: Expr | None = None
    """The part of the signal that is watched, where not all of it is."""
    when: str
    """Completes "Fires when ..."; {limit}, {before}, {baseline}, {remember}, {window} and {slo} are filled in."""
    summary: str
    description: str
    """The message about {who}; {value} is the signal's value, formatted for its unit."""
    dashboard: str
    explained_by: tuple[AlertName, ...] = ()
    """Alerts on the cause: while one of them fires on the same labels, this one is inhibited."""

    def threshold(self, settings: Settings) -> tuple[Literal["<", ">", "=="], float]:
        """The comparison that finds values in the band or beyond it.

        Beyond the lowest band, and beyond any but the highest of a signal that should be high, means under the band's
        upper bound; else over its lower bound.

        Raises:
            DraftboardError: the signal has no band or code of that name.
        """
        codes = {code.name or code.says: code.value for code in self.signal.codes}
        if self.beyond in codes:
            return "==", codes[self.beyond]
        bands = self.signal.bands(settings)
        for band, upper in zip(bands, [*(band.at for band in bands[1:]), None], strict=True):
            if band.name == self.beyond:
                if upper is not None and (band.at is None or self.signal.better is Better.HIGHER):
                    return "<", upper
                if band.at is not None:
                    return ">", band.at
        known = ", ".join([*codes, *(band.name for band in bands if len(bands) > 1)])
        raise DraftboardError(
            f"alert {self.name}: signal {self.signal.name!r} has no band or code {self.beyond!r}; "
            + (f"it has {known}" if known else "give it bands"),
        )

    def condition(self, settings: Settings) -> str:
        """The PromQL that the alert watches."""
        operator, limit = self.threshold(settings)
        beyond = (self.watched or self.signal).combined(operator, limit)
        guarded = self.guard and beyond.combined("and", self.guard, ignoring(*self.signal.by))
        return Scope(settings, self.level)(guarded or beyond)

    def patience(self, settings: Settings) -> Patience:
        """The alert's own patience and severity, under what the settings say.

        Raises:
            DraftboardError: `for_` or `keep_firing_for` is not a duration.
        """
        chosen = settings.alerts.get(self.name, Overlay())
        try:
            hold, keep = Duration.parse(self.for_), Duration.parse(self.keep_firing_for)
        except ValueError as error:
            raise DraftboardError(f"alert {self.name}: each of for_ and keep_firing_for {error}") from None
        return Patience(chosen.hold or hold, chosen.keep_firing_for or keep, chosen.severity or self.severity)

    def fires_when(self, settings: Settings) -> str:
        """The condition in words: for the head of the runbook and the table of alerts."""
        _, limit = self.threshold(settings)
        size = f"{abs(limit) * 100:.4g} %" if self.signal.unit is Unit.RATIO else f"{abs(limit):.4g}"
        return self.filled(self.when, settings, limit=size)

    def filled(self, text: str, settings: Settings, **values: str) -> str:
        """A text of the alert with its placeholders filled in.

        Raises:
            DraftboardError: it has a placeholder that is unknown.
        """
        known = {**settings.spans, **values}
        try:
            return text.format(**known)
        except (KeyError, IndexError, ValueError) as error:
            raise DraftboardError(
                f"alert {self.name}: cannot fill in {text!r}: {error}; known here: {', '.join(known)}"
            ) from None
