"""The curve of step times by verified tokens: that it holds the truth, and where there is none."""

import math
import random
from collections.abc import Sequence

import pytest

from draftboard.evidence import Curve, Range, Steps, TooLittle, curves

DAY = 288  # Scrapes of five minutes.


def seconds(verified: float, knee: float, drafter: float) -> float:
    """Of a step: a roofline, rounded off, and the time of the drafter."""
    return 0.01 * (math.sqrt(1 + (verified / knee) ** 2) + drafter)


def day(seed: int, *, drafted: int, most: float, knee: float, drafter: float, correlation: float) -> list[Steps]:
    """Load that rises and falls; times scatter by 8 % with that correlation, and each tenth is slow by a prefill."""
    chance, noise, steps = random.Random(seed), 0.0, []
    for scrape in range(DAY):
        swing = math.sin(2 * math.pi * scrape / DAY + chance.uniform(-0.6, 0.6))
        verified = (1 + (most - 1) * (0.5 + 0.5 * swing)) * (drafted + 1)
        noise = correlation * noise + math.sqrt(1 - correlation**2) * chance.gauss(0, 0.08)
        slow = 1 + (chance.random() < 0.1) * chance.uniform(0, 2)
        steps.append(Steps(verified, seconds(verified, knee, drafter) * math.exp(noise) * slow))
    return steps


def inflation(found: Sequence[Curve], batch: float, drafted: int, knee: float = 150) -> Range:
    """Time of a step that verifies so many tokens a request over one that verifies none."""
    ratios = [one.seconds(batch * (drafted + 1), knee) / one.seconds(batch, knee) for one in found]
    return Range(min(ratios), max(ratios))


def test_it_holds_the_truth_at_every_load_that_it_reaches() -> None:
    held = asked = 0
    for seed in range(40):
        chance = random.Random(seed)
        knee, drafted, most = chance.choice([60, 150, 400]), chance.choice([1, 3]), chance.choice([16, 32, 64])
        drafter, correlation = chance.uniform(0, 0.3), chance.choice([0, 0.5, 0.9])
        found = curves(day(seed, drafted=drafted, most=most, knee=knee, drafter=drafter, correlation=correlation))
        for batch in (2 * (drafted + 1), most / 2):
            if not found[0].points[0][0] <= batch <= found[0].points[-1][0] / (drafted + 1):
                continue
            told = inflation(found, batch, drafted)
            truth = seconds(batch * (drafted + 1), knee, drafter) / seconds(batch, knee, drafter)
            asked += 1
            held += truth in told
            if all(one.points[0][0] <= batch <= one.points[-1][0] / (drafted + 1) for one in found):
                assert told.high / told.low < 1.5
    assert asked >= 40
    assert held >= 0.9 * asked


def test_a_load_that_hardly_varied_tells_nothing() -> None:
    steps = [Steps(10 + index % 5, 0.01) for index in range(DAY)]
    with pytest.raises(TooLittle, match=r"varied by 1\.\d times: a curve needs 2"):
        curves(steps)


@pytest.mark.parametrize("count", [0, 1, 7])
def test_few_steps_tell_nothing(count: int) -> None:
    with pytest.raises(TooLittle):
        curves([Steps(2.0**index, 0.01) for index in range(count)])


def test_a_load_that_was_had_once_tells_nothing() -> None:
    # A peak of half an hour in a day: whether it was the load or the hour, nobody knows.
    usual = [Steps(4 + 3 * (index % 10) / 10, 0.01) for index in range(DAY)]
    usual[100:106] = [Steps(100.0, 0.03)] * 6
    with pytest.raises(TooLittle, match="for a short time only"):
        curves(usual)


def test_more_tokens_never_take_less_time() -> None:
    noisy = [Steps(float(2 ** (index % 6)), 0.02 - 0.001 * (index % 6)) for index in range(DAY)]
    found = curves(noisy)
    for one in found:
        times = [seconds for _, seconds in one.points]
        assert times == sorted(times)
    assert inflation(found, 2, 3).low == 1


def test_times_between_points_are_interpolated_and_beyond_them_follow_the_law() -> None:
    line = Curve(((10.0, 1.0), (20.0, 2.0), (40.0, 2.0)))
    assert [line.seconds(tokens, 1e9) for tokens in (10, 15, 40)] == pytest.approx([1, 1.5, 2])
    assert line.seconds(80, 40) == pytest.approx(2 * 120 / 80)
    assert line.seconds(5, 40) == pytest.approx(1 * 45 / 50)
