"""What drafting, verifying and serving cost."""

from typing import Self

from pydantic import Field, model_validator

from draftboard.evidence import End, assumed_ranges, cheap, dear
from draftboard.files import Table
from draftboard.settings.fields import (
    AboveZero,
    Currency,
    InflationByBatch,
    MethodName,
    ModelPattern,
    Ratio,
    plain_spelling,
)


class DraftCost(Table):
    """Cost of drafting, for break-even and expected speedup. Assumptions until you measure your own."""

    default: Ratio = 0.1
    """Time to draft one token / time of one target step: for a draft model ten times faster, or an unknown method."""
    by_method: dict[MethodName, Ratio] = Field(
        default={
            # No model runs: the cost is a search on the CPU.
            **dict.fromkeys(("ngram", "ngram_gpu", "suffix"), 0.01),
            # One layer of the target, or a few heads.
            **dict.fromkeys(("eagle", "eagle3", "medusa", "mtp"), 0.05),
            # One pass of a small model drafts the whole block.
            "dflash": 0.02,
        },
        max_length=32,
    )
    verify_inflation: InflationByBatch = Field(default={"1": 1.0})
    """Time of a verify step / time of a plain step: 1 while the GPU waits for memory, more when it lacks compute. One
    number for all loads, or by batch size (requests per engine), as in { 1 = 1.0, 8 = 1.4, 32 = 2.5 }: linear in
    between."""
    calibrated: tuple[MethodName, ...] = Field(default=(), strict=False, max_length=32)
    """Methods whose costs were measured, as `draftboard calibrate` does: their verdicts say so."""

    @model_validator(mode="after")
    def _one_spelling(self) -> Self:
        spellings = dict[str, str]()
        for name in (*self.by_method, *self.calibrated):
            known = spellings.setdefault(plain_spelling(name), name)
            if known != name:
                raise ValueError(f"{name!r} is another spelling of {known!r}, and labels are compared letter by letter")
        return self

    def __eq__(self, other: object) -> bool:
        """Costs that are set are others than assumed ones, of whatever value: what is cached by settings tells them."""
        return super().__eq__(other) and isinstance(other, DraftCost) and self.is_assumed == other.is_assumed

    __hash__ = None  # type: ignore[assignment]  # Tables of methods have none.

    @property
    def is_assumed(self) -> bool:
        """Whether no cost was set: all of them are defaults."""
        return not self.model_fields_set & {"default", "by_method", "verify_inflation"}

    @property
    def cheap(self) -> End:
        """The least that steps may cost where no cost was set."""
        return cheap()

    @property
    def dear(self) -> End:
        """The most that steps may cost where no cost was set."""
        return dear()

    @property
    def largest_batch(self) -> int:
        """Of the measurements that the ends come from."""
        return assumed_ranges().largest_batch

    @property
    def inflation_by_batch(self) -> tuple[tuple[float, float], ...]:
        """Batch sizes and the verify inflation at each, from the smallest."""
        return tuple(sorted((float(size), inflation) for size, inflation in self.verify_inflation.items()))

    @property
    def inflation_is_curve(self) -> bool:
        """Whether the verify inflation follows the batch."""
        return len(self.verify_inflation) > 1

    @property
    def inflation_at_least_batch(self) -> float:
        """The verify inflation at the smallest batch."""
        return self.inflation_by_batch[0][1]

    @property
    def highest_inflation(self) -> float:
        """The highest verify inflation of any batch."""
        return max(self.verify_inflation.values())


class Cost(Table):
    """Price of serving, for the saving that dashboards derive from a measured speedup."""

    gpus_per_engine: AboveZero = 1.0
    """Tensor x pipeline parallel size: vLLM does not export it."""
    gpus_of_model: dict[ModelPattern, AboveZero] = Field(
        default={}, max_length=64, examples=[{"meta-llama/Llama-3.1-405B-Instruct": 8}]
    )
    """GPUs of an engine of other models, by name or regular expression."""
    price_per_gpu_hour: AboveZero | None = Field(default=None, examples=[2.5])
    """Without a price the saving is a number of GPUs."""
    currency: Currency = "USD"

    @property
    def price_per_engine_hour(self) -> float:
        """Of all GPUs of an engine; by default 1 for each."""
        return (self.price_per_gpu_hour or 1.0) * self.gpus_per_engine
