"""The runbook of an alert: a Markdown template of its name.

There `${...}` holds, besides every setting:

- `${model.acceptance}`, `${engine.state}`, `${target.restarts}`: the record of a signal at a level;
- `${title.acceptance}`: the title of a signal;
- `${MODEL}`, `${HOST}`: matchers for one model or one server, as in `${model.acceptance}${MODEL}`;
- `${pace["6h"]}`: the burn rate that fires over a window;
- `${prometheus}`, `${alertmanager}`, `${server}`: addresses, for commands that work as typed; `${elsewhere}`: what to
  type for another server; `${compose}`: `docker compose` with its file;
- `${logs("vllm", 100)}`, `${logs_since("vllm", "1h")}`, `${inside.vllm}`: commands on the reader's platform.
  `promtool` and `amtool` at the start of a line are run as the platform runs them;
- what `runbook.md.j2` defines: `${judged}`, the drafts and counters that a judgement takes; `${policy}`, `${rebuild}`
  and `${silence("2h", "rollout")}` for the last section.
"""

import re
from dataclasses import dataclass

from jinja2 import TemplateError, TemplateNotFound

from draftboard.alerts.alert import Alert
from draftboard.alerts.platforms import COMPOSE, platforms
from draftboard.alerts.templating import environment, filled
from draftboard.catalogue.dialects import VLLM
from draftboard.errors import DraftboardError
from draftboard.quantity import value
from draftboard.settings import Settings
from draftboard.settings.objectives import FAST, SLOW
from draftboard.signals import ALL, Level
from draftboard.signals.signal import Unit

_SIGNALS = {signal.name: signal for signal in ALL}
_ELSEWHERE = "For another server, use the alert's `instance`."


@dataclass(frozen=True)
class _Records:
    """The record of each signal at a level, by the signal's name."""

    level: Level
    settings: Settings

    def __getitem__(self, name: str) -> str:
        """KeyError where there is none."""
        record = _SIGNALS[name].record_name(self.level, self.settings, if_exists=False)
        if record is None:
            raise KeyError(name)
        return record


def fires_when(alert: Alert, settings: Settings) -> str:
    """The condition in words: for the head of the runbook and the table of alerts."""
    limit = abs(value(alert.threshold(settings)[1], settings))
    size = f"{limit * 100:.4g} %" if alert.signal.unit is Unit.RATIO else f"{limit:.4g}"
    return filled(alert.when, alert.name, settings, limit=size)


def runbook(alert: Alert, settings: Settings) -> str:
    """The runbook of an alert; a template that names what does not exist is a DraftboardError."""
    labels = settings.labels
    names = {labels.model_name: "MODEL", labels.instance: "HOST:8000"}
    commands = platforms(settings.runbooks)
    here = next(iter(commands.values()))
    own = [f'{label}="{name}"' for label, name in names.items() if label in alert.level.labels(settings)]
    try:
        text = environment.get_template("runbook.md.j2").render(
            dict(settings) | dict(settings.runbooks) | vars(here) | vars(alert.policy(settings)),
            compose=COMPOSE,
            elsewhere=_ELSEWHERE,
            logs=here.logs,
            logs_since=here.logs_since,
            platforms=list(commands.values()),
            **{level.value: _Records(level, settings) for level in Level},
            name=alert.name,
            when=fires_when(alert, settings),
            title={name: signal.title for name, signal in _SIGNALS.items()},
            pace={str(pace.long): pace.factor(settings.slo.window) for pace in (*FAST, *SLOW)},
            MODEL=f'{{{labels.model_name}="MODEL"}}',
            HOST=f'{{{labels.instance}="HOST:8000"}}',
            own_matchers=" ".join(own),
        )
    except (TemplateError, TypeError) as error:
        what = "missing in alerts/runbooks/" if isinstance(error, TemplateNotFound) else error
        raise DraftboardError(f"runbook template {alert.name}.md.j2: {what}") from None

    def in_dialect(series: re.Match[str]) -> str:
        return settings.dialect.named(series[0])

    text = re.sub(r"(?<=`)draftboard-(\w+)(?=`)", lambda page: settings.rules.uid_of(page[1]), text)
    text = re.sub(r"^(?:promtool|amtool)(?= )", lambda program: here.run(program[0]), text, flags=re.MULTILINE)
    return re.sub(rf"{VLLM}\w+", in_dialect, text)
