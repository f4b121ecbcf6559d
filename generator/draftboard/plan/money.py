"""What speculation saves: cost of a million tokens before and after, GPUs and lost concurrency counted."""

from dataclasses import dataclass
from typing import ClassVar

from draftboard.errors import DraftboardError
from draftboard.plan.bounds import within
from draftboard.plan.formula import Formula
from draftboard.theory import cost_per_million, saving

_MOST = 1e9
_UNSEEN = 5e-4
"""A saving that prints as 0.0 %."""


@dataclass(frozen=True)
class CostPlan:
    """Costs are in the currency of the price, per million generated tokens."""

    name: ClassVar[str] = "cost"
    formulas: ClassVar[tuple[Formula, ...]] = (
        Formula("cost of a million tokens", "price of a GPU-hour x GPUs / (tokens/s x 3600) x 1e6", "derived"),
        Formula("measured speedup", "tokens/s with speculation / tokens/s without, same load", "definition"),
        Formula("effective speedup", "S x (1 - lost concurrency) / ((GPUs + extra) / GPUs)", "derived"),
        Formula("saving", "1 - 1 / effective speedup; 1 - 1 / S with nothing extra and nothing lost", "derived"),
        Formula("break-even speedup", "((GPUs + extra) / GPUs) / (1 - lost concurrency)", "saving = 0, solved for S"),
    )

    gpus: int
    extra_gpus: int
    lost_concurrency: float
    """Share of concurrent requests that the draft's memory costs, where that bounds the throughput."""
    speedup: float
    """Measured: throughput with speculation over without."""
    effective_speedup: float
    """Tokens for the same money, times those without speculation."""
    break_even_speedup: float
    """Measured speedup at which nothing is saved."""
    saving: float
    """Share of the cost of a token, negative when speculation costs more."""
    cost_without: float | None
    """None unless price and throughput are given."""
    cost_with: float | None
    verdict: str
    notes: tuple[str, ...]


def measured_speedup(without: float, with_speculation: float) -> float:
    """Throughput with speculation over throughput without, both in tokens/s.

    Raises:
        DraftboardError: a throughput out of range.
    """
    within("tokens/s", without, 1e-6, _MOST)
    within("tokens/s with speculation", with_speculation, 1e-6, _MOST)
    return with_speculation / without


def plan_cost(
    speedup: float,
    *,
    gpus: int = 1,
    extra_gpus: int = 0,
    lost_concurrency: float = 0.0,
    gpu_hour_price: float | None = None,
    tokens_per_second: float | None = None,
) -> CostPlan:
    """Plan from a measured speedup; with a price and the throughput without speculation, in money too.

    Raises:
        DraftboardError: a number out of range, or one of price and throughput without the other.
    """
    within("speedup", speedup, 1e-6, _MOST)
    within("GPUs", gpus, 1, 100_000)
    within("extra GPUs", extra_gpus, 0, 100_000)
    within("lost concurrency", lost_concurrency, 0, 0.999)
    growth = (gpus + extra_gpus) / gpus
    effective = speedup * (1 - lost_concurrency) / growth
    before = _cost(gpu_hour_price, gpus, tokens_per_second)
    saved = saving(effective)
    return CostPlan(
        gpus=gpus,
        extra_gpus=extra_gpus,
        lost_concurrency=lost_concurrency,
        speedup=speedup,
        effective_speedup=effective,
        break_even_speedup=growth / (1 - lost_concurrency),
        saving=saved,
        cost_without=before,
        cost_with=None if before is None else before / effective,
        verdict=_verdict(saved),
        notes=(
            "The saving holds while the GPUs are kept busy: idle GPUs cost as much with speculation as without.",
            "An expected speedup is no measured one: feed this with throughput of both arms under the same load.",
        ),
    )


def _cost(price: float | None, gpus: int, tokens_per_second: float | None) -> float | None:
    if price is None:
        return None
    if tokens_per_second is None:
        raise DraftboardError("a GPU-hour price needs the throughput without speculation: give tokens/s too")
    within("GPU-hour price", price, 0, _MOST)
    within("tokens/s", tokens_per_second, 1e-6, _MOST)
    return cost_per_million(price, gpus, tokens_per_second)


def _verdict(saved: float) -> str:
    if abs(saved) < _UNSEEN:
        return "Saves nothing and costs nothing."
    if saved < 0:
        return f"Costs {-saved:.1%} more a token than plain decoding: turn speculation off, or change it."
    return f"Saves {saved:.1%} of the cost of a token."
