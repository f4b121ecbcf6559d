"""The files below `deploy/` that follow from the settings."""

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import yaml
from jinja2 import Environment, PackageLoader, StrictUndefined

from draftboard.alerts import WATCHDOG, Alert, built
from draftboard.durations import Duration
from draftboard.settings import SEVERITIES, Settings

PROMETHEUS = "deploy/prometheus/prometheus.yml"
ALERTMANAGER = "deploy/alertmanager/alertmanager.yml"
MESSAGES = "deploy/alertmanager/templates/draftboard.tmpl"
TEMPLATES = {
    PROMETHEUS: "prometheus.yml.j2",
    ALERTMANAGER: "alertmanager.yml.j2",
    MESSAGES: "draftboard.tmpl.j2",
    "deploy/grafana/provisioning/datasources/draftboard.yaml": "datasources.yaml.j2",
    "deploy/grafana/provisioning/dashboards/draftboard.yaml": "dashboards.yaml.j2",
}
"""Template of each file, by the file's path."""
# Square brackets instead of braces, which belong to Alertmanager's own templates.
_environment = Environment(
    *("[%", "%]", "[[", "]]", "[#", "#]"),  # of blocks, variables, comments
    loader=PackageLoader("draftboard.build"),
    undefined=StrictUndefined,
    keep_trailing_newline=True,
    autoescape=False,  # noqa: S701  (YAML, not HTML: its texts go through the filter `yaml`)
)


def text(path: str, settings: Settings, made_by: str) -> str:
    """One of the files; it names its origin, `made_by`."""
    labels = settings.labels
    return _environment.get_template(TEMPLATES[path]).render(
        dict(settings),
        made_by=made_by,
        watchdog=WATCHDOG,
        grouping=(*labels.scope, labels.job, labels.model_name),
        # Five checks a beat: one just before the next beat must not delay it by a whole interval.
        heartbeat_check=Duration(max(1, settings.stack.notify.heartbeat_interval.seconds // 5)),
        inhibitions=tuple(inhibitions(settings)),
        severities=SEVERITIES[::-1],
    )


def _in_yaml(value: str | Sequence[str]) -> str:
    """A text or a list of texts on one line, quoted where YAML requires it."""
    plain = value if isinstance(value, str) else list(value)
    return yaml.safe_dump(plain, default_flow_style=True, width=math.inf).removesuffix("...\n").strip()


_environment.filters["yaml"] = _in_yaml


@dataclass(frozen=True)
class Inhibition:
    """While the alert `cause` fires, the alerts it explains reach nobody where they have the same labels `equal`."""

    cause: str
    explained: tuple[str, ...]
    equal: tuple[str, ...]


def inhibitions(settings: Settings) -> Iterator[Inhibition]:
    """What explains an alert silences it."""

    def carried(alert: Alert) -> tuple[str, ...]:
        return (*alert.level.labels(settings), *alert.signal.by)

    alerts = built(settings)
    for cause in alerts:
        by_labels: dict[tuple[str, ...], list[str]] = {}
        for alert in alerts:
            if cause.name in alert.explained_by and _silences(cause, alert, settings):
                # A label that only one of them has would never be equal.
                shared = tuple(label for label in carried(cause) if label in carried(alert))
                by_labels.setdefault(shared, []).append(alert.name)
        for equal, names in by_labels.items():
            yield Inhibition(cause.name, tuple(names), equal)


def _silences(cause: Alert, alert: Alert, settings: Settings) -> bool:
    """Whether the cause is told to somebody, and is less severe by design only: not by what settings raise or lower."""
    rank = SEVERITIES.index
    told, other = (rank(one.patience(settings).severity) for one in (cause, alert))
    as_designed = told >= rank(cause.severity) and other <= rank(alert.severity)
    return told > rank("none") and (told >= other or as_designed)
