"""Costs that simulated servers were told are found in the history that a real Prometheus holds of them."""

from pathlib import Path
from typing import Any

import pytest

from conftest import program
from draftboard.calibrate import calibrated, of_history
from draftboard.durations import Duration
from draftboard.lab.simulator.backfill import backfill
from draftboard.lab.simulator.fleet import targets
from draftboard.lab.simulator.scenario import Scenario
from draftboard.prometheus.process import Promtool, Server
from draftboard.reading import Recorded
from draftboard.settings import Settings

pytestmark = pytest.mark.prometheus
C, V, MINUTES, START = 0.06, 1.2, 40, 1_756_800_000


def arm(variant: str = "", k: int = 0) -> dict[str, Any]:
    drafting = {"method": "eagle3", "k": k, "variant": variant, "draft_cost": C, "verify_inflation": V} if k else {}
    requests = [{"alpha": 0.7, "prompt_tokens": 10, "output_tokens": 400}]
    fast = {"saturation_tokens": 1e6, "prefill_tokens_per_second": 1e6}
    return {"model": "m", "load": {"clients": 1}, "requests": requests} | fast | drafting


def test_costs_are_found_in_history(tmp_path: Path) -> None:
    pytest.importorskip("statsmodels")
    told = Scenario.model_validate(
        {
            "story": "A history of which a test knows the truth.",
            "duration": f"{MINUTES}m",
            "server": [arm(), arm("short", 2), arm("long", 6)],
            "event": [{"at": f"{MINUTES // 2}m", "load": {"clients": 4}}],
        }
    )
    end = START + 60 * MINUTES
    backfill(targets(told, 1), range(START, end + 1, 30), tmp_path / "history.om")
    server = Server(program("prometheus"), tmp_path, Duration(300), "global: {}\n")
    Promtool(program("promtool")).load_openmetrics(tmp_path / "history.om", server.storage)
    with server.running() as url:
        found = calibrated(of_history(Recorded(url, Duration(60 * MINUTES)), Settings(), at=end), Settings())
    assert (found.method, {row.candidate for row in found.rows}) == ("eagle3", {"short", "long"})
    assert len(found.costs.points) == 2
    assert found.costs.draft_cost
    assert found.costs.draft_cost.value == pytest.approx(C, rel=0.05)
    for point in found.costs.points:
        assert point.verify_inflation
        assert point.verify_inflation.value == pytest.approx(V, rel=0.05)
