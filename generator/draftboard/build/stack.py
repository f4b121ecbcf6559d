"""The files below `deploy/` that follow from the settings."""

import math
from collections.abc import Sequence

import yaml
from jinja2 import Environment, PackageLoader, StrictUndefined

from draftboard.alerts import WATCHDOG
from draftboard.build.inhibition import inhibitions
from draftboard.durations import Duration
from draftboard.settings import Settings

PROMETHEUS = "deploy/prometheus/prometheus.yml"
ALERTMANAGER = "deploy/alertmanager/alertmanager.yml"
MESSAGES = "deploy/alertmanager/templates/draftboard.tmpl"
_TEMPLATES = {
    PROMETHEUS: "prometheus.yml.j2",
    ALERTMANAGER: "alertmanager.yml.j2",
    MESSAGES: "draftboard.tmpl.j2",
    "deploy/grafana/provisioning/datasources/draftboard.yaml": "datasources.yaml.j2",
    "deploy/grafana/provisioning/dashboards/draftboard.yaml": "dashboards.yaml.j2",
}


_CHECKS_A_BEAT = 5


def render(settings: Settings, made_by: str) -> dict[str, str]:
    """Every file as text, by its path; `made_by` says in each where it comes from."""
    environment = _environment()
    labels = settings.labels
    return {
        path: environment.get_template(template).render(
            made_by=made_by,
            stack=settings.stack,
            rules=settings.rules,
            labels=labels,
            watchdog=WATCHDOG,
            grouping=(*labels.scope, labels.job, labels.model_name),
            heartbeat_check=Duration(max(1, settings.stack.notify.heartbeat_interval.seconds // _CHECKS_A_BEAT)),
            inhibitions=inhibitions(settings),
        )
        for path, template in _TEMPLATES.items()
    }


def _environment() -> Environment:
    """Square brackets instead of braces, which belong to Alertmanager's own templates.

    Nothing is HTML, so nothing is escaped as HTML: what is text in YAML goes through `yaml`.
    """
    environment = Environment(
        loader=PackageLoader("draftboard.build"),
        variable_start_string="[[",
        variable_end_string="]]",
        block_start_string="[%",
        block_end_string="%]",
        comment_start_string="[#",
        comment_end_string="#]",
        undefined=StrictUndefined,
        keep_trailing_newline=True,
        autoescape=False,  # noqa: S701
    )
    environment.filters["yaml"] = _in_yaml
    return environment


def _in_yaml(value: str | Sequence[str]) -> str:
    """A text or a list of texts on one line, quoted where YAML needs it."""
    plain = value if isinstance(value, str) else list(value)
    return yaml.safe_dump(plain, default_flow_style=True, width=math.inf).removesuffix("...\n").strip()
