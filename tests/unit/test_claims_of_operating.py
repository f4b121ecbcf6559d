"""What the pages on operating, on concepts and of reference state as a number or a name: each has one origin."""

import json
import math
import re
import tomllib
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest

from conftest import ROOT
from draftboard.alerts import ALERTS
from draftboard.build import render
from draftboard.build.files import RECORDING
from draftboard.catalogue import latency
from draftboard.catalogue.known import known_series
from draftboard.doctor.releases import RELEASES
from draftboard.durations import Duration
from draftboard.evidence import curve, fit
from draftboard.evidence.assumed import LONG_PROMPT, assumed_ranges
from draftboard.evidence.measurements import published
from draftboard.rulers import RULERS
from draftboard.rules import LINKS, LONGEST, LONGEST_QUERY
from draftboard.settings import Settings, load
from draftboard.signals import users
from draftboard.signals.capacity import prefix_cache_hits
from support.budget import table
from support.rulefiles import groups, loaded, present_in
from support.worlds import CLASSES

PAGES = {
    str(path.relative_to(ROOT / "docs")): " ".join(path.read_text().split())
    for path in sorted((ROOT / "docs").rglob("*.md"))
}
SETTINGS = Settings()
COMPOSE = loaded((ROOT / "deploy/docker-compose.yml").read_text())
MINUTES = {"six": 6, "seven": 7}
_LEAST = users.FEWEST + users.APART
_RANGES, _PUBLISHED = assumed_ranges(), published()
_WINDOW = SETTINGS.rules.rate_window
_SLOWER = sum(one.speedup < 1 for one in _PUBLISHED.measurement)
_BUCKETS = latency.STEP_LATENCY.buckets
_WORLDS = (ROOT / "tests/unit/test_simulated_worlds.py").read_text()
_NEAR, _ENOUGH, _HELD = map(float, re.findall(r"(?m)^NEAR, ENOUGH, HELD = (.*), (.*), (.*)$", _WORLDS)[0])
_BATCHES = {batch for batches in CLASSES.values() for batch in batches}
STATED = [
    ("start/decide.md", f"give a figure, {_LEAST * _WINDOW.seconds // 60} minutes its margin of chance"),
    ("concepts/measured.md", f"the first interval comes after {_LEAST * _WINDOW.seconds // 60} minutes"),
    ("concepts/measured.md", f"each of the last {users.WINDOWS} windows (two hours) and needs nine of them"),
    ("concepts/measured.md", f"({users.FACTOR} x median change of ln(measured speedup) over {users.APART} windows)"),
    ("concepts/measured.md", f"of 500 requests on each side {100 * 2 * math.sqrt(2 / 500):.0f} %"),
    ("concepts/break-even.md", f"of {len(_PUBLISHED.measurement)} published measurements they overstate all"),
    ("concepts/break-even.md", f"of the {_SLOWER} servers that speculation made slower"),
    ("concepts/break-even.md", f"from {len(_PUBLISHED.origins)} origins"),
    ("concepts/break-even.md", f"computing dominates: {math.floor(_RANGES.knee.low)} to {_RANGES.knee.high:,.0f}"),
    ("concepts/break-even.md", f"one more origin with a probability of {fit.PROBABILITY:.0%}".replace("%", " %")),
    ("concepts/break-even.md", f"over {LONG_PROMPT // 1024}K tokens make it {_RANGES.unlike:.1f} times as wide"),
    ("concepts/break-even.md", f"a batch of over {_RANGES.largest_batch} requests there is no measurement"),
    ("concepts/break-even.md", f"that of the curve, of {curve._RESAMPLES} curves"),  # noqa: SLF001
    ("concepts/break-even.md", f"it ended within {100 * (1 - _NEAR):.0f} % of the best"),
    ("concepts/break-even.md", f"requires {100 * _ENOUGH:.0f} % of each class and {100 * _HELD:.0f} % of the ranges"),
    ("concepts/break-even.md", f"random servers (batches of {min(_BATCHES)} to {max(_BATCHES)}, bursty text"),
    ("concepts/break-even.md", f"In {re.findall('judge.walks.(.+)..$', _WORLDS, re.MULTILINE)[-1]} random servers"),
    ("concepts/limits.md", f"0.8.5 to {RELEASES[-1].removesuffix('.0')}. "),
    ("operate/existing.md", f"No group has more than {LONGEST} rules, two fewer than Mimir's default limit"),
    ("operate/existing.md", "chains of at most three records instead of eleven"),
    ("operate/existing.md", f"limit, `-search.maxQueryLen` of {LONGEST_QUERY // 1024} KB"),
    ("operate/existing.md", f"P99 from {_BUCKETS[0] * 1000:g} ms to {_BUCKETS[1] * 1000:g} ms"),
    ("operate/existing.md", f"critical alerts every {SETTINGS.stack.notify.repeat_critical.seconds // 60} minutes"),
    ("operate/settings.md", f"start at {_BUCKETS[0] * 1000:g} ms, those of requests at"),
    ("operate/settings.md", f"those of requests at {latency.END_TO_END_LATENCY.buckets[0] * 1000:g} ms"),
    ("reference/alerts.md", f"Alertmanager waits another {SETTINGS.stack.notify.group_wait.seconds} s"),
]
"""A page and a sentence of it, with the numbers of the code."""


@pytest.mark.parametrize(("page", "sentence"), STATED)
def test_a_number_on_a_page_is_that_of_the_code(page: str, sentence: str) -> None:
    assert sentence in PAGES[page]


def test_numbers_that_pages_write_as_words_are_those_of_the_code() -> None:
    assert Duration(users.WINDOWS * _WINDOW.seconds) == Duration(7200)
    assert (users.FEWEST, users.APART, LINKS) == (9, 4, 3)
    assert 2**curve._LEAST_DOUBLINGS == 2  # noqa: SLF001 - "where n varied less than twofold"
    assert 20 - LONGEST == 2  # Mimir, -ruler.max-rules-per-rule-group
    assert SETTINGS.labels.scope == ("cluster", "namespace")


def test_records_and_alerts_on_days_lag_as_the_page_says(files: Mapping[str, str]) -> None:
    """A record that another group reads is older by up to that group's interval."""
    made: dict[str, tuple[str, int]] = {}
    lag: dict[str, int] = {}
    for group in groups(dict(files)):
        for rule in group["rules"]:
            below = [made[name] + (lag[name],) for name in present_in(rule["expr"]) if name in made]
            name = rule.get("record") or rule["alert"]
            lag[name] = max((late + (pace if of != group["name"] else 0) for of, pace, late in below), default=0)
            if "record" in rule:
                made[name] = group["name"], Duration.parse(group["interval"]).seconds
    page = PAGES["operate/existing.md"]
    found = re.findall(r"records on it lag by up to (\w+) minutes, and alerts by up to (\w+)\.", page)
    assert [tuple(MINUTES[one] for one in found[0])] == [
        (max(lag[one] for one in made) // 60, max(lag[one] for one in lag.keys() - made.keys()) // 60)
    ]


def test_the_page_on_scale_counts_the_series_of_the_budget() -> None:
    """The fleets of the budget have five models, and four objectives."""
    held = table()["series"]
    few, many = (sum(n for name, n in held[of].items() if re.match("(?!vllm).*:", name)) for of in ("10", "20"))
    engine = (many - few) / 10
    (said,) = re.findall(
        r"Rules add (\d+) series an engine and, with four SLOs, (\d+) a model", PAGES["operate/scale.md"]
    )
    assert said == (f"{engine:.0f}", f"{(few - 10 * engine) / 5:.0f}")


def test_a_full_disk_is_told_as_early_as_the_page_says() -> None:
    table_of_alerts = (ROOT / "docs/reference/alerts.md").read_text()
    (minutes,) = re.findall(r"\[`DraftboardSamplesStopped`\].* \| (\d+) min \| \d+ min \|", table_of_alerts)
    assert int(minutes) + SETTINGS.stack.notify.group_wait.seconds / 60 < 4
    assert "`make up` below 5 %" in PAGES["operate/scale.md"]
    assert "LEAST_FREE = 0.05 " in (ROOT / "deploy/tools/stack.py").read_text()


def test_the_pages_name_the_versions_of_grafana_that_a_test_opens() -> None:
    named = re.findall(r"tested with Grafana ([\d., and]+)\. ", PAGES["operate/existing.md"])[0]
    newest = json.loads((ROOT / "tests/grafana/package.json").read_text())["dependencies"]["@grafana/data"]
    older = {path.name for path in (ROOT / "tests/grafana/versions").iterdir()}
    assert {*re.findall(r"\d+\.\d+", named)} == older | {newest.rpartition(".")[0]}


def test_the_page_on_a_fleet_shows_as_many_lines_as_pages_say() -> None:
    page = json.loads((ROOT / "dashboards/draftboard-fleet.json").read_text())
    (lines,) = (one["current"]["value"] for one in page["templating"]["list"] if one["name"] == "lines")
    assert "the worst engines by each figure, five of them unless the menu says more" in PAGES["operate/existing.md"]
    assert lines == "5"


def test_a_message_lists_as_many_alerts_as_the_page_says() -> None:
    template = (ROOT / "deploy/alertmanager/templates/draftboard.tmpl").read_text()
    assert {*re.findall(r"if lt \$index (\d+)", template)} == {"5"}
    assert "with their number and the first five" in PAGES["operate/notifications.md"]


def test_finer_buckets_on_the_page_are_those_of_the_stack() -> None:
    (shown,) = re.findall(r"--custom-histogram-buckets '(\{.*?\})'", PAGES["operate/settings.md"])
    assert json.loads(shown) == tomllib.loads((ROOT / "deploy/draftboard.toml").read_text())["buckets"]


def test_volumes_profiles_and_flags_that_pages_name_are_those_of_the_stack() -> None:
    table_of_volumes = " ".join(re.findall(r"\| (`draftboard_[^|]*) \|", PAGES["operate/scale.md"]))
    assert {*re.findall(r"`draftboard_([\w-]+)`", table_of_volumes)} == {*COMPOSE["volumes"]}
    profiles = {name for service in COMPOSE["services"].values() for name in service.get("profiles", ())}
    named = {
        name
        for page in PAGES.values()
        for list_ in re.findall(r"COMPOSE_PROFILES=([\w,-]+)", page)
        for name in list_.split(",")
    }
    assert named - {"monitoring"} <= profiles  # No service: all that run without a profile.
    flags = {*re.findall(r"`[^`]*?(--rules\.alert[\w.-]+=\w+)", PAGES["operate/existing.md"])}
    assert flags <= {*COMPOSE["services"]["prometheus"]["command"]}
    assert flags


def test_alerts_on_acceptance_and_decoding_carry_an_explanation() -> None:
    rules: list[dict[str, Any]] = [
        rule
        for group in loaded((ROOT / "alerts/alerting.rules.yaml").read_text())["groups"]
        for rule in group["rules"]
        if "alert" in rule
    ]
    carry = {rule["alert"] for rule in rules if "explanation" in rule["annotations"]}
    assert carry >= {f"SpecDecodeAcceptance{one}" for one in ("Drop", "Decline")} | {"VLLMStepsSlow"}
    assert all("command" in rule["annotations"] for rule in rules if rule["alert"] != "DraftboardWatchdog")


def test_uids_of_dashboards_begin_as_the_page_on_migrating_says() -> None:
    uids = [json.loads(path.read_text())["uid"] for path in (ROOT / "dashboards").rglob("*.json")]
    assert "uids begin with `draftboard-`" in PAGES["migrate.md"]
    assert [uid for uid in uids if not uid.startswith("draftboard-")] == []


def _blocks(language: str) -> list[tuple[str, str]]:
    """Of all pages, with their page."""
    pages = (ROOT / "README.md", *sorted((ROOT / "docs").rglob("*.md")))
    of = rf"(?ms)^```{language}\n(.*?)^```"
    return [(str(page.relative_to(ROOT)), block) for page in pages for block in re.findall(of, page.read_text())]


@pytest.mark.parametrize(("page", "block"), [one for one in _blocks("toml") if "[[incident]]" not in one[1]])
def test_settings_that_a_page_shows_are_valid(page: str, block: str, tmp_path: Path) -> None:
    (tmp_path / "draftboard.toml").write_text(block)
    assert load(tmp_path / "draftboard.toml"), page


def test_pages_show_settings() -> None:
    assert len(_blocks("toml")) >= 15


def test_the_page_on_rulers_has_a_row_of_each() -> None:
    rows = re.findall(r"(?m)^\| `(\w+)` \| .* \|$", _of("operate/existing.md").partition("| `--ruler` |")[2])
    assert tuple(rows) == RULERS
    assert "; Thanos 0.32 or newer" in PAGES["operate/existing.md"]
    assert "Requires Thanos 0.32," in render(Settings.model_validate({"rules": {"ruler": "thanos"}}))[RECORDING]


def _of(page: str) -> str:
    return (ROOT / "docs" / page).read_text()


def test_a_scrape_takes_as_many_engines_as_the_page_says() -> None:
    stored = re.compile("|".join(known_series(SETTINGS.dialect)))
    names = re.findall(r"(?m)^([\w:]+)(?=[{ ])", (ROOT / "tests/data/v0.32.0-ngram-load.prom").read_text())
    engine = sum(bool(stored.fullmatch(name)) for name in names)
    assert SETTINGS.stack.limits.samples // engine >= 10
    assert "By default a page may have ten engines of vLLM" in PAGES["operate/existing.md"]


def test_what_the_pages_say_of_targets_is_what_the_settings_and_the_scrape_take() -> None:
    assert "`spec_verification: adaptive` (or `dynamic`)" in PAGES["operate/existing.md"]
    assert SETTINGS.methods.adaptive == ("adaptive", "dynamic")
    assert "by `unsafe-name-` and a number" in PAGES["operate/existing.md"]
    assert '"replacement": "unsafe-name-$1"' in (ROOT / "deploy/prometheus/scrape-options.yml").read_text()


def test_an_alert_lasts_after_a_crash_as_long_as_the_page_says() -> None:
    """Alertmanager keeps it for four times the delay, from a sending that is up to one delay old."""
    (resent,) = re.findall(r"--rules.alert.resend-delay=(\d+)m", " ".join(COMPOSE["services"]["prometheus"]["command"]))
    assert f"With {resent}m, as in the stack, six to eight minutes remain" in PAGES["operate/notifications.md"]
    assert (3 * int(resent), 4 * int(resent)) == (6, 8)


def test_the_loss_that_users_feel_fires_as_the_pages_say() -> None:
    (alert,) = (one for one in ALERTS if one.name == "VLLMSpeculationSlowsUsers")
    assert "30 minutes below 0.95" in PAGES["concepts/measured.md"]
    assert (str(alert.for_), SETTINGS.thresholds.slower, str(SETTINGS.rules.baseline_steps)) == ("30m", 0.95, "3d")
    assert "count for three days" in PAGES["concepts/measured.md"]
    assert "disables the alert on an acceptance drop for an hour" in PAGES["concepts/limits.md"]
    assert str(SETTINGS.rules.compare_with) == "1h"


def test_the_page_on_performance_names_the_bounds_of_its_test() -> None:
    bounds = (ROOT / "tests/real/test_dashboard_costs.py").read_text()
    assert "`draftboard-overview` below 1/300 over 3 hours" in PAGES["reference/performance.md"]
    assert "CHEAPER = 300\n" in bounds


def test_placeholder_drafts_begin_with_one_release_on_page_and_dashboards() -> None:
    (since,) = re.findall(r"since vLLM ([\d.]+) such requests start with placeholder", PAGES["concepts/limits.md"])
    assert f"(vLLM {since} and newer)" in prefix_cache_hits.note


def test_names_that_pages_promise_are_those_of_what_is_built(files: Mapping[str, str]) -> None:
    existing, labels = PAGES["operate/existing.md"], SETTINGS.labels
    for label in (labels.spec_method, labels.variant, labels.spec_verification, labels.host):
        assert re.search(rf"`{label}\b", existing) or f"{{{label}: " in existing, label
    assert "rule groups named `draftboard-...`" in existing
    assert [group["name"] for group in groups(dict(files)) if not group["name"].startswith("draftboard-")] == []
    assert "(folder or tag `draftboard`)" in existing
    pages = [json.loads(path.read_text()) for path in (ROOT / "dashboards").glob("*.json")]
    assert [page["uid"] for page in pages if "draftboard" not in page["tags"]] == []
    assert f"`stack.secrets` (`{SETTINGS.stack.secrets}` in the containers)" in PAGES["operate/notifications.md"]
    assert "over the past day (`rules.baseline`)" in PAGES["concepts/break-even.md"]
    assert str(SETTINGS.rules.baseline) == "1d"
