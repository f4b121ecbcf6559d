"""The runbooks: settings, limits, records and panels that they name exist, and follow the settings."""

import re
import shlex
import tomllib
from collections.abc import Iterator, Mapping
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

import click
import jinja2
import promql_parser
import pytest

from conftest import OBJECTIVES
from draftboard import build as build_room
from draftboard.alerts import ALERTS, Alert, load
from draftboard.alerts.runbook import runbook
from draftboard.alerts.templating import environment
from draftboard.cli import draftboard
from draftboard.errors import DraftboardError
from draftboard.rules import AlertingRule, RecordingRule, alerting_groups, recording_groups
from draftboard.settings import Settings
from support import catalogue, grafana
from support.rulefiles import records_in, rule_of, rules
from support.runbooks import commands, queries

ROOT = Path(__file__).parents[2]
PAGE = ROOT / "tests/data/v0.32.0-ngram-load.prom"
SECTIONS = ["What it means", "One or several?", "First", "How to confirm", "Causes", "What to do", "Tune or silence it"]
LONGEST_LINE = 135

KEY = re.compile(r"`((?:alerts|buckets|draft_cost|methods|rules|slo|thresholds|traffic)\.[\w.*]+)`")
RECORD = re.compile(r"\b(?:engine|model|service|target|monitor):\w[\w:]*")
RAW_SERIES = re.compile(r"(?<![\w:])vllm:\w+")
DASHBOARD_OR_BOLD = re.compile(r"`(draftboard-\w+)`|\*\*(.+?)\*\*")

# Another test says which alert has no runbook.
WRITTEN = [alert for alert in ALERTS if (ROOT / f"generator/draftboard/alerts/runbooks/{alert.name}.md.j2").is_file()]

of_every_alert = pytest.mark.parametrize("alert", WRITTEN, ids=lambda alert: alert.name)


@dataclass(frozen=True)
class Runbook:
    title: str
    fires: str
    """The bold line under the title."""
    sections: dict[str, str]
    text: str

    @classmethod
    def of(cls, alert: Alert, files: Mapping[str, str]) -> "Runbook":
        text = files[f"alerts/runbooks/{alert.name}.md"]
        first, *rest = re.split(r"^## ", text, flags=re.MULTILINE)
        head = re.fullmatch(r"# (\w+)\n\n<!--.+?-->\n\n\*\*(.+?)\*\*\n\n", first)
        assert head is not None, f"{alert.name}.md.j2 begins with ## What it means"
        sections = {title.strip(): body for title, _, body in (part.partition("\n") for part in rest)}
        assert list(sections) == SECTIONS, f"sections of {alert.name}.md.j2"
        return cls(head[1], head[2], sections, text)

    @property
    def conditions(self) -> str:
        """The limits and the least traffic: what stands before the alert's own settings."""
        limits, policy, _ = self.sections["Tune or silence it"].partition("`[alerts.")
        assert policy, "${policy} in the last section"
        return limits

    def blocks(self, language: str) -> list[str]:
        return re.findall(rf"^```{language}\n(.+?)^```", self.text, re.DOTALL | re.MULTILINE)


def paragraphs(section: str) -> list[str]:
    """Blocks of prose, each point of a list for itself; code is none."""
    prose = re.sub(r"^```.+?^```", "", section, flags=re.DOTALL | re.MULTILINE)
    return [" ".join(part.split()) for part in re.split(r"\n\s*\n|\n(?=\d+\. |- )", prose) if part.strip()]


def leaves(value: object, at: str = "") -> Iterator[tuple[str, object]]:
    """Every setting and its dotted name, tables of them too, as a settings file writes them."""
    if at:
        yield at, value
    if isinstance(value, dict):
        for key, inner in value.items():
            yield from leaves(inner, f"{at}.{key}" if at else key)


def written(settings: Settings) -> dict[str, object]:
    """Settings by name, with what they make of every alert."""
    policies = {alert.name: asdict(alert.policy(settings)) for alert in ALERTS}
    of_alerts = {name: {"for": one.pop("pending_period"), **one} for name, one in policies.items()}
    return dict(leaves(settings.model_dump(mode="json", by_alias=True) | {"alerts": of_alerts}))


def changed(settings: Settings, key: str, value: float) -> Settings:
    document = settings.model_dump(mode="json", by_alias=True)
    *tables, name = key.split(".")
    table: dict[str, Any] = document
    for step in tables:
        table = table[step]
    table[name] = value
    return Settings.model_validate(document)


def shown_on(files: dict[str, str]) -> dict[str, set[str]]:
    """By dashboard: titles of panels, and headings of a table's columns."""
    shown: dict[str, set[str]] = {}
    for dashboard in grafana.dashboards(files).values():
        names = shown.setdefault(dashboard["uid"], set())
        for panel in grafana.panels(dashboard):
            names.add(panel["title"])
            for transformation in panel.get("transformations", []):
                names.update(transformation["options"].get("renameByName", {}).values())
    return shown


def bold_with_dashboard(paragraph: str) -> list[tuple[str, str | None]]:
    """What is bold in a paragraph, with the dashboard named last before it, or first after it within the sentence."""
    found = []
    dashboard: str | None = None
    for match in DASHBOARD_OR_BOLD.finditer(paragraph):
        if match[1]:
            dashboard = match[1]
        else:
            sentence = re.split(r"\.\s", paragraph[match.end() :], maxsplit=1)[0]
            after = re.search(r"`(draftboard-\w+)`", sentence.partition("**")[0])
            found.append((match[2], after[1] if after else dashboard))
    return found


@dataclass(frozen=True)
class Made:
    """Of settings: the expression of each record and alert, and the files, which are rendered when they are read."""

    records: dict[str, str]
    alerts: dict[str, str]
    files: Mapping[str, str]

    @classmethod
    def of(cls, settings: Settings) -> "Made":
        rules = [rule for group in (*recording_groups(settings), *alerting_groups(settings)) for rule in group.rules]
        return cls(
            {rule.record: rule.expr for rule in rules if isinstance(rule, RecordingRule)},
            {rule.alert: rule.expr for rule in rules if isinstance(rule, AlertingRule)},
            build_room.render(settings),
        )


@pytest.fixture(scope="module")
def of_defaults(settings: Settings) -> Made:
    return Made.of(settings)


@pytest.fixture(scope="module")
def of_thresholds(settings: Settings) -> dict[str, Made]:
    """By threshold and traffic minimum: what is made with this one setting changed a little."""
    keys = [
        key
        for key, value in written(settings).items()
        if key.startswith(("thresholds.", "traffic.")) and isinstance(value, float)
    ]
    default = written(settings)
    return {key: Made.of(changed(settings, key, float(str(default[key])) * 1.001)) for key in keys}


def alert_files(settings: Settings) -> dict[str, str]:
    made = build_room.render(settings)
    return {path: made[path] for path in made if path.endswith((".rules.yaml", ".md")) and path.startswith("alerts/")}


@of_every_alert
def test_it_says_what_it_means_in_two_lines(alert: Alert, files: dict[str, str]) -> None:
    lines = Runbook.of(alert, files).sections["What it means"].strip().splitlines()
    assert len(lines) == 2
    assert all(len(line) <= LONGEST_LINE for line in lines), lines
    assert lines[-1].endswith(".")


@of_every_alert
def test_three_commands_come_first_each_with_a_line_on_how_to_read_its_answer(
    alert: Alert, files: dict[str, str]
) -> None:
    section = Runbook.of(alert, files).sections["First"]
    first, table, _ = section.partition("|  |")
    assert table, "the commands of other platforms"
    assert re.fullmatch(r"\n(```sh\n.+\n```\n\n(?!```).+\n\n){3}", first), first
    assert len(commands(first)) == 3
    assert all(len(line) <= LONGEST_LINE for line in first.splitlines() if line not in commands(first))


@of_every_alert
def test_no_command_that_comes_first_needs_a_name_filled_in(alert: Alert, files: dict[str, str]) -> None:
    for command in commands(Runbook.of(alert, files).sections["First"]):
        assert not re.search(r"\b(HOST|MODEL|JOB|POD|PID)\b", command), command


@of_every_alert
def test_commands_of_draftboard_have_options_that_exist(alert: Alert, files: dict[str, str]) -> None:
    for program, *arguments in map(shlex.split, commands(Runbook.of(alert, files).text)):
        if program == "draftboard":
            name, *options = arguments
            known = draftboard.get_command(click.Context(draftboard), name)
            assert known is not None, name
            known.make_context(name, options)


@of_every_alert
def test_the_head_says_what_the_rule_and_the_list_of_alerts_do(alert: Alert, files: dict[str, str]) -> None:
    found, rule = Runbook.of(alert, files), rule_of(files, alert.name)
    head = re.fullmatch(r"Fires when (.+)\. For: (\w+)\. Severity: `(\w+)`\.", found.fires)
    assert head is not None
    assert (found.title, head[2], head[3]) == (rule["alert"], rule["for"], rule["labels"]["severity"])
    assert f"(runbooks/{alert.name}.md) | {head[1]} |" in files["alerts/README.md"]


def behind(made: Made, alert: str) -> set[str]:
    """The records that an alert reads, directly or not."""
    read, more = set[str](), records_in(made.alerts[alert])
    while more:
        read |= more
        more = {name for record in more for name in records_in(made.records[record])} - read
    return read


def decisive(alert: str, before: Made, of_thresholds: dict[str, Made]) -> tuple[set[str], set[str]]:
    """The settings that the rule depends on, and those that the rule or a record behind it does."""
    read = behind(before, alert)
    itself = {key for key, after in of_thresholds.items() if after.alerts[alert] != before.alerts[alert]}
    deeper = {
        key
        for key, after in of_thresholds.items()
        if any(after.records.get(name) != before.records[name] for name in read)
    }
    return itself, itself | deeper


@of_every_alert
def test_the_conditions_name_and_follow_each_threshold_and_traffic_minimum_of_the_rule(
    alert: Alert, files: dict[str, str], of_defaults: Made, of_thresholds: dict[str, Made]
) -> None:
    found = Runbook.of(alert, files)
    itself, deeper = decisive(alert.name, of_defaults, of_thresholds)
    named = {key for key in KEY.findall(found.conditions) if key.startswith(("thresholds.", "traffic."))}
    assert itself <= named, "settings that the rule depends on, and those named before ${policy}"
    assert named <= deeper, "settings named before ${policy}, and those that the rule and its records depend on"
    for key in named:
        assert Runbook.of(alert, of_thresholds[key].files).conditions != found.conditions, key
    copied = {key for block in found.blocks("toml") for key, _ in leaves(tomllib.loads(block))} & of_thresholds.keys()
    assert copied <= deeper, "settings to copy, and those that the rule and its records depend on"


@of_every_alert
def test_where_it_says_what_inhibits_what_the_alerts_do(alert: Alert, files: dict[str, str]) -> None:
    for sentence in re.split(r"(?<=\.)\s", " ".join(paragraphs(Runbook.of(alert, files).text))):
        linked = set(re.findall(r"\[(\w+)\]\(", sentence))
        if re.search(r"\binhibits? this\b", sentence):
            assert linked == {*alert.inhibited_by}
        if re.search(r"\b(?:[Tt]his alert|[Ii]t) inhibits\b", sentence):
            assert linked <= {one.name for one in ALERTS if alert.name in one.inhibited_by}


@of_every_alert
def test_settings_that_are_named_exist(alert: Alert, files: dict[str, str], settings: Settings) -> None:
    known = written(settings)
    for key in KEY.findall(Runbook.of(alert, files).text):
        name = key.removesuffix(".*")
        assert name in known, key
        assert name == key or isinstance(known[name], dict), key


@of_every_alert
def test_settings_to_copy_are_loaded_and_none_is_the_default(
    alert: Alert, files: dict[str, str], settings: Settings, tmp_path: Path
) -> None:
    blocks = Runbook.of(alert, files).blocks("toml")
    assert blocks, "a ```toml block that tunes the alert"
    default = written(settings)
    for block in blocks:
        path = tmp_path / "draftboard.toml"
        path.write_text(block)
        loaded = written(load(path))
        for key, _ in leaves(tomllib.loads(block)):
            assert loaded[key] != default[key], key


OTHER = {
    "rules": {"window": "11m", "compare_with": "41m", "baseline": "3d", "remember": "53m"},
    "labels": {"model_name": "llm", "instance": "pod", "engine": "rank", "job": "service", "spec_method": "how"},
    "slo": {"window": "28d"},
}
OBJECTIVES_DECLARED = tomllib.loads(OBJECTIVES.read_text())["slo"]


@pytest.mark.parametrize("document", [{}, OTHER], ids=["default", "other names and windows"])
def test_queries_read_records_that_are_made_and_series_of_a_real_page(document: dict[str, Any]) -> None:
    built = alert_files(Settings.model_validate({**document, "slo": OBJECTIVES_DECLARED | document.get("slo", {})}))
    made = {rule["record"] for rule in rules(built, "record")}
    exposed = set(re.findall(r"^(vllm:\w+)", PAGE.read_text(), re.MULTILINE)) | set(catalogue.series())
    for alert in WRITTEN:
        found = Runbook.of(alert, built)
        assert set(RECORD.findall(found.text)) <= made, alert.name
        for query in found.blocks("promql") + queries(commands(found.text)):
            promql_parser.parse(query)
            assert set(RAW_SERIES.findall(query)) <= exposed, query


@of_every_alert
def test_panels_to_confirm_with_are_on_the_dashboard_that_is_named(alert: Alert, files: dict[str, str]) -> None:
    shown, section = shown_on(files), Runbook.of(alert, files).sections["How to confirm"]
    panels = [pair for paragraph in paragraphs(section) for pair in bold_with_dashboard(paragraph)]
    assert panels, "a panel in bold, as in **${title.acceptance}**"
    for panel, dashboard in panels:
        assert dashboard in shown, f"name the dashboard of the panel {panel!r}, as in `draftboard-capacity`"
        assert panel in shown[dashboard], (panel, dashboard)


@of_every_alert
def test_panels_named_elsewhere_are_on_a_dashboard(alert: Alert, files: dict[str, str]) -> None:
    shown = shown_on(files)
    for title, section in Runbook.of(alert, files).sections.items():
        if title == "How to confirm":
            continue
        for paragraph in paragraphs(section):
            # A cause begins with its name in bold, which is no panel.
            point = re.sub(r"^\d+\. \*\*.+?\*\*", "", paragraph)
            for panel, dashboard in bold_with_dashboard(point):
                places = shown if dashboard is None else {dashboard}
                assert any(panel in shown[place] for place in places), (panel, dashboard)


@of_every_alert
def test_the_dashboard_that_the_alert_links_to_is_one_to_confirm_on(alert: Alert, files: dict[str, str]) -> None:
    assert f"`draftboard-{alert.dashboard}`" in Runbook.of(alert, files).sections["How to confirm"]


@of_every_alert
def test_runbooks_that_are_linked_to_exist(alert: Alert, files: dict[str, str]) -> None:
    links = re.findall(r"\[(\w+)\]\(([^)]+)\)", Runbook.of(alert, files).text)
    assert all(target == f"{name}.md" and f"alerts/runbooks/{target}" in files for name, target in links), links


@of_every_alert
def test_the_silence_to_copy_is_for_this_alert(alert: Alert, files: dict[str, str]) -> None:
    silences = [block for block in Runbook.of(alert, files).blocks("sh") if "amtool silence add" in block]
    assert silences, 'a command to silence it: ${silence("8h", "...")}'
    assert all(re.search(rf"\balertname={alert.name}\b", silence) for silence in silences)


@pytest.mark.parametrize(
    ("template", "says"),
    [
        ("", "missing in alerts/runbooks/"),
        ("${model.no_such_signal}", "has no attribute 'no_such_signal'"),
        ("${thresholds.no_such_setting}", "has no attribute 'no_such_setting'"),
        ("${silence()}", "parameter 'duration' was not provided"),
        ("${model.acceptance", "unexpected"),
    ],
)
def test_a_mistake_in_a_template_is_one_line_that_names_it(
    template: str, says: str, settings: Settings, monkeypatch: pytest.MonkeyPatch
) -> None:
    frame = (ROOT / "generator/draftboard/alerts/runbook.md.j2").read_text()
    templates = {"runbook.md.j2": frame} | ({"runbooks/SpecDecodeNotPaying.md.j2": template} if template else {})
    monkeypatch.setattr(environment, "loader", jinja2.DictLoader(templates))
    with pytest.raises(DraftboardError) as raised:
        runbook(ALERTS[0], settings)
    assert str(raised.value).startswith("runbook template SpecDecodeNotPaying.md.j2: ")
    assert says in str(raised.value)
    assert "\n" not in str(raised.value)
