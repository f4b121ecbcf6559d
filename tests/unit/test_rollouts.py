"""Objects for Argo Rollouts, Flagger and KEDA against the schemas of these projects' custom resources."""

import json
import re
from typing import Any

import pytest
from jsonschema import Draft202012Validator

from conftest import ROOT
from draftboard.build import render
from draftboard.settings import Settings
from support.rulefiles import loaded

CRDS: dict[str, dict[str, Any]] = json.loads((ROOT / "tests/data/crds.json").read_text())
FOLDER = "deploy/kubernetes/rollouts"
FILES = {"argo-rollouts": "AnalysisTemplate", "flagger": "MetricTemplate", "keda": "ScaledObject"}


def built(name: str, settings: Settings | None = None) -> dict[str, Any]:
    document: dict[str, Any] = loaded(render(settings or Settings())[f"{FOLDER}/{name}.yaml"])
    return document


def closed(schema: Any) -> Any:
    """The schema without unknown fields, which Kubernetes would drop in silence."""
    if isinstance(schema, list):
        return [closed(each) for each in schema]
    if not isinstance(schema, dict):
        return schema
    inner = {key: closed(each) for key, each in schema.items()}
    named = isinstance(inner.get("properties"), dict) and "additionalProperties" not in inner
    return inner | {"additionalProperties": False} if named else inner


@pytest.mark.parametrize(("name", "kind"), FILES.items())
def test_the_object_is_one_of_the_projects_kind(name: str, kind: str) -> None:
    document, crd = built(name), CRDS[kind]
    assert (document["kind"], document["apiVersion"]) == (kind, crd["apiVersion"])
    assert not [error.message for error in Draft202012Validator(closed(crd["schema"])).iter_errors(document)]


@pytest.mark.parametrize(("name", "kind"), FILES.items())
def test_a_misspelt_field_is_refused(name: str, kind: str) -> None:
    document = built(name)
    document["spec"] |= {"mispelt": 1}
    assert list(Draft202012Validator(closed(CRDS[kind]["schema"])).iter_errors(document))


def test_renamed_labels_windows_and_thresholds_are_honoured() -> None:
    renamed = Settings.model_validate(
        {"labels": {"model_name": "llm", "variant": "track"}, "rules": {"window": "10m"}, "thresholds": {"slower": 0.9}}
    )
    (metric,) = built("argo-rollouts", renamed)["spec"]["metrics"]
    query = metric["provider"]["prometheus"]["query"]
    assert 'llm="{{args.model}}", track="{{args.canary}}"' in query
    assert "rate10m" in query
    assert metric["interval"] == "10m"
    assert "0.9" in metric["successCondition"]


def test_the_arguments_of_a_query_are_those_of_its_template() -> None:
    spec = built("argo-rollouts")["spec"]
    used = set(re.findall(r"\{\{args\.(\w+)\}\}", json.dumps(spec["metrics"])))
    assert used == {argument["name"] for argument in spec["args"]}


def test_an_engine_that_counts_no_requests_has_no_rollouts() -> None:
    dialect = Settings.model_validate({"series": {"dialect": "llama.cpp"}})
    files = render(dialect)
    assert not [path for path in files if path.startswith(FOLDER)]
    assert "None{" not in "".join(text for path, text in render(Settings()).items() if path.startswith(FOLDER))
