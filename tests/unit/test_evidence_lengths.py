"""Which draft length is best in every case of the costs."""

import pytest

from draftboard.evidence import Assumed, Change, Depth, Drafting, assumed, length_advice
from draftboard.evidence.assumed import Costs
from draftboard.evidence.law import Kind

GAIN = 1.02


def drafting(
    survival: list[float],
    *,
    batch: float = 1,
    coverage: float = 1,
    method: str = "eagle3",
    following: float | None = None,
) -> Drafting:
    """Of an engine whose drafts survive so often to each depth."""
    tokens = [1 + sum(survival[: k + 1]) for k in range(len(survival))]
    depths = [Depth(k, float(k), own) for k, own in enumerate(tokens, start=1)]
    k = len(survival)
    longer = None if following is None else Depth(k + 1, k + 1.0, tokens[-1] + following)
    return Drafting(method, batch, coverage, coverage * tokens[-1] + 1 - coverage, depths, longer)


def costs(*cases: tuple[float, float]) -> Assumed:
    """Cases of overhead and knee."""
    return Assumed(tuple(Costs(Kind.HEAD, overhead, knee) for overhead, knee in cases), (), 256)


def test_a_speedup_is_tokens_over_the_cost_of_their_steps() -> None:
    engine = drafting([0.8, 0.5])
    one, two = (engine.speedup(depth, Costs(Kind.HEAD, 0.1, 1e9)) for depth in engine.depths)
    assert one == pytest.approx(1.8 / (1 + 2 * 0.1))
    assert two == pytest.approx(2.3 / (1 + 3 * 0.1))


def test_with_shorter_drafts_more_steps_make_the_same_share_of_tokens() -> None:
    # Half of the steps have a draft: of 3.3 tokens in two steps, 2.3 are of the one with the draft.
    engine = drafting([0.8, 0.5], coverage=0.5)
    steps = 1 + 2.3 / 1.8
    with_draft = 2.3 / 1.8
    assert engine.speedup(engine.depths[0], Costs(Kind.HEAD, 0.1, 1e9)) == pytest.approx(
        3.3 / (steps + 0.1 * 2 * with_draft)
    )


def test_the_speedup_of_a_length_is_a_range_over_all_cases() -> None:
    engine = drafting([0.8, 0.5])
    found = engine.speedups(engine.depths[1], costs((0.1, 1e9), (0.2, 1e9)))
    assert (found.low, found.high) == pytest.approx((2.3 / 1.6, 2.3 / 1.3))


@pytest.mark.parametrize(
    ("engine", "cases", "change", "k"),
    [
        # The third token is hardly ever accepted.
        (drafting([0.8, 0.7, 0.01]), [(0.1, 1e9), (0.2, 1e9)], Change.SHORTER, 2),
        # In a large batch, verifying is dear.
        (drafting([0.9, 0.3, 0.2], batch=64), [(0.1, 30), (0.2, 30)], Change.SHORTER, 1),
        (drafting([0.95, 0.9], following=0.85), [(0.05, 1e9), (0.1, 1e9)], Change.LONGER, 3),
        (drafting([0.8, 0.64], following=0.2), [(0.1, 1e9), (0.12, 1e9)], Change.KEEP, 2),
        (drafting([0.1, 0.01]), [(0.1, 1e9), (0.2, 1e9)], Change.OFF, 2),
    ],
)
def test_a_change_is_advised_that_pays_in_every_case(
    engine: Drafting, cases: list[tuple[float, float]], change: Change, k: int
) -> None:
    found = length_advice(engine, costs(*cases), GAIN)
    assert found
    assert (found.change, found.k) == (change, k)
    assert (found.gain.low > GAIN) is (change in {Change.SHORTER, Change.LONGER})


def test_no_change_is_advised_where_it_depends_on_the_costs() -> None:
    engine = drafting([0.8, 0.6, 0.4, 0.3])
    assert length_advice(engine, costs((0.01, 1e9), (0.4, 1e9)), GAIN) is None
    cheap, dear = (length_advice(engine, costs((overhead, 1e9)), GAIN) for overhead in (0.01, 0.4))
    assert cheap
    assert dear
    assert (cheap.change, dear.change) == (Change.KEEP, Change.SHORTER)


def test_the_gain_of_a_change_is_a_range() -> None:
    found = length_advice(drafting([0.8, 0.7, 0.01]), costs((0.1, 1e9), (0.2, 1e9)), GAIN)
    assert found
    low, high = ((1 + 4 * own) / (1 + 3 * own) * 2.5 / 2.51 for own in (0.1, 0.2))
    assert (found.gain.low, found.gain.high) == pytest.approx((low, high))


def test_a_drafter_of_blocks_is_not_advised_another_length() -> None:
    engine = drafting([0.8, 0.7, 0.01, 0.01], method="dspark", following=0.9)
    found = length_advice(engine, assumed("dspark"), GAIN)
    assert found
    assert (found.change, found.k) == (Change.KEEP, 4)


def test_at_a_large_batch_an_unknown_card_leaves_the_length_open() -> None:
    engine = drafting([0.8, 0.6, 0.5, 0.4], batch=32, following=0.3)
    assert length_advice(engine, assumed("eagle3"), GAIN) is None
