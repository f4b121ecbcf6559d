"""Random servers: where the report's advice on K leads, and whether what it tells holds the truth."""

from collections import defaultdict

import pytest

from support.worlds import CLASSES, Walk, followed, worlds

STARTS = (3, 5, 8, 1)
NEAR, ENOUGH, HELD = 0.95, 0.8, 0.9


def walks(count: int) -> dict[str, list[Walk]]:
    """By the size of batches."""
    found: dict[str, list[Walk]] = defaultdict(list)
    for number, world in enumerate(worlds(count)):
        (of,) = (name for name, batches in CLASSES.items() if world.batch in batches)
        found[of].append(followed(world, STARTS[number % len(STARTS)]))
    return found


def judge(found: dict[str, list[Walk]]) -> None:
    told = [
        one.world.speedup(report.k) in report.speedup for of in found.values() for one in of for report in one.reports
    ]
    near = {of: sum(one.reached >= NEAR for one in own) / len(own) for of, own in found.items()}
    worst = min(one.world.speedup(one.k) for of in found.values() for one in of)
    assert all(share >= ENOUGH for share in near.values()), near
    assert sum(told) >= HELD * len(told), f"{sum(told)} of {len(told)} ranges hold the truth"
    assert worst >= 1, "the end is below plain decoding"


def test_advice_leads_near_the_best_in_a_few_worlds() -> None:
    judge(walks(3))


def test_an_end_below_plain_decoding_is_within_what_was_measured_and_no_count_shows_a_better_k() -> None:
    *_, world = worlds(193)
    end = followed(world, 3)
    told = end.reports[-1].speedup
    assert (end.measured, end.k) == (True, 3)
    assert told.low < world.speedup(3) < 1 < told.high
    of_two = (1 + sum(world.survival[3][:2])) / world.step_cost(2)
    assert world.speedup(3) < of_two < 1.02 * world.speedup(3) < world.speedup(2)


@pytest.mark.long
def test_advice_leads_near_the_best_at_every_batch() -> None:
    judge(walks(120))
