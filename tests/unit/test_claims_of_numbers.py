"""Figures that several pages repeat, and defaults in prose: each has one origin."""

import json
import re
import tomllib
from fractions import Fraction
from typing import Any

import pytest

from conftest import ROOT
from draftboard.alerts import ALERTS
from draftboard.catalogue import latency, speculation
from draftboard.evidence import Ruling
from draftboard.settings import Settings
from draftboard.settings.objectives import FAST, SLOW
from scripts.costs import left_out
from support.hostile import CORPUS

PAGES = {
    str(path.relative_to(ROOT)): " ".join(path.read_text().split())
    for path in (ROOT / "README.md", *sorted((ROOT / "docs").rglob("*.md")))
}
BEFORE_NUMBER = re.compile(r"`([a-z_]+(?:\.[a-z_0-9]+)+)` \((\d[\d.]*[smhd]?)\)")
"""A setting, and in brackets its default."""
QUOTED = [(page, *found) for page, text in PAGES.items() for found in BEFORE_NUMBER.findall(text)]
DEMO = re.findall(
    r"(?m)^ 0(\d):00 +(\d\.\d\d) +(\d\.\d\d) +(\d\.\d\d) +(\d\.\d\d) +(\d\.\d\d) +(\d\.\d\d)$",
    (ROOT / "docs/start/demo.md").read_text(),
)
"""Minute, tokens per step, step cost, expected speedup and measured speedup, which a test compares with `make demo`."""
COMPOSE = (ROOT / "deploy/docker-compose.yml").read_text()


def default(setting: str) -> Any:
    """The default of a setting, by its path."""
    value: Any = Settings()
    for part in setting.split("."):
        value = getattr(value, part)
    return value


def stated(pattern: str, page: str) -> tuple[str, ...]:
    """What a page says in one place."""
    found = re.search(pattern, PAGES[page])
    assert found, f"{page}: {pattern}"
    return found.groups()


@pytest.mark.parametrize(("page", "setting", "number"), QUOTED)
def test_a_setting_before_a_number_has_it_as_default(page: str, setting: str, number: str) -> None:
    value = default(setting)
    assert str(value) == number or Fraction(str(value)) == Fraction(number), f"{page}: {setting} is {value}"


def test_the_pages_quote_defaults() -> None:
    assert len(QUOTED) >= 12


def test_every_page_repeats_the_figures_of_the_demo() -> None:
    (_, _, easy, _, expected, _, first), (_, tokens, _, _, slow, _, second), (_, _, busy, *_), _ = DEMO
    assert stated(r"\| (\S+) with one client, (\S+) under load", "README.md") == (easy, busy)
    assert stated(r"(\S+) in the first minute, (\S+) in the second", "README.md") == (first, second)
    assert stated(r"tokens (\S+) times as fast with one client, and (\S+) times under load", "README.md") == (
        first,
        second,
    )
    page = "docs/concepts/break-even.md"
    assert stated(r"break-even rises from (\S+) with one client to (\S+) with many", page) == (easy, busy)
    page = "docs/concepts/measured.md"
    assert stated(r"the first minute has (\S+)\.\)", page) == (first,)
    assert stated(r"5\.5 / 6\.6 = (\S+)", page) == (second,)
    assert stated(r"expected speedups were (\S+) and (\S+)\.", page) == (expected, slow)
    page = "docs/tune/errata.md"
    assert stated(r"a busy batch has (\S+) tokens a step and a speedup of (\S+)\.", page) == (tokens, second)


def test_the_drill_takes_as_long_on_every_page() -> None:
    (after,) = stated(r"receiver warning +(\S+ s) ", "docs/start/demo.md")
    assert stated(r"reaches the webhook after (\S+ s) of a", "README.md") == (after,)


def test_pages_agree_on_what_small_costs_promise() -> None:
    errata = stated(
        r"in the median by (\d+) %. Of the (\d+) servers .* promises a gain to (\d+)\.", "docs/tune/errata.md"
    )
    more, gain, slower = stated(
        r"the median by (\d+) %, and they promise a gain to (\d+) of the (\d+) servers", "docs/concepts/break-even.md"
    )
    assert (more, slower, gain) == errata


@pytest.mark.long
def test_leaving_out_each_origin_gives_the_figures_of_the_page() -> None:
    page = "docs/concepts/break-even.md"
    held, rows = stated(r"the range held (\d+) of its (\d+) speedups, and no verdict said the contrary", page)
    verdicts, of = stated(r"(\d+) of (\d+) had a verdict at all", page)
    left = list(left_out())
    assert (sum(one.held for one in left), len(left)) == (int(held), int(rows))
    assert not any(one.wrong for one in left)
    assert (sum(one.says is not Ruling.UNCLEAR for one in left), len(left)) == (int(verdicts), int(of))


def test_the_page_on_limits_names_the_first_releases_with_each_counter() -> None:
    since, steps = stated(
        r"in every V1 release from (\S+) to \S+\. `coverage` and `tokens per step` require (\S+\d)\.",
        "docs/concepts/limits.md",
    )
    assert since == speculation.DRAFTS.since
    assert steps == latency.STEP_LATENCY.since


def test_burn_rates_are_those_of_the_alerts() -> None:
    fast = stated(r"burn rate of (\S+) over an hour, or (\d+) over six hours", "docs/operate/settings.md")
    slow = stated(r"burn rate of (\d+) over a day, or (\d+) over three days", "docs/operate/settings.md")
    for said, paces in ((fast, FAST), (slow, SLOW)):
        assert [float(one) for one in said] == pytest.approx([pace.factor(Settings().slo.window) for pace in paces])


def test_retention_is_as_the_page_says() -> None:
    table = re.findall(r"\| (\w+) \| `([a-z_.]+)` \|", PAGES["docs/operate/scale.md"])
    assert len(table) == 5
    assert [length for length, _ in table] == [
        str(default("rules.rate_window" if setting == "rules.window" else setting)) for _, setting in table
    ]
    days, size = stated(r"The stack keeps (\d+) days or (\d+) GB", "docs/operate/scale.md")
    assert f"RETENTION_TIME:-{days}d" in COMPOSE
    assert f"RETENTION_SIZE:-{size}GB" in COMPOSE
    assert stated(r"weights, (\d+) GB for Prometheus", "docs/operate/install.md") == (size,)
    assert "retention of two years (`LONG_RETENTION`)" in PAGES["docs/operate/scale.md"]
    assert "LONG_RETENTION:-2y" in COMPOSE


def test_examples_that_a_page_lists_exist() -> None:
    listed = stated(r"Other values of `EXAMPLE` are ([\w, ]+)\.", "docs/start/compose.md")[0]
    files = {path.stem for path in (ROOT / "deploy/examples").glob("*.env")}
    assert {*re.findall(r"\w+", listed)} - {"and"} | {"ngram"} == files
    table = re.findall(r"(?m)^\| `(\w+)` \| [A-Z]", (ROOT / "docs/operate/install.md").read_text())
    assert {*table} == files


def test_extras_that_pages_name_exist() -> None:
    extras = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]["optional-dependencies"]
    page = PAGES["docs/start/command-line.md"]
    for named in re.findall(r"'(?:\.|\S+whl)\[([a-z,]+)\]'", page):
        assert {*named.split(",")} <= extras.keys()
    assert all(f"`{name}`" in page for name in extras)


def test_the_threat_model_counts_the_hostile_texts() -> None:
    assert stated(r"any of it, (\d+) hostile texts", "docs/contribute/threats.md") == (str(len(CORPUS)),)


def test_probes_page_after_as_long_as_the_page_says() -> None:
    (alert,) = (one for one in ALERTS if one.name == "VLLMUsersUnserved")
    assert "fail for ten minutes" in PAGES["docs/operate/notifications.md"]
    assert str(alert.for_) == "10m"


def test_vllm_has_half_an_hour_to_load() -> None:
    assert "Health checks allow half an hour" in PAGES["docs/operate/troubleshooting.md"]
    assert COMPOSE.count("start_period: 30m") == 1


def test_what_the_chart_was_checked_with_is_what_its_tests_use() -> None:
    locked = (ROOT / "constraints.txt").read_text()
    page = "docs/operate/kubernetes.md"
    operator, kubernetes = stated(r"models of the Prometheus operator (\S+) and of Kubernetes (\S+) \|", page)
    assert f"cloudcoil-models-prometheus-operator=={operator}." in locked
    assert f"kubernetes-validate=={kubernetes}." in locked


def test_dashboards_of_the_import_folder_are_as_many_as_pages_say() -> None:
    files = {path.stem for path in (ROOT / "dashboards/grafana-com").glob("*.json")}
    assert "import the seven dashboards of that folder without `-raw`" in PAGES["README.md"]
    assert len([name for name in files if not name.endswith("-raw")]) == 7
    assert json.loads((ROOT / "dashboards/grafana-com/draftboard-essentials-raw.json").read_text())["title"]
