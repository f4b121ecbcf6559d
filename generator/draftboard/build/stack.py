"""The files below `deploy/` that follow from the settings."""

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import yaml
from jinja2 import Environment, PackageLoader, StrictUndefined

from draftboard.alerts import ALERTS, WATCHDOG, Alert
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
OURS = "(SpecDecode|VLLM).+"  # Our alerts but those on the monitoring, which nothing may silence.
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
        inhibitions=inhibitions(settings),
    )


def _in_yaml(value: str | Sequence[str]) -> str:
    """A text or a list of texts on one line, quoted where YAML requires it."""
    plain = value if isinstance(value, str) else list(value)
    return yaml.safe_dump(plain, default_flow_style=True, width=math.inf).removesuffix("...\n").strip()


_environment.filters["yaml"] = _in_yaml


@dataclass(frozen=True)
class Inhibition:
    """While an alert matches `source`, those that match `target` with the same labels `equal` reach nobody."""

    why: str
    source: tuple[str, ...]
    target: tuple[str, ...]
    equal: tuple[str, ...]


def inhibitions(settings: Settings) -> tuple[Inhibition, ...]:
    """First what explains what, then critical over the rest."""
    return (*_explanations(settings), *_critical_first(settings))


def _explanations(settings: Settings) -> Iterator[Inhibition]:
    """What explains an alert silences it, unless it is less severe: no page is held back, no two silence each other."""

    def carried(alert: Alert) -> tuple[str, ...]:
        return (*alert.level.labels(settings), *alert.signal.by)

    alerts = [alert for alert in ALERTS if alert.asked(settings)]
    rank = {alert.name: SEVERITIES.index(alert.patience(settings).severity) for alert in alerts}
    for cause in alerts:
        by_labels: dict[tuple[str, ...], list[str]] = {}
        for alert in alerts:
            if cause.name in alert.explained_by and rank[cause.name] >= rank[alert.name]:
                # A label that only one of them has would never be equal.
                shared = tuple(label for label in carried(cause) if label in carried(alert))
                by_labels.setdefault(shared, []).append(alert.name)
        for equal, names in by_labels.items():
            source, target = f'alertname="{cause.name}"', f'alertname=~"{"|".join(names)}"'
            yield Inhibition(f"{cause.name} explains it.", (source,), (target,), equal)


def _critical_first(settings: Settings) -> Iterator[Inhibition]:
    """Of a model or a server in critical trouble, lesser alerts of ours can wait.

    Except those on one of several things of a model (objectives, identities): the critical one may be about another.
    """
    labels = settings.labels
    one_of_several = "|".join(alert.name for alert in ALERTS if alert.signal.by and alert.asked(settings))
    ours, critical = f'alertname=~"{OURS}"', 'severity="critical"'
    lesser = ('severity=~"warning|info"', ours, f'alertname!~"{one_of_several}"')
    for kind, own, wider, equal in (
        ("model", labels.model_name, labels.engine, labels.model_level),
        ("server", labels.instance, labels.model_name, labels.target_level),
    ):
        yield Inhibition(
            why=f"While a {kind} is in critical trouble, its lesser troubles and those of its engines can wait.",
            source=(critical, ours, f'{own}!=""', f'{wider}=""'),
            target=(*lesser, f'{own}!=""'),
            equal=equal,
        )
