"""Where the report's advice leads, if a simulated server follows it."""

from pathlib import Path

import pytest

from draftboard.lab.simulator import find
from draftboard.settings import Settings
from draftboard.settings.costs import DraftCost
from support import bursty
from support.simulated import followed, with_k

CHANGES = 3
GOOD_ENOUGH = 0.98
"""Of the best speedup: the advice takes the smallest k that near."""


@pytest.mark.long
@pytest.mark.parametrize("k", [16, 8])
def test_on_bursty_text_the_advice_leads_to_the_best_k_and_never_to_off(k: int, tmp_path: Path) -> None:
    told = with_k(find("bursty-text"), k)
    (server,) = told.server
    text = server.requests[0].bursts
    assert text
    calibrated = Settings(
        draft_cost=DraftCost.model_validate({"default": server.c, "verify_inflation": server.verify_inflation})
    )
    tried = followed(told, calibrated, tmp_path, CHANGES)
    truth = bursty.speedups(text, k, server.c, server.verify_inflation)
    assert not any("off" in one.advice for one in tried), tried
    assert not {"shorter", "longer"}.intersection(tried[-1].advice.split()), tried
    assert truth[tried[-1].k - 1] >= GOOD_ENOUGH * max(truth), tried
