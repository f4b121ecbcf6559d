"""The files of the Helm chart that follow from the settings, but for its rules and dashboards."""

import re
from collections.abc import Collection

from draftboard import REVISION, __version__
from draftboard.alerts import of_settings
from draftboard.build import scraping
from draftboard.build.templating import environment
from draftboard.settings import Settings

FOLDER = "deploy/kubernetes/chart"
RECORDING = f"{FOLDER}/files/recording.yaml"
ALERTING = f"{FOLDER}/files/alerting.yaml"
DASHBOARDS = f"{FOLDER}/files/dashboards"
_FILES = (
    *("Chart.yaml", "README.md", "values.yaml", "values.schema.json"),
    *(
        f"templates/{name}"
        for name in ("_helpers.tpl", "NOTES.txt", "rules.yaml", "scrape.yaml", "dashboards.yaml", "jobs.yaml")
    ),
    *(f"presets/{name}.yaml" for name in ("kube-prometheus-stack", "vllm-production-stack", "llm-d")),
)
TEMPLATES = {f"{FOLDER}/{name}": f"chart/{name}.j2" for name in _FILES}
"""Template of each file, by the file's path."""
_JOB = "vllm"
"""Name of the servers' job, unless the settings select another: Prometheus' operator would take the monitor's name."""

_OF_OPERATOR = ("namespace", "pod", "container", "endpoint", "service", "instance")
"""Labels that say where a server is, which the operator sets."""


def text(path: str, settings: Settings, made_by: str) -> str:
    """One of the files; it names its origin, `made_by`."""
    labels = settings.labels
    of_pods = (*labels.variant_labels, labels.scale_to_zero)
    names = {"model_name": labels.model_name, "engine": labels.engine}
    return environment.get_template(TEMPLATES[path]).render(
        dict(settings),
        made_by=made_by,
        version=__version__,
        revision=REVISION,
        alert_names=[alert.name for alert in of_settings(settings)],
        target_labels={labels.job: _JOB} | _selected(settings.selector, without={*of_pods, *_OF_OPERATOR}),
        pod_labels={name: name.strip("_") for name in of_pods},  # a pod's label begins and ends with neither
        renamed={given: name for given, name in names.items() if name != given},
        relabelings={keep: _of_operator(settings, keep) for keep in ("known", "everything")},
        known_labels=[*scraping.known_labels(settings), *_OF_OPERATOR],
    )


def on_kubernetes(settings: Settings) -> Settings:
    """The settings, for readers who type kubectl."""
    return settings.model_copy(update={"runbooks": settings.runbooks.model_copy(update={"platform": "kubernetes"})})


def _of_operator(settings: Settings, keep: str) -> list[scraping.Relabeling]:
    """Steps of relabelling under the operator's keys, but for the labels to keep: they depend on the chart's values."""
    scrape = settings.stack.scrape.model_copy(update={"keep": keep})
    with_keep = settings.model_copy(update={"stack": settings.stack.model_copy(update={"scrape": scrape})})
    steps = (step for step in scraping.relabelings(with_keep) if step["action"] != "labelkeep")
    return [{re.sub("_(.)", _upper, key): of for key, of in step.items()} for step in steps]


def _upper(letter: re.Match[str]) -> str:
    return letter[1].upper()


def _selected(selector: str, without: Collection[str]) -> dict[str, str]:
    """Labels of which the settings select one value, so that what the chart scrapes has it."""
    return {name: text for name, text in re.findall(r'(?:^|,)(\w+)="([^"]+)"', selector) if name not in without}
