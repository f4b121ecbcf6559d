"""What a draft model takes from the KV cache: tokens and concurrent requests, with it and without."""

from dataclasses import dataclass
from typing import ClassVar

from draftboard.plan.bounds import within
from draftboard.plan.formula import Formula
from draftboard.plan.memory import Budget, Dtype, Gpus, Model, budget, require_same_tp, tokens_in
from draftboard.settings import Settings

_VLLM = "vLLM, config/cache.py"
_TUTORIAL = "a published guide to speculative decoding in vLLM"
_PAIRS = (
    (Dtype.BF16, Dtype.BF16),
    (Dtype.INT8, Dtype.BF16),
    (Dtype.INT8, Dtype.INT8),
    (Dtype.INT4, Dtype.BF16),
    (Dtype.INT4, Dtype.INT4),
)
"""Target and draft: the draft never coarser than the target."""


@dataclass(frozen=True)
class Pair:
    """What other dtypes would leave."""

    target: Dtype
    draft: Dtype
    budget: Budget


@dataclass(frozen=True)
class Hint:
    """A rule of thumb, and whether the plan breaks it."""

    rule: str
    """What is held against all GPU memory."""
    value: float
    limit: float
    broken: bool
    beyond: str
    """What is said to happen above the limit."""
    source: str


@dataclass(frozen=True)
class VramPlan:
    """Memory without and with the draft."""

    name: ClassVar[str] = "vram"
    formulas: ClassVar[tuple[Formula, ...]] = (
        Formula("weights", "billions of parameters x bytes each: bf16 2, int8 and fp8 1, int4 0.5", "nominal"),
        Formula("gross", "GPUs x GB - weights", "simple arithmetic"),
        Formula("net, the KV cache", "GPUs x (GB x utilization - overhead) - weights of target and draft", _VLLM),
        Formula("KV of a token", "2 x layers x KV heads x head dim x bytes, target and draft each", "keys and values"),
        Formula("tokens", "net x 1e9 / (KiB per token x 1024), both models' KV added", "derived"),
        Formula("requests", "tokens / context, rounded down", "derived"),
    )

    gpus: Gpus
    target: Model
    draft: Model
    context: int
    """Tokens of prompt and answer that each request is planned to hold."""
    without: Budget
    with_draft: Budget
    tokens_lost: float | None
    """Share of the cache's tokens that the draft costs, and so of concurrent requests: the lost concurrency of `plan
    cost`. None when a token's KV is not known."""
    tokens_by_weights_alone: int | None
    """Tokens with the draft if it kept no KV of its own: what is often claimed, and too many."""
    pairs: tuple[Pair, ...]
    hints: tuple[Hint, ...]
    verdict: str
    notes: tuple[str, ...]


def plan_vram(
    settings: Settings,
    gpus: Gpus,
    target: Model,
    draft: Model,
    *,
    context: int,
    target_tp: int | None = None,
    draft_tp: int | None = None,
) -> VramPlan:
    """Plan the memory of `target` with `draft` on `gpus`. TP is the number of GPUs where it is not given.

    Raises:
        DraftboardError: a size out of range, or draft and target cut over different numbers of GPUs.
    """
    within("context", context, 1, 100_000_000)
    tp = int(within("target TP", gpus.count if target_tp is None else target_tp, 1, gpus.count))
    if draft.params:
        require_same_tp(tp, tp if draft_tp is None else draft_tp)
    without, with_draft = budget(gpus, (target,), context), budget(gpus, (target, draft), context)
    return VramPlan(
        gpus=gpus,
        target=target,
        draft=draft,
        context=context,
        without=without,
        with_draft=with_draft,
        tokens_lost=_lost(without.tokens, with_draft.tokens),
        tokens_by_weights_alone=tokens_in(with_draft.net_gb, target.kv_kib_per_token),
        pairs=_pairs(gpus, target, draft, context),
        hints=_hints(settings, gpus, target, draft),
        verdict=_verdict(gpus, without, with_draft),
        notes=_notes(gpus, target, draft),
    )


def _lost(before: int | None, after: int | None) -> float | None:
    return None if not before or after is None else 1 - after / before


def _pairs(gpus: Gpus, target: Model, draft: Model, context: int) -> tuple[Pair, ...]:
    """Other dtypes of the weights; the KV cache's stays."""
    found = {}
    for of_target, of_draft in _PAIRS:
        models = (
            Model(target.params, of_target, target.kv_kib_per_token),
            Model(draft.params, of_draft, draft.kv_kib_per_token),
        )
        shown = of_draft if draft.params else draft.dtype
        found[of_target, shown] = Pair(of_target, shown, budget(gpus, models, context))
    return tuple(found.values())


def _hints(settings: Settings, gpus: Gpus, target: Model, draft: Model) -> tuple[Hint, ...]:
    if not draft.params:
        return ()
    limits = settings.planning
    rules = (
        ("target weights", target, limits.target_share, "a draft cuts concurrency: load-test it"),
        ("draft weights", draft, limits.draft_share, "the draft takes too much of the KV cache"),
    )
    return tuple(
        Hint(rule, (share := model.weights_gb / gpus.gross_gb), limit, share > limit, beyond, _TUTORIAL)
        for rule, model, limit, beyond in rules
    )


def _verdict(gpus: Gpus, without: Budget, with_draft: Budget) -> str:
    if not without.starts:
        return (
            f"Does not start even without the draft: {without.weights_gb:g} GB of weights do not fit into "
            f"{gpus.usable_gb:.1f} GB that vLLM may use. Quantise the target, or add GPUs."
        )
    if not with_draft.starts:
        return (
            f"Does not start with the draft: {with_draft.weights_gb:g} GB of weights do not fit into "
            f"{gpus.usable_gb:.1f} GB that vLLM may use. Quantise, take a smaller draft, or add GPUs."
        )
    if with_draft.requests == 0:
        return f"Starts with {with_draft.net_gb:.1f} GB for the KV cache, which hold not one request of this context."
    return f"Starts, with {with_draft.net_gb:.1f} GB for the KV cache."


def _notes(gpus: Gpus, target: Model, draft: Model) -> tuple[str, ...]:
    told = []
    if not gpus.overhead_gb:
        told.append(
            "Overhead is assumed to be 0 GB: activations, CUDA graphs and other memory take more. vLLM logs it."
        )
    if target.kv_kib_per_token is None:
        told.append("Tokens are unknown: give the target's layers, KV heads and head dim, or its KV KiB per token.")
    elif not target.kv_kib_per_token:
        told.append("The target keeps no KV cache as given: tokens have no meaning.")
    if draft.kv_kib_per_token is None:
        told.append("Tokens with the draft are unknown: it holds its own KV; give its layers, KV heads and head dim.")
    elif not draft.params and not draft.kv_kib_per_token:
        told.append(
            "The draft is planned to take no memory: right for ngram and suffix. EAGLE and MTP layers hold weights and "
            "KV of their own: give --draft-params and --draft-layers."
        )
    told.append(
        "Weights are nominal: scales, zero points and padding come on top. Blocks of the cache are not rounded."
    )
    return tuple(told)
