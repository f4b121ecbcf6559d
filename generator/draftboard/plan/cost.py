"""The saving of speculation: cost of a million tokens before and after, with extra GPUs and lost concurrency."""

from dataclasses import dataclass

from draftboard.errors import DraftboardError
from draftboard.output import Block, Heading, Table, columns
from draftboard.plan.basis import FORMULAS, Formula, Plan, within

_LEAST, _MOST, _GPUS = 1e-6, 1e9, 100_000


@dataclass(frozen=True, kw_only=True)
class CostPlan(Plan):
    """Costs are in the currency of the price, per million generated tokens; None where it is not given."""

    plan: str = "cost"
    formulas: tuple[Formula, ...] = FORMULAS["cost"]
    gpus: int
    extra_gpus: int
    lost_concurrency: float
    """Share of concurrent requests that the draft's memory costs, where that bounds the throughput."""
    speedup: float  # measured
    effective_speedup: float  # tokens for the same money, over those without speculation
    break_even_speedup: float  # measured speedup at which nothing is saved
    saving: float  # share of the cost of a token, negative when speculation costs more
    cost_without: float | None
    cost_with: float | None

    def blocks(self) -> tuple[Block, ...]:
        """Speedup, saving and costs."""
        rows = [
            ("Measured speedup", f"{self.speedup:.3f}"),
            ("GPUs, and extra for speculation", f"{self.gpus} + {self.extra_gpus}"),
            ("Lost concurrency", f"{self.lost_concurrency:.1%}"),
            ("Effective speedup, for the same money", f"{self.effective_speedup:.3f}"),
            ("Break-even speedup", f"{self.break_even_speedup:.3f}"),
            ("Saving", f"{self.saving:+.1%}"),
        ]
        if self.cost_without is not None:
            rows.append(("Cost of a million tokens, plain", f"{self.cost_without:.4g}"))
            rows.append(("Cost of a million tokens, speculating", f"{self.cost_with:.4g}"))
        return (Heading("Per generated token"), Table(columns("", numbers=("Value",)), tuple(rows)))


def measured_speedup(without: float, with_speculation: float) -> float:
    """Throughput with speculation over throughput without, in tokens/s."""
    within("tokens/s with speculation", with_speculation, _LEAST, _MOST)
    return with_speculation / within("tokens/s", without, _LEAST, _MOST)


def plan_cost(
    speedup: float,
    *,
    gpus: int = 1,
    extra_gpus: int = 0,
    lost_concurrency: float = 0.0,
    gpu_hour_price: float | None = None,
    tokens_per_second: float | None = None,
) -> CostPlan:
    """Plan from a measured speedup; a price needs the throughput without speculation."""
    within("speedup", speedup, _LEAST, _MOST)
    growth = 1 + within("extra GPUs", extra_gpus, 0, _GPUS) / within("GPUs", gpus, 1, _GPUS)
    kept = 1 - within("lost concurrency", lost_concurrency, 0, 0.999)
    effective = speedup * kept / growth
    before = None
    if gpu_hour_price is not None:
        if tokens_per_second is None:
            raise DraftboardError("a GPU-hour price needs the throughput without speculation: give tokens/s too")
        price = within("GPU-hour price", gpu_hour_price, 0, _MOST) * gpus
        before = price / (within("tokens/s", tokens_per_second, _LEAST, _MOST) * 3600) * 1e6
    saving = 1 - 1 / effective
    verdict = f"Saves {saving:.1%} of the cost of a token."
    if saving < 0:
        verdict = f"Costs {-saving:.1%} more a token than plain decoding: turn speculation off, or change it."
    return CostPlan(
        verdict="Saves nothing and costs nothing." if f"{abs(saving):.1%}" == "0.0%" else verdict,
        notes=(
            "The saving holds while the GPUs are busy: idle GPUs cost as much with speculation as without.",
            "An expected speedup is not a measured one: use the throughput of both variants under the same load.",
        ),
        gpus=gpus,
        extra_gpus=extra_gpus,
        lost_concurrency=lost_concurrency,
        speedup=speedup,
        effective_speedup=effective,
        break_even_speedup=growth / kept,
        saving=saving,
        cost_without=before,
        cost_with=None if before is None else before / effective,
    )
