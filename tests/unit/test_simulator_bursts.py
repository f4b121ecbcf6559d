"""Text in easy and hard stretches: the counters follow its law, and tell a shorter K less than it would have."""

import functools
from pathlib import Path

import pytest

from draftboard.lab.simulator import find
from draftboard.lab.simulator.scenario import Bursts
from draftboard.settings import Settings
from draftboard.settings.costs import DraftCost
from support import bursty, theory
from support.known import known
from support.simulated import reported, scenario, scrapes, started, with_k

SPEC = "vllm:spec_decode_num_"
TEXT = Bursts(easy=0.95, hard=0.3, easy_share=0.4, stretch_tokens=50)
ACCURACY = 0.01
"""Of a share of some hundred thousand drafts that stretches tie together. The law is that of endless answers."""

pytestmark = pytest.mark.long
BURSTY = find("bursty-text")
(SERVER,) = BURSTY.server
COSTS = SERVER.c, SERVER.verify_inflation
CALIBRATED = Settings(
    draft_cost=DraftCost.model_validate({"default": SERVER.c, "verify_inflation": SERVER.verify_inflation})
)


@functools.cache
def counted(k: int, text: Bursts, draft_lengths: tuple[float, ...] = ()) -> tuple[float, ...]:
    """Survival by position, from the counters of twenty minutes."""
    long = {"bursts": text.model_dump(), "output_tokens": 4000, "max_tokens": 6000}
    drafter = {"method": "ngram" if draft_lengths else "draft_model", "k": k, "draft_lengths": draft_lengths}
    *_, last = scrapes(started(scenario(**drafter, load={"clients": 20}, requests=[long])), 1200, 1200)
    drafts = last[f"{SPEC}drafts_total",]
    return tuple(last[f"{SPEC}accepted_tokens_per_pos_total", str(position)] / drafts for position in range(k))


@pytest.mark.parametrize("k", [1, 3, 12])
@pytest.mark.parametrize("text", [TEXT, Bursts(easy=1.0, hard=0.0, easy_share=0.8, stretch_tokens=5)])
def test_survival_follows_the_law_of_the_text(k: int, text: Bursts) -> None:
    assert counted(k, text) == pytest.approx(bursty.survival(text, k), abs=ACCURACY)


def test_stretches_of_the_text_go_on_through_drafts_that_are_not_full() -> None:
    """With half of the drafts cut to one token, the first position is that of a text met at other places."""
    first = counted(6, TEXT, (0.5, 0.0, 0.0, 0.0, 0.0, 0.5))[0]
    assert bursty.survival(TEXT, 6)[0] + ACCURACY < first < bursty.survival(TEXT, 1)[0] - ACCURACY


def test_a_long_draft_tells_a_short_one_less_than_it_would_have() -> None:
    told, true = (sum(counted(k, TEXT)[:3]) for k in (12, 3))
    assert told < 0.9 * true


@pytest.mark.parametrize(
    "text",
    [Bursts(easy=0.7, hard=0.7, stretch_tokens=50), Bursts(easy=0.95, hard=0.3, easy_share=0.4, stretch_tokens=1)],
    ids=["stretches alike", "stretches of one token"],
)
def test_without_bursts_a_long_draft_tells_the_truth_of_a_short_one(text: Bursts) -> None:
    alpha = text.easy * text.easy_share + text.hard * (1 - text.easy_share)
    for k in (3, 12):
        assert counted(k, text)[:3] == pytest.approx(theory.geometric_survival(alpha, 3), abs=ACCURACY)


def test_the_counters_of_the_scenario_promise_no_k_that_pays_and_three_tokens_do(tmp_path: Path) -> None:
    (requests,) = SERVER.requests
    assert requests.bursts
    assert SERVER.k
    truth = bursty.speedups(requests.bursts, SERVER.k, *COSTS)
    assert truth.index(max(truth)) + 1 == 3
    assert max(truth) == pytest.approx(1.11, abs=0.005)
    naive = theory.speedup_at(bursty.survival(requests.bursts, SERVER.k), *COSTS)
    assert max(naive) == pytest.approx(0.94, abs=0.005)
    said = reported(BURSTY, CALIBRATED, SERVER.method, tmp_path)
    assert said.speculation
    assert max(theory.speedup_at(said.speculation.survival, *COSTS)) < 1
    shorter = reported(with_k(BURSTY, 3), CALIBRATED, SERVER.method, tmp_path)
    assert theory.speedup(known(known(shorter.speculation).acceptance_length), 3, *COSTS) > 1.1
