"""Names of speculation: keys, methods and flags that a release has, those that are dead, and what to write instead."""

import difflib
import tomllib
from collections.abc import Iterable, Iterator, Mapping
from importlib.resources import files
from typing import Any

from draftboard.doctor import releases
from draftboard.doctor.finding import Finding, shown
from draftboard.doctor.releases import NEWEST, OLDEST, Release, Span

Config = dict[str, Any]
VLLM: dict[str, Any] = tomllib.loads((files("draftboard.doctor") / "vllm.toml").read_text())
SHORTHANDS: dict[str, str] = VLLM["shorthands"]
MOVED: dict[str, str] = VLLM["moved"]
REMARKS: dict[str, dict[str, str]] = VLLM["methods"]
_OF_A_FAMILY = "_mtp"  # ending of names that "mtp" replaces
_KEYS = {name: span for name, span in releases.KEYS.items() if name not in VLLM["traps"]}
_WORKING = {name: Span(remark["since"], NEWEST) for name, remark in REMARKS.items() if "since" in remark}
CHOICES = releases.CHOICES | {"method": releases.CHOICES["method"] | _WORKING}
"""What keys may hold that hold one of a few words, each with the releases in which it works."""
SYNTHETIC = "synthetic"  # a way to accept tokens that is for tests of vLLM
NO_DRAFTER = "mlp_speculator"  # a name without a drafter in the V1 engine
METHODS = {
    name: span for name, span in CHOICES["method"].items() if not name.endswith(_OF_A_FAMILY) and name != NO_DRAFTER
}
"""Methods that are worth writing."""
_HYPHENS = Span(VLLM["hyphens_since"], NEWEST)
FLAGS: dict[str, str] = {name: gone["fix"] for gone in VLLM["replaced"] for name in gone.get("flags", ())}
FLAGS |= {old: f'write "{key}" in --speculative-config' for old, key in MOVED.items()}
DEAD_KEYS = {name: fix for name, fix in FLAGS.items() if name != MOVED.get(name)}
DEAD_KEYS |= {name: gone["fix"] for gone in VLLM["replaced"] for name in gone.get("keys", ())}
_STRICTER = {key: words for words, keys in VLLM["stricter"].items() for key in keys}
KEYS = {key: _STRICTER.get(key, releases.HOLDS[key]) for key in _KEYS if key not in DEAD_KEYS}
"""Keys of --speculative-config that are worth writing, with what each may hold."""
_NEVER = Span("9999.0.0", "9999.0.0")
SPECULATIVE_CONFIG = "--speculative-config"


def revived(config: Config, release: Release) -> Config:
    """The configuration as the release has it: dead keys moved or left out, mistyped ones as the nearest known one."""
    alive: Config = {}
    for key, value in config.items():
        if is_known(key, release):
            alive[plainly(key)] = value
        elif meant := MOVED.get(plainly(key)) if plainly(key) in DEAD_KEYS else nearest(key, _keys_of(release)):
            alive.setdefault(meant, value)
        elif release.is_newer and key not in DEAD_KEYS:
            alive[key] = value
    for key in CHOICES.keys() & alive.keys():
        alive[key] = _choice(key, alive[key], release)
    method, model = alive.get("method"), alive.get("model")
    if "model" not in config and method is None and isinstance(model, str):
        # The V0 engine took the n-gram method as the name of a drafter.
        is_ngram = model in ("[ngram]", "ngram")
        by_name = next((of for of in ("eagle3", "eagle", "medusa") if of in model.lower()), "draft_model")
        guess = "ngram" if is_ngram else by_name
        if release.has(METHODS[guess]):
            alive |= {"method": guess}
            alive = {key: value for key, value in alive.items() if key != "model" or not is_ngram}
    return {key: alive[key] for key in dict.fromkeys(["method", "model", *_KEYS, *alive]) if key in alive}


def is_known(key: str, release: Release) -> bool:
    """Whether the release takes the key; none takes one that is dead in all releases."""
    return plainly(key) in _KEYS and release.has(_KEYS[plainly(key)])


def plainly(key: str) -> str:
    """A key as vLLM names it, which takes it with hyphens too."""
    return key.replace("-", "_")


def _keys_of(release: Release) -> list[str]:
    return [key for key in release.among(_KEYS) if key in KEYS]


def _choice(key: str, value: object, release: Release) -> object:
    """The value of a key that holds one of a few words, as the release has it."""
    has = release.among(CHOICES[key])
    if not isinstance(value, str):
        return value
    if key == "method" and "mtp" in has and value in CHOICES[key] and value.endswith(_OF_A_FAMILY):
        return "mtp"
    return value if value in has else nearest(value, has) or value


def spelling(config: Config, release: Release) -> Iterator[Finding]:
    """Keys and words that the release does not have, or will not have for long."""
    for key in config:
        if not is_known(key, release):
            yield _key_finding(key, release)
        elif key not in _KEYS and not release.has(_HYPHENS):
            where = f"{SPECULATIVE_CONFIG} {shown(key)}"
            yield not_there(where, "hyphens in keys", _HYPHENS, release, f'write "{plainly(key)}"')
    for key in CHOICES:
        value = next((config[name] for name in config if plainly(name) == key), None)
        if isinstance(value, str):
            yield from _choice_findings(key, value, release)


def _key_finding(key: str, release: Release) -> Finding:
    where, known = f"{SPECULATIVE_CONFIG} {shown(key)}", plainly(key)
    if known in DEAD_KEYS:
        return Finding.of("gone", where, who=who_has(_KEYS.get(known)), fix=fix_of(known, DEAD_KEYS[known], release))
    if known in _KEYS:
        return not_there(where, "the key", _KEYS[known], release, "leave it out")
    meant = nearest(key, _keys_of(release))
    fix = f'write "{meant}"' if meant else "check its spelling; leave it out unless your vLLM is newer"
    return Finding.of("unknown-key", where, oldest=OLDEST, newest=NEWEST, fix=fix)


def _choice_findings(key: str, value: str, release: Release) -> Iterator[Finding]:
    where, table = f"{SPECULATIVE_CONFIG} {key}", CHOICES[key]
    has = [word for word in release.among(METHODS if key == "method" else table) if word != SYNTHETIC]
    meant = nearest(value, has)
    fix = f'write "{meant}"' if meant else f"write one of {', '.join(has)}" if has else "leave it out"
    if value not in table:
        yield Finding.of("unknown-word", where, value=shown(value), oldest=OLDEST, newest=NEWEST, fix=fix)
    elif not release.has(table[value]):
        yield not_there(where, f'"{value}"', table[value], release, fix)
    elif _choice(key, value, release) != value:
        yield Finding.of("deprecated-method", where, method=shown(value))


def not_there(where: str, what: str, span: Span, release: Release, fix: str) -> Finding:
    """What other releases have: a problem if it is certain that this one does not."""
    kind, own = ("not-in-release", release.version) if release.is_certain else ("perhaps-not-there", release.read_as)
    return Finding.of(kind, where, what=what, release=own, span=span, fix=fix)


def who_has(span: Span | None) -> str:
    """Which releases have what is dead."""
    return f"{span} has it" if span else f"no vLLM from {OLDEST} to {NEWEST} has it"


def fix_of(name: str, fix: str, release: Release) -> str:
    """What to do about a dead flag or key, as far as the release has what replaces it."""
    named = {word: span for table in (_KEYS, *CHOICES.values()) for word, span in table.items() if f'"{word}"' in fix}
    lacking = [span for span in named.values() if not release.has(span)]
    if lacking:
        return f"leave it out: what replaces it requires {lacking[-1]}"
    shorthand = next((flag for flag, key in SHORTHANDS.items() if key == MOVED.get(name)), "")
    return f"{fix}, or --{shorthand.replace('_', '-')}" if release.has(releases.FLAGS.get(shorthand, _NEVER)) else fix


def needed(config: Config, flags: Iterable[str] = ()) -> dict[str, Span]:
    """What of a configuration, and of a command line's flags, not every release has."""
    names = {plainly(key): _KEYS[plainly(key)] for key in config if plainly(key) in _KEYS}
    words = {key: value for key, value in config.items() if key in CHOICES and isinstance(value, str)}
    names |= {value: CHOICES[key][value] for key, value in words.items() if value in CHOICES[key]}
    names |= {f"--{flag.replace('_', '-')}": releases.FLAGS[flag] for flag in flags if flag in releases.FLAGS}
    return {name: span for name, span in names.items() if span != Span(OLDEST, NEWEST)}


def release_findings(release: Release, needed: Mapping[str, Span]) -> Iterator[Finding]:
    """What the checks are for, where that is not the very release that runs."""
    values = {"oldest": OLDEST, "newest": NEWEST, "version": release.version, "read_as": release.read_as}
    if release.version:
        if not release.is_certain:
            yield Finding.of("release-not-read", "vLLM", **values)
        return
    because = f" ({release.unknown_because})" if release.unknown_because else ""
    name, first = releases.latest(needed)
    needs = f"; this needs vLLM {first} or newer ({name})" if first != OLDEST else ""
    yield Finding.of("release-unknown", "vLLM", **values, because=because, needs=needs)


def nearest(name: str, known: Iterable[str]) -> str:
    """The known name that was probably meant; empty where none is near."""
    return next(iter(difflib.get_close_matches(name[:100], known, n=1, cutoff=0.85)), "")
