"""vLLM's `--speculative-config`: what is wrong with its values, and with values together."""

from collections.abc import Iterator
from contextlib import suppress
from typing import Annotated, Any

from annotated_types import Predicate
from pydantic import Field, TypeAdapter, ValidationError
from pydantic_core import from_json

from draftboard.doctor.finding import Finding, Severity, shown
from draftboard.doctor.names import (
    CHOICES,
    KEYS,
    METHODS,
    NO_DRAFTER,
    REMARKS,
    SPECULATIVE_CONFIG,
    SYNTHETIC,
    Config,
    revived,
    spelling,
)
from draftboard.doctor.releases import Release
from draftboard.settings import Settings
from draftboard.settings.fields import LONGEST_DRAFT

_Count = Annotated[int, Field(strict=True, ge=1)]
_Whole = Annotated[int, Field(strict=True, ge=0)]
_Share = Annotated[float, Field(strict=True, ge=0, le=1)]


def _begins_before_end(row: tuple[int, int, int]) -> bool:
    return row[0] <= row[1]


def _never_rises(shares: list[float]) -> bool:
    return shares == sorted(shares, reverse=True)


_Row = Annotated[tuple[_Count, _Count, _Whole], Predicate(_begins_before_end)]
_Falling = Annotated[list[_Share], Predicate(_never_rises)]
_KINDS: dict[str, Any] = {
    "a non-empty string": Annotated[str, Field(min_length=1)],
    "a whole number of at least 1": _Count,
    "a whole number of at least 0": _Whole,
    "a number of at least 0": Annotated[float, Field(strict=True, ge=0)],
    "a number from 0 to 1": _Share,
    "a list of [lowest, highest, K], in whole numbers": Annotated[list[_Row], Field(min_length=1)],
    "true or false": Annotated[bool, Field(strict=True)],
    "a list of shares from 0 to 1, none over the one before": _Falling,
    "anything": Any,
}
_ALLOWED = {words: TypeAdapter[Any](kind) for words, kind in _KINDS.items()}
_PER_BATCH_SIZE = "num_speculative_tokens_per_batch_size"


def meaning(
    config: Config, settings: Settings, release: Release, tensor_parallel: int | None = None, data_parallel: int = 1
) -> Iterator[Finding]:
    """What is wrong with a configuration once dead spellings are revived; `tensor_parallel` is None if unknown."""
    alive = revived(config, release)
    for key, value in alive.items():
        words, one_of = KEYS.get(key, "anything"), release.among(CHOICES.get(key, {}))
        if value is not None and (not isinstance(value, str) if one_of else not fits(value, _ALLOWED[words])):
            allowed = f"one of {', '.join(one_of)}" if one_of else words
            yield Finding.of("refused-value", f"{SPECULATIVE_CONFIG} {key}", value=shown(value), allowed=allowed)
    method = alive.get("method")
    if "method" not in config and method not in (None, "ngram"):
        yield Finding.of("guessed-method", f"{SPECULATIVE_CONFIG} method", method=method)
    if method is None and alive.get("model") in ("ngram", "[ngram]"):
        method = "ngram"
    if method is None or isinstance(method, str):
        yield from _method(method or "", alive, release)
    yield from _length(method if isinstance(method, str) else "", alive, settings)
    yield from _together(alive, tensor_parallel, data_parallel)
    yield from _verification(alive)


def is_accepted(alive: Config, settings: Settings, release: Release, *sizes: int) -> bool:
    """Whether nothing here objects to a configuration, so that it may be proposed."""
    wrong = any(finding.severity is Severity.PROBLEM for finding in meaning(alive, settings, release, *sizes))
    return not wrong and not any(spelling(alive, release))


def _method(method: str, alive: Config, release: Release) -> Iterator[Finding]:
    where, said = f"{SPECULATIVE_CONFIG} method", REMARKS.get(method, {})
    methods = ", ".join(release.among(METHODS))
    if alive.get("method") is None and not method:
        yield Finding.of("no-method" if alive.get("model") else "no-method-and-no-model", where, methods=methods)
    elif method == NO_DRAFTER and release.has(CHOICES["method"][method]):
        yield Finding.of("method-without-drafter", where, method=method, methods=methods)
    elif said.get("needs") == "model" and not alive.get("model"):
        yield Finding.of("no-model", f"{SPECULATIVE_CONFIG} model", method=method)
    if "remark" in said:
        yield Finding.of("remark", where, method=method, **said)


def _length(method: str, alive: Config, settings: Settings) -> Iterator[Finding]:
    where, longest = f"{SPECULATIVE_CONFIG} num_speculative_tokens", settings.max_draft_tokens
    drafted = alive.get("num_speculative_tokens")
    if drafted is None and method == "suffix":
        drafted = alive.get("suffix_decoding_max_tree_depth", 24)  # vLLM's default
    elif drafted is None:
        needed = REMARKS.get(method, {}).get("needs") == "num_speculative_tokens"
        yield Finding.of("no-length" if needed else "length-of-drafter", where, method=method)
    if isinstance(drafted, int) and drafted > longest:
        yield Finding.of("long-drafts", where, drafted=drafted, longest=longest, covered=min(drafted, LONGEST_DRAFT))


def _together(alive: Config, target: int | None, data_parallel: int) -> Iterator[Finding]:
    """Values that exclude each other, or change what the counters mean."""
    drafter, where = alive.get("draft_tensor_parallel_size"), f"{SPECULATIVE_CONFIG} draft_tensor_parallel_size"
    if alive.get("method") == "draft_model" and drafter not in (None, target):
        kind = "tensor-parallel-unknown" if target is None else "tensor-parallel"
        yield Finding.of(kind, where, drafter=shown(drafter), target=target)
    if alive.get(_PER_BATCH_SIZE) is not None and data_parallel > 1:
        yield Finding.of("data-parallel", f"{SPECULATIVE_CONFIG} {_PER_BATCH_SIZE}", size=data_parallel)
    least, most = alive.get("prompt_lookup_min"), alive.get("prompt_lookup_max")
    if isinstance(least, int) and isinstance(most, int) and least > most:
        yield Finding.of("lookup-bounds", f"{SPECULATIVE_CONFIG} prompt_lookup_min", least=least, most=most)


def _verification(alive: Config) -> Iterator[Finding]:
    """What decides which drafted tokens are accepted."""
    how, where = alive.get("rejection_sample_method"), f"{SPECULATIVE_CONFIG} rejection_sample_method"
    invented = [key for key in alive if key.startswith("synthetic_")]
    if how == SYNTHETIC or invented:
        yield Finding.of("synthetic", where)
    if (how == SYNTHETIC) != (len(invented) == 1):
        yield Finding.of("synthetic-incomplete", where)
    if how == "fly":
        yield Finding.of("lossy", where)
        drafted, window = alive.get("num_speculative_tokens"), alive.get("fly_window_size", 1)
        if isinstance(drafted, int) and isinstance(window, int) and window >= drafted:
            yield Finding.of("fly-window", f"{SPECULATIVE_CONFIG} fly_window_size", window=window, drafted=drafted)
    if alive.get("enable_adaptive_verification"):
        yield Finding.of("adaptive-verification", f"{SPECULATIVE_CONFIG} enable_adaptive_verification")


def fits(value: object, kind: TypeAdapter[Any]) -> bool:
    """Whether a value is allowed."""
    with suppress(ValidationError):
        kind.validate_python(value)
        return True
    return False


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
