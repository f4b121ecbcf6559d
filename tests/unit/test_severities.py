"""Severities by the names of the user's own routes."""

from pathlib import Path

import pytest

from draftboard.build import render
from draftboard.build.files import ALERTING
from draftboard.errors import DraftboardError
from draftboard.settings import Settings, load
from support.rulefiles import loaded

OWN = Settings.model_validate(
    {"severities": {"critical": "page", "warning": "ticket"}, "alerts": {"VLLMErrors": {"severity": "info"}}}
)


def severities(settings: Settings) -> dict[str, str]:
    groups = loaded(render(settings)[ALERTING])["groups"]
    return {rule["alert"]: rule["labels"]["severity"] for group in groups for rule in group["rules"] if "alert" in rule}


def test_rules_carry_the_own_names_and_each_alert_its_former_rank() -> None:
    own, usual = severities(OWN), severities(Settings())
    names = {"critical": "page", "warning": "ticket"}
    assert own == {name: names.get(rank, rank) for name, rank in usual.items()} | {"VLLMErrors": "info"}
    assert {"page", "ticket"} <= {*own.values()}


def test_routes_and_pages_follow() -> None:
    files = render(OWN)
    routes = loaded(files["deploy/alertmanager/alertmanager.yml"])["route"]["routes"]
    by_receiver = {route["receiver"]: route["matchers"] for route in routes}
    assert by_receiver["critical"] == ['severity="page"']
    assert by_receiver["warning"] == ['severity="ticket"']
    records = files["alerts/recording.rules.yaml"]
    assert ('severity="page"' in records, 'severity="critical"' in records) == (True, False)
    page = files["dashboards/draftboard-overview.json"]
    assert 'severity=\\"page\\"' in page
    assert 'severity=\\"critical\\"' not in page


@pytest.mark.parametrize(
    ("text", "says"),
    [
        ('critical = "warning"', "two severities have one name"),
        ('critical = "a b"', "must be 1 to 40 letters"),
        ('page = "critical"', "unknown key"),
    ],
)
def test_names_that_routes_could_not_tell_apart_are_refused(tmp_path: Path, text: str, says: str) -> None:
    (tmp_path / "own.toml").write_text(f"[severities]\n{text}\n")
    with pytest.raises(DraftboardError, match=says):
        load(tmp_path / "own.toml")
