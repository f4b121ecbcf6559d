"""What a change did to simulated servers whose costs are known, from the records of a real Prometheus."""

from pathlib import Path

import pytest

from conftest import replayed
from draftboard.durations import Duration
from draftboard.expr.to_promql import promql_of
from draftboard.history.finding import of_past
from draftboard.history.runs import of_effects
from draftboard.lab.simulator.backfill import backfill
from draftboard.lab.simulator.fleet import targets
from draftboard.output import as_markdown
from draftboard.reading import Recorded
from draftboard.report import document as report_document
from draftboard.report import report
from draftboard.settings import Settings
from draftboard.signals import Scope
from support.replays import behind
from support.simulated import scenario

pytestmark = pytest.mark.prometheus
C, V, K, ALPHA = 0.06, 1.2, 4, 0.7
HOURS, START = 2, 1_756_800_000


def test_speculation_that_is_turned_off_is_found_with_what_it_gained(tmp_path: Path) -> None:
    told = scenario(
        {"at": f"{HOURS * 30}m", "restart": "2m", "speculative": False},
        method="eagle3",
        k=K,
        draft_cost=C,
        verify_inflation=V,
        load={"clients": 1},
        requests=[{"alpha": ALPHA, "prompt_tokens": 10, "output_tokens": 400}],
        saturation_tokens=1e6,
        prefill_tokens_per_second=1e6,
    )
    end, settings = START + 3600 * HOURS, Settings()
    backfill(targets(told, 1), range(START, end + 1, 60), tmp_path / "history.om")
    rules, _ = behind((promql_of(one, Scope(settings)) for one in of_effects(settings).values()), settings)
    with replayed(tmp_path / "history.om", settings, rules=rules) as replay:
        found = of_past(Recorded(replay.client.url, Duration(3600 * HOURS)), settings, at=end)
        now = report(Recorded(replay.client.url, at=end), settings)
    (model,) = found.models
    (change,) = model.changes
    assert (change.what, change.before.k, change.after.k) == (("speculation",), K, 0)
    assert 0 <= change.at - (START + 1800 * HOURS) <= 900
    assert change.step_latency
    assert change.decode_speed
    assert change.step_latency.ratio == pytest.approx(1 / (V + K * C), rel=0.03)
    tokens = sum(ALPHA**depth for depth in range(K + 1))
    assert change.decode_speed.ratio == pytest.approx((V + K * C) / tokens, rel=0.03)
    assert change.decode_speed.low is not None
    assert change.decode_speed.low < change.decode_speed.ratio < 1
    assert now.models[0].last_change == change
    said = as_markdown(report_document(now, settings, engines=False))
    assert "eagle3, K 4 -\\> no speculation, slower: speedup 0.5" in said
