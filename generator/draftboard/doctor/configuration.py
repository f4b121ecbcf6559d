"""vLLM's `--speculative-config` and `--custom-histogram-buckets`: what is wrong, and what to write instead."""

import difflib
import json
import re
import tomllib
from collections.abc import Iterable, Iterator
from contextlib import suppress
from importlib.resources import files
from typing import Annotated, Any, Literal

from annotated_types import Predicate
from pydantic import Field, TypeAdapter, ValidationError
from pydantic_core import from_json

from draftboard.catalogue import CATALOGUE, Histogram
from draftboard.doctor.finding import Finding, found, shown
from draftboard.settings import Settings
from draftboard.settings.fields import LONGEST_DRAFT
from draftboard.settings.objectives import HISTOGRAMS

Config = dict[str, Any]
VLLM: dict[str, Any] = tomllib.loads((files("draftboard.doctor") / "vllm.toml").read_text())
SHORTHANDS: dict[str, str] = VLLM["shorthands"]
MOVED: dict[str, str] = VLLM["moved"]
METHODS: dict[str, dict[str, str]] = VLLM["methods"]
_OR = {key: f", or --{flag.replace('_', '-')}" for flag, key in SHORTHANDS.items()}
FLAGS: dict[str, str] = {name: gone["fix"] for gone in VLLM["replaced"] for name in gone.get("flags", ())}
FLAGS |= {old: f'write "{key}" in --speculative-config{_OR.get(key, "")}' for old, key in MOVED.items()}
DEAD_KEYS = {name: fix for name, fix in FLAGS.items() if name != MOVED.get(name)}
DEAD_KEYS |= {name: gone["fix"] for gone in VLLM["replaced"] for name in gone.get("keys", ())}
_Count = Annotated[int, Field(strict=True, ge=1)]
_Whole = Annotated[int, Field(strict=True, ge=0)]
_Share = Annotated[float, Field(strict=True, ge=0, le=1)]
_Row = Annotated[tuple[_Count, _Count, _Whole], Predicate(lambda row: row[0] <= row[1])]
_Falling = Annotated[list[_Share], Predicate(lambda shares: shares == sorted(shares, reverse=True))]
_KINDS: dict[str, Any] = {
    "a non-empty string": Annotated[str, Field(min_length=1)],
    "a whole number of at least 1": _Count,
    "a whole number of at least 0": _Whole,
    "a number from 0 to 1": _Share,
    "a list of [lowest, highest, K], in whole numbers": Annotated[list[_Row], Field(min_length=1)],
    "true or false": Annotated[bool, Field(strict=True)],
    "one of greedy, probabilistic": Literal["greedy", "probabilistic"],
    "one of standard, synthetic, block": Literal["standard", "synthetic", "block"],
    "a list of shares from 0 to 1, none over the one before": _Falling,
    "anything": Any,
}
KEYS = {key: (words, TypeAdapter[Any](_KINDS[words])) for words, keys in VLLM["keys"].items() for key in keys}
_PER_BATCH_SIZE = "num_speculative_tokens_per_batch_size"
_OF_A_FAMILY = "_mtp"  # ending of deprecated method names
_FLAG = "--speculative-config"
BUCKETS = "custom_histogram_buckets"
FAMILIES = {histogram.custom: histogram for histogram in HISTOGRAMS.values()}
FINER: dict[str, tuple[float, ...]] = {family: tuple(bounds) for family, bounds in VLLM["finer_buckets"].items()}
_BUCKETS = "--custom-histogram-buckets"
_UNREAD = {"kv_cache_residency", "request_num_preemptions", "request_params_n", "request_tokens"}
_CUSTOM = {metric.custom for metric in CATALOGUE if isinstance(metric, Histogram) and metric.custom} | _UNREAD
_Bound = Annotated[float, Field(strict=True, gt=0, lt=1e9)]
_BOUNDS = TypeAdapter[Any](Annotated[list[_Bound], Field(min_length=1), Predicate(lambda b: b == sorted(set(b)))])
_VLLMS_OWN: dict[str, tuple[float, ...]] = Settings().buckets.model_dump()


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
        fix = gone or (f'write "{meant}"' if meant else "leave it out")
        yield found("refused-key", f"{_FLAG} {shown(key)}", state="gone" if gone else "unknown", fix=fix)
    if isinstance(method := config.get("method"), str) and method.endswith(_OF_A_FAMILY):
        yield found("deprecated-method", f"{_FLAG} method", method=shown(method))


def meaning(
    config: Config, settings: Settings, tensor_parallel: int | None = None, data_parallel: int = 1
) -> Iterator[Finding]:
    """What is wrong with a configuration once dead spellings are revived; `tensor_parallel` is None if unknown."""
    alive = revived(config)
    for key, value in alive.items():
        words, kind = KEYS[key]
        if value is not None and not fits(value, kind):
            yield found("refused-value", f"{_FLAG} {key}", value=shown(value), allowed=words)
    method = alive.get("method")
    if "method" not in config and method not in (None, "ngram"):
        yield found("guessed-method", f"{_FLAG} method", method=method)
    if method is None and alive.get("model") == "ngram":
        method = "ngram"
    if method is None or isinstance(method, str):
        yield from _method(method or "", alive)
    yield from _length(method if isinstance(method, str) else "", alive, settings)
    yield from _together(alive, tensor_parallel, data_parallel)


def _method(method: str, alive: Config) -> Iterator[Finding]:
    where, methods, known = f"{_FLAG} method", ", ".join(METHODS), METHODS.get(method, {})
    if alive.get("method") is None and not method:
        yield found("no-method" if alive.get("model") else "no-method-and-no-model", where, methods=methods)
    elif method == "mlp_speculator":
        yield found("method-without-drafter", where, method=method, methods=methods)
    elif method not in METHODS:
        meant = nearest(method, METHODS)
        yield found("unknown-method", where, method=shown(method), meant=f'"{meant}"' if meant else f"one of {methods}")
    elif known.get("needs") == "model" and not alive.get("model"):
        yield found("no-model", f"{_FLAG} model", method=method)
    if "remark" in known:
        yield found("remark", where, method=method, **known)
    if "since" in known:
        yield found("newer-release", where, method=method, since=known["since"])


def _length(method: str, alive: Config, settings: Settings) -> Iterator[Finding]:
    where, longest = f"{_FLAG} num_speculative_tokens", settings.max_draft_tokens
    drafted = alive.get("num_speculative_tokens")
    if drafted is None and method == "suffix":
        drafted = alive.get("suffix_decoding_max_tree_depth", 24)  # vLLM's default
    elif drafted is None:
        needed = METHODS.get(method, {}).get("needs") == "num_speculative_tokens"
        yield found("no-length" if needed else "length-of-drafter", where, method=method)
    if isinstance(drafted, int) and drafted > longest:
        yield found("long-drafts", where, drafted=drafted, longest=longest, covered=min(drafted, LONGEST_DRAFT))


def _together(alive: Config, target: int | None, data_parallel: int) -> Iterator[Finding]:
    """Values that exclude each other, or change what the counters mean."""
    drafter, where = alive.get("draft_tensor_parallel_size"), f"{_FLAG} draft_tensor_parallel_size"
    if alive.get("method") == "draft_model" and drafter not in (None, target):
        kind = "tensor-parallel-unknown" if target is None else "tensor-parallel"
        yield found(kind, where, drafter=shown(drafter), target=target)
    if alive.get(_PER_BATCH_SIZE) is not None and data_parallel > 1:
        yield found("data-parallel", f"{_FLAG} {_PER_BATCH_SIZE}", size=data_parallel)
    least, most = alive.get("prompt_lookup_min"), alive.get("prompt_lookup_max")
    if isinstance(least, int) and isinstance(most, int) and least > most:
        yield found("lookup-bounds", f"{_FLAG} prompt_lookup_min", least=least, most=most)
    if alive.get("rejection_sample_method") == "synthetic" or any(key.startswith("synthetic_") for key in alive):
        yield found("synthetic", f"{_FLAG} rejection_sample_method")
    if alive.get("enable_adaptive_verification"):
        yield found("adaptive-verification", f"{_FLAG} enable_adaptive_verification")


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


def lint_buckets(value: str | None, settings: Settings) -> Iterator[Finding]:
    """What is wrong with the flag's value, or with leaving the flag out."""
    try:
        given = {} if value is None else read_object(value)
    except ValueError as error:
        yield found("buckets-not-json", _BUCKETS, error=error)
        return
    known, unknown = ", ".join(sorted(_CUSTOM)), given.keys() - _CUSTOM
    wrong = [found("buckets-family", _BUCKETS, family=shown(name), known=known) for name in unknown]
    wrong += [found("buckets-bounds", _BUCKETS, family=shown(name)) for name in given if not fits(given[name], _BOUNDS)]
    yield from wrong
    for family, usual in _VLLMS_OWN.items() if not wrong else ():
        yield from other_bounds(
            _BUCKETS, family, {float(bound) for bound in given.get(family, usual)}, family, settings
        )


def buckets_flag(settings: Settings) -> str:
    """The flag with the settings' bounds; where those are vLLM's own, with finer bounds and one at each SLO."""
    declared = settings.buckets.model_dump().items()
    own = {family: {*bounds} for family, bounds in declared if bounds != _VLLMS_OWN[family]}
    finer = {family: {*bounds, *_objectives(family, settings).values()} for family, bounds in FINER.items()}
    return f"{_BUCKETS} '{json.dumps({family: _sorted(bounds) for family, bounds in (own or finer).items()})}'"


def other_bounds(where: str, name: str, bounds: set[float], family: str, settings: Settings) -> Iterator[Finding]:
    """What is wrong with the bounds of a series `name`, whose family in the settings is `family`."""
    declared: tuple[float, ...] = getattr(settings.buckets, family)
    lists = {"the server lacks": {*declared} - bounds, "the settings lack": bounds - {*declared}}
    words = (
        f"{who} {', '.join(f'{bound:g}' for bound in sorted(missing))}" for who, missing in lists.items() if missing
    )
    fix = "declare the server's bounds in the settings, as below"
    paste = f"[buckets]\n{family} = {json.dumps(_sorted(bounds))}"
    if declared != _VLLMS_OWN[family]:
        fix, paste = (
            "start the server with the flag below, or declare its bounds in the settings",
            buckets_flag(settings),
        )
    unmet = ", ".join(f"{slo} ({s:g} s)" for slo, s in _objectives(family, settings).items() if s not in bounds)
    if differ := "; ".join(words):
        kind = "no-bound-at-slo" if unmet else "other-bounds"
        yield found(kind, where, name=name, objectives=unmet, differ=differ, fix=fix, paste=paste)


def finite(texts: Iterable[str]) -> set[float]:
    """Bounds in seconds, without +Inf and without text that is not a number."""
    return {float(text) for text in texts if re.fullmatch(r"[0-9]+(\.[0-9]*)?(e[+-]?[0-9]{1,2})?", text)}


def _objectives(family: str, settings: Settings) -> dict[str, float]:
    names = [name for name in settings.slo.watched if name in HISTOGRAMS and HISTOGRAMS[name].custom == family]
    return {name: settings.slo.threshold(name) for name in names}


def _sorted(bounds: Iterable[float]) -> list[float]:
    return [int(bound) if bound == int(bound) else bound for bound in sorted(bounds)]
