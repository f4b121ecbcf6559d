"""The Helm chart, rendered by Helm's own code, which its Python package holds."""

import json
import re
from pathlib import Path
from typing import Any

import helm_python as helm
import jsonschema
import yaml

from conftest import ROOT
from draftboard.build import chart, render, write
from draftboard.settings import Settings

Object = dict[str, Any]
FOLDER = ROOT / chart.FOLDER
PRESETS = sorted((FOLDER / "presets").glob("*.yaml"))

SCHEMAS = json.loads((ROOT / "tests/data/kubernetes.schema.json").read_text())
"""What the Prometheus operator and Kubernetes take, by kind."""
MOST = 262_144
"""Bytes that `kubectl apply` keeps of an object, in one of its annotations."""
_TEXT = {"type": "string"}
_TEXTS = {"type": "object", "additionalProperties": _TEXT}
_GRAFANA_DASHBOARD = {
    "additionalProperties": False,
    "properties": {
        "apiVersion": {"const": "grafana.integreatly.org/v1beta1"},
        "kind": {"const": "GrafanaDashboard"},
        "metadata": {
            "additionalProperties": False,
            "properties": {"name": _TEXT, "namespace": _TEXT, "labels": _TEXTS},
        },
        "spec": {
            "additionalProperties": False,
            "properties": {
                "allowCrossNamespaceImport": {"type": "boolean"},
                "datasources": {
                    "type": "array",
                    "items": {
                        "additionalProperties": False,
                        "properties": {"datasourceName": _TEXT, "inputName": _TEXT},
                        "required": ["datasourceName", "inputName"],
                    },
                },
                "folder": _TEXT,
                "instanceSelector": {
                    "additionalProperties": False,
                    "properties": {"matchLabels": _TEXTS, "matchExpressions": {"type": "array"}},
                },
                "json": _TEXT,
            },
            "required": ["instanceSelector"],
        },
    },
}
"""What the chart writes of the Grafana operator's resource, by its definition: no package has its schema."""
_VALIDATORS = {
    kind: jsonschema.Draft202012Validator(schema)
    for kind, schema in (SCHEMAS | {"GrafanaDashboard": _GRAFANA_DASHBOARD}).items()
}


def preset(path: Path) -> Object:
    """A preset's values."""
    return dict(yaml.safe_load(path.read_text()))


def built(settings: Settings, folder: Path) -> Path:
    """The chart of these settings, without its dashboards, which take long to make."""
    made = render(settings)
    own = {path: made[path] for path in made if path.startswith(chart.FOLDER) and chart.DASHBOARDS not in path}
    write(own, folder)
    return folder / chart.FOLDER


def rendered(
    values: Object | None = None, *, folder: Path = FOLDER, release: str = "monitoring", namespace: str = "llm"
) -> list[Object]:
    """The objects of a release."""
    with helm.Chart.load(folder) as loaded:
        texts = loaded.render(values, name=release, namespace=namespace)
    manifests = [text for path, text in texts.items() if path.endswith(".yaml")]
    return [one for text in manifests for one in yaml.load_all(text, yaml.CSafeLoader) if one]


def arguments_of_jobs(objects: list[Object]) -> dict[str, list[str]]:
    """The arguments of the program that each CronJob starts, by the end of its name."""
    jobs = [one for one in objects if one["kind"] == "CronJob"]
    pods = {one["metadata"]["name"]: one["spec"]["jobTemplate"]["spec"]["template"]["spec"] for one in jobs}
    return {name.rpartition("-")[2]: pod["containers"][0]["args"] for name, pod in pods.items()}


def refused(one: Object) -> list[str]:
    """Why Kubernetes or an operator would not take an object."""
    named = one["metadata"]
    found = [error.message for error in _VALIDATORS[one["kind"]].iter_errors(one)]
    found += [f"name {name!r}" for name in (named["name"], *one.get("data", ())) if not _is_name(name)]
    labels = named["labels"].items()
    return found + [f"label {key}={value}" for key, value in labels if not _is_label(key, value)]


def _is_name(name: str) -> bool:
    return len(name) <= 253 and bool(re.fullmatch(r"[a-z0-9]([-a-z0-9.]*[a-z0-9])?", name))


def _is_label(key: str, value: str) -> bool:
    text = r"[A-Za-z0-9]([-\w.]{0,61}[A-Za-z0-9])?"
    prefixed = re.fullmatch(rf"([a-z0-9.-]{{1,253}}/)?{text}", key, re.ASCII)
    return bool(prefixed and re.fullmatch(rf"({text})?", str(value), re.ASCII))
