"""Flags and keys that articles still show and vLLM refuses, each with what took its place.

Verified against vLLM 0.32.0's own parser, but for those marked OLD: these were flags of the V0 engine, of which the
oldest release that was read (0.8.5) has none left.
"""

from dataclasses import dataclass

NO_EQUAL = "num_speculative_tokens_per_batch_size"


@dataclass(frozen=True)
class Dead:
    """A name that is gone."""

    fix: str
    key: str = ""
    """Key of the speculative configuration that holds its value now; empty where the value means nothing any more."""
    takes_value: bool = True


def _moved(key: str, flag: str = "") -> Dead:
    return Dead(f'write "{key}" in --speculative-config' + (f", or {flag}" if flag else ""), key)


_BY_BATCH_SIZE = Dead(
    f'leave it out; "{NO_EQUAL}": [[lowest, highest, K], ...] shortens drafts by batch size, which is no exact equal'
)
_REJECTION = Dead('leave it out, or write "rejection_sample_method": "standard" or "block" in --speculative-config')
_GONE = Dead("leave it out: nothing took its place")
_GONE_SWITCH = Dead(_GONE.fix, takes_value=False)
_NO_ADAPTIVE = Dead(
    f'leave it out; "{NO_EQUAL}" in --speculative-config shortens drafts by batch size', takes_value=False
)

FLAGS: dict[str, Dead] = {
    "speculative_model": _moved("model", "--spec-model"),
    "num_speculative_tokens": _moved("num_speculative_tokens", "--spec-tokens"),
    "speculative_disable_by_batch_size": _BY_BATCH_SIZE,
    "ngram_prompt_lookup_max": _moved("prompt_lookup_max"),
    "ngram_prompt_lookup_min": _moved("prompt_lookup_min"),
    "spec_decoding_acceptance_method": _REJECTION,
    "speculative_draft_tensor_parallel_size": _moved("draft_tensor_parallel_size"),
    "use_v2_block_manager": _GONE_SWITCH,
    "disable_log_requests": Dead(
        "leave it out: requests are logged only with --enable-log-requests", takes_value=False
    ),
    "enable_adaptive_k": _NO_ADAPTIVE,
    # OLD
    "spec_draft_tp": _moved("draft_tensor_parallel_size"),
    "speculative_model_quantization": _moved("quantization"),
    "speculative_max_model_len": _moved("max_model_len"),
    "speculative_disable_mqa_scorer": _GONE_SWITCH,
    "typical_acceptance_sampler_posterior_threshold": _REJECTION,
    "typical_acceptance_sampler_posterior_alpha": _REJECTION,
    "disable_logprobs_during_spec_decoding": _GONE,
}
"""By name with underscores, as keyword arguments of old articles spell them too."""

KEYS: dict[str, Dead] = {
    **{name: flag for name, flag in FLAGS.items() if name != flag.key},
    "disable_by_batch_size": _BY_BATCH_SIZE,
    "acceptance_method": _REJECTION,
    "posterior_threshold": _REJECTION,
    "posterior_alpha": _REJECTION,
    "disable_mqa_scorer": _GONE,
    "disable_logprobs": _GONE,
    "speculative_token_tree": _GONE,
    "synthetic_acceptance_rate": Dead('write "synthetic_acceptance_rates": [one for each position]'),
    "adaptive_verification": _moved("enable_adaptive_verification"),
}
"""In `--speculative-config`."""
