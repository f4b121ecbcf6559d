"""Grafana's current schema: a dashboard survives the round trip through the models generated from it."""

import copy
import json
from collections.abc import Iterator
from typing import Any

import pytest
from grafana_foundation_sdk.cog import plugins
from grafana_foundation_sdk.cog.encoder import JSONEncoder
from grafana_foundation_sdk.models.dashboard import Dashboard

from support import grafana

plugins.register_default_plugins()


def round_trip(document: dict[str, Any]) -> dict[str, Any]:
    result: dict[str, Any] = json.loads(JSONEncoder().encode(Dashboard.from_json(document)))
    return result


def lost(before: Any, after: Any, at: str = "") -> Iterator[str]:
    """Every key and value that is not in the result: the models drop what the schema does not know."""
    match before, after:
        case dict(), dict():
            for key, value in before.items():
                yield from lost(value, after[key], f"{at}/{key}") if key in after else [f"{at}/{key}"]
        case list(), list() if len(before) == len(after):
            for index, (one, other) in enumerate(zip(before, after, strict=True)):
                yield from lost(one, other, f"{at}/{index}")
        case _ if before != after:
            yield at


def test_no_key_is_lost(files: dict[str, str]) -> None:
    for path, document in grafana.dashboards(files).items():
        assert list(lost(document, round_trip(document))) == [], path


@pytest.mark.parametrize(
    "place",
    [
        ("panels", 4, "fieldConfig", "defaults", "custom", "lineWidht"),
        ("panels", 1, "fieldConfig", "defaults", "thresholds", "step"),
        ("panels", 3, "options", "legnd"),
        ("panels", 2, "targets", 0, "legend"),
        ("panels", 2, "hideTimeOverrid"),
        ("sharedCrosshair",),
    ],
    ids=lambda place: place[-1],
)
def test_a_key_that_the_schema_does_not_know_would_be_noticed(place: tuple[Any, ...], files: dict[str, str]) -> None:
    document = copy.deepcopy(json.loads(files["dashboards/draftboard-overview.json"]))
    spot: Any = document
    for step in place[:-1]:
        spot = spot[step]
    spot[place[-1]] = "x"
    assert list(lost(document, round_trip(document))) == ["/" + "/".join(map(str, place))]


def test_nothing_legacy_is_left(files: dict[str, str]) -> None:
    legacy = {
        "rows",
        "__inputs",
        "gnetId",
        "sharedCrosshair",
        "hideControls",
        "style",
        "span",
        "minSpan",
        "height",
        "error",
    }
    for document in grafana.dashboards(files).values():
        assert not legacy & set(document)
        for panel in grafana.panels(document):
            assert not legacy & set(panel)


def test_the_lowest_threshold_has_no_bound(files: dict[str, str]) -> None:
    for document in grafana.dashboards(files).values():
        for panel in (one for one in grafana.panels(document) if one["type"] != "state-timeline"):
            steps = panel["fieldConfig"]["defaults"]["thresholds"]["steps"]
            assert steps[0]["value"] is None
            assert all(step["value"] is not None for step in steps[1:])
