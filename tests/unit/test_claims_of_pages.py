"""Numbers and names on the pages of the documentation, against their one definition."""

import json
import re
from fractions import Fraction
from typing import Any

import pytest

from conftest import ROOT
from draftboard.build import render
from draftboard.catalogue import latency
from draftboard.dashboards import PAGES as DASHBOARDS
from draftboard.dashboards import uid
from draftboard.durations import Duration
from draftboard.settings import Settings
from support import grafana

PAGES = {
    str(path.relative_to(ROOT)): " ".join(path.read_text().split())
    for path in (ROOT / "README.md", ROOT / "CONTRIBUTING.md", *sorted((ROOT / "docs").rglob("*.md")))
}
BY_SETTING = re.compile(r"(\d[\d,.]*) ?(%?)(?:(?![.;:|] )[^()|\d]){0,50}\(`([a-z_]+(?:\.[a-z_0-9]+)+)`\)")
"""A number, and in brackets the setting that it is the default of."""
QUOTED = list(dict.fromkeys((page, *quoted) for page, text in PAGES.items() for quoted in BY_SETTING.findall(text)))
STACK = "".join(
    (ROOT / path).read_text()
    for path in ("deploy/docker-compose.yml", "deploy/tools/stack.py", "deploy/tools/environment.py")
)


def default(setting: str) -> Any:
    """The default of a setting, by its path."""
    value: Any = Settings()
    for part in setting.split("."):
        value = getattr(value, part)
    return value


def rows(page: str, heading: str) -> list[list[str]]:
    """The cells of the first table below a heading."""
    text = (ROOT / page).read_text().partition(f"{heading}\n")[2]
    table = re.split(r"\n\n(?!\|)", text[text.index("\n|") + 1 :])[0].splitlines()
    return [[cell.strip() for cell in line.strip("|").split(" | ")] for line in table[2:]]


@pytest.mark.parametrize(("page", "number", "percent", "setting"), QUOTED)
def test_a_number_beside_a_setting_is_its_default(page: str, number: str, percent: str, setting: str) -> None:
    said = Fraction(number.replace(",", "").rstrip(".")) / (100 if percent else 1)
    value = Fraction(str(default(setting)))
    assert said == value or (percent and said == 1 - value), f"{page}: {number}{percent}, the default is {value}"


def test_the_pages_quote_settings() -> None:
    assert len(QUOTED) >= 15


def test_intervals_of_notifications_are_the_defaults() -> None:
    notify = Settings().stack.notify
    table = rows("docs/operate/notifications.md", "only:")
    repeats = {cells[0].strip("`"): cells[2] for cells in table}
    others = dict.fromkeys(("warning", "info", "none"), str(notify.repeat_others))
    assert repeats == {
        "critical": str(notify.repeat_critical),
        "DraftboardWatchdog": str(notify.heartbeat_interval),
        **others,
    }
    page = PAGES["docs/operate/notifications.md"]
    assert f"waits {notify.group_wait.seconds} s for further alerts" in page
    assert (notify.group_interval, notify.group_interval_critical) == (Duration(300), Duration(60))
    assert (
        "an update five minutes (`group_interval`), of critical alerts one minute (`group_interval_critical`)" in page
    )
    assert page.count(f"`repeat_critical` ({notify.repeat_critical})") == 2


def test_what_the_page_says_of_restarts_is_how_the_stack_starts() -> None:
    page = PAGES["docs/operate/notifications.md"]
    for option in re.findall(r"`(--[\w.-]+=\w+)`", page):
        assert option in STACK


def test_channels_and_their_files_of_secrets_are_those_of_the_stack() -> None:
    made = (ROOT / "deploy/tools/make_secrets.py").read_text()
    for _, file, _ in rows("docs/operate/notifications.md", "contains none of them."):
        assert f'"{file.strip("`")}"' in made
    for files, _ in rows("docs/operate/install.md", "fill in those that you use:"):
        assert all(f'"{file}"' in made for file in re.findall(r"`(\w+)`", files))


def test_a_message_that_the_page_explains_is_one_of_the_stack() -> None:
    of_docker = ("could not select", "port is already", "bind source", "service ")
    for cell, *_ in rows("docs/operate/troubleshooting.md", "## Compose does not start"):
        for message in re.findall(r"`([^`]+)`", cell):
            words = max(re.split(r"\.\.\.|is missing a value|required variable|\w+(?=:)", message), key=len).strip()
            if not message.startswith(of_docker) and " " in words:
                assert words.removeprefix("deploy/").removeprefix("is not ") in STACK, message


def test_profiles_that_pages_name_are_those_of_the_stack() -> None:
    (profiles,) = re.findall(r"^PROFILES = \((.*)\)", STACK, re.MULTILINE)
    cells = [cell for cell, _ in rows("docs/operate/install.md", "targets from the variable.")]
    named = {*re.findall(r"\w+", " ".join(re.findall(r"`([^`]*)`", " ".join(cells))))}
    assert named - {"COMPOSE_PROFILES", "LOAD_PROMPTS", "LOAD_RATE"} <= {*re.findall(r"\w+", profiles)}


def test_vllms_default_buckets_start_where_the_page_says() -> None:
    page = PAGES["docs/operate/troubleshooting.md"]
    steps, requests = re.findall(r"start at (\d+) ms \(steps\) and (\d+) ms \(requests\)", page)[0]
    assert (int(steps) / 1000, int(requests) / 1000) == (
        latency.STEP_LATENCY.buckets[0],
        latency.END_TO_END_LATENCY.buckets[0],
    )


def test_values_of_the_chart_that_the_page_names_exist() -> None:
    schema = json.loads((ROOT / "deploy/kubernetes/chart/values.schema.json").read_text())["properties"]
    for cell, _ in rows("docs/operate/kubernetes.md", "Helm refuses wrong and unknown ones."):
        group = ""
        for name in re.findall(r"`([\w.]+)`", cell):
            first, _, rest = name.rpartition(".")
            group = first or group
            known = schema[group]["properties"] if group else schema
            assert rest in known or name in schema, name


def test_the_threat_model_names_tests_that_exist() -> None:
    page = (ROOT / "docs/contribute/threats.md").read_text()
    tables = "\n".join(line for line in page.splitlines() if line.startswith("| "))
    known = {path.stem for path in (ROOT / "tests").rglob("*.py")}
    for name in re.findall(r"`(test_\w+)`", tables):
        assert name in known, name
    for path in re.findall(r"`(tests/[\w/.]+)`", tables):
        assert (ROOT / path).exists(), path
    limit = Settings().stack.limits.samples
    assert f"`stack.limits.samples` allows in each scrape, {limit:,} by default" in PAGES["docs/contribute/threats.md"]


def test_acceptance_of_long_drafts_is_as_the_page_computes_it() -> None:
    page = PAGES["docs/concepts/acceptance.md"]
    share, *of_k = (
        int(number)
        for number in re.findall(r"probability of (\d+) %, acceptance is (\d+) % at K = 3 and (\d+) % at K = 5", page)[
            0
        ]
    )
    alpha = share / 100
    assert of_k == [round(100 * sum(alpha**depth for depth in range(1, k + 1)) / k) for k in (3, 5)]


def test_the_page_on_limits_names_the_settings_and_the_release_that_tests_use() -> None:
    page = PAGES["docs/concepts/limits.md"]
    assert f"`max_draft_tokens` ({Settings().max_draft_tokens})" in page
    (release,) = re.findall(
        r'^VERSION = "([\d.]+)"', (ROOT / "tests/scripts/install_vllm.py").read_text(), re.MULTILINE
    )
    assert f"Tests ran with vLLM {release} on the CPU" in page


def test_the_page_on_performance_measured_every_dashboard() -> None:
    page = (ROOT / "docs/reference/performance.md").read_text()
    measured = {*re.findall(r"^\| `(draftboard-\w+)`", page, re.MULTILINE)}
    assert measured == {path.stem for path in (ROOT / "dashboards").glob("*.json")}


def test_the_documentation_says_which_question_each_dashboard_answers() -> None:
    text = (ROOT / "docs/operate/existing.md").read_text().partition("| which question it answers |\n|---|---|\n")[2]
    told = [re.match(r"\| `(.+)` \| (.+) \|", line) for line in text.split("\n\n")[0].splitlines()]
    assert [row and row.groups() for row in told] == [
        (uid(name, page.editions[0]), page.question) for name, page in DASHBOARDS.items()
    ]


def test_the_documentation_counts_the_panels_of_the_pages() -> None:
    (read, alone) = map(
        int,
        re.findall(
            r"seven pages that read records have (\d+) panels together, and `draftboard-essentials-raw` has (\d+)",
            PAGES["docs/operate/existing.md"],
        )[0],
    )
    counts = {path: len(list(grafana.panels(page))) for path, page in grafana.dashboards(render(Settings())).items()}
    of_records = [n for path, n in counts.items() if re.fullmatch(r"dashboards/draftboard-\w+\.json", path)]
    assert (len(of_records), sum(of_records)) == (7, read)
    assert [n for path, n in counts.items() if path.endswith("/draftboard-essentials-raw.json")] == [alone]
