"""The value of `--speculative-config`: dead and unknown keys, the method, and what does not fit together."""

from collections.abc import Iterator
from dataclasses import dataclass

from draftboard.doctor.command import dead
from draftboard.doctor.command.keys import KEYS, Config, nearest
from draftboard.doctor.command.methods import METHODS, MTP_SUFFIX, UNUSABLE
from draftboard.doctor.command.revive import guessed, revived
from draftboard.doctor.finding import Finding, note, problem, shown, warning
from draftboard.settings import Settings
from draftboard.theory import LONGEST_DRAFT

_SUFFIX_DEPTH = 24  # vLLM's default of suffix_decoding_max_tree_depth


@dataclass(frozen=True)
class Around:
    """What else the server is told, that the speculative configuration must fit; None where that is not known."""

    tensor_parallel: int | None = None
    data_parallel: int | None = None


def lint(config: Config, settings: Settings) -> tuple[Finding, ...]:
    """Everything that is wrong with, or to be known of, a speculative configuration by itself."""
    return (*lint_spelling(config), *lint_meaning(config, settings, Around()))


def lint_spelling(config: Config) -> tuple[Finding, ...]:
    """Keys and names that vLLM refuses or will refuse."""
    return (*_unknown(config), *_renamed(config))


def lint_meaning(config: Config, settings: Settings, around: Around) -> tuple[Finding, ...]:
    """What is wrong with a configuration once dead spellings are read as what they meant."""
    alive = revived(config)
    checks = (_values(alive), _method(alive), _guessed(config, alive), _drafter(alive), _length(alive, settings))
    together = (_parallel(alive, around), _lookup(alive), _not_what_it_looks(alive))
    return tuple(finding for check in (*checks, *together) for finding in check)


def place(key: str) -> str:
    """Where a finding on a key is."""
    return f"--speculative-config {key}"


def _unknown(config: Config) -> Iterator[Finding]:
    for key in config:
        if key in KEYS:
            continue
        where = place(shown(key))
        if gone := dead.KEYS.get(key.replace("-", "_")):
            yield problem(where, "vLLM refuses this key: it is gone", gone.fix)
        elif meant := nearest(key, list(KEYS)):
            yield problem(where, "vLLM refuses this key: it knows none of this name", f'write "{meant}"')
        else:
            yield problem(where, "not among the keys of vLLM 0.32, which refuses what it does not know", "leave it out")


def _values(config: Config) -> Iterator[Finding]:
    for key, value in config.items():
        allowed, words = KEYS.get(key, (None, ""))
        if allowed and value is not None and not allowed(value):
            yield problem(place(key), f"{shown(value)} is not allowed", f"write {words}")


def _renamed(config: Config) -> Iterator[Finding]:
    method = config.get("method")
    if isinstance(method, str) and method.endswith(MTP_SUFFIX):
        what = f"{shown(method)} is a deprecated name"
        yield warning(place("method"), what, 'write "mtp", which covers all of them')


def _guessed(config: Config, alive: Config) -> Iterator[Finding]:
    if guessed(config):
        method = alive["method"]
        yield note(
            place("method"), f"old spellings named no method: {method} is a guess by the drafter's name", "check it"
        )


def method_of(config: Config) -> str | None:
    """The method as vLLM 0.32 understands it; None where only the drafter's own configuration tells."""
    method, model = config.get("method"), config.get("model")
    if method is not None:
        return method if isinstance(method, str) else None
    return "ngram" if model == "ngram" else None


def _method(config: Config) -> Iterator[Finding]:
    method, where = method_of(config), place("method")
    if method is None:
        yield from _unnamed(config)
    elif known := METHODS.get(method):
        if known.says:
            yield note(where, f"{method}: {known.says}", _what_to_do(method))
        if known.since:
            yield note(where, f"{method} exists from vLLM {known.since} on", "update an older server")
    elif method in UNUSABLE:
        yield problem(where, f"{method}: {UNUSABLE[method]}", f"write one of {_known()}")
    else:
        meant = nearest(method, list(METHODS))
        fix = f'write "{meant}"' if meant else f"write one of {_known()}"
        yield problem(where, f"{shown(method)} is no method of vLLM 0.32", fix)


def _unnamed(config: Config) -> Iterator[Finding]:
    if config.get("method") is not None:
        return  # of a wrong type, which is told already
    if not config.get("model"):
        yield problem(place("method"), "neither a method nor a model is named", 'write "method", such as "ngram"')
        return
    said = "no method is named: the drafter's own configuration decides, and may change with the drafter"
    yield note(place("method"), said, f"write one of {_known()}")


def _known() -> str:
    return ", ".join(METHODS)


def _what_to_do(method: str) -> str:
    if method == "draft_model":
        return "compare the tokenizer files of both models, not only their vocabularies' sizes"
    return "nothing: know it when you compare step latencies"


def _drafter(config: Config) -> Iterator[Finding]:
    method = method_of(config)
    known = METHODS.get(method or "")
    if known and known.needs_model and not config.get("model"):
        yield problem(place("model"), f"{method} drafts with a model, and none is named", 'write "model": its name')


def _length(config: Config, settings: Settings) -> Iterator[Finding]:
    where, longest = place("num_speculative_tokens"), settings.max_draft_tokens
    drafted, depth = config.get("num_speculative_tokens"), config.get("suffix_decoding_max_tree_depth", _SUFFIX_DEPTH)
    method = method_of(config)
    suffix = method == "suffix"
    known, fix = METHODS.get(method or ""), "write it: 3 to 5 is where to begin (a rule of thumb)"
    if drafted is None and known and known.needs_length:
        yield problem(where, f"not given: vLLM refuses to start, for {method} has no drafter that says how many", fix)
    elif drafted is None and not suffix:
        yield warning(
            where, "not given: vLLM refuses to start unless the drafter's own configuration says how many", fix
        )
    drafted = depth if drafted is None and suffix else drafted
    if isinstance(drafted, int) and drafted > longest:
        yield warning(
            where,
            f"drafts of {drafted} tokens: dashboards and records look no deeper than {longest}",
            f"draft less, or set max_draft_tokens = {min(drafted, LONGEST_DRAFT)} in the settings",
        )


def _parallel(config: Config, around: Around) -> Iterator[Finding]:
    drafter, target = config.get("draft_tensor_parallel_size"), around.tensor_parallel
    where = place("draft_tensor_parallel_size")
    if config.get("method") == "draft_model" and drafter is not None:
        must = "with draft_model, vLLM wants the drafter's tensor parallel size equal to the target's"
        if target is None:
            yield note(where, must, "check that it is --tensor-parallel-size, or leave it out")
        elif drafter != target:
            yield problem(where, f"{must}: {shown(drafter)} against {target}", f"write {target}, or leave it out")
    if config.get(dead.NO_EQUAL) is not None and (around.data_parallel or 1) > 1:
        yield warning(
            place(dead.NO_EQUAL),
            f"vLLM switches it off under data parallelism (--data-parallel-size {around.data_parallel})",
            "leave it out, or serve without data parallelism",
        )


def _lookup(config: Config) -> Iterator[Finding]:
    least, most = config.get("prompt_lookup_min"), config.get("prompt_lookup_max")
    if isinstance(least, int) and isinstance(most, int) and least > most:
        yield problem(
            place("prompt_lookup_min"), f"{least} is over prompt_lookup_max, {most}", "write the smaller first"
        )


def _not_what_it_looks(config: Config) -> Iterator[Finding]:
    invented = [key for key in config if key.startswith("synthetic_")]
    if config.get("rejection_sample_method") == "synthetic" or invented:
        yield warning(
            place("rejection_sample_method"),
            "synthetic: acceptance is invented, not measured, and so is every number made of it; no series tells",
            'write "standard" on a server that users see',
        )
    if config.get("enable_adaptive_verification"):
        yield note(
            place("enable_adaptive_verification"),
            "fewer tokens are verified than the counters say were drafted: acceptance reads low",
            "compare with servers of the same kind only",
        )
