"""The dashboards: the dashboard-linter's rules, the grid, and what each kind of panel must hold."""

import itertools
import json
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any, NamedTuple

import promql_parser
import pytest

from draftboard.alerts import ALERTS, WATCHDOG
from draftboard.build import inventory, render
from draftboard.catalogue import CATALOGUE, serving
from draftboard.dashboards import PAGES, dashboards
from draftboard.dashboards.fields import BUTTON, COLOURS, TEXT_AS_IT_IS
from draftboard.dashboards.panels.panel import LONGEST
from draftboard.dashboards.panels.stats import ON_A_WALL
from draftboard.durations import Duration
from draftboard.quantity import value
from draftboard.settings import Settings, load
from draftboard.settings.labels import ExportedLabels
from draftboard.signals import ALL, Edition
from draftboard.signals.health import HEALTH
from draftboard.signals.latency import FELT
from draftboard.status import Status
from support import catalogue, grafana

# Grafana's units that we use; anything else would be shown as a suffix.
UNITS = {
    "locale",
    "percentunit",
    "short",
    "suffix:x",
    "none",
    "reqps",
    "s",
    "bytes",
    "watt",
    "suffix:samples/s",
    "string",
    "dtdurations",
}
# Their series carry no instance: records of level model, and alerts.
NO_INSTANCE = r"^(model:|service:|ALERTS(_FOR_STATE)?$)"
# No record exists: they are listed as they are, come from another exporter, or name its machine.
READ_AS_THEY_ARE = (
    r"^(ALERTS(_FOR_STATE)?$|(vllm:cache_config|draftboard_spec)_info$|DCGM_|vllm:num_requests_running$|(cortex_)?prometheus_|"
    r"alertmanager_)"
)
EXPORTED_LABELS = {"draftboard-essentials-raw"}
"""Pages that know no label which a scrape configuration adds."""
# No server to choose.
BESIDE = r"^(DCGM_|(cortex_)?prometheus_|alertmanager_|node_|scrape_|monitor:)"
# Restarts are counted while a server is remembered; SLOs have windows of their own.
OWN_WINDOWS = {"resets": {"1h"}, "increase": {"15m", "1h"}, "rate": {"30m", "1h", "2h", "6h", "1d", "3d", "30d"}}
# What is counted within the rules' window, however far Grafana is zoomed out.
COUNTED = {
    *("vllm:spec_decode_num_drafts_total", "vllm:spec_decode_num_draft_tokens_total"),
    *("vllm:spec_decode_num_accepted_tokens_per_pos_total", "vllm:time_to_first_token_seconds_count"),
    *(
        "vllm:num_preemptions_total",
        "vllm:request_success_total",
        "http_requests_total",
        "vllm:inter_token_latency_seconds_count",
        "draftboard_spec_class_drafts_total",
    ),
    *("prometheus_rule_evaluation_failures_total", "prometheus_rule_group_iterations_missed_total"),
    *("cortex_prometheus_rule_evaluation_failures_total", "cortex_prometheus_rule_group_iterations_missed_total"),
}
SERIES = re.compile(
    r"(?:\b(rate|irate|increase|resets|timestamp)\(\s*)?"
    rf"\b((?:engine|model|service|target|monitor):[\w:]+|{'|'.join(sorted(catalogue.series(), reverse=True))})\b"
    r"(?:\{([^}]*)\})?(?:\[([^\]]+)\])?"
)
Json = dict[str, Any]
Panels = list[tuple[str, Json]]


class Read(NamedTuple):
    """A selector in an expression."""

    where: str
    function: str
    """The function of counters around it."""
    name: str
    matchers: dict[str, str]
    window: str


@pytest.fixture(scope="module")
def documents(files: dict[str, str]) -> dict[str, Json]:
    """By uid."""
    return {document["uid"]: document for document in grafana.dashboards(files).values()}


@pytest.fixture(scope="module")
def panels(documents: dict[str, Json]) -> Panels:
    """All panels, each with a name for messages that begins with the dashboard's uid."""
    return [(f"{uid}: {one['title']}", one) for uid, document in documents.items() for one in grafana.panels(document)]


@pytest.fixture(scope="module")
def queries(documents: dict[str, Json]) -> list[tuple[str, str]]:
    """All expressions, each with a name for messages."""
    return [(f"{uid}: {where}", expr) for uid, one in documents.items() for where, expr in grafana.queries(one)]


@pytest.fixture(scope="module")
def reads(queries: list[tuple[str, str]]) -> list[Read]:
    return [
        Read(where, function, name, dict(re.findall(r'(\w+)(?:=~|!~|!=|=)"([^"]*)"', matchers)), window)
        for where, expr in queries
        for function, name, matchers, window in SERIES.findall(expr)
    ]


def is_raw(where: str) -> bool:
    return where.partition(":")[0].endswith("-raw")


def kind(panels: Panels, *kinds: str) -> Iterator[tuple[str, Json]]:
    found = [(where, panel) for where, panel in panels if panel["type"] in kinds]
    assert found
    yield from found


def test_every_page_has_a_file_in_the_folder_of_each_of_its_editions(files: dict[str, str]) -> None:
    for edition, folder in {Edition.RECORDS: "dashboards", Edition.RAW: "dashboards/standalone"}.items():
        uids = {path.rpartition("/")[2].removesuffix(".json") for path in files if re.match(rf"{folder}/[^/]+$", path)}
        assert uids == set(dashboards(Settings(), edition)), edition


def test_a_file_is_named_by_its_uid_and_has_tags_and_the_current_schema(files: dict[str, str]) -> None:
    for path, document in grafana.dashboards(files).items():
        assert path.endswith(f"/{document['uid']}.json")
        assert re.fullmatch(r"draftboard-[a-z]+(-raw)?", document["uid"])
        assert 8 <= len(document["uid"]) <= 40
        assert (document["schemaVersion"], document["editable"], document["time"]["to"]) == (42, False, "now")
        assert document["time"]["from"].startswith("now-")


def test_uids_and_titles_differ(documents: dict[str, Json]) -> None:
    assert len(documents) == sum(len(page.editions) for page in PAGES.values())
    assert len(documents) == len({document["title"] for document in documents.values()})


def test_variables_are_chained_multi_value_and_reload_with_the_time(documents: dict[str, Json]) -> None:
    for uid, document in documents.items():
        (datasource,) = (v for v in document["templating"]["list"] if v["type"] == "datasource")
        assert (datasource["name"], datasource["label"]) == ("datasource", "Data source")
        queried = [v for v in document["templating"]["list"] if v["type"] == "query"]
        names = [variable["name"] for variable in queried]
        if uid in EXPORTED_LABELS:
            assert names == ["job", "model_name", "instance", "engine"]
            continue
        assert names[:6] == ["cluster", "namespace", "job", "model_name", "spec_method", "variant"]
        assert names[6:] in ([], ["instance", "engine"], ["baseline", "baseline_variant"]), uid
        filters = [one for one in queried if not one["name"].startswith("baseline")]
        for index, variable in enumerate(filters):
            assert variable["datasource"] == {"type": "prometheus", "uid": "${datasource}"}
            one = (uid, variable["name"]) == ("draftboard-compare", "model_name")
            assert (variable["refresh"], variable["multi"], variable["includeAll"]) == (2, not one, not one)
            assert variable["allValue"] == (".+" if variable["name"] in {"job", "instance"} else ".*")
            assert variable["label"]
            read = re.fullmatch(r"label_values\((.+), (\w+)\)", variable["query"]["query"])
            assert read
            assert read[2] == variable["name"]
            assert re.findall(r'(\w+)=~"\$\1"', read[1]) == names[:index]


@pytest.mark.parametrize(
    ("scope", "beside", "in_menu"),
    [(None, [], ["cluster", "namespace"]), (["cluster", "team"], ["cluster", "team"], []), ([], [], [])],
    ids=["default", "listed", "none"],
)
def test_labels_wider_than_a_job_are_in_the_menu_unless_the_settings_list_them(
    scope: list[str] | None, beside: list[str], in_menu: list[str], tmp_path: Path
) -> None:
    settings = tmp_path / "my.toml"
    settings.write_text("" if scope is None else f"[labels]\nscope = {scope}\n")
    files = render(load(settings))
    for path, document in grafana.dashboards(files).items():
        if document["uid"] in EXPORTED_LABELS:
            continue
        hidden = {variable["name"]: variable["hide"] for variable in document["templating"]["list"]}
        assert list(hidden)[1:].index("job") == len(beside + in_menu), path
        assert [name for name, hide in hidden.items() if hide == 3] == in_menu, path
        assert [name for name in beside if hidden[name] == 0] == beside, path


def test_every_variable_in_an_expression_is_defined(documents: dict[str, Json]) -> None:
    for document in documents.values():
        defined = {variable["name"] for variable in document["templating"]["list"]} | {"__rate_interval", "__interval"}
        used = set()
        for where, expr in grafana.queries(document):
            asked = set(re.findall(r"\$\{?([a-z_]\w*)", expr))
            assert asked <= defined, where
            used |= asked
        unused = {one["name"] for one in document["templating"]["list"] if one["type"] == "custom"} - used
        assert unused == set(), document["uid"]


def test_every_panel_has_title_description_unit_datasource_and_text_for_no_data(panels: Panels) -> None:
    for where, panel in panels:
        defaults = panel["fieldConfig"]["defaults"]
        assert panel["title"]
        assert panel["description"], where
        assert panel["datasource"]["uid"] == "${datasource}"
        assert defaults["unit"] in UNITS, where
        assert defaults["noValue"], where
        assert panel["targets"], where
        for target in panel["targets"]:
            assert target["datasource"]["uid"] == "${datasource}"
            assert target["instant"] is not target["range"]
        # A label of the axis only where the numbers beside it carry no unit.
        assert not defaults.get("custom", {}).get("axisLabel") or defaults["unit"] in {"short", "locale", "suffix:x"}, (
            where
        )
        if defaults["unit"] == "percentunit":
            assert all(0 <= (step["value"] or 0) <= 1 for step in defaults["thresholds"]["steps"]), where


def test_a_description_says_what_to_do_and_which_metrics_are_read_in_300_characters(panels: Panels) -> None:
    for where, panel in panels:
        text, _, metrics = panel["description"].partition("\n\n")
        assert len(panel["description"]) <= LONGEST, where
        assert re.fullmatch(r"\S.*[.] [A-Z][^.].*[.]", text), where
        named = re.fullmatch(r"Metrics: (`[\w:]+`(?:, `[\w:]+`)*)(?: and \d+ more)?", metrics)
        assert named, f"{where}: no room for the name of a metric beside {len(text)} characters"
        names = named[1].replace("`", "").split(", ")
        assert {*names} <= {metric.name for metric in CATALOGUE}, where
        if is_raw(where):
            assert all(name in " ".join(target["expr"] for target in panel["targets"]) for name in names), where


def test_titles_of_panels_are_names(panels: Panels) -> None:
    for where, panel in panels:
        assert not re.search(r"[?]|[.]$|^(Each|What|How|Which|Is|Are|Does|Do|Has)\b", panel["title"]), where


SINCE = ("since_min", "since_h", "since_d")
"""Queries of one age: its unit follows from how long it is."""


def test_ids_refids_and_legends_are_unique(documents: dict[str, Json], panels: Panels) -> None:
    for document in documents.values():
        rows = [panel["id"] for panel in document["panels"] if panel["type"] == "row"]
        ids = rows + [panel["id"] for panel in grafana.panels(document)]
        assert len(ids) == len(set(ids))
    for where, panel in panels:
        refs = [target["refId"] for target in panel["targets"]]
        assert len(refs) == len(set(refs)), where
        assert all(re.fullmatch(r"[a-z]\w{2,}", ref) for ref in refs), f"{where}: name each query by what it asks"
        named = [one for one in panel["targets"] if one["format"] == "time_series" and one["refId"] not in SINCE[1:]]
        legends = [target["legendFormat"] for target in named]
        # Of what lasts and what does not a series is in one, and an age is in one unit.
        parted = {re.sub(r"(?m)^( *)unless \(", r"\1and (", target["expr"]) for target in panel["targets"]}
        assert len(parted) == 1 or len(legends) == len(set(legends)), where
    # The others show some signals twice: now and over time, by model and by engine.
    overview = [where for where, _ in panels if where.startswith("draftboard-overview")]
    assert len(overview) == len(set(overview))


def test_panels_fill_the_grid_without_overlap_and_side_by_side_have_one_height(documents: dict[str, Json]) -> None:
    for uid, document in documents.items():
        for shown in (document["panels"], *(row.get("panels", []) for row in document["panels"])):
            places = [panel["gridPos"] for panel in shown]
            cells = [
                (x, y)
                for place in places
                for x in range(place["x"], place["x"] + place["w"])
                for y in range(place["y"], place["y"] + place["h"])
            ]
            assert len(cells) == len(set(cells)), uid
            for top in {place["y"] for place in places}:
                line = [place for place in places if place["y"] == top]
                titles = [panel["title"] for panel in shown if panel["gridPos"]["y"] == top]
                full = (min(place["x"] for place in line), sum(place["w"] for place in line)) == (0, 24)
                assert full, f"{uid}: not 24 wide together, give `width` or a neighbour: {titles}"
                assert len({place["h"] for place in line}) == 1, (uid, top)


def test_every_expression_parses(queries: list[tuple[str, str]]) -> None:
    numbers = {"$draft_cost": "0.1", "$verify_inflation": "1", "$lines": "6", "$price": "1"}
    values = {"$__rate_interval": "5m", "$__interval": "1m", **numbers}
    for expr in {re.sub("|".join(map(re.escape, values)), lambda found: values[found[0]], e) for _, e in queries}:
        assert promql_parser.parse(expr)


def test_rates_of_raw_series_have_grafana_s_window_and_latest_values_the_window_of_records(
    panels: Panels, settings: Settings
) -> None:
    kept = str(settings.rules.rate_window)
    for where, target in ((where, target) for where, panel in panels for target in panel["targets"]):
        followed = kept if target["instant"] else "$__rate_interval"
        for function, name, _, window in SERIES.findall(target["expr"]):
            own = OWN_WINDOWS.get(function, set()) | ({kept} if name in COUNTED else set())
            assert not function or function == "timestamp" or window in {followed, *own}, (where, name)
        assert ("$__rate_interval" in target["expr"]) <= (is_raw(where) and target["range"]), where


def test_selectors_follow_the_variables_for_scope_job_and_instance(
    reads: list[Read], documents: dict[str, Json]
) -> None:
    assert {read.where.partition(":")[0] for read in reads} == set(documents)
    for read in reads:
        wider = () if read.where.partition(":")[0] in EXPORTED_LABELS else ("cluster", "namespace")
        # A baseline may belong to another job.
        if not re.search(BESIDE, read.name) and read.matchers.get("spec_method") != "none":
            for label in (*wider, "job"):
                # An alert may lack a label, whatever is chosen.
                assert read.matchers[label] == f"${label}" + ("|" if read.name.startswith("ALERTS") else ""), read
            assert read.matchers.get("instance") == "$instance" or re.search(NO_INSTANCE, read.name), read


def test_of_counters_only_rates_and_resets_are_read(reads: list[Read]) -> None:
    counters = set(catalogue.counters())
    used = [read for read in reads if read.name in counters]
    assert used
    bare = {read.name for read in used if read.function not in {"rate", "increase", "resets", "timestamp"}}
    assert bare == {
        "vllm:spec_decode_num_accepted_tokens_per_pos_total",  # K is a number of series
        "vllm:generation_tokens_total",  # less than before: a restart is marked
        "prometheus_tsdb_wal_corruptions_total",  # found when the process starts, where no increase shows
    }


def test_an_edition_reads_records_only_or_raw_series_only(reads: list[Read]) -> None:
    for read in reads:
        if not re.search(READ_AS_THEY_ARE, read.name):
            made_by_rules = re.match(r"(engine|model|service|target|monitor):", read.name)
            assert bool(made_by_rules) is not is_raw(read.where), read


def test_no_query_is_longer_than_a_person_reads(queries: list[tuple[str, str]]) -> None:
    """Of VictoriaMetrics' limit, 16,384 characters (-search.maxQueryLen), most is for the values of variables."""
    assert [(where, len(expr)) for where, expr in queries if len(expr) > 3_000] == []


def test_labels_that_a_ruler_adds_to_alerts_make_no_rows_of_their_own(panels: Panels) -> None:
    """As vmalert's `alertgroup`."""
    exprs = (target["expr"] for _, panel in panels for target in panel["targets"])
    read = [expr for one in exprs if "ALERTS" in (expr := re.sub(r"scalar\(\s*max by \(\) \([^)]+\)", "", one))]
    assert read
    assert [expr for expr in read if not re.match(r"[(\s]*(count|max|min) by \(", expr)] == []


def test_no_query_of_raw_series_is_longer_than_a_person_reads_or_reaches_back_further_than_is_shown(
    documents: dict[str, Json],
) -> None:
    windows = re.compile(r"\[(\d\w*)(?::\w+)?\](?: offset (\w+))?")
    for uid, document in documents.items():
        if is_raw(uid):
            shown = Duration.parse(document["time"]["from"].removeprefix("now-"))
            for where, expr in grafana.queries(document):
                assert len(expr) <= 3000, where
                for window, offset in windows.findall(expr):
                    assert Duration.parse(window) + Duration.parse(offset or "0s") <= shown, where


def test_a_row_of_raw_series_names_what_only_the_recording_rules_can_show(
    documents: dict[str, Json], files: dict[str, str]
) -> None:
    for uid, document in documents.items():
        if not is_raw(uid):
            assert not [text for _, text in grafana.notes(document) if "recording rules" in text], uid
            continue
        if uid in EXPORTED_LABELS:
            assert not [*grafana.notes(document)], "it needs no rules"
            continue
        notes, raw = dict(grafana.notes(document)), grafana.rows(document)
        assert len(notes) == len(list(grafana.notes(document))), "one note a row"
        for row, panels in grafana.rows(documents[uid.removesuffix("-raw")]).items():
            asked, answered = (sum(len(one["targets"]) for one in each) for each in (panels, raw[row]))
            assert (row in notes) == (answered < asked), (uid, row)
        for text in notes.values():
            path, titles = re.fullmatch(r"\*\*Needs the recording rules\*\* \(load `(.+)`\): (.+)\.", text).groups()  # type: ignore[union-attr]
            assert path in files
            assert set(titles.split("; ")) <= {signal.title for signal in ALL}
    first_screen = dict(grafana.notes(documents["draftboard-overview-raw"]))[""]
    assert "Health; Next step; " in first_screen


def test_raw_series_show_how_much_is_accepted_how_deep_and_how_long_users_wait(panels: Panels) -> None:
    shown = {where for where, _ in panels if is_raw(where)}
    for title in (
        "overview-raw: Draft acceptance",
        "overview-raw: Mean acceptance length",
        "depth-raw: K of an engine",
    ):
        assert f"draftboard-{title}" in shown
    assert "draftboard-depth-raw: Survival by position" in shown
    assert {f"draftboard-latency-raw: {time}" for time in ("Time to first token", "Time per output token")} <= shown


def test_what_raw_series_cannot_afford_follows_the_settings() -> None:
    near = render(Settings.model_validate({"dashboards": {"time_range": "30m"}}))
    (raw,) = (one for path, one in grafana.dashboards(near).items() if "latency-raw" in path)
    assert "Servers down" in dict(grafana.notes(raw))["Are requests answered?"], "servers are remembered for an hour"


def test_opening_a_dashboard_of_records_queries_nothing_by_engine_but_what_is_about_engines(
    documents: dict[str, Json],
) -> None:
    for uid, document in documents.items():
        if not is_raw(uid) and uid != "draftboard-fleet":
            opened = [panel for panel in document["panels"] if panel["type"] != "row"]
            assert [
                one["title"] for one in opened if any("engine:" in target["expr"] for target in one["targets"])
            ] == [], f"{uid}: these cost what the number of engines costs: move them to a row with collapsed=True"


def test_dashboards_link_to_their_own_edition_with_time_and_variables(documents: dict[str, Json]) -> None:
    for uid, document in documents.items():
        (link,) = document["links"]
        assert (link["includeVars"], link["keepTime"]) == (True, True)
        assert link["tags"] == ["draftboard", "raw" if is_raw(uid) else "records"]
        assert set(link["tags"]) <= set(document["tags"])


def test_a_link_to_another_dashboard_needs_no_address_and_keeps_what_is_selected(panels: Panels) -> None:
    links = [
        link["url"]
        for _, panel in kind(panels, "table")
        for override in panel["fieldConfig"]["overrides"]
        for each in override["properties"]
        if each["id"] == "links"
        for link in each["value"]
    ]
    assert links
    for link in links:
        page = re.fullmatch(
            rf"/d/(\$\{{__data\.fields\.page\}}|draftboard-(?:{'|'.join(PAGES)})(?:-raw)?)\?\$\{{__url_time_range\}}&var-datasource=\$\{{datasource\}}&(.+)",
            link,
        )
        runbook = link.endswith("/alerts/runbooks/${__value.raw}.md")
        assert runbook or (page and page[2] == "${__data.fields.link}"), link


def test_the_link_of_a_row_carries_every_label_that_tells_models_apart(panels: Panels, settings: Settings) -> None:
    linked = [(where, panel) for where, panel in kind(panels, "table") if "__data.fields.link" in str(panel)]
    assert linked
    of = settings.labels
    for where, panel in linked:
        for target in panel["targets"]:
            joined = re.search(r'"joined", ";", ([^)]*?)\s*\)', target["expr"])
            address = re.search(r'"link", "(var-[^"]*)", "joined", "([^"]*)"', target["expr"])
            assert joined, where
            assert address, where
            labels = re.findall(r'"(\w+)"', joined[1])
            assert labels in (
                [one for one in of.filters if one in level]
                for level in (of.engine_level, of.model_level, of.of_level("service"))
            )
            assert address[1] == "&".join(f"var-{label}=${number}" for number, label in enumerate(labels, start=1))
            assert re.fullmatch(address[2], ";".join("org/a-b_c.d e" for _ in labels))
            assert '"link", "#$1", "joined", "(.*)"' in target["expr"]
            for number, one in itertools.product(range(len(labels)), "&#;%+"):
                hostile = [*labels[:number], f"a{one}var-datasource=b", *labels[number + 1 :]]
                assert not re.fullmatch(address[2], ";".join(hostile)), "such a name chooses what its row leads to"
            # Grafana before 12.2 knows the second alone.
            hidden = {"id": "custom.hideFrom", "value": {"viz": True, "legend": False, "tooltip": False}}
            own = {one["matcher"]["options"]: one["properties"] for one in panel["fieldConfig"]["overrides"]}
            helpers = ("link", "page") if '"page"' in target["expr"] else ("link",)
            assert all(own[one] == [hidden, {"id": "custom.hidden", "value": True}] for one in helpers)


def test_the_alerts_shown_are_all_of_ours_but_the_watchdog(queries: list[tuple[str, str]]) -> None:
    selectors = [one for _, expr in queries for one in re.findall(r"ALERTS\{([^}]*)\}", expr)]
    shown = {tuple(re.findall(r'alertname(=~|!=|=)"([^"]+)"', one)) for one in selectors}
    assert (("=", WATCHDOG),) in shown, "whether alerts can fire at all"
    ((ours, watchdog),) = shown - {(("=", WATCHDOG),)}
    assert ours[0] == "=~"
    assert all(re.fullmatch(ours[1], alert.name) for alert in ALERTS)
    assert watchdog == ("!=", WATCHDOG)


def test_causes_of_a_step_are_marked_by_default_and_alerts_on_demand(documents: dict[str, Json]) -> None:
    for document in documents.values():
        ours = [annotation for annotation in document["annotations"]["list"] if "target" in annotation]
        methods = [] if document["uid"] in EXPORTED_LABELS else ["New methods"]
        changes = [f"Changes of {what}" for what in ("K", "version", "drafter")]
        assert [one["name"] for one in ours if one["enable"]] == ["Restarts", *changes, *methods]
        assert [one["name"] for one in ours if not one["enable"]] == ["Firing alerts"]
        for one in ours:
            assert (one["datasource"]["uid"], one["hide"], one["target"]["interval"]) == ("${datasource}", False, "1m")
            assert one["titleFormat"].endswith(": {{series}}")
            assert re.search(r'"series",\s" ",\s"model_name",\s"spec_method",\s"variant"', one["target"]["expr"])
            # Within a step or a step ago, whatever the zoom.
            assert ("$__interval" in one["target"]["expr"]) == one["enable"], one["name"]


def test_panels_query_no_faster_than_there_are_samples() -> None:
    for scraped, evaluated, pace in (("15s", "1m", "1m"), ("30s", "10s", "30s")):
        rules = {"scrape_interval": scraped, "evaluation_interval": evaluated}
        for document in grafana.dashboards(render(Settings.model_validate({"rules": rules}))).values():
            for panel in grafana.panels(document):
                assert panel["interval"] == pace, panel["title"]
                if document["uid"].endswith("-raw"):  # There $__rate_interval follows the query's own.
                    assert all(target["interval"] == pace for target in panel["targets"]), panel["title"]


def test_a_panel_changes_colour_where_the_alert_on_its_signal_fires(panels: Panels, settings: Settings) -> None:
    limits: dict[str, set[float]] = {}
    for alert in ALERTS:
        if not alert.signal.codes:
            limits.setdefault(alert.signal.title, set()).add(value(alert.threshold(settings)[1], settings))
    watched = [(where, panel) for where, panel in kind(panels, "timeseries", "stat") if panel["title"] in limits]
    assert watched
    for where, panel in watched:
        steps = {step.get("value") for step in panel["fieldConfig"]["defaults"]["thresholds"]["steps"]}
        assert limits[panel["title"]] <= steps, where


def test_every_signal_is_shown_or_serves_another_that_is(settings: Settings) -> None:
    unseen = {entry.name for entry in inventory(settings).signals if not entry.panels}
    served = {
        "draft_tokens",  # shown as accepted and wasted
        "tokens_per_engine",  # divisor of the cost of tokens
        "measured_speedup_uncertainty",  # shown as both ends of the interval
        *(f"{name}_unresolved" for name in FELT),  # whether a percentile of the report is a number
        *(f"{name}_{part}" for name in FELT for part in ("p50", "p95", "p99")),  # shown as bounds of their buckets
        *(f"{name}_buckets" for name in FELT),  # shown as percentiles
        *("verdict", "advice"),  # shown as health, basis and next step
        "firing_alerts",  # counted and listed by severity
        *("decode_steps", "step_seconds"),  # divisor of coverage and tokens per step, dividend of the step latency
        "first_tokens",  # subtracted in tokens per step
        "at_least_accepted",  # shown as survival and as accepted length
        "each_k",  # the k axis itself
        *("accepted_tokens_per_pos", "draft_tokens_per_pos"),  # shown as survival and as acceptance by position
        # At c and v, as settings say, in reports: pages show both ends of what a step may cost.
        *("draft_cost", "verify_inflation", "break_even", "needed_per_step", "affordable_inflation"),
        *("expected_speedup", "step_speedup", "speedup_at"),
        *(
            "base_cost_low",
            "base_cost_high",
            "token_cost_low",
            "token_cost_high",
        ),  # parts of the step cost at either end
        *("draft_efficiency", "share_from_drafts"),  # in reports
        *("draft_length_at", "next_position_accepted"),  # what another K costs, and yields
        "requests_rejected",  # shown as a share of the arrivals
        *("preemptions", "prompt_tokens_by_source"),  # the first shown per request, both read by runbooks
        *("speedup_at_low", "speedup_at_high"),  # shown as gains over now, which costs change less
        *("slower_k", "slower_k_by_batch"),  # why a longer K shows no gain
        "fastest_k",  # shown as the best k, where any pays
        "decode_batch",  # the batch at which costs are read; the mean of running requests is shown
        "batch_to_baseline",  # it withholds a verdict, which names it
        *("length_baseline", "length_deviation"),  # parts of the anomaly
        "engines",  # of a side, in a comparison
        "pure_step_time_by_batch",  # dividend and divisor of the step cost
        *("baseline_step_time_by_batch", "baseline_pure_step_time_by_batch"),  # divisors of the step cost
        "metrics_missing",  # an alert: it has no model to be shown under
        "gone",  # an alert: it has no server to be shown under
        *("silence", "unserved"),  # an alert: shown as health
        "server_outlier",  # an alert: its figures are shown by server
        "replacements",  # an alert: shown as interruptions
        *("acceptance_of_hour", "acceptance_at_start", "acceptance_decline"),  # an alert: shown as draft acceptance
        "known",  # shown as servers up
        "restarts",  # an annotation, and shown as interruptions
        "runs",  # annotations
        "errors",  # dividend of the error ratio
        "http_failures",  # shown as HTTP responses by status
        "http_responses",
        "http_failure_ratio",
        "heartbeat",  # an alert: it is never silent
        *("health_since", "advice_since"),  # the first shown as the time in a health
        "stuck_engines",  # shown by a tile, as their sum
        "remote_write_failed",  # an alert: pages that read a remote store cannot show it
        *("records_missing", "alertmanagers"),  # alerts: without records and Alertmanager other pages end
        *("baseline_prompt_length", "baseline_answer_length"),  # shown as lengths of the baseline itself
        "slo_events",  # divisor of the error ratios
        *("slo_unserved", "slo_refused"),  # parts of both
        "slo_bad_events",  # their dividend
        *("slo_events_in_hour", "slo_bad_events_in_hour"),  # both of an hour, for ratios over days
        *("errors_in_hour", "request_rate_in_hour"),  # parts of an alert: shown as the share of failed requests
        *("http_faults_in_hour", "http_responses_in_hour"),  # as these, of HTTP
        *("best_k_low", "break_even_low", "break_even_high"),  # the other ends of ranges, in `explain`
        "error_budget",  # divisor of the burn rates
        "http_faults",  # shown with rejections, as HTTP server errors
        "samples_stopped",  # shown as the age of data
        *("replicas_missing", "unwatched"),  # shown as engines by state, and as the alerts on them
        "intensity",  # in reports
        "pipelined",  # widens the expected speedup
        *("k_changed", "vllm_version_changed", "draft_model_changed", "new_arm"),  # marked on every graph
        *("seen", "busy_all_day", "stays"),  # read by the state, known servers, silence and models without a server
        *(f"error_ratio_{window}" for window in ("30m", "1h", "2h", "6h", "1d", "3d")),  # shown as burn rates
    }
    assert unseen - served == set(), "give each a panel in a page of dashboards/pages/, or a reason here"
    assert served - unseen == set(), "these are shown"


def test_series_are_named_by_every_label_that_tells_models_apart(panels: Panels, settings: Settings) -> None:
    of, exported = settings.labels, ExportedLabels.of(settings.labels)
    names = ("service", "model", "target", "host", "monitor")
    levels = [each.of_level(name) for name in names for each in (of, exported)]
    variants = (of.spec_method, of.variant)  # Of one model.
    for where, panel in kind(panels, "timeseries", "stat", "state-timeline", "barchart"):
        for target in (one for one in panel["targets"] if not re.match(r"sum by \(\w*\) \(", one["expr"])):
            named = target["legendFormat"] if target["format"] == "time_series" else target["expr"]
            if re.search(r"by \((le)?\) \(|bottomk\(\s*1,", target["expr"]):  # of all models together, or of one
                continue
            if panel["options"].get("textMode") == "name":  # words, beside the model
                continue
            if named == "{{Name}}":  # a label, which the query makes of what tells models apart
                assert re.search(r'"Name", " ", [^)]*"cluster", "Name", "spec_method", "variant"\n', target["expr"]), (
                    where
                )
                continue
            if where.startswith("draftboard-compare:"):
                assert all(label in named for label in variants), where
                continue
            assert any(all(label in named for label in labels) for labels in levels), where
            model, cut_on_the_left = f"{{{{{of.model_name}}}}}", panel["type"] == "state-timeline"
            whole = named.endswith(model) if cut_on_the_left else named.startswith(model)
            assert model not in named or whole or "{{instance}}" in named, f"{where}: narrow panels cut names"


def test_a_table_keeps_the_time_until_its_columns_are_merged(panels: Panels) -> None:
    for where, panel in kind(panels, "table"):
        if len(panel["targets"]) > 1:
            first, *sorts, last = panel["transformations"]
            # Results without a sample share only the time with the others; the worst row is on top.
            assert (first["id"], last["id"]) == ("merge", "organize"), where
            assert {step["id"] for step in sorts} == {"sortBy"}, where
            # Of a text, its label is shown.
            texts = {
                "draftboard-overview: Models, worst first": (
                    *("health_age", "next_step", "health_cause", "speedup", "rank"),
                ),
                "draftboard-compare: Variants by measured speedup": ("expected",),
                **dict.fromkeys(
                    ("draftboard-overview: Firing alerts", "draftboard-overview-raw: Firing alerts"), ("alert_age",)
                ),
            }.get(where, ())
            assert last["options"]["excludeByName"] == dict.fromkeys(
                ("Time", *(f"Value #{one}" for one in texts)), True
            )
            fields = {f"Value #{target['refId']}" for target in panel["targets"]} | {"latency"}
            assert {sort["field"] for step in sorts for sort in step["options"]["sort"]} <= fields, where


@pytest.mark.parametrize(
    ("where", "worst", "falling"),
    [
        ("draftboard-overview: Models, worst first", ["Value #rank"], [False]),
        ("draftboard-latency: Latency by model", ["TPOT mean"], [True]),
        ("draftboard-depth: Draft length by model", ["Shorter, least"], [True]),
        ("draftboard-fleet: Engines by health", ["Margin, tokens", "Health"], [False, False]),
        ("draftboard-compare: Variants by measured speedup", ["Measured"], [True]),
        ("draftboard-overview: Firing alerts", ["Value #alert_age", "Severity"], [True, False]),
    ],
)
def test_the_worst_row_is_on_top(where: str, worst: list[str], falling: list[bool], panels: Panels) -> None:
    _, *sorts, last = dict(panels)[where]["transformations"]
    (keys, directions) = zip(
        *((one["field"], one["desc"]) for step in sorts for one in step["options"]["sort"]), strict=True
    )
    assert [last["options"]["renameByName"].get(key, key) for key in keys] == worst
    assert list(directions) == falling


@pytest.mark.parametrize(
    ("where", "says"),
    [
        ("draftboard-overview: Models, worst first", "where users still wait longer, turn speculation off"),
        ("draftboard-compare: Likeness of the load", "The intervals hold, each at its baseline's load"),
        ("draftboard-compare: Variants by measured speedup", "Tokens have a cost only while requests wait"),
    ],
)
def test_a_panel_says_what_joins_figures_that_seem_to_contradict_each_other(
    where: str, says: str, panels: Panels
) -> None:
    assert says in dict(panels)[where]["description"]


def test_without_requests_no_chart_of_speedups_blames_settings_alone(panels: Panels) -> None:
    empty = dict(panels)["draftboard-overview: Speedup, measured or at least expected"]["fieldConfig"]["defaults"]
    assert empty["noValue"].startswith("no requests, ")


def test_the_columns_of_a_table_fit_a_narrow_screen_and_have_heads_that_differ(panels: Panels) -> None:
    for where, panel in kind(panels, "table"):
        own = [
            (one["matcher"], {p["id"]: p["value"] for p in one["properties"]})
            for one in panel["fieldConfig"]["overrides"]
        ]
        widths = {
            m["options"]: p.get("custom.width") or p.get("custom.minWidth") for m, p in own if m["id"] == "byName"
        }
        # Scope labels are there only where they are used; a column of two names is as wide as the rest of its panel.
        flexible = {"Cluster", "Namespace", "link", "page", "Where"}
        there = {head: width or 0 for head, width in widths.items() if head not in flexible}
        assert all(width >= 50 for width in there.values()), where
        narrow = 1300 * panel["gridPos"]["w"] / 24
        assert sum(there.values()) <= narrow, (where, there)
        heads = panel["transformations"][-1]["options"]["renameByName"].values()
        assert len(set(heads)) == len(heads), where
        assert set(there) <= set(heads), where


def test_a_cell_without_a_value_is_a_dash_in_the_colour_of_text_and_a_label_that_is_absent_is_empty(
    panels: Panels,
) -> None:
    for where, panel in kind(panels, "table"):
        overrides = panel["fieldConfig"]["overrides"]
        assert TEXT_AS_IT_IS in overrides, where
        values = {f"Value #{target['refId']}" for target in panel["targets"]} if len(panel["targets"]) > 1 else set()
        last = panel["transformations"][-1]["options"]
        heads = {last["renameByName"][value] for value in values - last["excludeByName"].keys()}
        for one in overrides:
            if one["matcher"]["options"] in heads:
                (mappings,) = (each["value"] for each in one["properties"] if each["id"] == "mappings")
                assert mappings[-1]["type"] == "special", where
                says = "no queue" if one["matcher"]["options"] == "1M tokens" else "\N{EN DASH}"
                assert mappings[-1]["options"]["result"] == {"text": says, "color": "text", "index": 90}, where


def test_states_over_time_are_coloured_by_their_words_alone(panels: Panels) -> None:
    for where, panel in kind(panels, "state-timeline"):
        defaults = panel["fieldConfig"]["defaults"]
        # With colours by threshold Grafana writes the threshold in place of the state.
        assert defaults["color"]["mode"] == "fixed", where
        assert "thresholds" not in defaults, where
        (mapping,) = defaults["mappings"]
        colours = [one["color"] for one in mapping["options"].values()]
        assert all(re.fullmatch("#[0-9A-F]{6}", colour) for colour in colours), where


def test_rows_of_health_are_sorted_by_badness(panels: Panels) -> None:
    (target,) = dict(panels)["draftboard-overview: Health over time, the 10 worst"]["targets"]
    # Prometheus sorts the series of a range by their labels, capitals first: two digits sort as numbers do.
    assert re.search(r'"Health",\s+10 \+ bottomk\(\s+10,\s+model:vllm_health:rank.+ @ end\(\)', target["expr"])
    assert len(HEALTH.codes) <= 90


def test_a_tile_is_coloured_from_one_on_where_somebody_should_act(panels: Panels) -> None:
    red, orange, yellow = COLOURS[Status.BAD], COLOURS[Status.DUE], COLOURS[Status.WARN]
    for page in ("overview", "status"):
        tiles = dict(panels)[f"draftboard-{page}: Models by health"]
        own = {
            one["matcher"]["options"]: one["properties"][0]["value"]["steps"]
            for one in tiles["fieldConfig"]["overrides"]
        }
        shown = {target["legendFormat"]: own[target["refId"]] for target in tiles["targets"] if target["refId"] in own}
        assert {name: [(step["color"], step["value"]) for step in steps] for name, steps in shown.items()} == {
            "failing": [("transparent", None), (red, 1)],
            "degraded": [("transparent", None), (orange, 1)],
            "watch": [("transparent", None), (yellow, 1)],
            "pays": [("transparent", None), ("transparent", 1)],
            "other": [("transparent", None), ("transparent", 1)],
        }


def test_a_range_whose_ends_read_alike_is_one_number(panels: Panels) -> None:
    for page, table, column in (
        ("overview", "Models, worst first", "Speedup, x"),
        ("compare", "Variants by measured speedup", "Expected, x"),
    ):
        overrides = dict(panels)[f"draftboard-{page}: {table}"]["fieldConfig"]["overrides"]
        (own,) = (one["properties"] for one in overrides if one["matcher"]["options"] == column)
        mappings = [one for each in own if each["id"] == "mappings" for one in each["value"]]
        (mapping,) = (one["options"] for one in mappings if one["type"] == "regex")
        assert mapping["result"]["text"] == "$1"
        for shown, read in (("1.12 to 1.12", "1.12"), ("1.12 to 1.13", "1.12 to 1.13"), ("2.84", "2.84")):
            assert re.sub(mapping["pattern"], r"\1", shown) == read


def test_no_alert_is_counted_where_no_alert_can_fire(panels: Panels) -> None:
    for page in ("overview", "overview-raw", "status"):
        for target in dict(panels)[f"draftboard-{page}: Alerts by severity"]["targets"]:
            assert re.search(rf'or \(\s*0 \* max by \(\) \(\s*ALERTS{{[^}}]*alertname="{WATCHDOG}"', target["expr"])


def test_a_wall_has_a_tile_for_each_of_the_worst_models_in_one_order(panels: Panels) -> None:
    walls = [
        panel
        for where, panel in panels
        if where.startswith("draftboard-status:") and panel["options"].get("orientation") == "horizontal"
    ]
    assert len(walls) == 7
    ranks = set()
    for panel in walls:
        target, *without_models = panel["targets"]
        assert [one["refId"] for one in without_models] == ["no_target", "no_rules"] * (panel is walls[0])
        # A range, which Prometheus sorts by labels; Health is the first of them.
        assert target["range"]
        ranks.add(target["expr"].partition("group_left (Health)")[2])
        assert panel["timeFrom"] == "3m"
    (rank,) = ranks
    assert re.search(rf"bottomk\(\s*{ON_A_WALL},", rank)
    assert all("-1 + 0 * model:vllm_health" in panel["targets"][0]["expr"] for panel in walls)


def test_the_saving_is_money_where_a_price_is_set() -> None:
    files = render(Settings.model_validate({"cost": {"price_per_gpu_hour": 2.5, "currency": "EUR"}}))
    overview = json.loads(files["dashboards/draftboard-overview.json"])
    (table,) = (one for one in grafana.panels(overview) if one["title"] == "Savings by model")
    last = table["targets"][-1]["refId"]
    assert table["transformations"][-1]["options"]["renameByName"][f"Value #{last}"] == "EUR/h saved"
    assert table["targets"][-1]["expr"].count("expected_speedup") == 0


def test_points_of_a_scatter_are_joined_by_moment_and_model(panels: Panels) -> None:
    for where, panel in kind(panels, "xychart"):
        assert [(target["format"], target["range"]) for target in panel["targets"]] == [("table", True)] * 2, where
        kept, merge, organize, split = panel["transformations"]
        pattern = kept["options"]["include"]["pattern"].strip("/")
        across, up = (f"Value #{target['refId']}" for target in panel["targets"])
        fields = ("Time", "series", across, "job")
        assert [name for name in fields if re.fullmatch(pattern, name)] == ["Time", "series", across]
        assert merge["id"] == "merge"
        # The first number goes across.
        order = organize["options"]["indexByName"]
        assert order[across] < order[up]
        assert split["options"]["fields"] == ["series"]


def test_of_a_percentile_the_bounds_of_its_bucket_are_drawn_as_a_band(panels: Panels) -> None:
    seen = set()
    for where, panel in kind(panels, "timeseries"):
        names = [target["legendFormat"] for target in panel["targets"]]
        if "P99" in names:
            percents = (50, 95, 99) if "essentials" in where else (95, 99)
            assert names == ["mean", *(f"P{percent}{end}" for percent in percents for end in (" from", ""))], where
            looks = {one["matcher"]["options"]: one["properties"] for one in panel["fieldConfig"]["overrides"]}
            for percent in percents:
                filled = {one["id"]: one["value"] for one in looks[f"P{percent}"]}
                assert filled["custom.fillBelowTo"] == f"P{percent} from", where
            seen.add(where.partition(":")[0])
    assert seen == {"draftboard-latency", "draftboard-latency-raw", "draftboard-essentials-raw"}
    assert not [
        where for where, panel in panels if re.match(r"P\d\d |.*P\d\d over", panel["title"]) and is_interpolated(panel)
    ]


def is_interpolated(panel: Json) -> bool:
    """Whether it shows an estimate within a bucket."""
    return any(re.search(r":p\d\d_rate", target["expr"]) for target in panel["targets"])


def drawn(panel: Json) -> list[str]:
    """What limits the series of each query: the variable, or the number of models."""
    if any(step["id"] == "joinByField" for step in panel.get("transformations", [])):
        return ["$lines"] * len(panel["targets"])  # The variants of one model.
    limits = [re.findall(r"\b(?:top|bottom)k\(\s*(\S+),", target["expr"]) for target in panel["targets"]]
    summed = re.compile(r"sum by \(\w*\) \(")
    together = re.compile(r"mean|P\d+( from)?")  # Of all models.
    return [
        "sum"
        if summed.match(target["expr"]) or together.fullmatch(target["legendFormat"])
        else limit[-1]
        if limit
        else "all"
        for target, limit in zip(panel["targets"], limits, strict=True)
    ]


def test_no_panel_draws_more_than_twelve_lines_by_default(documents: dict[str, Json], panels: Panels) -> None:
    for uid, document in documents.items():
        for variable in (one for one in document["templating"]["list"] if one["name"] == "lines"):
            first = PAGES[uid.removeprefix("draftboard-").removesuffix("-raw")].lines[0]
            assert (variable["current"]["value"], variable["options"][-1]["text"]) == (str(first), "all"), uid
            assert first <= 12, uid
    for where, panel in kind(panels, "timeseries", "barchart", "xychart"):
        for target, limit in zip(panel["targets"], drawn(panel), strict=True):
            if target["legendFormat"] == "none above 0":
                continue
            alone = next(iter(re.findall("position|percentile", target["legendFormat"])), "")
            assert limit == ("sum" if limit == "sum" else "1" if alone else "$lines"), where
            if alone == "position":
                assert 'position=~"[0-9]|1[0-1]"' in target["expr"], where
    two_lines_each = {"Prefix cache hits", "HTTP errors"}  # Local and external, 4xx and 5xx.
    for where, panel in kind(panels, "timeseries"):
        named = panel["targets"][0]["legendFormat"]
        by_more = re.search(r"\{\{(source|status|identity|batch|slo|k|accepted)\}\}", named)
        if by_more and drawn(panel) == ["$lines"] and where.partition(": ")[2] not in two_lines_each:
            (shared,) = re.findall(r"and on \((.*)\) (?:top|bottom)k", panel["targets"][0]["expr"])
            assert by_more[1] in shared or f'{by_more[1]}=~"${by_more[1]}"' in panel["targets"][0]["expr"], where


def test_every_trend_of_models_on_a_dashboard_shows_the_same_models(panels: Panels, settings: Settings) -> None:
    model = ", ".join(settings.labels.model_level), ", ".join(settings.labels.of_level("service"))
    found: dict[str, set[str]] = {}
    for where, panel in kind(panels, "timeseries", "barchart", "xychart"):
        for target in panel["targets"]:
            ranked = re.search(r"and on \((.*)\) (?:top|bottom)k\(\s*\S+,([^@]+@ end\(\))", target["expr"])
            if ranked and ranked[1] in model:
                found.setdefault(where.partition(":")[0], set()).add(" ".join(ranked[2].split()))
    assert found
    assert {uid: len(orders) for uid, orders in found.items()} == dict.fromkeys(found, 1)


def test_of_slos_the_chosen_one_is_drawn(documents: dict[str, Json], panels: Panels, settings: Settings) -> None:
    for where, panel in kind(panels, "timeseries"):
        if re.search("slo|sli", panel["targets"][0]["expr"]):
            assert re.search(r'slo=~"\$slo"|"slo", "\$slo"', panel["targets"][0]["expr"]), where
    (variable,) = (one for one in documents["draftboard-latency"]["templating"]["list"] if one["name"] == "slo")
    assert [option["value"] for option in variable["options"]] == list(settings.slo.declared)


def test_a_legend_lists_names_only(panels: Panels) -> None:
    for where, panel in kind(panels, "timeseries", "barchart", "xychart"):
        legend = panel["options"]["legend"]
        if legend["showLegend"] and where != "draftboard-overview: Speedup, measured or at least expected":
            assert (legend["displayMode"], legend["placement"], legend["calcs"]) == ("list", "bottom", []), where


def test_small_shares_and_limits_are_seen_at_their_size(panels: Panels) -> None:
    for where, panel in kind(panels, "timeseries", "barchart"):
        shown = panel["fieldConfig"]["defaults"]
        end = shown.get("max", shown["custom"].get("axisSoftMax", 0))
        if shown["unit"] == "percentunit":
            assert 0 < end <= 2, f"{where}: Grafana draws zeros from 0 to 10000 %"
            assert shown.get("min", shown["custom"].get("axisSoftMin")) is not None, where
        if shown["unit"] in {"percentunit", "s"}:
            assert shown.get("decimals") != 0, f"{where}: the ticks would be 0 and 1"
        if shown["custom"].get("thresholdsStyle", {}).get("mode") == "area" and "max" not in shown:
            limits = [abs(step["value"]) for step in shown["thresholds"]["steps"] if step["value"]]
            ends = (end, -shown["custom"].get("axisSoftMin", 0))
            assert not limits or max(limits) <= max(ends), f"{where}: its zone is out of sight"


def test_no_line_is_red_by_chance_and_zones_stand_where_somebody_should_act(panels: Panels) -> None:
    for where, panel in kind(panels, "timeseries", "barchart", "xychart"):
        shown = panel["fieldConfig"]["defaults"]
        assert shown["color"] == {"mode": "palette-colorblind"}, where
        assert shown["custom"].get("thresholdsStyle", {}).get("mode") in {None, "off", "area"}, where
        colours = {step["color"] for step in shown["thresholds"]["steps"]}
        healthy = {COLOURS[status] for status in (Status.GOOD, Status.BEST, Status.QUIET, Status.NEUTRAL)}
        assert not colours & healthy, where


def test_the_axis_below_bars_shows_a_position_as_it_is_counted(panels: Panels) -> None:
    for where, panel in kind(panels, "barchart"):
        if any(step["id"] == "joinByField" for step in panel["transformations"]):
            continue  # It stands over a moment, whose axis is hidden.
        (text,) = (one for one in panel["fieldConfig"]["overrides"] if one["matcher"]["options"] == "string")
        assert text["matcher"]["id"] == "byType"
        assert {"id": "unit", "value": "string"} in text["properties"], where


def test_only_raw_histograms_query_exemplars(panels: Panels) -> None:
    queried = [where for where, panel in panels if any(target.get("exemplar") for target in panel["targets"])]
    histograms = [where for where, panel in panels if is_raw(where) and panel["targets"][-1]["legendFormat"] == "P99"]
    assert queried == histograms != []


def test_panels_of_gpus_say_when_there_is_no_gpu_exporter(panels: Panels) -> None:
    of_gpus = [(where, panel) for where, panel in panels if "DCGM_" in panel["targets"][0]["expr"]]
    assert {is_raw(where) for where, _ in of_gpus} == {True, False}
    for where, panel in of_gpus:
        assert "no GPU exporter is scraped" in panel["fieldConfig"]["defaults"]["noValue"], where


def test_raw_variables_are_narrowed_by_the_selector() -> None:
    files = render(Settings.model_validate({"selector": 'stage="a"'}))
    raw = json.loads(files["dashboards/standalone/draftboard-depth-raw.json"])
    queries = [v["query"]["query"] for v in raw["templating"]["list"] if v["type"] == "query"]
    assert queries[0] == 'label_values(vllm:generation_tokens_total{stage="a"}, cluster)'
    assert queries[1] == 'label_values(vllm:generation_tokens_total{stage="a", cluster=~"$cluster"}, namespace)'


def test_series_that_separate_good_from_bad_are_coloured_by_it(panels: Panels) -> None:
    colours: dict[str, dict[str, str]] = {}
    for _, panel in panels:
        for override in panel["fieldConfig"]["overrides"]:
            for one in override["properties"]:
                if one["id"] == "color":
                    # The last override that matches wins.
                    fixed = one["value"].get("fixedColor")
                    colours.setdefault(panel["title"], {})[override["matcher"]["options"]] = fixed

    def of(title: str, legend: str) -> str:
        return [colour for pattern, colour in colours[title].items() if re.search(pattern.strip("/"), legend)][-1]

    assert of("Engines by state", "vllm m drafting") == COLOURS[Status.NEUTRAL]
    assert of("Engines by state", "vllm m serving without drafting") == COLOURS[Status.WARN]
    assert of("Engines by state", "down") == COLOURS[Status.DOWN]
    assert of("Requests finished", "vllm m stop") == COLOURS[Status.GOOD]
    assert of("Requests finished", "vllm m error") == COLOURS[Status.BAD]
    assert of("HTTP responses by status", "vllm 10.0.0.1:8000 5xx") == COLOURS[Status.BAD]
    assert of("HTTP errors", "vllm 10.0.0.1:8000 4xx") == COLOURS[Status.WARN]
    assert set(colours["Requests finished"]) == {
        f"/(^| ){reason}( |$)/" for reason in serving.REQUESTS_FINISHED.values["finished_reason"] if reason != "abort"
    }


def test_a_row_of_the_slo_table_begins_with_the_slo(panels: Panels) -> None:
    table = dict(panels)["draftboard-latency: Attainment and error budget by SLO"]
    order = table["transformations"][-1]["options"]["indexByName"]
    refs = [f"Value #{target['refId']}" for target in table["targets"]]
    assert sorted(order, key=order.__getitem__)[-7:] == ["slo", *refs]


def test_engines_that_are_not_well_now_stand_above_those_that_are_well_again(settings: Settings) -> None:
    fleet = json.loads(render(settings)["dashboards/draftboard-fleet.json"])
    (panel,) = (one for one in grafana.panels(fleet) if one["title"] == "Engines that needed somebody")
    lasting, over = (target["expr"] for target in panel["targets"])
    at_end = "engine:vllm_health:enum_rate5m"
    assert re.search(rf"\n *and\b.*{at_end}.* @ end\(\)", lasting, re.DOTALL)
    assert re.search(rf"\n *unless\b.*{at_end}.* @ end\(\)", over, re.DOTALL)


def test_the_baseline_is_shown_beside_whatever_arm_is_chosen(documents: dict[str, Json]) -> None:
    document = documents["draftboard-compare"]
    chosen = {one["name"]: one for one in document["templating"]["list"]}
    assert chosen["baseline"]["current"]["value"] == "none"
    assert [chosen[name]["multi"] for name in ("baseline", "baseline_variant")] == [False, False]
    assert 'spec_method="$baseline"' in chosen["baseline_variant"]["definition"]
    for where, expr in grafana.queries(document):
        if not where.startswith("annotation"):
            assert 'spec_method=~"$spec_method|$baseline"' in expr, where
            assert 'variant=~"$variant|$baseline_variant"' in expr, where


def test_ages_are_rounded_down_and_each_is_in_one_unit(panels: Panels) -> None:
    """89 minutes are 1.4 hours and not 1.5."""
    tile = dict(panels)["draftboard-overview: To do first"]
    exprs = {target["refId"]: " ".join(target["expr"].split()) for target in tile["targets"]}
    bounds = {"since_min": ("", "< 3600"), "since_h": (">= 3600", "< 172800"), "since_d": (">= 172800", "")}
    for ref, ends in bounds.items():
        assert "floor(" in exprs[ref]
        assert "round(" not in exprs[ref]
        assert all(end in exprs[ref] for end in ends), ref
    table = dict(panels)["draftboard-overview: Models, worst first"]
    (age,) = (target["expr"] for target in table["targets"] if target["refId"] == "health_age")
    assert age.count("floor(") == 3
    assert "round(" not in age


def test_a_button_opens_the_page_that_explains_the_worst_model_and_says_which(panels: Panels) -> None:
    for page in ("overview", "depth", "latency", "capacity"):
        title = "Why, and what next" if page == "overview" else "To do first"
        tile = dict(panels)[f"draftboard-{page}: {title}"]
        own = {one["matcher"]["options"]: one["properties"] for one in tile["fieldConfig"]["overrides"]}
        button = {one["id"]: one["value"] for one in own["open"]}
        assert button["color"] == {"mode": "fixed", "fixedColor": BUTTON}
        (link,) = button["links"]
        assert link["url"].startswith("/d/${__field.labels.page}?")
        assert link["title"] == "Open the explanation of ${__field.labels.model_name}"
        (mapping,) = button["mappings"]
        assert {one["text"] for one in mapping["options"].values()} == {"servers", "latency", "capacity", "drafts"}


NAMED_LINK = re.compile(r"Open [a-z ]+ of \$\{__(data\.fields|field\.labels)\.\w+\}|Runbook")


def test_a_link_names_what_it_opens(panels: Panels) -> None:
    for where, panel in panels:
        overrides = [one for one in panel["fieldConfig"]["overrides"] if one["matcher"]["id"] != "byType"]
        for one in (each for override in overrides for each in override["properties"] if each["id"] == "links"):
            for link in one["value"]:
                assert re.fullmatch(
                    r"Open [a-z ]+ of \$\{__(data\.fields|field\.labels)\.\w+\}|Runbook", link["title"]
                ), where
