"""The value of `--speculative-config`: what vLLM 0.32 accepts, what is wrong with it, and what to write instead.

Verified with vLLM 0.32.0's own parser, except the flags marked OLD: the oldest release that was read (0.8.5) has none.
"""

import difflib
from collections.abc import Iterable, Iterator
from contextlib import suppress
from typing import Annotated, Any, Literal

from annotated_types import Predicate
from pydantic import Field, TypeAdapter, ValidationError
from pydantic_core import from_json

from draftboard.doctor.finding import Finding, note, problem, shown, warning
from draftboard.settings import Settings
from draftboard.settings.fields import LONGEST_DRAFT

Config = dict[str, Any]
PER_BATCH_SIZE = "num_speculative_tokens_per_batch_size"
SHORTHANDS = {"spec_method": "method", "spec_model": "model", "spec_tokens": "num_speculative_tokens"}
"""Flags for a single key of `--speculative-config`."""
MOVED = {
    "speculative_model": "model",
    "num_speculative_tokens": "num_speculative_tokens",
    "ngram_prompt_lookup_max": "prompt_lookup_max",
    "ngram_prompt_lookup_min": "prompt_lookup_min",
    "speculative_draft_tensor_parallel_size": "draft_tensor_parallel_size",
    "spec_draft_tp": "draft_tensor_parallel_size",  # OLD
    "speculative_model_quantization": "quantization",  # OLD
    "speculative_max_model_len": "max_model_len",  # OLD
}
"""Dead flags, by name with underscores as in keyword arguments: the key that has their value today."""
_REPLACED = (
    (f'leave it out; the nearest replacement is "{PER_BATCH_SIZE}": [[lowest, highest, K], ...]',
     "speculative_disable_by_batch_size enable_adaptive_k", "disable_by_batch_size"),
    ('leave it out, or write "rejection_sample_method": "standard" or "block" in --speculative-config',
     # All but the first: OLD
     """spec_decoding_acceptance_method typical_acceptance_sampler_posterior_threshold
     typical_acceptance_sampler_posterior_alpha""", "acceptance_method posterior_threshold posterior_alpha"),
    ("leave it out: nothing replaces it",
     "use_v2_block_manager speculative_disable_mqa_scorer disable_logprobs_during_spec_decoding",  # the last two: OLD
     "disable_mqa_scorer disable_logprobs speculative_token_tree"),
    ("leave it out: only --enable-log-requests logs requests", "disable_log_requests", ""),
    ('write "synthetic_acceptance_rates": [one for each position]', "", "synthetic_acceptance_rate"),
)  # fmt: skip
"""What to do, for dead flags, and for dead keys of `--speculative-config`."""
_OR = {key: f", or --{flag.replace('_', '-')}" for flag, key in SHORTHANDS.items()}
_MOVED = {old: f'write "{key}" in --speculative-config{_OR.get(key, "")}' for old, key in MOVED.items()}
FLAGS = {name: fix for fix, flags, _ in _REPLACED for name in flags.split()} | _MOVED
DEAD_KEYS = {name: fix for name, fix in FLAGS.items() if name != MOVED.get(name)}
DEAD_KEYS |= {name: fix for fix, _, keys in _REPLACED for name in keys.split()}
WITHOUT_VALUE = {"use_v2_block_manager", "speculative_disable_mqa_scorer", "disable_log_requests", "enable_adaptive_k"}
_Count = Annotated[int, Field(strict=True, ge=1)]
_Whole = Annotated[int, Field(strict=True, ge=0)]
_Share = Annotated[float, Field(strict=True, ge=0, le=1)]
_Text = Annotated[str, Field(min_length=1)]
_Row = Annotated[tuple[_Count, _Count, _Whole], Predicate(lambda row: row[0] <= row[1])]
_Falling = Annotated[list[_Share], Predicate(lambda shares: shares == sorted(shares, reverse=True))]
_HOLD: tuple[tuple[str, Any, str], ...] = (
    ("a non-empty string", _Text, "method model quantization revision code_revision"),
    ("a whole number of at least 1", _Count, """num_speculative_tokens draft_tensor_parallel_size max_model_len
     prompt_lookup_max prompt_lookup_min suffix_decoding_max_tree_depth"""),
    ("a whole number of at least 0", _Whole, "suffix_decoding_max_cached_requests"),
    ("a number from 0 to 1", _Share, "suffix_decoding_min_token_prob"),
    ("a list of [lowest, highest, K], in whole numbers", Annotated[list[_Row], Field(min_length=1)], PER_BATCH_SIZE),
    ("true or false", Annotated[bool, Field(strict=True)], """enforce_eager parallel_drafting use_heterogeneous_vocab
     disable_padded_drafter_batch disable_eagle_block_drop use_local_argmax_reduction enable_adaptive_verification"""),
    ("one of greedy, probabilistic", Literal["greedy", "probabilistic"], "draft_sample_method"),
    ("one of standard, synthetic, block", Literal["standard", "synthetic", "block"], "rejection_sample_method"),
    ("a list of shares from 0 to 1, none over the one before", _Falling, "synthetic_acceptance_rates"),
    ("anything", Any, """moe_backend attention_backend kv_cache_dtype draft_load_config suffix_decoding_max_spec_factor
     synthetic_acceptance_length dspark_draft_topk index_share_for_mtp_iteration"""),
)  # fmt: skip
KEYS = {key: (words, TypeAdapter[Any](kind)) for words, kind, keys in _HOLD for key in keys.split()}
"""Of `--speculative-config`: what each may hold, in words and as a type."""
METHODS = {"ngram": "", "ngram_gpu": "0.18.0", "suffix": "0.11.1", "draft_model": "0.15.0", "eagle": "", "eagle3": ""}
METHODS |= {"mtp": "0.11.0", "medusa": "", "dflash": "0.20.0", "dspark": "0.28.0", "custom_class": "0.22.0"}
METHODS |= {"extract_hidden_states": ""}
"""By name: the first vLLM release known to have it; empty where it is older than the releases that were read."""
NEED_MODEL = {"draft_model", "eagle", "eagle3", "medusa", "dflash"}
NEED_LENGTH = {"ngram", "ngram_gpu"}
"""Methods without a drafter whose configuration gives the number of draft tokens."""
_NO_ASYNC = "vLLM disables asynchronous scheduling for it"
REMARKS = dict.fromkeys(("ngram", "medusa", "custom_class"), _NO_ASYNC)
REMARKS |= {"suffix": f"it needs the package arctic-inference, and {_NO_ASYNC}"}
REMARKS |= {"draft_model": "vLLM compares the sizes of both vocabularies only: equal size is not the same tokenizer"}
_OF_A_FAMILY = "_mtp"  # ending of deprecated method names
_FLAG = "--speculative-config"


def revived(config: Config) -> Config:
    """The configuration with dead keys moved or left out, and mistyped keys as the nearest known one."""
    alive = {key: value for key, value in config.items() if key in KEYS}
    for key, value in config.items():
        old = key.replace("-", "_")
        meant = MOVED.get(old) if old in DEAD_KEYS else nearest(key, KEYS)
        if key not in KEYS and meant:
            alive.setdefault(meant, value)
    method, model = alive.get("method"), alive.get("model")
    if isinstance(method, str) and method.endswith(_OF_A_FAMILY):
        alive["method"] = "mtp"
    elif alive != config and "method" not in alive and isinstance(model, str):
        # The V0 engine took the n-gram method as the name of a drafter.
        is_ngram = model in {"[ngram]", "ngram"}
        by_name = next((of for of in ("eagle3", "eagle", "medusa") if of in model.lower()), "draft_model")
        alive |= {"method": "ngram" if is_ngram else by_name}
        alive = {key: value for key, value in alive.items() if key != "model" or not is_ngram}
    return {key: alive[key] for key in KEYS if key in alive}


def spelling(config: Config) -> Iterator[Finding]:
    """Keys and names that vLLM refuses, or will refuse."""
    for key in [key for key in config if key not in KEYS]:
        gone, meant = DEAD_KEYS.get(key.replace("-", "_")), nearest(key, KEYS)
        what = f"vLLM 0.32 refuses this key: it is {'gone' if gone else 'unknown'}"
        yield problem(f"{_FLAG} {shown(key)}", what, gone or (f'write "{meant}"' if meant else "leave it out"))
    method = config.get("method")
    if isinstance(method, str) and method.endswith(_OF_A_FAMILY):
        what = f"{shown(method)} is a deprecated name"
        yield warning(f"{_FLAG} method", what, 'write "mtp", which covers all of them')


def meaning(
    config: Config, settings: Settings, tensor_parallel: int | None = None, data_parallel: int = 1
) -> Iterator[Finding]:
    """What is wrong with a configuration once dead spellings are revived; `tensor_parallel` is None if unknown."""
    alive = revived(config)
    for key, value in alive.items():
        words, kind = KEYS[key]
        if value is not None and not fits(value, kind):
            yield problem(f"{_FLAG} {key}", f"{shown(value)} is not allowed", f"write {words}")
    method = alive.get("method")
    if "method" not in config and method not in (None, "ngram"):
        what = f"old spellings named no method: {method} is a guess from the drafter's name"
        yield note(f"{_FLAG} method", what, "check it")
    if method is None and alive.get("model") == "ngram":
        method = "ngram"
    if method is None or isinstance(method, str):
        yield from _method(method, alive)
    yield from _length(method if isinstance(method, str) else "", alive, settings)
    yield from _together(alive, tensor_parallel, data_parallel)


def _method(method: str | None, alive: Config) -> Iterator[Finding]:
    where, one_of, meant = f"{_FLAG} method", f"write one of {', '.join(METHODS)}", nearest(method or "", METHODS)
    if method is None and not alive.get("model"):
        yield problem(where, "neither a method nor a model is named", 'write "method", such as "ngram"')
    elif method is None:
        what = "no method is named: the drafter's own configuration decides, and may change with the drafter"
        yield note(where, what, one_of)
    elif method == "mlp_speculator":
        yield problem(where, f"{method}: vLLM accepts the name, but its V1 engine has no such drafter", one_of)
    elif method not in METHODS:
        yield problem(where, f"{shown(method)} is not a method of vLLM 0.32", f'write "{meant}"' if meant else one_of)
    elif method in NEED_MODEL and not alive.get("model"):
        yield problem(f"{_FLAG} model", f"missing: {method} drafts with a model", 'write "model": its name')
    if method in REMARKS:
        fix = "none needed: allow for it when you compare step latencies"
        files = "compare the tokenizer files of both models, not only the sizes of their vocabularies"
        yield note(where, f"{method}: {REMARKS[method]}", files if method == "draft_model" else fix)
    if since := METHODS.get(method or ""):
        yield note(where, f"{method} requires vLLM {since} or newer", "update an older server")


def _length(method: str, alive: Config, settings: Settings) -> Iterator[Finding]:
    where, longest = f"{_FLAG} num_speculative_tokens", settings.max_draft_tokens
    drafted, fix = alive.get("num_speculative_tokens"), "set it; 3 to 5 is a usual start (a rule of thumb)"
    if drafted is None and method == "suffix":
        drafted = alive.get("suffix_decoding_max_tree_depth", 24)  # vLLM's default
    elif drafted is None and method in NEED_LENGTH:
        yield problem(where, f"missing: vLLM refuses to start, because {method} has no drafter that defines it", fix)
    elif drafted is None:
        yield warning(where, "missing: vLLM starts only if the drafter's own configuration defines it", fix)
    if isinstance(drafted, int) and drafted > longest:
        what = f"drafts of {drafted} tokens: dashboards and records cover only {longest} positions"
        fix = f"draft less, or set max_draft_tokens = {min(drafted, LONGEST_DRAFT)} in the settings"
        yield warning(where, what, fix)


def _together(alive: Config, target: int | None, data_parallel: int) -> Iterator[Finding]:
    """Values that exclude each other, or change what the counters mean."""
    drafter, where = alive.get("draft_tensor_parallel_size"), f"{_FLAG} draft_tensor_parallel_size"
    if alive.get("method") == "draft_model" and drafter not in (None, target):
        what = "draft_model requires the drafter's tensor parallel size to equal the target's"
        if target is None:
            yield note(where, what, "check that it equals --tensor-parallel-size, or leave it out")
        else:
            yield problem(where, f"{what}: {shown(drafter)} against {target}", f"write {target}, or leave it out")
    if alive.get(PER_BATCH_SIZE) is not None and data_parallel > 1:
        what = f"vLLM disables it under data parallelism (--data-parallel-size {data_parallel})"
        yield warning(f"{_FLAG} {PER_BATCH_SIZE}", what, "leave it out, or serve without data parallelism")
    least, most = alive.get("prompt_lookup_min"), alive.get("prompt_lookup_max")
    if isinstance(least, int) and isinstance(most, int) and least > most:
        yield problem(f"{_FLAG} prompt_lookup_min", f"{least} is over prompt_lookup_max, {most}", "swap the two values")
    if alive.get("rejection_sample_method") == "synthetic" or any(key.startswith("synthetic_") for key in alive):
        what = "synthetic: acceptance and every figure derived from it are invented, not measured; no series shows it"
        yield warning(f"{_FLAG} rejection_sample_method", what, 'write "standard" on a server with users')
    if alive.get("enable_adaptive_verification"):
        what = "fewer tokens are verified than the counters report as drafted: acceptance reads low"
        yield note(f"{_FLAG} enable_adaptive_verification", what, "compare only with servers of the same kind")


def fits(value: object, kind: TypeAdapter[Any]) -> bool:
    """Whether a value is allowed."""
    with suppress(ValidationError):
        kind.validate_python(value)
        return True
    return False


def nearest(name: str, known: Iterable[str]) -> str:
    """The known name that was probably meant; empty where none is near."""
    return next(iter(difflib.get_close_matches(name[:100], known, n=1, cutoff=0.85)), "")


def plain(text: str | None) -> Any:  # noqa: ANN401  (JSON)
    """The value of a dotted flag: as JSON where it is valid JSON, else as text."""
    with suppress(ValueError):
        return from_json(text or "", allow_inf_nan=False)
    return text


def read_object(text: str) -> Config:
    """Read a JSON object that a user typed; raises ValueError, in one line that does not repeat the text."""
    try:
        value = from_json(checked(text), allow_inf_nan=False)
    except ValueError as error:
        raise ValueError(f"not JSON: {error}") from None
    if not isinstance(value, dict):
        raise ValueError("JSON, but not an object in braces")  # noqa: TRY004
    return value


def checked(text: str) -> str:
    """The text, if a shell could have passed it on; raises ValueError otherwise."""
    if len(text) > 100_000:  # noqa: PLR2004
        raise ValueError("longer than 100,000 characters")
    if odd := next((c for c in text if not c.isprintable() and c not in "\n\t\r"), ""):
        raise ValueError(f"contains the character {shown(odd)}, which is not text")
    return text
