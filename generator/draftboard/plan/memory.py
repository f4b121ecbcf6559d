"""GPU memory: weights, what they leave, and how many tokens of KV cache that holds. GB is 1e9 bytes, KiB 1024."""

import math
from dataclasses import dataclass
from enum import StrEnum

from draftboard.errors import DraftboardError
from draftboard.plan.bounds import within

UTILIZATION = 0.92
"""vLLM's default of --gpu-memory-utilization."""
GB, KIB = 1e9, 1024


class Dtype(StrEnum):
    """How numbers are stored."""

    BF16 = "bf16"
    FP16 = "fp16"
    INT8 = "int8"
    FP8 = "fp8"
    INT4 = "int4"

    @property
    def bytes(self) -> float:
        """Of one number; nominal, for the scales and zero points of a quantised model come on top."""
        return {"bf16": 2.0, "fp16": 2.0, "int8": 1.0, "fp8": 1.0, "int4": 0.5}[self.value]


@dataclass(frozen=True)
class Gpus:
    """The GPUs that one copy of the target runs on."""

    count: int
    gb: float
    """Memory of each, in GB."""
    utilization: float = UTILIZATION
    """Share of it that vLLM may use."""
    overhead_gb: float = 0.0
    """On each: peak activations, CUDA graphs, and what is not PyTorch's."""

    def __post_init__(self) -> None:
        """Raise DraftboardError for GPUs that nobody has."""
        within("GPUs", self.count, 1, 100_000)
        within("GB of a GPU", self.gb, 0.001, 100_000)
        within("GPU memory utilization", self.utilization, 0.001, 1)
        within("overhead GB", self.overhead_gb, 0, self.gb)

    @property
    def gross_gb(self) -> float:
        """All memory."""
        return self.count * self.gb

    @property
    def usable_gb(self) -> float:
        """What vLLM may fill with weights and KV cache."""
        return self.gross_gb * self.utilization - self.count * self.overhead_gb


@dataclass(frozen=True)
class Model:
    """A model, as far as memory goes. Heads that are part of the target, and lookups, have no parameters."""

    params: float
    """In billions."""
    dtype: Dtype = Dtype.BF16
    kv_kib_per_token: float | None = None
    """None when it is not known; 0 when it keeps none."""

    def __post_init__(self) -> None:
        """Raise DraftboardError for sizes that no model has."""
        within("billions of parameters", self.params, 0, 100_000)
        if self.kv_kib_per_token is not None:
            within("KV KiB per token", self.kv_kib_per_token, 0, 1_000_000)

    @property
    def weights_gb(self) -> float:
        """Billions of parameters x bytes of each."""
        return self.params * self.dtype.bytes


@dataclass(frozen=True)
class Budget:
    """What some weights leave on some GPUs."""

    weights_gb: float
    weights_gb_per_gpu: float
    gross_gb: float
    """All memory less weights: what simple arithmetic promises, and vLLM does not give."""
    net_gb: float
    """Usable memory less weights: the KV cache. At 0 or less vLLM does not start."""
    starts: bool
    kv_kib_per_token: float | None
    tokens: int | None
    """In the KV cache; None when the KV of a token is not known or is nothing."""
    requests: int | None
    """At the planned context, each filled to its end; None with `tokens`."""


def kv_kib_per_token(layers: int, kv_heads: int, head_dim: int, dtype: Dtype) -> float:
    """KV cache of one token in KiB: keys and values of every layer's KV heads.

    Raises:
        DraftboardError: numbers that no model has.
    """
    within("layers", layers, 1, 100_000)
    within("KV heads", kv_heads, 1, 100_000)
    within("head dim", head_dim, 1, 100_000)
    return 2 * layers * kv_heads * head_dim * dtype.bytes / KIB


def budget(gpus: Gpus, models: tuple[Model, ...], context: int) -> Budget:
    """What `models` leave together: each holds its weights, and KV of its own for every token."""
    weights = sum(model.weights_gb for model in models)
    net = gpus.usable_gb - weights
    tokens = tokens_in(net, kv := _kv_together(models))
    return Budget(
        weights_gb=weights,
        weights_gb_per_gpu=weights / gpus.count,
        gross_gb=gpus.gross_gb - weights,
        net_gb=net,
        starts=net > 0,
        kv_kib_per_token=kv,
        tokens=tokens,
        requests=None if tokens is None else tokens // context,
    )


def tokens_in(net_gb: float, kib_per_token: float | None) -> int | None:
    """Tokens that so much KV cache holds; blocks that are half full are not counted off."""
    if not kib_per_token:
        return None
    return max(0, math.floor(net_gb * GB / (kib_per_token * KIB)))


def _kv_together(models: tuple[Model, ...]) -> float | None:
    known = [model.kv_kib_per_token for model in models if model.kv_kib_per_token is not None]
    return sum(known) if len(known) == len(models) else None


def require_same_tp(target: int, draft: int) -> None:
    """Raise DraftboardError unless draft and target are cut over as many GPUs, without which vLLM does not start."""
    if draft != target:
        raise DraftboardError(
            f"draft TP {draft} with target TP {target}: vLLM refuses method draft_model then; "
            f'set "draft_tensor_parallel_size": {target}'
        )
