"""The keys of `--speculative-config` in vLLM 0.32, and what each may hold."""

import difflib
from collections.abc import Callable
from typing import Any

Config = dict[str, Any]
Rule = Callable[[Any], bool]


def _count(value: Any) -> bool:  # noqa: ANN401  (JSON)
    return isinstance(value, int) and not isinstance(value, bool) and value >= 1


def _text(value: Any) -> bool:  # noqa: ANN401
    return isinstance(value, str) and bool(value)


def _switch(value: Any) -> bool:  # noqa: ANN401
    return isinstance(value, bool)


def _one_of(*allowed: str) -> tuple[Rule, str]:
    return lambda value: value in allowed, "one of " + ", ".join(allowed)


def _share(value: Any) -> bool:  # noqa: ANN401
    return isinstance(value, int | float) and not isinstance(value, bool) and 0 <= value <= 1


def _falling_shares(value: Any) -> bool:  # noqa: ANN401
    return isinstance(value, list) and all(map(_share, value)) and value == sorted(value, reverse=True)


def _batch_sizes(value: Any) -> bool:  # noqa: ANN401
    rows = isinstance(value, list) and bool(value) and all(isinstance(row, list) and len(row) == 3 for row in value)  # noqa: PLR2004
    return rows and all(_count(low) and _count(high) and low <= high and _whole(k) for low, high, k in value)


def _whole(value: Any) -> bool:  # noqa: ANN401
    return isinstance(value, int) and not isinstance(value, bool) and value >= 0


def _anything(_: Any) -> bool:  # noqa: ANN401
    return True


_COUNT = (_count, "a whole number from 1 on")
_TEXT = (_text, "a text")
_SWITCH = (_switch, "true or false")
_FREE = (_anything, "")

KEYS: dict[str, tuple[Rule, str]] = {
    "method": _TEXT,
    "model": _TEXT,
    "num_speculative_tokens": _COUNT,
    "draft_tensor_parallel_size": _COUNT,
    "quantization": _TEXT,
    "max_model_len": _COUNT,
    "revision": _TEXT,
    "code_revision": _TEXT,
    "enforce_eager": _SWITCH,
    "moe_backend": _FREE,
    "attention_backend": _FREE,
    "kv_cache_dtype": _FREE,
    "draft_load_config": _FREE,
    "prompt_lookup_max": _COUNT,
    "prompt_lookup_min": _COUNT,
    "suffix_decoding_max_tree_depth": _COUNT,
    "suffix_decoding_max_cached_requests": (_whole, "a whole number from 0 on"),
    "suffix_decoding_max_spec_factor": _FREE,
    "suffix_decoding_min_token_prob": (_share, "a number from 0 to 1"),
    "num_speculative_tokens_per_batch_size": (_batch_sizes, "a list of [lowest, highest, K], in whole numbers"),
    "parallel_drafting": _SWITCH,
    "disable_padded_drafter_batch": _SWITCH,
    "disable_eagle_block_drop": _SWITCH,
    "use_local_argmax_reduction": _SWITCH,
    "use_heterogeneous_vocab": _SWITCH,
    "draft_sample_method": _one_of("greedy", "probabilistic"),
    "rejection_sample_method": _one_of("standard", "synthetic", "block"),
    "synthetic_acceptance_rates": (_falling_shares, "a list of shares from 0 to 1 that never rise with the position"),
    "synthetic_acceptance_length": _FREE,
    "enable_adaptive_verification": _SWITCH,
    "dspark_draft_topk": _FREE,
    "index_share_for_mtp_iteration": _FREE,
}
"""What each may hold, as a test and in words."""


def nearest(name: str, known: list[str]) -> str:
    """The known name that was probably meant; empty where none is near."""
    return next(iter(difflib.get_close_matches(name[:100], known, n=1, cutoff=0.85)), "")
