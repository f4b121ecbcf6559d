"""Tiers: what each records is what its alerts, runbooks and pages read; what it costs is printed."""

import json
import re
import subprocess
from collections.abc import Iterator, Mapping
from itertools import pairwise
from pathlib import Path

import pytest

from conftest import OBJECTIVES, ROOT
from draftboard.build import inventory, render
from draftboard.dashboards.cost import LONGEST
from draftboard.doctor import series
from draftboard.rules import price
from draftboard.settings import Settings, load
from draftboard.settings.rules import TIERS, Tier
from support import grafana
from support.budget import table
from support.command_line import run
from support.rulefiles import records_in, rules

NAME = re.compile(r"\b(?:engine|fleet|host|model|monitor|scope|service|target):\w+:\w+")
LINK = re.compile(r"/d/([\w-]+)")
GRAFANA = "https://grafana.example"
rendered = pytest.mark.long  # All files of three tiers are rendered.


def in_tier(tier: Tier) -> Settings:
    settings = load(OBJECTIVES)
    links = settings.links.model_copy(update={"grafana": GRAFANA})
    chosen = settings.rules.model_copy(update={"tier": tier})
    return settings.model_copy(update={"rules": chosen, "links": links})


@pytest.fixture(scope="module")
def built() -> dict[Tier, Mapping[str, str]]:
    return {tier: render(in_tier(tier)) for tier in TIERS}


def recorded(files: Mapping[str, str]) -> dict[str, str]:
    return {rule["record"]: rule["expr"] for rule in rules(files, "record")}


def pages(files: Mapping[str, str]) -> dict[str, grafana.Json]:
    return {path: page for path, page in grafana.dashboards(files).items() if "/standalone/" not in path}


def texts(files: Mapping[str, str]) -> Iterator[tuple[str, str]]:
    for rule in rules(files, "alert"):
        yield from ((rule["alert"], text) for text in rule["annotations"].values())
    for path in (
        *pages(files),
        *(path for path in files if path.startswith(("alerts/runbooks/", "deploy/kubernetes/rollouts"))),
    ):
        yield path, files[path]


@rendered
@pytest.mark.parametrize("tier", TIERS)
def test_whatever_rules_alerts_runbooks_and_pages_read_is_recorded(
    tier: Tier, built: Mapping[Tier, Mapping[str, str]]
) -> None:
    files = built[tier]
    made = recorded(files).keys()
    read = {rule.get("record") or rule["alert"]: records_in(rule["expr"]) - made for rule in rules(files)}
    assert {name: missing for name, missing in read.items() if missing} == {}
    every = recorded(built["full"]).keys()
    named = {where: ({*NAME.findall(text)} & every) - made for where, text in texts(files)}
    assert {where: missing for where, missing in named.items() if missing} == {}


@rendered
def test_the_least_tier_records_nothing_that_only_pages_read(built: Mapping[Tier, Mapping[str, str]]) -> None:
    files = built["alerts"]
    made = recorded(files)
    read = {name for rule in rules(files) for name in records_in(rule["expr"]) if name != rule.get("record")}
    told = {name for _, text in texts(files) for name in NAME.findall(text)}
    assert made.keys() - read - told == {
        "fleet:draftboard_recording_release:info",
        "fleet:draftboard_alerting_release:info",
    }
    assert not any(NAME.search(json.dumps(page)) for page in pages(files).values())


@rendered
def test_a_tier_has_the_records_of_the_tier_below_it_and_equal_alerts(built: Mapping[Tier, Mapping[str, str]]) -> None:
    for less, more in pairwise(TIERS):
        below, above = recorded(built[less]), recorded(built[more])
        assert below.items() < above.items()
        alerts = [{rule["alert"]: rule["expr"] for rule in rules(built[tier], "alert")} for tier in (less, more)]
        assert alerts[0] == alerts[1]


@rendered
def test_no_alert_and_no_page_links_to_a_page_that_the_tier_lacks(built: Mapping[Tier, Mapping[str, str]]) -> None:
    for files in built.values():
        there = {page["uid"] for page in pages(files).values()}
        links = {rule["alert"]: rule["annotations"]["dashboard_url"] for rule in rules(files, "alert")}
        links |= {path: json.dumps(page) for path, page in pages(files).items()}
        dead = {where: {*LINK.findall(text)} - there for where, text in links.items()}
        assert {where: uids for where, uids in dead.items() if uids} == {}


@rendered
def test_a_page_whose_records_are_missing_reads_raw_series(built: Mapping[Tier, Mapping[str, str]]) -> None:
    raw = {tier: {Path(path).stem for path in pages(built[tier]) if path.endswith("-raw.json")} for tier in TIERS}
    assert raw["full"] == set()
    assert raw["standard"] == {"draftboard-latency-raw"}
    assert raw["alerts"] == {f"{Path(path).stem}-raw" for path in pages(built["full"])}
    notes = [note for page in pages(built["alerts"]).values() for _, note in grafana.notes(page)]
    assert notes
    assert all(note.startswith('**Not recorded** with `rules.tier = "alerts"`: ') for note in notes)


@rendered
def test_no_tier_has_a_query_of_raw_series_that_no_person_reads(built: Mapping[Tier, Mapping[str, str]]) -> None:
    raw = {(tier, path): page for tier in TIERS for path, page in pages(built[tier]).items() if "-raw" in path}
    long = {(*where, query): len(query) for where, page in raw.items() for _, query in grafana.queries(page)}
    assert max(long.values()) <= LONGEST, max(long, key=lambda one: long[one])[:2]


def test_each_tier_costs_more_than_the_one_below_it() -> None:
    prices = [price(Settings(), tier) for tier in TIERS]
    for less, more in pairwise(prices):
        assert less.records < more.records
        for kind in ("samples", "series", "megabytes"):
            assert getattr(less, kind).an_engine <= getattr(more, kind).an_engine
            assert getattr(less, kind).a_model < getattr(more, kind).a_model
    assert {one.uncounted for one in prices} == {0}


def test_the_price_is_that_of_the_counted_fleets() -> None:
    found, full = table(), price(load(OBJECTIVES), "full")
    for engines in ("10", "20"):
        samples = full.samples.an_engine * int(engines) + full.samples.a_model * 5
        assert samples == pytest.approx(sum(found["rules"][engines].values()))


def test_the_documentation_has_the_prices_of_the_defaults() -> None:
    page = (ROOT / "docs/operate/scale.md").read_text()
    for one in (price(Settings(), tier) for tier in TIERS):
        amounts = (
            f"{one.samples.an_engine:,.0f} + {one.samples.a_model:,.0f}",
            f"{one.series.an_engine:.0f} + {one.series.a_model:.0f}",
            f"{one.megabytes.an_engine:.2f} + {one.megabytes.a_model:.2f}",
        )
        (row,) = [line for line in page.splitlines() if line.startswith(f"| `{one.tier}` |")]
        assert [cell.strip() for cell in row.split("|")[3:-1]] == [f"{one.records}", *amounts]


def test_rules_over_windows_that_were_not_counted_are_left_out_and_said() -> None:
    settings = load(None)
    longer = settings.model_copy(update={"rules": settings.rules.model_copy(update={"window": "6m"})})
    assert price(Settings.model_validate({"rules": {"window": "6m"}}), "full").uncounted > 100
    assert price(longer.model_copy(update={"rules": settings.rules}), "full").uncounted == 0


def test_build_prints_what_each_tier_costs(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (tmp_path / "settings.toml").write_text('[rules]\ntier = "standard"\n')
    code, out, _ = run("build", "--config", tmp_path / "settings.toml", "--out", tmp_path / "out", capsys=capsys)
    assert code == 0
    assert 'The rules are of the tier "standard"' in out
    rows = dict(re.findall(r"^ *(alerts|standard|full) +(\d+) ", out, re.MULTILINE))
    assert list(rows) == [*TIERS]
    made = (tmp_path / "out/alerts/recording.rules.yaml").read_text().count("- record:")
    assert made == int(rows["standard"]) - 1  # The other release stands in the other file.


@rendered
def test_doctor_and_signals_name_records_of_the_tier_only(built: Mapping[Tier, Mapping[str, str]]) -> None:
    settings = in_tier("alerts")
    made = recorded(built["alerts"]).keys()
    fed = {record for reader in series.all_readers(settings) for record in reader.feeds.records}
    listed = {record for entry in inventory(settings).signals for record in entry.records}
    assert fed == listed == made - {name for name in made if name.endswith("_release:info")}


@rendered
def test_promtool_takes_the_files_of_each_tier(
    built: Mapping[Tier, Mapping[str, str]], tmp_path: Path, promtool: Path
) -> None:
    for tier in ("alerts", "standard"):
        files = built[tier]
        for path in ("alerts/recording.rules.yaml", "alerts/alerting.rules.yaml"):
            name = tmp_path / f"{tier}-{Path(path).name}"
            name.write_text(files[path])
            subprocess.run([promtool, "check", "rules", name], check=True, capture_output=True)
