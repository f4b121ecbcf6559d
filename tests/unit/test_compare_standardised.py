"""The speedup at equal lengths: what of a difference is that of the requests."""

import random
from dataclasses import replace
from statistics import fmean

import pytest

from draftboard.compare import Side, compare
from draftboard.compare.words import document
from draftboard.report import Part, standardised
from draftboard.settings import Settings
from draftboard.signals.latency import per_token
from support.known import known
from support.runs import ran

TRUTH, PARTS, REQUESTS, RUNS = 1.3, 20, 30, 50


def side(chance: random.Random, prompt: float, faster: float, *, spread: float = 1.0) -> Side:
    """Parts of requests whose lengths scatter about a mean; a token takes longer with a longer prompt."""
    parts = []
    for _ in range(PARTS):
        prompts = [prompt * (1 + spread * (chance.gammavariate(1, 1) - 1)) for _ in range(REQUESTS)]
        answers = [100 * (1 + spread * (chance.gammavariate(2, 0.5) - 1)) for _ in range(REQUESTS)]
        mean = sum(prompts) / REQUESTS
        tokens = sum(answers)
        seconds = tokens * (0.01 + 0.00004 * mean) / faster * chance.gauss(1, 0.02)
        parts.append(
            Part(
                requests=REQUESTS,
                seconds_per_token=seconds / tokens * REQUESTS,
                drafts=0,
                draft_tokens=0,
                accepted_tokens=0,
                step_seconds=seconds,
                generated=tokens + REQUESTS,
                first_tokens=REQUESTS,
                prompts=sum(prompts),
            )
        )
    run = ran()
    return replace(run, model=replace(run.model, parts=tuple(parts)))


def test_it_takes_out_what_longer_prompts_cost() -> None:
    """Prompts of 450 tokens against 540 in the arm that drafts: the crude speedup is 1.17, the true one 1.3."""
    held, crude, found = 0, list[float](), list[float]()
    for seed in range(RUNS):
        chance = random.Random(seed)
        sides = side(chance, 450, 1), side(chance, 540, TRUTH)
        if (one := standardised(sides[0].model.parts, sides[1].model.parts, Settings())) is None:
            continue
        held += one.low <= TRUTH <= one.high
        found.append(one.value)
        before, after = (known(each.ratios.get(per_token.mean.name)) for each in sides)
        crude.append(before.over(after).value)
    assert len(found) >= 0.9 * RUNS
    assert held >= 0.9 * len(found)
    assert fmean(found) == pytest.approx(TRUTH, rel=0.01)
    assert fmean(crude) < 1.2


def test_it_is_told_only_where_lengths_differ_and_parts_allow_it() -> None:
    chance = random.Random(1)
    plain, alike, far = side(chance, 450, 1), side(chance, 450, TRUTH), side(chance, 4500, TRUTH)
    even, no_parts = side(chance, 540, TRUTH, spread=0.0), ran()
    for candidate in (alike, far, even, no_parts):
        assert standardised(plain.model.parts, candidate.model.parts, Settings()) is None


@pytest.mark.parametrize(("prompt", "shown"), [(540, True), (450, False)])
def test_it_stands_beside_the_crude_one(prompt: float, shown: bool) -> None:
    chance = random.Random(2)
    found = compare(side(chance, 450, 1), side(chance, prompt, TRUTH))
    assert (found.measured.standardised is not None) == shown
    assert ("Standardised speedup" in str(document(found, Settings()))) == shown
