"""The chart's objects are what the models of Kubernetes and its operators read; `make test` checks them with a copy."""

import json
import tomllib
from pathlib import Path
from typing import Any

import kubernetes_validate
import pytest
from cloudcoil.models.prometheus_operator import v1

from conftest import OBJECTIVES
from draftboard.build import render, write
from draftboard.build.chart import FOLDER
from draftboard.settings import Settings
from draftboard.settings.fields import LONGEST_DRAFT
from scripts.kubernetes_schemas import FILE, OPERATED, RELEASE, text
from support.charts import MOST, PRESETS, preset, rendered

pytestmark = pytest.mark.kubernetes


def test_the_copy_is_what_the_models_say() -> None:
    assert FILE.read_text() == text(), "run: PYTHONPATH=tests .venv/bin/python -m scripts.kubernetes_schemas"


@pytest.mark.parametrize("kind", ["PodMonitor", "ServiceMonitor"])
@pytest.mark.parametrize("path", PRESETS, ids=lambda path: path.stem)
def test_an_object_is_read_whole(path: Path, kind: str) -> None:
    values = preset(path)
    jobs = {"prometheus": "http://p:9090", "doctor": {"schedule": "@daily"}, "summary": {"schedule": "@weekly"}}
    for one in rendered({**values, "scrape": {**values.get("scrape", {}), "kind": kind}, "jobs": jobs}):
        if one["kind"] in OPERATED:
            read = getattr(v1, one["kind"]).model_validate(one)
            assert_within(one, read.model_dump(mode="json", by_alias=True, exclude_unset=True))
        else:
            assert kubernetes_validate.validate(one, RELEASE, strict=True)


def test_objects_of_the_longest_drafts_and_every_objective_are_small_enough(tmp_path: Path) -> None:
    slo = tomllib.loads(OBJECTIVES.read_text())["slo"]
    write(render(Settings.model_validate({"max_draft_tokens": LONGEST_DRAFT, "slo": slo})), tmp_path)
    for kind in ("ConfigMap", "GrafanaDashboard"):
        objects = rendered({"dashboards": {"kind": kind}}, folder=tmp_path / FOLDER)
        assert {one["metadata"]["name"] for one in objects if len(json.dumps(one)) > MOST} == set()


def assert_within(given: Any, read: Any) -> None:
    """Each key and value is in what was read: a model ignores keys that it does not know."""
    match given:
        case dict():
            for key, value in given.items():
                assert_within(value, read[key])
        case list():
            for one, other in zip(given, read, strict=True):
                assert_within(one, other)
        case _:
            assert given == read
