"""The dashboards for Grafana's import dialog and the Grafana operator, filled in as those do."""

import json
from pathlib import Path

import pytest

from conftest import ROOT
from support import grafana
from support.rulefiles import loaded

CHOSEN = "P1809F7CD0C75ACF3"  # uid of a data source
STACK = ROOT / "deploy/docker-compose.yml"


def test_each_dashboard_of_either_edition_can_be_imported(files: dict[str, str]) -> None:
    pages = {Path(path).name: document for path, document in grafana.dashboards(files).items()}
    assert {Path(path).name for path in grafana.imports(files)} == set(pages)


def test_the_chosen_data_source_is_selected_and_all_else_is_the_dashboard(files: dict[str, str]) -> None:
    pages = {document["uid"]: document for document in grafana.dashboards(files).values()}
    for path, document in grafana.imports(files).items():
        result = grafana.imported(document, CHOSEN)
        (variable,) = (one for one in result["templating"]["list"] if one["type"] == "datasource")
        assert variable["current"] == {"selected": True, "text": CHOSEN, "value": CHOSEN}, path
        variable["current"] = {}
        # Who imports a page by hand may change it.
        shown = json.loads(json.dumps(pages[result["uid"]]).replace("palette-colorblind", "palette-classic"))
        assert result == shown | {"editable": True}, path


def test_the_operator_s_replacement_in_the_text_gives_the_same(files: dict[str, str]) -> None:
    for path, document in grafana.imports(files).items():
        (name,) = (one["name"] for one in document["__inputs"])
        replaced = json.loads(files[path].replace(f"${{{name}}}", CHOSEN))
        shown = {key: replaced[key] for key in replaced if not key.startswith("__")}
        assert shown == grafana.imported(document, CHOSEN)


def test_the_dialog_asks_for_a_prometheus(files: dict[str, str]) -> None:
    for document in grafana.imports(files).values():
        (asked,) = document["__inputs"]
        assert (asked["type"], asked["pluginId"], asked["name"]) == ("datasource", "prometheus", "DS_PROMETHEUS")
        assert asked["label"]


def test_what_a_dashboard_requires_is_listed(files: dict[str, str]) -> None:
    image = loaded(STACK.read_text())["services"]["grafana"]["image"]
    for path, document in grafana.imports(files).items():
        required = {(one["type"], one["id"]): one for one in document["__requires"]}
        kinds = {panel["type"] for panel in grafana.panels(document)} | {"text" for _ in grafana.notes(document)}
        assert {name for kind, name in required if kind == "panel"} == kinds, path
        assert all(one["name"] for one in required.values())
        assert ("datasource", "prometheus") in required
        least = tuple(map(int, required["grafana", "grafana"]["version"].split(".")))
        assert least <= tuple(map(int, image.partition(":")[2].partition("@")[0].split("."))), (
            "the stack's Grafana is older"
        )


@pytest.mark.parametrize("hidden", ["standalone", "grafana-com"])
def test_the_stack_provisions_each_uid_once(hidden: str) -> None:
    mounted = loaded(STACK.read_text())["services"]["grafana"]["tmpfs"]
    assert f"/var/lib/grafana/dashboards/{hidden}:mode=0555" in mounted
