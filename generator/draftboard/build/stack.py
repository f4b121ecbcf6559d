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
TEMPLATES = {
    PROMETHEUS: "prometheus.yml.j2",
    ALERTMANAGER: "alertmanager.yml.j2",
    MESSAGES: "draftboard.tmpl.j2",
    "deploy/grafana/provisioning/datasources/draftboard.yaml": "datasources.yaml.j2",
    "deploy/grafana/provisioning/dashboards/draftboard.yaml": "dashboards.yaml.j2",
}
"""Template of each file, by the file's path."""
_CHECKS_A_BEAT = 5
# Square brackets instead of braces, which belong to Alertmanager's own templates.
_environment = Environment(
    loader=PackageLoader("draftboard.build"),
    variable_start_string="[[",
    variable_end_string="]]",
    block_start_string="[%",
    block_end_string="%]",
    comment_start_string="[#",
    comment_end_string="#]",
    undefined=StrictUndefined,
    keep_trailing_newline=True,
    autoescape=False,  # noqa: S701  (YAML, not HTML: its texts go through the filter `yaml`)
)


def render(settings: Settings, made_by: str) -> dict[str, str]:
    """Every file as text, by its path; each names its origin, `made_by`."""
    return {path: text(path, settings, made_by) for path in TEMPLATES}


def text(path: str, settings: Settings, made_by: str) -> str:
    """One of the files."""
    labels = settings.labels
    return _environment.get_template(TEMPLATES[path]).render(
        dict(settings),
        made_by=made_by,
        watchdog=WATCHDOG,
        grouping=(*labels.scope, labels.job, labels.model_name),
        heartbeat_check=Duration(max(1, settings.stack.notify.heartbeat_interval.seconds // _CHECKS_A_BEAT)),
        inhibitions=inhibitions(settings),
    )


def _in_yaml(value: str | Sequence[str]) -> str:
    """A text or a list of texts on one line, quoted where YAML requires it."""
    plain = value if isinstance(value, str) else list(value)
    return yaml.safe_dump(plain, default_flow_style=True, width=math.inf).removesuffix("...\n").strip()


_environment.filters["yaml"] = _in_yaml
