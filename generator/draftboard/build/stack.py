"""The files below `deploy/` that follow from the settings."""

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import yaml

from draftboard.alerts import SAMPLES_STOPPED, SUBJECTS, WATCHDOG, Alert, of_settings
from draftboard.build.scraping import relabelings
from draftboard.build.templating import environment
from draftboard.durations import Duration
from draftboard.settings import SEVERITIES, Settings

PROMETHEUS = "deploy/prometheus/prometheus.yml"
SCRAPE = "deploy/prometheus/scrape-options.yml"
ALERTMANAGER = "deploy/alertmanager/alertmanager.yml"
MESSAGES = "deploy/alertmanager/templates/draftboard.tmpl"
TEMPLATES = {
    PROMETHEUS: "prometheus.yml.j2",
    SCRAPE: "scrape-options.yml.j2",
    ALERTMANAGER: "alertmanager.yml.j2",
    MESSAGES: "draftboard.tmpl.j2",
    "deploy/grafana/provisioning/datasources/draftboard.yaml": "datasources.yaml.j2",
    "deploy/grafana/provisioning/dashboards/draftboard.yaml": "dashboards.yaml.j2",
}
"""Template of each file, by the file's path."""


def text(path: str, settings: Settings, made_by: str) -> str:
    """One of the files; it names its origin, `made_by`."""
    labels = settings.labels
    return environment.get_template(TEMPLATES[path]).render(
        dict(settings),
        made_by=made_by,
        relabelings=list(relabelings(settings)),
        watchdog=WATCHDOG,
        grouping=(*labels.scope, labels.job, labels.model_name),
        # Five checks a beat: one just before the next beat must not delay it by a whole interval.
        heartbeat_check=(settings.stack.notify.heartbeat_interval // 5).at_least(Duration(1)),
        inhibitions=tuple(inhibitions(settings)),
        receivers=SEVERITIES[::-1],
    )


def servers(settings: Settings, made_by: str) -> dict[str, Any]:
    """Prometheus' configuration of the user's own servers, those of `targets/`, where no start script writes it."""
    options = yaml.safe_load(text(SCRAPE, settings, made_by))
    files = {"file_sd_configs": [{"files": ["../targets/*.yaml", "../targets/*.json"]}]}
    return {"scrape_configs": [{"job_name": "vllm"} | options | files]}


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

    alerts = of_settings(settings)
    for cause in alerts:
        by_labels: dict[tuple[str, ...], list[str]] = {}
        for alert in alerts:
            if cause.name in _causes(alert) and _silences(cause, alert, settings):
                # A label that only one of them has would never be equal.
                shared = tuple(label for label in carried(cause) if label in carried(alert))
                by_labels.setdefault(shared, []).append(alert.name)
        for equal, names in by_labels.items():
            # What stopped is all samples of a Prometheus, which the widest label of its alerts names.
            of_prometheus = settings.labels.widest if cause.name == SAMPLES_STOPPED else equal
            yield Inhibition(cause.name, tuple(names), of_prometheus)


def _causes(alert: Alert) -> tuple[str, ...]:
    """Without samples no alert on servers is right, nor is its end."""
    on_servers = alert not in SUBJECTS["monitoring"]
    return (*alert.inhibited_by, SAMPLES_STOPPED) if on_servers else alert.inhibited_by


def _silences(cause: Alert, alert: Alert, settings: Settings) -> bool:
    """Whether somebody is notified of the cause, with no less urgency: a warning never silences a page."""
    rank = SEVERITIES.index
    of_cause, of_alert = (rank(one.policy(settings).severity) for one in (cause, alert))
    return rank("none") < of_cause >= of_alert
