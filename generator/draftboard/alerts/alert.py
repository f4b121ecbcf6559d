"""What an alert is: a signal, the band of it that is worth a message, the least traffic, patience and severity.

Its runbook is a Markdown template of its name. There `${...}` holds every setting (`${thresholds.drop}`), and:

- `${model.acceptance}`, `${engine.state}`, `${target.restarts}`: the record of a signal at a level;
- `${title.acceptance}`: the title of a signal;
- `${MODEL}`, `${HOST}`: matchers for one model or one server, as in `${model.acceptance}${MODEL}`;
- `${pace["6h"]}`: the burn rate that fires over a window;
- `${judged}`: the drafts and counters that a judgement takes, for the last section;
- `${patience}`, `${rebuild}`, `${silence("2h", "rollout")}`: what the last section of every runbook says;
- `${prometheus}`, `${alertmanager}`, `${server}`, `${compose}`: the compose stack, for commands that work as typed;
  `${elsewhere}`: what to type for another server.
"""

import re
from dataclasses import dataclass
from typing import Literal

from jinja2 import Environment, PackageLoader, StrictUndefined, TemplateError, TemplateNotFound

from draftboard.catalogue.dialects import VLLM
from draftboard.durations import Duration
from draftboard.errors import DraftboardError
from draftboard.expr.tree import Expr, ignoring, setting
from draftboard.settings import Overlay, Settings, Severity
from draftboard.settings.objectives import FAST, SLOW
from draftboard.signals import ALL, Level, Scope, Signal
from draftboard.signals.integrity import judged
from draftboard.signals.requests import request_rate
from draftboard.signals.signal import Better, Unit
from draftboard.signals.traffic import generation_tokens

_SIGNALS = {signal.name: signal for signal in ALL}
LEAST_REQUESTS = setting(lambda settings: settings.traffic.requests_per_second)
# Enough of each for a ratio of them.
enough_tokens = generation_tokens > setting(lambda settings: settings.traffic.tokens_per_second)
enough_requests = request_rate > LEAST_REQUESTS
_HEAD = """\
# {name}

<!-- Made by `draftboard build`: edit the template in generator/draftboard/alerts/runbooks/, not this file. -->

**Fires when {when}. For: {hold}. Severity: `{severity}`.**

"""
_JUDGED = (
    "Least sample: {traffic.drafts_to_judge:g} drafts in the window (`traffic.drafts_to_judge`),\n"
    "by counters that agree within {thresholds.inconsistent:g} (`thresholds.inconsistent`)"
)
_TERMS = (
    "`[alerts.{name}]` sets `for` ({hold}), `keep_firing_for` ({keep_firing_for}) and `severity` (`{severity}`);\n"
    "`enabled = false` removes the alert."
)
_STACK = {
    "prometheus": "http://127.0.0.1:9090",
    "alertmanager": "http://127.0.0.1:9093",
    "server": "http://127.0.0.1:8000",
    "compose": "docker compose --file deploy/docker-compose.yml",
    "elsewhere": "For another server, use the alert's `instance`.",
}
_SILENCE = """\
```sh
amtool silence add --alertmanager.url={alertmanager} --duration={duration} --comment="{comment}" \\
  {matchers}
```"""
_environment = Environment(
    loader=PackageLoader("draftboard.alerts", "runbooks"),
    variable_start_string="${",
    variable_end_string="}",
    undefined=StrictUndefined,
    finalize=lambda value: f"{value:g}" if isinstance(value, float) else value,
    keep_trailing_newline=True,
    autoescape=False,  # noqa: S701  (Markdown, not HTML)
)


@dataclass(frozen=True)
class Patience:
    """How long an alert waits, how long it fires on, and how urgent it is."""

    hold: Duration
    keep_firing_for: Duration
    severity: Severity


@dataclass(frozen=True, kw_only=True)
class Alert:
    """Fires while its signal lies in a band or beyond it, under the guard's traffic."""

    name: str
    signal: Signal
    beyond: str  # The band or code of the signal, by name. Limit and direction follow from it.
    for_: str
    keep_firing_for: str = "0s"  # Bridges short recoveries of a value that moves around its limit.
    severity: Severity = "warning"
    """`critical` pages: users wait now, and a person can act. `warning` is work for the day, `info` is advice; `none`
    reaches nobody."""
    level: Level = Level.MODEL
    guard: Expr | None = judged  # Least traffic worth a judgement; None where silence itself is the finding.
    watched: Expr | None = None  # The part of the signal that is watched, where not all of it is.
    when: str
    """Completes "Fires when ...": {limit} and the spans of the settings, such as {window}, are filled in."""
    summary: str
    description: str  # The message about {who}; {value} is the signal's value, formatted for its unit.
    beside: Signal | None = None  # Recorded with the same labels; {beside} of the description is a query for it.
    dashboard: str
    explained_by: tuple[str, ...] = ()
    """Alerts on the cause: while one of them fires on the same labels, this one is inhibited."""

    def asked(self, scope: Scope) -> bool:
        """Whether the scope's settings ask for it, of series that exist."""
        enabled = scope.settings.alerts.get(self.name, Overlay()).enabled
        watched = self._guarded(self.watched or self.signal)
        return enabled and self.signal.asked_from(scope) and not watched.is_gone(scope.at(self.level))

    def threshold(self, settings: Settings) -> tuple[Literal["<", ">", "=="], float]:
        """The comparison that finds values in the band or beyond it: under its upper bound, or over its lower bound.

        Under, for the lowest band, and for any but the highest of a signal that should be high.
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
        known = ", ".join([*codes, *(band.name for band in bands if len(bands) > 1)]) or "none: give it bands"
        raise DraftboardError(
            f"alert {self.name}: signal {self.signal.name!r} has no band or code {self.beyond!r}; it has {known}"
        )

    def condition(self, scope: Scope) -> str:
        """The PromQL that the alert watches."""
        operator, limit = self.threshold(scope.settings)
        return scope.at(self.level)(self._guarded((self.watched or self.signal).combined(operator, limit)))

    def _guarded(self, found: Expr) -> Expr:
        return found.combined("and", self.guard, ignoring(*self.signal.by)) if self.guard else found

    def patience(self, settings: Settings) -> Patience:
        """The alert's own patience and severity, under what the settings say."""
        chosen = settings.alerts.get(self.name, Overlay())
        try:
            hold, keep = Duration.parse(self.for_), Duration.parse(self.keep_firing_for)
        except ValueError as error:
            raise DraftboardError(f"alert {self.name}: each of for_ and keep_firing_for {error}") from None
        return Patience(chosen.hold or hold, chosen.keep_firing_for or keep, chosen.severity or self.severity)

    def fires_when(self, settings: Settings) -> str:
        """The condition in words: for the head of the runbook and the table of alerts."""
        limit = abs(self.threshold(settings)[1])
        size = f"{limit * 100:.4g} %" if self.signal.unit is Unit.RATIO else f"{limit:.4g}"
        return self.filled(self.when, settings, limit=size)

    def filled(self, text: str, settings: Settings, **values: str) -> str:
        """A text of the alert with its placeholders filled in."""
        known = {**settings.spans, **values}
        try:
            return text.format(**known)
        except (KeyError, IndexError, ValueError) as error:
            raise DraftboardError(
                f"alert {self.name}: cannot fill in {text!r}: {error}; known here: {', '.join(known)}"
            ) from None


@dataclass(frozen=True)
class _Records:
    """The record of each signal at a level, by the signal's name."""

    level: Level
    settings: Settings

    def __getitem__(self, name: str) -> str:
        """KeyError where there is none."""
        record = _SIGNALS[name].named_at(self.level, self.settings)
        if record is None:
            raise KeyError(name)
        return record


def runbook(alert: Alert, settings: Settings) -> str:
    """The runbook of an alert; a template that names what does not exist is a DraftboardError."""
    labels, words = settings.labels, vars(alert.patience(settings)) | {"name": alert.name}
    names = {labels.model_name: "MODEL", labels.instance: "HOST:8000"}
    own = " ".join(f'{label}="{name}"' for label, name in names.items() if label in alert.level.labels(settings))

    def silence(duration: str, comment: str, matchers: str = own) -> str:
        matchers = f"alertname={alert.name} {matchers}".rstrip()
        return _SILENCE.format(**_STACK, duration=duration, comment=comment, matchers=matchers)

    try:
        text = _environment.get_template(f"{alert.name}.md.j2").render(
            dict(settings) | _STACK,
            **{level.value: _Records(level, settings) for level in Level},
            title={name: signal.title for name, signal in _SIGNALS.items()},
            pace={str(pace.long): pace.factor(settings.slo.window) for pace in (*FAST, *SLOW)},
            MODEL=f'{{{labels.model_name}="MODEL"}}',
            HOST=f'{{{labels.instance}="HOST:8000"}}',
            judged=_JUDGED.format(traffic=settings.traffic, thresholds=settings.thresholds),
            patience=_TERMS.format(**words),
            rebuild="Then run `draftboard build --config draftboard.toml` and reload Prometheus.",
            silence=silence,
        )
        written = re.sub(rf"{VLLM}\w+", lambda found: settings.dialect.named(found[0]), text)
        return _HEAD.format(when=alert.fires_when(settings), **words) + written
    except (TemplateError, TypeError) as error:
        what = "missing in alerts/runbooks/" if isinstance(error, TemplateNotFound) else error
        raise DraftboardError(f"runbook template {alert.name}.md.j2: {what}") from None
