"""What the README and the pages on existing monitoring claim in passing, against what it is about."""

import re
import runpy
import shutil
import subprocess
import tomllib
from pathlib import Path
from typing import Any

import pytest

from conftest import ROOT
from draftboard.alerts import ALERTS
from draftboard.catalogue import CATALOGUE, Presence, latency
from draftboard.evidence import cheap, dear
from draftboard.settings import Settings, load
from support.rulefiles import loaded

README = (ROOT / "README.md").read_text()
EXISTING = " ".join((ROOT / "docs/operate/existing.md").read_text().split())
DECIDE = " ".join((ROOT / "docs/start/decide.md").read_text().split())
PAGES = [ROOT / "README.md", ROOT / "CONTRIBUTING.md", *sorted((ROOT / "docs").rglob("*.md"))]
PAGE = (ROOT / "tests/data/v0.32.0-ngram-load.prom").read_text()
NUMBERS = {"two": 2, "four": 4, "seven": 7}


def stated(pattern: str, text: str) -> str:
    """What a page says in one place."""
    (found,) = re.findall(pattern, text)
    return str(found)


def test_the_readme_counts_vllms_counters_of_speculation() -> None:
    exported = {*re.findall(r"(?m)^(vllm:spec_decode_\w+_total)\{", PAGE)}
    assert len(exported) == NUMBERS[stated(r"vLLM exports (\w+) counters about speculation", README)]
    known = {metric for metric in CATALOGUE if metric.name.startswith("vllm:spec_decode")}
    assert exported == {metric.name for metric in known if metric.presence is not Presence.PROPOSED}


def test_every_alert_has_a_runbook_cases_and_a_row_with_its_detection_time() -> None:
    """As the README promises of each; the watchdog always fires."""
    measured = (ROOT / "docs/reference/alerts.md").read_text()
    for name in {alert.name for alert in ALERTS if alert.exists(Settings())}:
        assert (ROOT / f"alerts/runbooks/{name}.md").exists()
        assert list((ROOT / "tests/rules").glob(f"alert-{name}*.cases.yaml"))
        assert re.search(rf"(?m)^\| .*\b{name}\b", measured), name


def test_pages_agree_on_the_oldest_python_and_prometheus() -> None:
    text = " ".join(" ".join(page.read_text().split()) for page in PAGES)
    package = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
    assert {*re.findall(r"Python (3\.\d+) or newer", text)} == {package["requires-python"].removeprefix(">=")}
    untried = stated(r"other releases of Prometheus, from ([\d.]+\d) \| \*\*not run\*\*", text)
    assert {*re.findall(r"(?:[Rr]equires?|require) Prometheus ([\d.]+\d) or newer", text)} == {untried}


def test_whoever_decides_reads_the_figures_of_the_demo_and_the_oldest_vllm() -> None:
    demo = (ROOT / "docs/start/demo.md").read_text()
    first, *busy = (float(found) for found in re.findall(r"(?m)^ 0[1-4]:00 .* (\d\.\d\d)$", demo))
    assert stated(r"was (\S+) times as fast as without speculation in a quiet minute", DECIDE) == f"{first:.2f}"
    low, high = re.findall(r"and (\S+) to (\S+) times under load", DECIDE)[0]
    assert (float(low), float(high)) == (min(busy), max(busy))
    assert stated(r"vLLM ([\d.]+\d) or newer", DECIDE) == latency.TIME_PER_OUTPUT_TOKEN.count.since


def test_a_method_without_a_label_may_cost_nothing_or_as_much_as_a_draft_model() -> None:
    assert "drafting a token may cost nothing, or as much as by a draft model" in EXISTING
    assert (cheap().other_token, dear().other_token) == (0.0, dear().token["draft_model"])


def test_dashboards_that_need_records_have_no_edition_without() -> None:
    of_records = stated(r"(`draftboard-\w+`, `draftboard-\w+` and `draftboard-\w+`) exist for records only", EXISTING)
    files = {path.stem for path in (ROOT / "dashboards/grafana-com").glob("*.json")}
    raw = {name.removesuffix("-raw") for name in files if name.endswith("-raw")}
    assert {*re.findall(r"`([\w-]+)`", of_records)} == {name for name in files if not name.endswith("-raw")} - raw


def test_severities_are_those_of_the_alerts() -> None:
    named = stated(r"label `severity` \(([^)]*)\)", EXISTING)
    assert {*re.findall(r"`(\w+)`", named)} == {alert.severity for alert in ALERTS}


def test_the_start_counts_the_dashboards_and_rule_files_of_a_stack() -> None:
    start = (ROOT / "docs/start/index.md").read_text()
    files, pages = re.findall(r"(\w+) rule files, (\w+) dashboards", start)[0]
    assert NUMBERS[files] == len(list((ROOT / "alerts").glob("*.rules.yaml")))
    assert NUMBERS[pages] == len(list((ROOT / "dashboards").glob("*.json")))


STARTS = ["README.md", *(f"docs/start/{start}.md" for start in ("compose", "existing", "kubernetes"))]


@pytest.mark.parametrize("page", STARTS)
def test_the_line_on_objectives_of_a_start_is_typed_as_it_stands_and_adds_pages(page: str, tmp_path: Path) -> None:
    text = (ROOT / page).read_text()
    line = stated(r"(?m)^ *\$ (.*time_to_first_token.*)$", text)
    (tmp_path / "deploy").mkdir()
    shutil.copy(ROOT / "deploy/draftboard.toml", tmp_path / "deploy")
    subprocess.run(["sh", "-euc", line], cwd=tmp_path, check=True)
    settings = load(tmp_path / line.rpartition("> ")[2])
    added = [alert.name for alert in ALERTS if alert.exists(settings) and not alert.exists(Settings())]
    assert {*added} == {"VLLMErrorBudgetBurnsFast", "VLLMErrorBudgetBurnsSlowly"}


def test_what_the_job_copies_follows_no_redirect_and_limits_a_page() -> None:
    options, config = (_yaml(f"deploy/prometheus/{name}.yml") for name in ("scrape-options", "prometheus"))
    assert options["follow_redirects"] is False
    assert {"sample_limit", "label_limit", "body_size_limit"} <= config["global"].keys()


def _yaml(path: str) -> Any:
    return loaded((ROOT / path).read_text())


def test_the_series_that_victoriametrics_would_drop_has_as_many_labels_as_the_page_says() -> None:
    own = re.findall(r"(?m)^vllm:cache_config_info\{(.*)\}", PAGE)[0]
    assert len(re.findall(r'\w+="', own)) == int(stated(r"`vllm:cache_config_info` of vLLM 0\.32 has (\d+)", EXISTING))


def test_the_mixin_takes_the_tables_that_the_page_names() -> None:
    named = stated(r"`_config` has `selector`, the durations of ([^.]*)\.", EXISTING)
    defaults = stated(r"(?s)local defaults = \{(.*?)\n  \}", (ROOT / "mixin.libsonnet").read_text())
    assert {*re.findall(r"`\[(\w+)\]`", named)} == {*re.findall(r"(?m)^    (\w+): \{", defaults)}


def test_the_page_on_upgrades_quotes_what_the_doctor_finds() -> None:
    page = (ROOT / "docs/operate/upgrade.md").read_text()
    quoted = re.findall(r"(?m)^\| \*([^*]+)\* \|", page)
    findings = (ROOT / "generator/draftboard/doctor/findings.toml").read_text()
    assert len(quoted) == 4
    assert [words for words in quoted if words not in findings.replace("\\\n", "")] == []


def test_pages_name_the_oldest_docker_and_compose_that_make_up_takes(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.syspath_prepend(ROOT / "deploy/tools")
    script = runpy.run_path(str(ROOT / "deploy/tools/stack.py"))
    text = " ".join(" ".join(page.read_text().split()) for page in PAGES)
    engine, compose = (".".join(map(str, script[name])) for name in ("LEAST_ENGINE", "LEAST_COMPOSE"))
    assert {*re.findall(r"Docker Engine (\d+) or newer", text)} == {engine.removesuffix(".0")}
    assert {*re.findall(r"\bCompose (\d+\.\d+)(?! of)", text)} == {compose}
