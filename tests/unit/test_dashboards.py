"""The dashboards against the dashboard-linter's rules, their own grid, and the alerts that share their thresholds."""

import re
from typing import Any

import promql_parser
import pytest

from draftboard import build as build_room
from draftboard.alerts import ALERTS
from draftboard.catalogue import serving
from draftboard.settings import Settings
from support import catalogue, grafana
from support.rulefiles import nodes

SUBJECTS = ("overview", "depth", "latency", "capacity")
PATHS = (
    *(f"dashboards/draftboard-{subject}.json" for subject in SUBJECTS),
    *(f"dashboards/standalone/draftboard-{subject}-raw.json" for subject in SUBJECTS),
)
# Units of Grafana that we use; anything else would be shown as a suffix.
UNITS = {"percentunit", "short", "none", "reqps", "s", "bytes", "watt"}
# Series of these carry no instance: records of level model, and alerts.
NO_INSTANCE = r"^(model:|ALERTS$)"
# Nobody records these: they are listed as they are, come from another exporter, or tell its machine.
READ_AS_THEY_ARE = r"^(ALERTS$|vllm:cache_config_info$|DCGM_|vllm:num_requests_running$)"
OTHER_EXPORTER = "DCGM_"
RANGE_OF_COUNTER = re.compile(r"\b(rate|irate|increase|resets)\(\s*[\w:]+(?:\{[^}]*\})?\[([^\]]+)\]")
# Restarts are counted while a server is remembered; promises have windows of their own.
OWN_WINDOWS = {"resets": {"1h"}, "rate": {"30m", "1h", "2h", "6h", "1d", "3d", "30d"}}


@pytest.fixture(params=PATHS)
def dashboard(request: pytest.FixtureRequest, files: dict[str, str]) -> dict[str, Any]:
    return grafana.dashboards(files)[request.param]


def parsed(expr: str) -> str:
    """The expression with a window that the parser reads; variables may stand in quotes."""
    what_if = {"$draft_cost": "0.1", "$verify_inflation": "1"}
    text = expr.replace("$__rate_interval", "5m")
    for variable, value in what_if.items():
        text = text.replace(variable, value)
    return text


def test_these_are_all_dashboards(files: dict[str, str]) -> None:
    assert set(grafana.dashboards(files)) == set(PATHS)


def test_uid_title_tags_and_schema(dashboard: dict[str, Any]) -> None:
    assert re.fullmatch(r"draftboard-[a-z]+(-raw)?", dashboard["uid"])
    assert 8 <= len(dashboard["uid"]) <= 40
    assert dashboard["schemaVersion"] == 42
    assert dashboard["editable"] is False
    assert "draftboard" in dashboard["tags"]
    assert dashboard["time"]["to"] == "now"
    assert dashboard["time"]["from"].startswith("now-")


def test_uids_differ_and_are_nobody_else_s(files: dict[str, str]) -> None:
    uids = [dashboard["uid"] for dashboard in grafana.dashboards(files).values()]
    assert len(uids) == len(set(uids))
    assert "vllm-spec-decode" not in uids


def test_template_datasource(dashboard: dict[str, Any]) -> None:
    (datasource,) = (v for v in dashboard["templating"]["list"] if v["type"] == "datasource")
    assert (datasource["name"], datasource["label"]) == ("datasource", "Data source")


def test_template_variables_are_chained_multi_value_and_reload_with_the_time(dashboard: dict[str, Any]) -> None:
    queried = [v for v in dashboard["templating"]["list"] if v["type"] == "query"]
    names = [variable["name"] for variable in queried]
    assert names[:4] == ["job", "model_name", "spec_method", "variant"]
    for index, variable in enumerate(queried):
        assert variable["datasource"] == {"type": "prometheus", "uid": "${datasource}"}
        assert variable["refresh"] == 2
        assert variable["multi"]
        assert variable["includeAll"]
        assert variable["allValue"] == (".+" if variable["name"] in {"job", "instance"} else ".*")
        assert variable["label"]
        read = re.fullmatch(r"label_values\((.+), (\w+)\)", variable["query"]["query"])
        assert read
        assert read[2] == variable["name"]
        assert re.findall(r'(\w+)=~"\$\1"', read[1]) == names[:index]
    if "instance" in names:
        assert names[4:] == ["instance", "engine"]


def test_every_variable_in_an_expression_is_defined(dashboard: dict[str, Any]) -> None:
    defined = {variable["name"] for variable in dashboard["templating"]["list"]} | {"__rate_interval"}
    for where, expr in grafana.queries(dashboard):
        assert set(re.findall(r"\$([a-z_]\w*)", expr)) <= defined, where


def test_every_panel_has_title_description_unit_datasource_and_a_word_for_nothing(dashboard: dict[str, Any]) -> None:
    for panel in grafana.panels(dashboard):
        assert panel["title"]
        assert panel["description"]
        assert panel["datasource"]["uid"] == "${datasource}"
        assert panel["fieldConfig"]["defaults"]["unit"] in UNITS, panel["title"]
        assert panel["fieldConfig"]["defaults"]["noValue"]
        assert panel["targets"]
        for target in panel["targets"]:
            assert target["datasource"]["uid"] == "${datasource}"
            assert target["instant"] is not target["range"]


def test_ids_refids_and_legends_are_unique(dashboard: dict[str, Any]) -> None:
    ids = [panel["id"] for panel in dashboard["panels"]] + [panel["id"] for panel in grafana.panels(dashboard)]
    rows = [panel["id"] for panel in dashboard["panels"] if panel["type"] == "row"]
    panels = [panel["id"] for panel in grafana.panels(dashboard)]
    assert len(set(ids)) == len(rows) + len(panels)
    titles = [panel["title"] for panel in grafana.panels(dashboard)]
    by_engine = [title for title in titles if titles.count(title) > 1]
    for panel in grafana.panels(dashboard):
        refs = [target["refId"] for target in panel["targets"]]
        assert len(refs) == len(set(refs))
        legends = [target["legendFormat"] for target in panel["targets"] if target["format"] == "time_series"]
        assert len(legends) == len(set(legends)), panel["title"]
    # Some signals are shown twice: now and over time, by model and by engine.
    assert not by_engine or not dashboard["uid"].startswith("draftboard-overview")


def test_nothing_overlaps_and_everything_lies_in_the_grid(dashboard: dict[str, Any]) -> None:
    def cells(panels: list[dict[str, Any]]) -> None:
        taken: dict[tuple[int, int], str] = {}
        for panel in panels:
            place = panel["gridPos"]
            assert place["x"] >= 0
            assert place["x"] + place["w"] <= 24
            for x in range(place["x"], place["x"] + place["w"]):
                for y in range(place["y"], place["y"] + place["h"]):
                    assert (x, y) not in taken, (panel["title"], taken.get((x, y)))
                    taken[x, y] = panel["title"]

    cells(dashboard["panels"])
    for panel in dashboard["panels"]:
        cells(panel.get("panels", []))


def test_target_promql_parses(dashboard: dict[str, Any]) -> None:
    for _, expr in grafana.queries(dashboard):
        assert promql_parser.parse(parsed(expr))


def test_target_rate_interval(dashboard: dict[str, Any]) -> None:
    for where, expr in grafana.queries(dashboard):
        for function, window in RANGE_OF_COUNTER.findall(expr):
            assert window == "$__rate_interval" or window in OWN_WINDOWS.get(function, set()), where
        assert ("$__rate_interval" in expr) <= dashboard["uid"].endswith("-raw"), where


def test_target_job_and_instance(dashboard: dict[str, Any]) -> None:
    for where, expr in grafana.queries(dashboard):
        for selector in nodes(parsed(expr), promql_parser.VectorSelector):
            matchers = {matcher.name: matcher.value for matcher in selector.matchers.matchers}
            # GPUs belong to another job, and a baseline may.
            if selector.name.startswith(OTHER_EXPORTER) or matchers.get("spec_method") == "none":
                continue
            assert matchers["job"] == "$job", where
            if not re.search(NO_INSTANCE, selector.name):
                assert matchers["instance"] == "$instance", where


def test_target_counter_agg(dashboard: dict[str, Any]) -> None:
    counters = set(catalogue.counters())
    for where, expr in grafana.queries(dashboard):
        text = parsed(expr)
        used = [s.name for s in nodes(text, promql_parser.VectorSelector) if s.name in counters]
        inside = [
            argument.vector_selector.name
            for call in nodes(text, promql_parser.Call)
            if call.func.name in {"rate", "resets"}
            for argument in call.args
        ]
        assert sorted(used) == sorted(inside), where


def test_an_edition_reads_records_only_or_raw_series_only(dashboard: dict[str, Any]) -> None:
    for where, expr in grafana.queries(dashboard):
        found = {s.name for s in nodes(parsed(expr), promql_parser.VectorSelector)}
        names = {name for name in found if not re.search(READ_AS_THEY_ARE, name)}
        records = {name for name in names if re.match(r"(engine|model|target):", name)}
        assert records == (set() if dashboard["uid"].endswith("-raw") else names), where


def test_opening_a_dashboard_of_records_costs_nothing_by_engine(files: dict[str, str]) -> None:
    for path, dashboard in grafana.dashboards(files).items():
        if "standalone" in path:
            continue
        for panel in dashboard["panels"]:
            if panel["type"] != "row":
                for target in panel["targets"]:
                    assert "engine:" not in target["expr"], panel["title"]


def test_dashboards_link_to_their_own_edition_with_time_and_variables(dashboard: dict[str, Any]) -> None:
    (link,) = dashboard["links"]
    assert link["includeVars"]
    assert link["keepTime"]
    assert link["tags"] == ["draftboard", "raw" if dashboard["uid"].endswith("-raw") else "records"]
    assert set(link["tags"]) <= set(dashboard["tags"])


def test_firing_alerts_and_restarts_are_marked(dashboard: dict[str, Any]) -> None:
    names = [annotation["name"] for annotation in dashboard["annotations"]["list"]]
    assert names == ["Annotations & Alerts", "Alerts that fire", "Restarts"]


def test_panels_ask_no_faster_than_there_are_samples(dashboard: dict[str, Any], settings: Settings) -> None:
    rules = settings.rules
    pace = rules.scrape_interval if dashboard["uid"].endswith("-raw") else rules.evaluation_interval
    assert {panel["interval"] for panel in grafana.panels(dashboard)} == {str(pace)}


def test_a_panel_turns_where_the_alert_on_its_signal_fires(dashboard: dict[str, Any], settings: Settings) -> None:
    limits: dict[str, set[float]] = {}
    for alert in ALERTS:
        if not alert.signal.codes:
            limits.setdefault(alert.signal.title, set()).add(alert.threshold(settings)[1])
    seen = set()
    for panel in grafana.panels(dashboard):
        if panel["title"] in limits and panel["type"] in {"timeseries", "stat"}:
            steps = {step.get("value") for step in panel["fieldConfig"]["defaults"]["thresholds"]["steps"]}
            assert limits[panel["title"]] <= steps, panel["title"]
            seen.add(panel["title"])
    assert seen


def test_percentages_are_between_zero_and_one_in_thresholds(dashboard: dict[str, Any]) -> None:
    for panel in grafana.panels(dashboard):
        defaults = panel["fieldConfig"]["defaults"]
        if defaults["unit"] == "percentunit":
            assert all(0 <= (step["value"] or 0) <= 1 for step in defaults["thresholds"]["steps"])


def test_every_signal_is_shown_or_serves_another_that_is(settings: Settings) -> None:
    unseen = {entry.name for entry in build_room.inventory(settings) if not entry.panels}
    assert unseen == {
        "draft_tokens",  # shown as accepted and wasted
        "decode_steps",  # divisor of coverage and tokens per step
        "first_tokens",  # subtracted in tokens per step
        "at_least_accepted",  # shown as survival and as accepted length
        "each_k",  # the k axis itself
        "length_deviation",  # divisor of the anomaly
        "metrics_missing",  # an alert: it has no model to be shown under
        "heartbeat",  # an alert: it is never silent
        "slo_events",  # divisor of the error ratios
        "slo_bad_events",  # their dividend
        "slo_budget",  # divisor of the burn rates
        *(f"error_ratio_{window}" for window in ("30m", "1h", "2h", "6h", "1d", "3d")),  # shown as burn rates
    }


def test_titles_tell_the_editions_apart(files: dict[str, str]) -> None:
    titles = [dashboard["title"] for dashboard in grafana.dashboards(files).values()]
    assert len(titles) == len(set(titles))


def test_series_are_named_by_every_label_that_tells_models_apart(dashboard: dict[str, Any], settings: Settings) -> None:
    for panel in grafana.panels(dashboard):
        for target in panel["targets"]:
            named = target["legendFormat"] if target["format"] == "time_series" else target["expr"]
            if panel["type"] in {"timeseries", "stat", "state-timeline", "barchart"}:
                levels = (settings.labels.model_level, settings.labels.target_level, settings.labels.host_level)
                assert any(all(label in named for label in labels) for labels in levels), panel["title"]


def test_a_table_keeps_the_time_until_its_columns_are_merged(dashboard: dict[str, Any]) -> None:
    for panel in grafana.panels(dashboard):
        steps = [step["id"] for step in panel.get("transformations", [])]
        if "merge" in steps and panel["type"] == "table":
            assert steps == ["filterFieldsByName", "merge", "organize"]
            first, _, last = panel["transformations"]
            # Results without a sample have nothing in common with others but the time.
            assert not re.search(first["options"]["exclude"]["pattern"].strip("/"), "Time")
            assert last["options"]["excludeByName"] == {"Time": True}


def test_points_of_a_scatter_are_joined_by_moment_and_model(dashboard: dict[str, Any]) -> None:
    for panel in grafana.panels(dashboard):
        if panel["type"] == "xychart":
            across, up = panel["targets"]
            assert (across["format"], up["format"]) == ("table", "table")
            assert across["range"]
            assert up["range"]
            kept, merge, organize, split = panel["transformations"]
            pattern = kept["options"]["include"]["pattern"].strip("/")
            assert [n for n in ("Time", "series", "Value #A", "job") if re.fullmatch(pattern, n)] == [
                "Time", "series", "Value #A",
            ]  # fmt: skip
            assert merge["id"] == "merge"
            # The first number is what is drawn across.
            order = organize["options"]["indexByName"]
            assert order["Value #A"] < order["Value #B"]
            assert split["options"]["fields"] == ["series"]


def test_heatmaps_are_of_whole_buckets(dashboard: dict[str, Any]) -> None:
    for panel in grafana.panels(dashboard):
        if panel["type"] == "heatmap":
            (target,) = panel["targets"]
            assert (target["format"], target["legendFormat"]) == ("heatmap", "{{le}}")
            assert target["expr"].startswith("sum by (le) (")
            assert panel["options"]["calculate"] is False


def test_percentiles_stand_beside_their_mean_and_say_what_they_cannot_tell(dashboard: dict[str, Any]) -> None:
    for panel in grafana.panels(dashboard):
        names = [target["legendFormat"].partition(" ")[0] for target in panel["targets"]]
        assert ("P99" in names) == ("mean" in names), panel["title"]
        if "P99" in names:
            assert panel["fieldConfig"]["defaults"]["mappings"] == []
            assert "mean" not in panel["options"]["legend"]["calcs"]
            told = {}
            for override in panel["fieldConfig"]["overrides"]:
                ((mapping,),) = (entry["value"] for entry in override["properties"])
                told[override["matcher"]["options"]] = mapping["options"]["0"]["text"]
            percentiles = {target["refId"] for target in panel["targets"] if target["legendFormat"].startswith("P")}
            assert told == dict.fromkeys(percentiles, "below resolution")


def test_only_raw_histograms_are_asked_for_exemplars(dashboard: dict[str, Any]) -> None:
    asked = {
        panel["title"] for panel in grafana.panels(dashboard) for target in panel["targets"] if target.get("exemplar")
    }
    raw = dashboard["uid"].endswith("-raw")
    assert bool(asked) == (raw and dashboard["uid"].split("-")[1] in {"latency", "capacity"})


def test_without_a_gpu_exporter_the_panels_say_so(dashboard: dict[str, Any]) -> None:
    said = [
        panel["fieldConfig"]["defaults"]["noValue"]
        for panel in grafana.panels(dashboard)
        if "DCGM_" in panel["targets"][0]["expr"]
    ]
    assert all("no GPU exporter is scraped" in words for words in said)
    assert len(said) == (4 if "capacity" in dashboard["uid"] else 0)


def test_raw_variables_are_narrowed_by_the_selector() -> None:
    files = build_room.render(Settings.model_validate({"selector": 'stage="a"'}))
    raw = grafana.dashboards(files)["dashboards/standalone/draftboard-depth-raw.json"]
    queries = [v["query"]["query"] for v in raw["templating"]["list"] if v["type"] == "query"]
    assert queries[0] == 'label_values(vllm:generation_tokens_total{stage="a"}, job)'
    assert queries[1] == 'label_values(vllm:generation_tokens_total{stage="a", job=~"$job"}, model_name)'


def test_panels_side_by_side_are_equally_tall_and_leave_no_hole(dashboard: dict[str, Any]) -> None:
    open_ones = [panel for panel in dashboard["panels"] if panel["type"] != "row"]
    for panels in (open_ones, *(row.get("panels", []) for row in dashboard["panels"])):
        lines: dict[int, list[dict[str, int]]] = {}
        for panel in panels:
            lines.setdefault(panel["gridPos"]["y"], []).append(panel["gridPos"])
        for line in lines.values():
            assert sum(place["w"] for place in line) == 24
            assert len({place["h"] for place in line}) == 1


def test_series_that_tell_good_from_bad_are_coloured_by_it(files: dict[str, str]) -> None:
    colours = {}
    for panel in (panel for one in grafana.dashboards(files).values() for panel in grafana.panels(one)):
        for override in panel["fieldConfig"]["overrides"]:
            for one in override["properties"]:
                if one["id"] == "color":
                    # The last override that matches wins.
                    colours.setdefault(panel["title"], {})[override["matcher"]["options"]] = one["value"]["fixedColor"]

    def of(title: str, legend: str) -> str:
        return [colour for pattern, colour in colours[title].items() if re.search(pattern.strip("/"), legend)][-1]

    assert of("Engines by state", "vllm m drafting") == "green"
    assert of("Engines by state", "vllm m serving without drafting") == "orange"
    assert of("Engines by state", "down") == "red"
    assert of("Requests finished", "vllm m stop") == "green"
    assert of("Requests finished", "vllm m error") == "red"
    assert of("HTTP answers by status", "vllm 10.0.0.1:8000 5xx") == "red"
    assert of("HTTP errors", "vllm 10.0.0.1:8000 4xx") == "orange"
    assert set(colours["Requests finished"]) == {
        f"/(^| ){reason}$/" for reason in serving.REQUESTS_FINISHED.values["finished_reason"]
    }


def test_each_signal_of_a_panel_is_written_with_its_own_decimals(files: dict[str, str]) -> None:
    depth = grafana.dashboards(files)["dashboards/draftboard-depth.json"]
    panel = next(panel for panel in grafana.panels(depth) if panel["title"] == "Best k and Mean draft length")
    assert panel["fieldConfig"]["defaults"]["decimals"] == 0
    assert {"matcher": {"id": "byFrameRefID", "options": "B"}, "properties": [{"id": "decimals", "value": 2}]} in (
        panel["fieldConfig"]["overrides"]
    )


def test_a_promise_is_a_row_named_before_its_numbers(files: dict[str, str]) -> None:
    latency = grafana.dashboards(files)["dashboards/draftboard-latency.json"]
    table = next(panel for panel in grafana.panels(latency) if panel["title"].startswith("Each promise"))
    order = table["transformations"][-1]["options"]["indexByName"]
    assert sorted(order, key=order.__getitem__)[-5:] == ["slo", "Value #A", "Value #B", "Value #C", "Value #D"]


def test_an_axis_names_the_unit_only_where_the_numbers_do_not(dashboard: dict[str, Any]) -> None:
    for panel in grafana.panels(dashboard):
        defaults = panel["fieldConfig"]["defaults"]
        assert not defaults.get("custom", {}).get("axisLabel") or defaults["unit"] == "short"
