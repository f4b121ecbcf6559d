"""Costs that `calibrate` measures on a real vLLM at two loads tell the speedup at a third, between them."""

from dataclasses import replace
from itertools import product

import numpy as np
import pytest

from conftest import Tell
from draftboard.access import Access
from draftboard.calibrate import Load, calibrated, of_load
from draftboard.calibrate.result import Calibration
from draftboard.settings import Settings
from draftboard.sweep import Plan
from support.vllm_server import Vllm

pytestmark = pytest.mark.vllm

LOADS, BETWEEN = (1, 2, 4), 2


def of(found: Calibration, batch: float, bound: str) -> float:
    """The cost of a step with a draft, v + L * c, on the line between the loads that were fitted."""
    points = sorted((point.batch, getattr(point.together, bound)) for point in found.costs.points)
    batches, costs = zip(*points, strict=True)
    return float(np.interp(batch, batches, costs))


def test_costs_of_two_loads_predict_the_speedup_at_a_third(
    vllm: Vllm, plain_vllm: Vllm, stack_settings: Settings, tell: Tell
) -> None:
    plan = Plan(server=plain_vllm.url, method="ngram", max_tokens=96, access=Access.of_api_server(vllm.key_file))
    measured = of_load(plain_vllm.url, [vllm.url], Load(plan=plan, concurrency=LOADS, rounds=6), stack_settings)
    outer, inner = (
        calibrated(
            replace(measured, windows=tuple(one for one in measured.windows if (one.load == BETWEEN) == between)),
            stack_settings,
        )
        for between in (False, True)
    )
    (row,) = inner.rows
    # The draft length hardly differs between loads, so that the sum tells as much as c and v.
    expected = sorted(
        tokens / (row.coverage * of(outer, row.batch, bound) + 1 - row.coverage)
        for tokens, bound in product((row.tokens_per_step.low, row.tokens_per_step.high), ("low", "high"))
    )
    line = f"at a batch of {row.batch:.2f}: measured {row.speedup}, expected {expected[0]:.2f} to {expected[-1]:.2f}"
    tell("calibrate: the speedup between two loads", line)
    assert expected[0] <= row.speedup.high, line
    assert row.speedup.low <= expected[-1], line
