"""The runbooks against what is built: settings, limits, records and panels that they name exist, and are as told."""

import re
import tomllib
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

from draftboard.rules.alerting import condition
from draftboard.rules.alerts import ALERTS, Alert
from draftboard.settings import Settings, load
from support import catalogue, grafana
from support.rulefiles import Rule, rules

ROOT = Path(__file__).parent.parent.parent
RUNBOOKS = ROOT / "alerts/runbooks"
PAGE = ROOT / "tests/data/v0.32.0-ngram-load.prom"

KEY = re.compile(r"`((?:alerts|buckets|draft_cost|methods|rules|slo|thresholds|traffic)\.[\w.*]+)`")
# A value that a header states: a word in backticks, or a number with or without the unit of a duration.
VALUE = re.compile(r"`([\w-]+)`|(?<![\w.])(-?\d+(?:\.\d+)?(?:[smhd]\b)?)")
RECORD = re.compile(r"\b(?:engine|model|target):\w[\w:]*")
RAW_SERIES = re.compile(r"(?<![\w:])vllm:\w+")
DASHBOARD_OR_BOLD = re.compile(r"`(draftboard-\w+)`|\*\*(.+?)\*\*")
SAYS_FIRES = {"<": "Fires below", ">": "Fires above", "==": "Fires while it is"}
# A missing series has no size: the alert fires on the finding itself.
WITHOUT_LIMIT = {"SpecDecodeMetricsMissing"}

of_every_alert = pytest.mark.parametrize("alert", ALERTS, ids=lambda alert: alert.name)


@dataclass(frozen=True)
class Runbook:
    header: str
    """The bold lines under the title, as one line."""
    sections: dict[str, str]
    text: str

    @classmethod
    def of(cls, alert: Alert) -> "Runbook":
        text = (RUNBOOKS / f"{alert.name}.md").read_text()
        first, *rest = re.split(r"^## ", text, flags=re.MULTILINE)
        header = re.fullmatch(r"# \w+\n\n\*\*(.+)\*\*\n\n", first, re.DOTALL)
        assert header is not None, "under the title stand bold lines"
        assert not re.search(r"\*\*|\n\n", header[1]), "under the title stand bold lines and nothing else"
        sections = {title.strip(): body for title, _, body in (part.partition("\n") for part in rest)}
        return cls(on_one_line(header[1]), sections, text)

    def blocks(self, language: str) -> list[str]:
        return re.findall(rf"^```{language}\n(.+?)^```", self.text, re.DOTALL | re.MULTILINE)


def on_one_line(text: str) -> str:
    return " ".join(text.split())


def paragraphs(section: str) -> list[str]:
    """Blocks of prose, each point of a list for itself; code is none."""
    prose = re.sub(r"^```.+?^```", "", section, flags=re.DOTALL | re.MULTILINE)
    return [on_one_line(part) for part in re.split(r"\n\s*\n|\n(?=\d+\. |- )", prose) if part.strip()]


def leaves(value: object, at: str = "") -> Iterator[tuple[str, object]]:
    """Every setting and its dotted name, tables of them too, as a settings file writes them."""
    if at:
        yield at, value
    if isinstance(value, dict):
        for key, inner in value.items():
            yield from leaves(inner, f"{at}.{key}" if at else key)


def written(settings: Settings) -> dict[str, object]:
    return dict(leaves(settings.model_dump(mode="json", by_alias=True)))


def stated(header: str) -> dict[str, str]:
    """The keys that a header puts into parentheses, each with the last value named before it."""
    values: dict[str, str] = {}
    before = 0
    for key in KEY.finditer(header):
        found = list(VALUE.finditer(header, before, key.start()))
        if header[key.start() - 1] == "(" and "*" not in key[1] and found:
            values[key[1]] = found[-1][1] or found[-1][2]
        before = key.end()
    return values


def same(shown: str, value: object) -> bool:
    if isinstance(value, float):
        return re.fullmatch(r"-?\d+(\.\d+)?", shown) is not None and float(shown) == value
    return shown == value


def changed(settings: Settings, key: str, value: float) -> Settings:
    document = settings.model_dump(mode="json", by_alias=True)
    *tables, name = key.split(".")
    table: dict[str, Any] = document
    for step in tables:
        table = table[step]
    table[name] = value
    return Settings.model_validate(document)


def built(alert: Alert, files: dict[str, str]) -> Rule:
    return next(rule for rule in rules(files) if rule.get("alert") == alert.name)


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


@of_every_alert
def test_the_header_says_the_default_severity_and_patience(alert: Alert, settings: Settings) -> None:
    patience = getattr(settings.alerts, alert.name)
    assert Runbook.of(alert).header.startswith(
        f"Severity `{patience.severity}` (`alerts.{alert.name}.severity`) "
        f"after {patience.hold} (`alerts.{alert.name}.for`). ",
    )


@of_every_alert
def test_values_in_the_header_are_those_of_the_settings(alert: Alert, settings: Settings) -> None:
    default = written(settings)
    values = stated(Runbook.of(alert).header)
    assert len(values) >= 2
    for key, shown in values.items():
        if not isinstance(default[key], (dict, list)):
            assert same(shown, default[key]), (key, shown, default[key])


@of_every_alert
def test_the_header_says_beyond_which_limit_the_alert_fires(alert: Alert, settings: Settings) -> None:
    header = Runbook.of(alert).header
    limits = re.findall(rf"{SAYS_FIRES[alert.operator]} (-?\d+(?:\.\d+)?)", header)
    assert [float(limit) for limit in limits] == ([] if alert.name in WITHOUT_LIMIT else [alert.limit(settings)])
    assert header.count("Fires ") == len(limits)


@of_every_alert
def test_the_header_names_each_threshold_and_traffic_minimum_of_the_condition(alert: Alert, settings: Settings) -> None:
    before = condition(alert, settings)
    decisive = {
        key
        for key, value in written(settings).items()
        if key.startswith(("thresholds.", "traffic."))
        and isinstance(value, float)
        and condition(alert, changed(settings, key, value * 1.001)) != before
    }
    named = {key for key in KEY.findall(Runbook.of(alert).header) if key.startswith(("thresholds.", "traffic."))}
    assert named == decisive


@of_every_alert
def test_settings_that_are_named_exist(alert: Alert, settings: Settings) -> None:
    known = written(settings)
    for key in KEY.findall(Runbook.of(alert).text):
        name = key.removesuffix(".*")
        assert name in known, key
        assert name == key or isinstance(known[name], dict), key


@of_every_alert
def test_settings_to_copy_are_loaded_and_none_is_the_default(alert: Alert, settings: Settings, tmp_path: Path) -> None:
    blocks = Runbook.of(alert).blocks("toml")
    assert blocks
    default = written(settings)
    for block in blocks:
        path = tmp_path / "draftboard.toml"
        path.write_text(block)
        loaded = written(load(path))
        for key, _ in leaves(tomllib.loads(block)):
            assert loaded[key] != default[key], key


@of_every_alert
def test_records_that_are_named_are_made(alert: Alert, files: dict[str, str]) -> None:
    made = {rule["record"] for rule in rules(files) if "record" in rule}
    assert set(RECORD.findall(Runbook.of(alert).text)) <= made


@of_every_alert
def test_raw_series_that_are_queried_are_on_a_real_page_of_vllm(alert: Alert) -> None:
    exposed = set(re.findall(r"^(vllm:\w+)", PAGE.read_text(), re.MULTILINE)) | set(catalogue.series())
    queried = {name for block in Runbook.of(alert).blocks("promql") for name in RAW_SERIES.findall(block)}
    assert queried <= exposed


@of_every_alert
def test_panels_to_confirm_with_are_on_the_dashboard_that_is_named(alert: Alert, files: dict[str, str]) -> None:
    shown = shown_on(files)
    panels = [
        pair
        for paragraph in paragraphs(Runbook.of(alert).sections["How to confirm"])
        for pair in bold_with_dashboard(paragraph)
    ]
    assert panels
    for panel, dashboard in panels:
        assert dashboard in shown, (panel, dashboard)
        assert panel in shown[dashboard], (panel, dashboard)


@of_every_alert
def test_panels_named_elsewhere_are_on_a_dashboard(alert: Alert, files: dict[str, str]) -> None:
    shown = shown_on(files)
    for title, section in Runbook.of(alert).sections.items():
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
    linked = re.search(r"/d/([\w-]+)", built(alert, files)["annotations"]["dashboard_url"])
    assert linked is not None
    assert f"`{linked[1]}`" in Runbook.of(alert).sections["How to confirm"]


@of_every_alert
def test_runbooks_that_are_linked_to_exist(alert: Alert) -> None:
    links = re.findall(r"\[(\w+)\]\(([^)]+)\)", Runbook.of(alert).text)
    assert all(target == f"{name}.md" and (RUNBOOKS / target).is_file() for name, target in links), links


@of_every_alert
def test_the_silence_to_copy_is_for_this_alert(alert: Alert) -> None:
    silences = [block for block in Runbook.of(alert).blocks("sh") if "amtool silence add" in block]
    assert silences
    assert all(re.search(rf"\balertname={alert.name}\b", silence) for silence in silences)
