"""The documentation: links have targets, tables have columns, and what it repeats agrees with its source."""

import functools
import re
from pathlib import Path

import pytest

from conftest import ROOT
from draftboard.catalogue.removed import REMOVED
from draftboard.settings import Settings
from draftboard.signals import ALL
from draftboard.signals.advice import ADVICE
from scripts.site.links import REPOSITORY, for_site
from support.rulefiles import loaded

PAGES = sorted([*ROOT.glob("*.md"), *(ROOT / "docs").rglob("*.md"), *(ROOT / "alerts").rglob("*.md")])
README = (ROOT / "README.md").read_text()
DEMO = (ROOT / "docs/start/demo.md").read_text()


def prose(page: Path) -> str:
    """A page without its blocks of code."""
    return re.sub(r"(?ms)^ *```.*?^ *```", "", page.read_text())


def anchors(page: Path) -> set[str]:
    """Anchors of the headings, as GitHub derives them."""
    headings = re.findall(r"(?m)^#+ (.+)$", prose(page))
    return {re.sub(r"[^\w\- ]", "", heading.lower()).strip().replace(" ", "-") for heading in headings}


def name_of(page: Path) -> str:
    return str(page.relative_to(ROOT))


@pytest.mark.parametrize("page", PAGES, ids=name_of)
def test_every_relative_link_has_a_target(page: Path) -> None:
    links = re.findall(r"\]\((?!https?:)([^)#\s]*)(?:#([^)\s]+))?\)", prose(page))
    for path, anchor in links:
        target = page.parent / path if path else page
        assert target.exists(), path
        assert not anchor or anchor in anchors(target), f"{path}#{anchor}"


@pytest.mark.parametrize("page", PAGES, ids=name_of)
def test_every_row_of_a_table_has_the_columns_of_its_head(page: Path) -> None:
    for table in re.findall(r"(?m)(?:^ *\|.*\n?)+", prose(page)):
        widths = {len(re.findall(r"(?<!\\)\|", re.sub(r"`[^`]*`", "", row))) for row in table.splitlines()}
        assert len(widths) == 1, table


@pytest.mark.parametrize("page", PAGES, ids=name_of)
def test_what_follows_in_a_list_is_indented_as_the_site_reads_it(page: Path) -> None:
    """By four: with less the site ends the list, and counts its next steps from 1 again."""
    assert re.findall(r"(?m)^ {1,3}```.*", page.read_text()) == []
    assert re.findall(r"(?m)(?<=\n\n) {1,3}(?![ |]).+", prose(page)) == []


def default_of(path: str) -> object:
    """The default of a setting."""
    return functools.reduce(getattr, path.split("."), Settings())


def shares(number: str) -> set[float]:
    """What a number may mean beside a setting: itself, or, of a percentage, the share and its complement."""
    value = float(number.replace(",", "").rstrip("% "))
    return {value / 100, 1 - value / 100} if "%" in number else {value}


@pytest.mark.parametrize("page", [page for page in PAGES if "alerts" not in page.parts], ids=name_of)
def test_a_number_beside_a_setting_is_its_default(page: Path) -> None:
    """As in "200 drafts (`traffic.drafts_to_judge`)" and "`slo.window` (30d)". Runbooks are written from settings."""
    text = " ".join(prose(page).split())
    for path, shown in re.findall(r"`([a-z_]+(?:\.[a-z_]+)+)` \((?:by default )?([\d.]+[a-z]?)\)", text):
        assert str(default_of(path)) == shown, path
    for before, paths in re.findall(
        r"((?:[^.|:`(]|\.(?=\d)){0,60})\(((?:`(?:thresholds|traffic)\.\w+`(?:, )?)+)", text
    ):
        numbers = [shares(number) for number in re.findall(r"\d[\d,]*(?:\.\d+)?(?: %)?", before)]
        for path in re.findall(r"[\w.]+", paths) if numbers else []:
            assert any(pytest.approx(value) == default_of(path) for each in numbers for value in each), path


def test_every_page_is_in_the_navigation_of_the_site() -> None:
    listed = re.findall(r"[\w/-]+\.md", (ROOT / "mkdocs.yml").read_text().partition("\nnav:")[2])
    pages = {str(page.relative_to(ROOT / "docs")) for page in (ROOT / "docs").rglob("*.md")}
    assert pages <= set(listed), "add the page to nav in mkdocs.yml"
    assert len(listed) == len(set(listed))


def test_the_readme_fits_one_screen_and_opens_with_the_clone_and_two_commands() -> None:
    assert len(README.splitlines()) <= 120
    assert re.match(r"# Draftboard\n\n```console\n\$ git clone .*\n\$ make demo .*\n\$ make test .*\n```\n", README)


def test_the_readme_repeats_the_figures_of_the_demo() -> None:
    (first, second, third) = re.findall(r"(?m)^ 0[123]:00 +\S+ +(\S+)(?: +\S+){3} +(\d\S*)$", DEMO)
    assert f"| {first[0]} with one client, {third[0]} under load |" in README
    assert f"| {first[1]} in the first minute, {second[1]} in the second" in README
    drawn = (ROOT / "docs/pictures/demo.svg").read_text().replace("&#160;", " ")
    for figure in (*first, *second, *third):
        assert f" {figure}" in drawn
    (arrived,) = re.findall(r"receiver warning +(\d+\.\d s)", DEMO)
    assert f"reaches the webhook after {arrived} of" in README
    assert f">{arrived}<" in drawn


def test_the_demos_picture_fetches_nothing() -> None:
    drawn = (ROOT / "docs/pictures/demo.svg").read_text()
    assert set(re.findall(r"https?://[^\"')\s]+", drawn)) == {"http://www.w3.org/2000/svg"}


def test_the_readme_shows_the_report_of_its_page() -> None:
    (shown,) = re.findall(r"(?s)\$ draftboard report gpu-1.*?\n(.*?)\n\.\.\.\n", README)
    assert shown in (ROOT / "docs/commands/report.md").read_text()


def test_the_page_on_tuning_has_every_advice_in_the_order_of_asking() -> None:
    page = (ROOT / "docs/tune/index.md").read_text().partition("\n## ")[0]
    rows = re.findall(r"(?m)^\| ([^|]+) \|", page)[1:]
    assert rows == [choice.code.says for choice in ADVICE.choices.values()]


def test_the_page_on_migrating_knows_removed_metrics_and_our_titles() -> None:
    page = (ROOT / "docs/migrate.md").read_text()
    removed = {name for row in re.findall(r"(?m)^\| (`vllm:[^|]+) \|", page) for name in re.findall(r"`([^`]+)`", row)}
    assert removed <= {old.name for old in REMOVED}
    titles = {signal.title for signal in ALL}
    shown = re.findall(r"\*\*([^*]+)\*\*", page)
    assert shown
    assert [title for title in shown if not any(each.startswith(title) for each in titles)] == []


def test_the_page_on_scale_names_the_spans_of_the_settings() -> None:
    page, settings = (ROOT / "docs/operate/scale.md").read_text(), Settings()
    rules = settings.rules
    spans = {
        "rules.window": settings.rules.rate_window,
        "rules.compare_with": rules.compare_with,
        "rules.baseline": rules.baseline,
        "rules.baseline_steps": rules.baseline_steps,
        "slo.window": settings.slo.window,
    }
    assert dict(re.findall(r"\| (\w+) \| `([\w.]+)` \|", page)) == {str(span): name for name, span in spans.items()}


def test_links_of_the_site_lead_to_its_pages_or_to_the_release() -> None:
    pages = {"README.md": "index.md", "alerts/runbooks/VLLMErrors.md": "runbooks/VLLMErrors.md"}
    text = (
        "[a](../alerts/runbooks/VLLMErrors.md#first) [b](../tests/conftest.py) [c](operate/install.md) "
        "`[d](x.md)` [e](https://example.com) [f](gone.md)"
    )
    assert for_site(text, "docs/migrate.md", pages, ROOT) == (
        f"[a](runbooks/VLLMErrors.md#first) [b]({REPOSITORY}/tests/conftest.py) [c](operate/install.md) "
        "`[d](x.md)` [e](https://example.com) [f](gone.md)"
    )
    assert for_site("[a](docs/migrate.md)", "README.md", pages, ROOT) == "[a](migrate.md)"


def test_the_release_that_the_site_links_to_is_the_one_that_alerts_link_to() -> None:
    assert Settings().links.runbooks == f"{REPOSITORY}/alerts/runbooks"


def test_the_workflow_builds_the_site() -> None:
    workflow = loaded((ROOT / ".github/workflows/test.yml").read_text())
    assert {"run": "make test-docs"} in workflow["jobs"]["docs"]["steps"]


def test_every_page_that_code_and_files_for_users_name_is_there() -> None:
    folders = [ROOT / name for name in ("generator", "deploy", "tests", "alerts", "mixin")]
    files = [path for folder in folders for path in folder.rglob("*") if path.suffix in {".py", ".j2", ".yaml"}]
    named = {(path.name, page) for path in files for page in re.findall(r"\bdocs/[\w/.-]+\.md\b", path.read_text())}
    assert named
    assert {(name, page) for name, page in named if not (ROOT / page).exists()} == set()
