"""The doctor with a real Prometheus: no problem in a complete setup; every fault with what stays empty."""

import json
import re
import shlex
from collections.abc import Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager
from pathlib import Path
from types import MappingProxyType
from typing import Any

import pytest
import yaml

from conftest import program
from draftboard import build as build_room
from draftboard.alerts import of_settings
from draftboard.build.files import ALERTING, RECORDING
from draftboard.catalogue import CATALOGUE, Presence, around, latency, speculation
from draftboard.catalogue.dialects import DIALECTS
from draftboard.catalogue.metric import Kind
from draftboard.doctor import examine_cost, examine_prometheus, examine_ruler
from draftboard.doctor.buckets import FINER
from draftboard.doctor.finding import Examination, Finding, Severity
from draftboard.doctor.series import NAMES, all_readers, silenced_by
from draftboard.durations import Duration
from draftboard.lab.replay import Replay
from draftboard.prometheus import Client, Server
from draftboard.reading import Recorded
from draftboard.report import report
from draftboard.settings import Settings
from draftboard.signals import Level
from draftboard.signals.states import state
from support.dialects import page_of
from support.loopback import answering, page
from support.rulefiles import groups, series_in
from support.waiting import evaluated, sampled

pytestmark = pytest.mark.prometheus

DATA = Path(__file__).parent.parent / "data"
NGRAM = (DATA / "v0.32.0-ngram-load.prom").read_text()
BASELINE = (DATA / "v0.32.0-baseline.prom").read_text()
GPU = "".join(
    f'{metric.name}{{gpu="0"}} 1\n'
    for metric in (around.GPU_UTILISATION, around.GPU_MEMORY_USED, around.GPU_POWER, around.GPU_XID)
)
FAST = {"scrape_interval": "1s", "evaluation_interval": "1s", "window": "1m"}
CLASSIC = "text/plain; version=0.0.4"
Scraped = tuple[str, dict[str, str]]
"""A page, and the labels of its target."""


def fast(**rules: str) -> Settings:
    return Settings.model_validate({"rules": FAST | rules})


@contextmanager
def scraping(
    folder: Path, pages: Sequence[Scraped], rules: Settings | None = None, flags: tuple[str, ...] = (), **others: Any
) -> Iterator[tuple[Client, float]]:
    """A Prometheus that has scraped these pages, and evaluated the rules of these settings."""
    folder.mkdir(exist_ok=True)
    with ExitStack() as stack:
        places = [stack.enter_context(answering(page(text, Content_Type=CLASSIC))) for text, _ in pages]
        content = configuration(folder, places, [own for _, own in pages], rules, **others)
        server = Server(program("prometheus"), folder, Duration(60), content, flags)
        client = stack.enter_context(Client(stack.enter_context(server.running())))
        made = [f"count(count_over_time(up[1m]) > 2) == {len(pages)}"]  # Of one sample no rate is known.
        if rules and any("vllm:" in text for text, _ in pages):
            made.append(str(state.record_name(Level.MODEL, rules)))
        now = sampled(client, " and on () ".join(made))
        # Rules read rules of other groups, and the doctor what they record.
        yield client, max([now, *(evaluated(client) for _ in range(2 if rules else 0))])


def configuration(
    folder: Path,
    places: list[str],
    labels: list[dict[str, str]],
    rules: Settings | None,
    *,
    relabel: Sequence[dict[str, Any]] = (),
    own: dict[str, str] | None = None,
    scrape: Mapping[str, Any] = MappingProxyType({}),
) -> str:
    targets = [{"targets": [place], "labels": labels} for place, labels in zip(places, labels, strict=True)]
    job = {"job_name": "vllm", "scrape_interval": "1s", "static_configs": targets}
    document: dict[str, Any] = {"scrape_configs": [job | {**scrape, "metric_relabel_configs": [*relabel]}]}
    if own:
        (folder / "own.rules.yaml").write_text(yaml.safe_dump({"groups": [{"name": "own", "rules": [own]}]}))
    if rules:
        files = build_room.render(rules)
        for path in (RECORDING, ALERTING):
            (folder / Path(path).name).write_text(files[path])
        document["rule_files"] = ["*.rules.yaml"]
    return yaml.safe_dump(document)


def about(examination: Examination, words: str) -> Finding:
    """The one finding that says this."""
    matching = [f for f in examination.findings if words in f.what]
    assert len(matching) == 1, [(f.where, f.what) for f in examination.findings]
    (found,) = matching
    assert found.where
    assert found.fix
    return found


def test_a_complete_setup_has_no_problem(tmp_path: Path) -> None:
    labelled = [(NGRAM, {"spec_method": "ngram"}), (BASELINE, {"spec_method": "none"}), (GPU, {})]
    with scraping(tmp_path, labelled, fast()) as (client, now):
        examination = examine_prometheus(client, fast(), now)
        # A window after the values, so that they are of now.
        ruled = examine_ruler(client, client, fast(), now + fast().rules.rate_window.seconds)
    assert examination.content, examination.findings
    assert ruled.content, ruled.findings
    assert {one.alert for one in ruled.delays} == {alert.name for alert in of_settings(fast())}


def test_missing_rules_labels_and_gpus_are_found_with_what_stays_empty(tmp_path: Path) -> None:
    with scraping(tmp_path, [(NGRAM, {})]) as (client, now):
        examination = examine_prometheus(client, fast(), now)
    rules = about(examination, "not loaded")
    assert "draftboard-overview: Draft acceptance" in rules.empty.panels
    assert "draftboard-capacity: GPU utilisation" not in rules.empty.panels
    assert "VLLMTargetDown" in rules.empty.alerts
    assert "model:vllm_spec_decode_acceptance:ratio_rate1m" in rules.empty.records
    assert "dashboards/standalone require none" in rules.fix
    label = about(examination, "no target label spec_method")
    assert label.where.endswith(" of job vllm")
    gpus = about(examination, "no GPU exporter")
    assert set(gpus.empty.panels) == {
        f"draftboard-capacity: {title}"
        for title in ("GPU utilisation", "GPU memory in use", "GPU power", "Last XID error")
    }
    assert {f.severity for f in examination.findings if f is not rules} == {Severity.WARNING, Severity.NOTE}


def test_a_server_without_labels_is_known_by_its_plugin_to_report_and_doctor(tmp_path: Path) -> None:
    model = re.search('model_name="([^"]*)"', NGRAM)
    assert model
    own = f'engine="0",model_name="{model[1]}"'
    told = f'draftboard_spec_info{{{own},method="ngram",k="5",adaptive="true",rejection=""}} 1\n'
    with scraping(tmp_path, [(NGRAM + told, {})]) as (client, now):
        examination = examine_prometheus(client, fast(), now)
        (found,) = report(Recorded(client.url, at=now), fast()).models
    assert "labels: {spec_method: ngram}" in about(examination, "its plugin reports ngram").fix
    assert "labels: {spec_verification: adaptive}" in about(examination, "reports adaptive verification").fix
    assert (found.method, found.labels["spec_verification"]) == ("ngram", "adaptive")


def test_rules_of_another_window_are_not_called_missing(tmp_path: Path) -> None:
    with scraping(tmp_path, [(NGRAM, {"spec_method": "ngram"})], fast(window="2m")) as (client, now):
        found = about(examine_prometheus(client, fast(), now), "another window")
    assert "model:vllm_spec_decode_state:enum_rate2m exists" in found.what
    assert "--config" in found.fix


def test_every_fault_of_a_server_has_its_own_cause_and_fix(tmp_path: Path) -> None:
    old = "".join(line for line in NGRAM.splitlines(keepends=True) if "kv_cache_usage_perc" not in line)
    old += 'vllm:gpu_cache_usage_perc{engine="0",model_name="m"} 0.5\n'
    pages = [
        (NGRAM.replace("vllm:", "ray_vllm_"), {"instance": "by-ray"}),
        (GPU, {"instance": "no-statistics", "spec_method": "eagle3"}),
        (BASELINE, {"instance": "switched-off", "spec_method": "eagle3"}),
        (BASELINE, {"instance": "unlabelled"}),
        (NGRAM, {"instance": "no-baseline", "spec_method": "none"}),
        (old, {"instance": "old", "spec_method": "ngram"}),
        ("garbage", {"instance": "down", "spec_method": "mtp"}),
    ]
    with scraping(tmp_path, pages, fast()) as (client, now):
        examination = examine_prometheus(client, fast(), now)
    assert about(examination, "Ray Serve exposes it").where == "by-ray of job vllm"
    assert about(examination, "started with --disable-log-stats").where == "no-statistics of job vllm"
    assert about(examination, "speculation is off: the server exposes none").where == "unlabelled of job vllm"
    assert about(examination, "but exposes no series of speculation").where == "switched-off of job vllm"
    assert about(examination, "not a baseline").where == "no-baseline of job vllm"
    assert about(examination, "down: up is 0").where == "down of job vllm"
    assert about(examination, "the last scrape failed").where == "down of job vllm"
    version = about(examination, "older than vLLM")
    assert version.where == "old of job vllm"
    assert "it has the old vllm:gpu_cache_usage_perc" in version.what
    # Another server has all that these lack, so no panel is empty because of them.
    assert not any(f.empty.panels for f in examination.findings)


def test_a_counter_that_relabelling_drops_is_a_problem_with_what_stays_empty(tmp_path: Path) -> None:
    dropped = speculation.ACCEPTED_TOKENS_PER_POS.name
    page_without = "".join(line for line in NGRAM.splitlines(keepends=True) if not line.startswith(dropped))
    with scraping(tmp_path, [(page_without, {"instance": "a", "spec_method": "ngram"})]) as (client, now):
        found = about(examine_prometheus(client, fast(), now), f"no {dropped}, ")
    assert (found.severity, found.where) == (Severity.PROBLEM, "a of job vllm")
    assert "metric_relabel_configs" in found.fix
    assert "draftboard-depth: Survival by position of the worst model" in found.empty.panels
    assert "SpecDecodeAcceptanceDrop" in found.empty.alerts


@pytest.mark.parametrize("flags", [(), ("--enable-feature=native-histograms",)], ids=["not stored", "native"])
def test_histograms_that_the_scrape_converts_are_found_unless_classic_ones_are_kept(
    tmp_path: Path, flags: tuple[str, ...]
) -> None:
    converted = {"convert_classic_histograms_to_nhcb": True}
    both = converted | {"always_scrape_classic_histograms": True}
    pages, words = [(NGRAM, {"instance": "a", "spec_method": "ngram"})], "converts them to native histograms"
    with scraping(tmp_path / "converted", pages, flags=flags, scrape=converted) as (client, now):
        examination = examine_prometheus(client, fast(), now)
    found = about(examination, words)
    assert (found.severity, found.where) == (Severity.PROBLEM, "a of job vllm")
    assert "always_scrape_classic_histograms: true" in found.fix
    assert "model:vllm_request_prefill_time_seconds:mean_rate1m" in found.empty.records
    assert "SpecDecodeAcceptanceDrop" not in found.empty.alerts
    assert not [one.what for one in examination.findings if "relabelling" in one.what]
    with scraping(tmp_path / "both", pages, fast(), flags, scrape=both) as (client, now):
        kept = examine_prometheus(client, fast(), now)
    with scraping(tmp_path / "classic", pages, fast()) as (client, now):
        assert kept.findings == examine_prometheus(client, fast(), now).findings


def test_no_rule_reads_a_native_histogram() -> None:
    read = {
        name
        for group in groups(build_room.render(fast()))
        for rule in group["rules"]
        for name in series_in(rule["expr"])
    }
    assert read.isdisjoint(metric.name for metric in CATALOGUE if metric.kind is Kind.HISTOGRAM)
    assert latency.TIME_TO_FIRST_TOKEN.bucket.name in read


def test_a_prometheus_that_scrapes_no_vllm_is_a_problem_with_a_scrape_job(tmp_path: Path) -> None:
    with scraping(tmp_path, [(GPU, {})]) as (client, now):
        found = about(examine_prometheus(client, fast(), now), "no vLLM server is scraped")
    assert "sglang:" in found.what
    assert yaml.safe_load(found.paste)["scrape_configs"][0]["job_name"] == "vllm"
    assert "draftboard-overview: Speculation state" in found.empty.panels


@pytest.mark.xdist_group("demo_run")
def test_of_the_recorded_run_only_gpus_are_missing_once_its_queue_is_resolved(demo_run: Replay) -> None:
    examination = examine_prometheus(demo_run.client, demo_run.settings, demo_run.end - 60)
    faults = [f.what for f in examination.findings if f.severity is not Severity.NOTE]
    assert faults == []
    assert "another server evaluates them" in about(examination, "this Prometheus evaluates none").what


@pytest.mark.xdist_group("demo_run")
def test_a_median_under_the_first_bound_is_a_warning_with_the_flag_that_resolves_it(demo_run: Replay) -> None:
    examination = examine_prometheus(demo_run.client, demo_run.settings, demo_run.start + 120)
    found = about(examination, "are under the first bound")
    assert "step latency" in found.what
    name, value = shlex.split(found.paste)
    assert name == "--custom-histogram-buckets"
    assert json.loads(value) == {family: list(bounds) for family, bounds in FINER.items()}
    declared = demo_run.settings.model_copy(
        update={"buckets": demo_run.settings.buckets.model_copy(update={"inter_token_latency": (0.004, 0.1)})}
    )
    other = examine_prometheus(demo_run.client, declared, demo_run.start + 120)
    differs = about(other, "vllm:request_time_per_output_token_seconds has other bounds than the settings declare")
    assert differs.paste.endswith("""'{"inter_token_latency": [0.004, 0.1]}'""")


@pytest.mark.xdist_group("demo_run")
def test_records_listed_as_empty_without_speculation_are_empty_on_the_baseline(demo_run: Replay) -> None:
    """The static rule against stored data: no record in the list has a sample of the run's baseline."""
    records = silenced_by(NAMES[Presence.SPECULATING], all_readers(demo_run.settings)).records
    names = "|".join(records)
    span = (demo_run.start, demo_run.end, demo_run.step)
    there = demo_run.client.query_range(f'{{__name__=~"{names}", spec_method="none"}}', *span)
    assert there == []
    speculating = demo_run.client.query_range(f'group by (__name__) ({{__name__=~"{names}"}})', *span)
    assert len(speculating) > len(records) / 2


def test_servers_of_another_engine_are_told_from_those_that_the_settings_name(tmp_path: Path) -> None:
    settings = fast().speaking(DIALECTS["llama.cpp"])
    pages = [(page_of("llama.cpp").read_text(), {"instance": "own"}), (NGRAM, {"instance": "other"})]
    with scraping(tmp_path, pages, settings) as (client, now):
        examination = examine_prometheus(client, settings, now)
    assert DIALECTS["llama.cpp"].omits in about(examination, "llama.cpp's server reports").what
    other = about(examination, "vLLM exposes it")
    assert (other.where, other.paste.strip()) == ("other of job vllm", '[series]\ndialect = "vllm"')
    assert not [one for one in examination.findings if "older than vLLM" in one.what or "a proxy drops" in one.what]


def test_cost_counts_what_is_scraped_and_recorded(tmp_path: Path) -> None:
    labelled = [(NGRAM, {"spec_method": "ngram"}), (BASELINE, {"spec_method": "none"})]
    with scraping(tmp_path, labelled, fast()) as (client, now):
        examination = examine_cost(client, fast(), now)
        (scraped,) = client.query("sum(scrape_samples_post_metric_relabeling)", now)
        made = client.query('count({__name__=~"[a-z]+:.+:.+"})', now)[0].samples[0][1]
    assert examination.content
    read, unread, rules = examination.findings
    total = int(scraped.samples[0][1])
    counts = [int(one.what.split(" of ")[0].replace(",", "")) for one in (read, unread)]
    assert sum(counts) == total
    assert min(counts) > 0
    assert all(f"of {total:,} series" in one.what for one in (read, unread))
    assert f" in {made:,.0f} series: {made * 60:,.0f} samples a minute" in rules.what
    assert re.search(r"evaluation takes \d\S* s a minute \(\d+\.\d% of a core\)", rules.what)


@pytest.mark.parametrize("others", [0, 2])
def test_other_targets_of_the_servers_job_whose_series_the_list_would_drop_are_counted(
    tmp_path: Path, others: int
) -> None:
    with scraping(tmp_path, [(NGRAM, {}), *[(GPU, {"gpus": str(number)}) for number in range(others)]]) as (
        client,
        now,
    ):
        (found,) = (one for one in examine_cost(client, fast(), now).findings if one.paste)
    assert found.fix.endswith("it drops their series. Here vllm (2)" if others else "they are not known here")


@pytest.mark.long
def test_the_list_to_keep_leaves_all_that_rules_read_users_own_included(tmp_path: Path) -> None:
    labelled = [(NGRAM, {"spec_method": "ngram"}), (BASELINE, {"spec_method": "none"})]
    own = {"record": "team:objects", "expr": 'sum({__name__=~"python_gc_objects_.+_total"}) + sum(process_open_fds)'}
    with scraping(tmp_path / "all", labelled, fast(), own=own) as (client, now):
        (pasted,) = (one.paste for one in examine_cost(client, fast(), now).findings if one.paste)
        before = names_of(client, now)
        read = {name for rule in client.rules() for name in series_in(rule.query)}
    keep = yaml.safe_load(pasted)["metric_relabel_configs"]
    with scraping(tmp_path / "kept", labelled, fast(), own=own, relabel=keep) as (client, now):
        after = names_of(client, now)
        left = [one.what for one in examine_cost(client, fast(), now).findings if one.paste]
        problems = examine_prometheus(client, fast(), now)
    assert left == []
    assert after < before
    assert read & before <= after
    assert {"python_gc_objects_collected_total", "process_open_fds"} <= after
    assert not [one for one in problems.findings if one.severity is Severity.PROBLEM]


@pytest.mark.long
def test_where_nothing_is_scraped_nothing_is_paid(tmp_path: Path) -> None:
    with scraping(tmp_path, [("up_to_nothing 1\n", {})]) as (client, now):
        examination = examine_cost(client, fast(), now)
    assert [one.what.split(" series")[0] for one in examination.findings] == ["0 of 0", "0 records in 0"]


def names_of(client: Client, now: float) -> set[str]:
    rows = client.query('count by (__name__) ({job="vllm",__name__!~".+:.+:.+|up|scrape_.*"})', now)
    return {row.labels["__name__"] for row in rows}
