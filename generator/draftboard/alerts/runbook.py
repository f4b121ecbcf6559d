"""Runbooks: a Markdown template for each alert, rendered with the names and numbers of the settings.

The head comes from the alert. In a template, `${...}` holds:

- `${model.acceptance}`, `${engine.state}`, `${target.restarts}`: the record of a signal at a level;
- `${title.acceptance}`: the title of a signal;
- `${MODEL}`, `${HOST}`: matchers for one model or one server, as in `${model.acceptance}${MODEL}`;
- `${pace["6h"]}`: the burn rate that fires over a window;
- `${labels.job}`, `${rules.rate_window}`, `${thresholds.drop}`: every setting;
- `${patience}`, `${rebuild}`, `${silence("2h", "rollout")}`: what the last section of every runbook says.
"""

from collections.abc import Callable
from typing import Any

from jinja2 import Environment, PackageLoader, StrictUndefined, TemplateError

from draftboard.alerts.alert import Alert
from draftboard.errors import DraftboardError
from draftboard.settings import Settings
from draftboard.settings.objectives import FAST, SLOW
from draftboard.signals import ALL, Level

_HEAD = """\
# {name}

<!-- Made by `draftboard build`: edit the template in generator/draftboard/alerts/runbooks/, not this file. -->

**Fires when {when}. For: {hold}. Severity: `{severity}`.**

"""
_SILENCE = """\
```sh
amtool silence add --alertmanager.url=http://127.0.0.1:9093 --duration={duration} --comment="{comment}" \\
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


def runbooks(alerts: tuple[Alert, ...], settings: Settings) -> dict[str, str]:
    """The runbook of each alert that has a template, by the alert's name.

    Raises:
        DraftboardError: a template is wrong, or names a record or setting that does not exist.
    """
    written = set(_environment.list_templates())
    return {alert.name: _rendered(alert, settings) for alert in alerts if f"{alert.name}.md.j2" in written}


def _rendered(alert: Alert, settings: Settings) -> str:
    patience, labels = alert.patience(settings), settings.labels
    head = _HEAD.format(
        name=alert.name, when=alert.fires_when(settings), hold=patience.hold, severity=patience.severity
    )
    try:
        return head + _environment.get_template(f"{alert.name}.md.j2").render(
            dict(settings),
            **_records(settings),
            title={signal.name: signal.title for signal in ALL},
            pace={str(pace.long): pace.factor(settings.slo.window) for pace in (*FAST, *SLOW)},
            MODEL=f'{{{labels.model_name}="MODEL"}}',
            HOST=f'{{{labels.instance}="HOST:8000"}}',
            patience=_patience(alert, settings),
            rebuild="Then run `draftboard build --config draftboard.toml` and reload Prometheus.",
            silence=_silence(alert, settings),
        )
    except (TemplateError, TypeError) as error:
        raise DraftboardError(f"runbook template {alert.name}.md.j2: {error}") from None


def _records(settings: Settings) -> dict[str, dict[str, str]]:
    """Record names by level and signal."""
    return {
        level.value: {signal.name: record for signal in ALL if (record := signal.record_at(level, settings))}
        for level in Level
    }


def _patience(alert: Alert, settings: Settings) -> str:
    patience = alert.patience(settings)
    return (
        f"`[alerts.{alert.name}]` sets `for` ({patience.hold}), `keep_firing_for` ({patience.keep_firing_for}) and "
        f"`severity` (`{patience.severity}`). {alert.why}"
    )


def _silence(alert: Alert, settings: Settings) -> Callable[..., Any]:
    labels = settings.labels
    names = {labels.model_name: "MODEL", labels.instance: "HOST:8000"}
    own = (f'{label}="{name}"' for label, name in names.items() if label in alert.level.labels(settings))
    usual = " ".join(own)

    def silence(duration: str, comment: str, matchers: str = usual) -> str:
        """The command that silences the alert for a while."""
        return _SILENCE.format(
            duration=duration, comment=comment, matchers=f"alertname={alert.name} {matchers}".rstrip()
        )

    return silence
