"""Memory of a draft, in tokens and concurrent requests of the KV cache. GB is 1e9 bytes, KiB 1024."""

import math
from dataclasses import dataclass, replace
from typing import Literal

from draftboard.errors import DraftboardError
from draftboard.output import Block, Described, Heading, Sentence, Table, columns
from draftboard.plan.basis import FORMULAS, Formula, Plan, within
from draftboard.settings import Settings
from draftboard.status import Status

UTILIZATION = 0.92  # vLLM's default of --gpu-memory-utilization
Dtype = Literal["bf16", "fp16", "int8", "fp8", "int4"]
_BYTES: dict[Dtype, float] = {"bf16": 2.0, "fp16": 2.0, "int8": 1.0, "fp8": 1.0, "int4": 0.5}  # of one number, nominal
_FINE_FIRST: tuple[Dtype, ...] = ("bf16", "int8", "int4")
_MOST = 100_000


@dataclass(frozen=True)
class Gpus(Described):
    """The GPUs that one copy of the target runs on."""

    count: int
    gb: float  # memory of each, in GB
    utilization: float = UTILIZATION  # share of it that vLLM may use
    overhead_gb: float = 0.0  # on each: peak activations, CUDA graphs, and memory that is not PyTorch's

    def __post_init__(self) -> None:
        within("GPUs", self.count, 1, _MOST)
        within("GB of a GPU", self.gb, 0.001, _MOST)
        within("GPU memory utilization", self.utilization, 0.001, 1)
        within("overhead GB", self.overhead_gb, 0, self.gb)

    @property
    def usable_gb(self) -> float:
        """Memory that vLLM may fill with weights and KV cache."""
        return self.count * self.gb * self.utilization - self.count * self.overhead_gb


@dataclass(frozen=True)
class Model(Described):
    """Size of a model. Lookups, and heads that belong to the target, may have no parameters."""

    params: float  # in billions
    dtype: Dtype = "bf16"
    kv_kib_per_token: float | None = None  # None when it is not known; 0 when the model keeps no KV cache

    def __post_init__(self) -> None:
        within("billions of parameters", self.params, 0, _MOST)
        within("KV KiB per token", self.kv_kib_per_token or 0, 0, 1_000_000)

    @property
    def weights_gb(self) -> float:
        """Billions of parameters x bytes of each."""
        return self.params * _BYTES[self.dtype]


@dataclass(frozen=True)
class Budget(Described):
    """Memory that is left after the weights."""

    weights_gb: float
    weights_gb_per_gpu: float
    gross_gb: float  # all memory less weights: more than vLLM gives
    net_gb: float  # usable memory less weights: the KV cache. At 0 or less vLLM does not start
    starts: bool
    kv_kib_per_token: float | None
    tokens: int | None  # in the KV cache; None when the KV of a token is not known or 0
    requests: int | None  # at the planned context, each filled to its end; None with `tokens`


@dataclass(frozen=True)
class Hint(Described):
    """A rule of thumb for weights over all GPU memory, and the effect above its limit."""

    rule: str
    value: float
    limit: float
    broken: bool
    beyond: str
    source: str = "a published guide to speculative decoding in vLLM"


@dataclass(frozen=True, kw_only=True)
class VramPlan(Plan):
    """Memory without and with the draft."""

    plan: str = "vram"
    formulas: tuple[Formula, ...] = FORMULAS["vram"]
    gpus: Gpus
    target: Model
    draft: Model
    context: int  # tokens of prompt and answer that each request holds
    without: Budget
    with_draft: Budget
    tokens_lost: float | None  # share of the KV cache's tokens, and so of concurrent requests, that the draft costs
    tokens_by_weights_alone: int | None  # with the draft, if it kept no KV of its own: a common claim, and too high
    pairs: dict[str, Budget]  # with the draft, by other dtypes of the weights: target + draft
    hints: tuple[Hint, ...]

    def blocks(self) -> tuple[Block, ...]:
        """Both budgets, other dtypes, and rules of thumb."""
        gpus, lost = self.gpus, ""
        title = f"{gpus.count} x {gpus.gb:g} GB, {gpus.utilization:.0%} usable, {gpus.overhead_gb:g} GB overhead each"
        if self.tokens_lost is not None:
            kv = f"{self.without.kv_kib_per_token:g} KiB, with the draft {self.with_draft.kv_kib_per_token:g}"
            alone = f"by its weights alone, {self.tokens_by_weights_alone:,} tokens would be left"
            lost = f"KV of a token: {kv}. The draft costs {self.tokens_lost:.1%} of the KV cache's tokens ({alone})."
        return (
            Heading(f"{title}; context {self.context:,} tokens"),
            _table({"target": self.without, "with draft": self.with_draft}),
            Sentence(lost),
            Heading("Other dtypes of the weights: target + draft"),
            _table(self.pairs),
            *(_sentence(hint) for hint in self.hints),
        )


def _table(budgets: dict[str, Budget]) -> Table:
    figures = [
        (
            *(f"{each.weights_gb:g}", f"{each.weights_gb_per_gpu:.1f}", f"{each.gross_gb:.1f}", f"{each.net_gb:.1f}"),
            *("-" if count is None else f"{count:,}" for count in (each.tokens, each.requests)),
            "no" if not each.starts else "if shorter" if each.requests == 0 else "yes",
        )
        for each in budgets.values()
    ]
    names = ("Weights GB", "GB per GPU", "Gross free GB", "Net free GB", "Tokens", "Requests", "Starts")
    return Table(columns("", numbers=budgets), tuple(zip(names, *figures, strict=True)))


def _sentence(hint: Hint) -> Sentence:
    position, status = ("above", Status.WARN) if hint.broken else ("within", Status.NEUTRAL)
    share = f"{hint.rule} are {hint.value:.1%} of GPU memory, {position} the limit of {hint.limit:.0%}"
    return Sentence(f"Rule of thumb: {share}; above it {hint.beyond} ({hint.source}).", status)


def kv_kib_per_token(layers: int, kv_heads: int, head_dim: int, dtype: Dtype) -> float:
    """KV cache of one token in KiB: keys and values of every layer's KV heads."""
    for name, number in (("layers", layers), ("KV heads", kv_heads), ("head dim", head_dim)):
        within(name, number, 1, _MOST)
    return 2 * layers * kv_heads * head_dim * _BYTES[dtype] / 1024


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
    """Plan the memory of `target` with `draft` on `gpus`. TP is the number of GPUs where it is not given."""
    within("context", context, 1, 100_000_000)
    tp = int(within("target TP", gpus.count if target_tp is None else target_tp, 1, gpus.count))
    if draft.params and draft_tp not in {None, tp}:
        raise DraftboardError(
            f"draft TP {draft_tp} with target TP {tp}: vLLM refuses method draft_model then; "
            f'set "draft_tensor_parallel_size": {tp}'
        )
    without, with_draft = _budget(gpus, context, target), _budget(gpus, context, target, draft)
    lost = 1 - with_draft.tokens / without.tokens if without.tokens and with_draft.tokens is not None else None
    others = {
        f"{of_target}+{of_draft}" if draft.params else of_target: _budget(
            gpus, context, replace(target, dtype=of_target), replace(draft, dtype=of_draft)
        )
        for of_target in _FINE_FIRST
        for of_draft in ("bf16", of_target)
    }
    limits, total = settings.planning, gpus.count * gpus.gb
    rules = (
        ("target weights", target.weights_gb / total, limits.target_share, "a draft cuts concurrency: load-test it"),
        ("draft weights", draft.weights_gb / total, limits.draft_share, "the draft takes too much of the KV cache"),
    )
    return VramPlan(
        verdict=_verdict(gpus, without, with_draft),
        notes=_notes(gpus, target, draft),
        gpus=gpus,
        target=target,
        draft=draft,
        context=context,
        without=without,
        with_draft=with_draft,
        tokens_lost=lost,
        tokens_by_weights_alone=_tokens(with_draft.net_gb, target.kv_kib_per_token),
        pairs=others,
        hints=tuple(Hint(r, share, most, share > most, does) for r, share, most, does in rules if draft.params),
    )


def _budget(gpus: Gpus, context: int, *models: Model) -> Budget:
    """Budget of all models together: each has its weights, and KV of its own for every token."""
    weights = sum(model.weights_gb for model in models)
    known = [model.kv_kib_per_token for model in models if model.kv_kib_per_token is not None]
    kv = sum(known) if len(known) == len(models) else None
    net, tokens = gpus.usable_gb - weights, _tokens(gpus.usable_gb - weights, kv)
    requests = None if tokens is None else tokens // context
    return Budget(weights, weights / gpus.count, gpus.count * gpus.gb - weights, net, net > 0, kv, tokens, requests)


def _tokens(net_gb: float, kib_per_token: float | None) -> int | None:
    """Tokens in a KV cache of this size. Half-full blocks are not subtracted."""
    return max(0, math.floor(net_gb * 1e9 / (kib_per_token * 1024))) if kib_per_token else None


def _verdict(gpus: Gpus, without: Budget, with_draft: Budget) -> str:
    if with_draft.starts:
        cache = f"{with_draft.net_gb:.1f} GB for the KV cache"
        if with_draft.requests == 0:
            return f"Starts only with a --max-model-len of at most {with_draft.tokens:,} tokens: {cache}."
        return f"Starts, with {cache}."
    limit = f"GB of weights do not fit into {gpus.usable_gb:.1f} GB that vLLM may use."
    if without.starts:
        advice = "Quantise, take a smaller draft, or add GPUs."
        return f"Does not start with the draft: {with_draft.weights_gb:g} {limit} {advice}"
    return f"Does not start even without the draft: {without.weights_gb:g} {limit} Quantise the target, or add GPUs."


def _notes(gpus: Gpus, target: Model, draft: Model) -> tuple[str, ...]:
    kv, draft_kv, bare = target.kv_kib_per_token, draft.kv_kib_per_token, not gpus.overhead_gb
    shape = "layers, KV heads and head dim"
    notes = {
        "Overhead is assumed to be 0 GB: activations, CUDA graphs and other memory take more. vLLM logs it.": bare,
        f"Tokens are unknown: give the target's {shape}, or its KV KiB per token.": kv is None,
        "The target keeps no KV cache as given: tokens have no meaning.": kv == 0,
        f"Tokens with the draft are unknown: it holds its own KV; give its {shape}.": draft_kv is None,
        "The draft is planned without memory: right for ngram and suffix. EAGLE and MTP layers hold weights and KV "
        "of their own: give --draft-params and --draft-layers.": not draft.params and draft_kv == 0,
        "Weights are nominal: scales, zero points and padding come on top. Blocks of the cache are not rounded.": True,
    }
    return tuple(note for note, holds in notes.items() if holds)
