"""Steady traffic raises no alerts: what `make false-alarms` wrote, and a short run of it."""

import json

import pytest

from draftboard.alerts import ALERTS
from scripts.false_alarms import DATA, alarms, models, worst
from support.steady import STATISTICAL


def test_the_committed_figures_are_under_one_a_month_and_name_every_alert_that_is_simulated() -> None:
    committed = json.loads(DATA.read_text())
    assert list(committed["alarms"]) == [alert.name for alert in STATISTICAL]
    assert {name: rate for name, rate in committed["alarms"].items() if rate >= 1} == {}
    assert set(committed["alarms"]) <= {alert.name for alert in ALERTS}


@pytest.mark.long
@pytest.mark.parametrize("rate", [0.02, 0.1, 0.3])
def test_two_kinds_of_request_in_steady_traffic_raise_under_one_alarm_a_month(rate: float) -> None:
    found = {model.name: alarms(model, months=1, seed=2) for model in models((rate,)) if "one engine" in model.name}
    assert {name: number for name, number in worst(found).items() if number > 1} == {}
