"""Before a server runs: its command line taken apart, what is wrong with it, and what to write instead."""

import json
import re
import shlex
from collections import deque
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from itertools import takewhile
from pathlib import PurePosixPath

from draftboard.catalogue import Presence
from draftboard.doctor import buckets, configuration, names, releases
from draftboard.doctor.configuration import plain, read_object
from draftboard.doctor.finding import Examination, Finding, shown
from draftboard.doctor.names import FLAGS, MOVED, SHORTHANDS, VLLM, Config, nearest
from draftboard.doctor.releases import UNKNOWN, Release
from draftboard.doctor.series import NAMES, OF_ENGINES, all_readers, silenced_by
from draftboard.errors import DraftboardError
from draftboard.settings import Settings

_OLD_ENTRYPOINT = "vllm.entrypoints.openai.api_server"
_WHOLE = "speculative_config"
_DRAFTERS_SIZE = "draft_tensor_parallel_size"
_ENDS = {";", "&", "&&", "|", "||", ">", ">>", "<", "2>", "2>&1", "&>"}
_ALIASES = {"tp": "tensor_parallel_size", "dp": "data_parallel_size", "sc": _WHOLE, "asc": "api_server_count"}
_CREDENTIAL = re.compile(r"(?i)(^|[_-])(api[_-]?keys?|access[_-]key|token|secret|passw(or)?d|credentials?|auth)$")
_VARIABLE = re.compile(r"(?:--env=)?([A-Za-z_][A-Za-z0-9_]*)=(.*)", re.DOTALL)
_PER_REQUEST = "per_request_spec_decode_metrics"
READ_HERE = (_WHOLE, *SHORTHANDS, buckets.BUCKETS, "disable_log_stats", _PER_REQUEST)
_VALUE = re.compile(r"[^-]|-[0-9.]+$|$")  # not another flag
_VARIABLE_OF = {"api_key": "VLLM_API_KEY", "hf_token": "HF_TOKEN"}
_USERINFO = re.compile(r"(?<=://)[^/@\s]+@")


@dataclass(frozen=True)
class Argument:
    """A flag with its value, or a word that belongs to no flag."""

    flag: str  # with underscores and without its path; empty for a word
    written: str
    path: tuple[str, ...]  # keys of a dotted flag: `--speculative-config.method` has one
    value: str | None
    tokens: tuple[str, ...]


@dataclass(frozen=True)
class CommandLine:
    """What starts a server."""

    before: tuple[str, ...]  # environment, wrappers, the program
    arguments: tuple[Argument, ...]

    def all(self, *flags: str) -> list[Argument]:
        """The arguments of these flags."""
        return [argument for argument in self.arguments if argument.flag in flags]

    def value(self, flag: str) -> str | None:
        """The last value of a flag, as argparse takes it; None where it is not given."""
        return next((argument.value for argument in reversed(self.all(flag)) if not argument.path), None)

    def number(self, flag: str) -> int:
        """The value of a flag that is a number of processes, 1 by default."""
        text = self.value(flag) or ""
        return int(text) if re.fullmatch(r"[0-9]{1,6}", text) else 1

    def configured(self) -> tuple[Config | None, list[Finding]]:
        """The speculative configuration of all flags together, None if one is not JSON; and mistakes in giving it."""
        config: Config = {}
        findings: list[Finding] = []
        readable = True
        whole = [argument.written for argument in self.all(_WHOLE) if not argument.path]
        for argument in self.all(_WHOLE):
            if argument.path:
                table = config
                for key in argument.path[:-1]:
                    inner = table.setdefault(key, {})
                    table = inner if isinstance(inner, dict) else {}
                table[argument.path[-1]] = plain(argument.value)
            elif argument.value == "":
                findings.append(Finding.of("empty-config", argument.written))
            else:
                try:
                    config = read_object(argument.value or "")
                except ValueError as error:
                    readable = False
                    findings.append(Finding.of("not-json", argument.written, error=error))
        keys = set(config)
        for argument in self.all(*SHORTHANDS):
            key = SHORTHANDS[argument.flag]
            config.setdefault(key, plain(argument.value))
            if key in keys:
                findings.append(Finding.of("set-twice", argument.written, key=key))
        if len(whole) > 1:
            findings.append(Finding.of("given-twice", whole[0]))
        return (config if readable else None), findings


def parse(text: str) -> CommandLine:
    """Take a command line apart; raises DraftboardError where it starts no vLLM server."""
    try:
        # Bash quotes with $'...' too.
        words = shlex.split(re.sub(r"(?<=[\s=])\$'", "'", configuration.checked(text).replace("\\\n", " ")))
    except ValueError as error:
        raise DraftboardError(f"--command: {str(error).lower()}; put the whole command line in single quotes") from None
    for index, word in enumerate(words):
        serves = PurePosixPath(word).name == "vllm" and words[index + 1 : index + 2] == ["serve"]
        if serves or word == _OLD_ENTRYPOINT or word.startswith("vllm/vllm-openai"):
            start = index + 1 + serves
            end = next((place for place in range(start, len(words)) if words[place] in _ENDS), len(words))
            return CommandLine(tuple(words[:start]), tuple(_arguments(words[start:end])))
    raise DraftboardError("--command: does not start a vLLM server; begin with `vllm serve MODEL` or an image of vLLM")


def _arguments(words: Iterable[str]) -> Iterator[Argument]:
    rest = deque(words)
    while rest:
        word = rest.popleft()
        written, equals, value = word.partition("=")
        name, *path = written.lstrip("-").split(".")
        flag = (not written.startswith("--") and _ALIASES.get(name)) or name.replace("-", "_")
        if not word.startswith("-"):
            yield Argument("", "", (), word, (word,))
        elif equals or flag in VLLM["without_value"]:
            yield Argument(flag, written, tuple(path), value if equals else None, (word,))
        else:
            follow = [*takewhile(_VALUE.match, rest)]
            own = [rest.popleft() for _ in (follow if _CREDENTIAL.search(flag) else follow[:1])]
            yield Argument(flag, written, tuple(path), next(iter(own), None), (word, *own))


def examine_config(text: str, settings: Settings, release: Release = UNKNOWN) -> Examination:
    """Examine the value of vLLM's `--speculative-config`; raises DraftboardError where it is not a JSON object."""
    try:
        config = read_object(text)
    except ValueError as error:
        fix = """give vLLM's JSON in single quotes, such as '{"method": "mtp"}'; --command takes a command line"""
        raise DraftboardError(f"--speculative-config: {error}; {fix}") from None
    alive = names.revived(config, release)
    findings = (
        *names.release_findings(release, names.needed(alive)),
        *names.spelling(config, release),
        *configuration.meaning(config, settings, release),
    )
    differs = alive != config and configuration.is_accepted(alive, settings, release)
    return Examination(_for("speculative configuration", release), findings, json.dumps(alive) if differs else "")


def examine_command(text: str, settings: Settings, release: Release = UNKNOWN) -> Examination:
    """Examine the command line of a vLLM server; raises DraftboardError where it starts none."""
    line = parse(text)
    moved = {argument.flag: plain(argument.value) for argument in line.all(*MOVED)}
    config, mistakes = line.configured()
    whole = moved | (config or {})
    sizes = line.number("tensor_parallel_size"), line.number("data_parallel_size")
    speculates = any(argument.value != "" for argument in line.all(_WHOLE, *SHORTHANDS))
    alive = _fitting(names.revived(whole, release), sizes[0])
    needed = names.needed(alive, [argument.flag for argument in line.arguments])
    findings = [*names.release_findings(release, needed)] if whole or needed else []
    findings += [*_words(line), *_flags(line, release), *mistakes]
    findings += names.spelling(config or {}, release)
    if moved or (speculates and config is not None):
        findings += configuration.meaning(whole, settings, release, *sizes)
    findings += _metrics(line, settings, speculates=speculates)
    findings += buckets.lint_buckets(line.value(buckets.BUCKETS), settings)
    if not line.all(_WHOLE, *SHORTHANDS, *FLAGS):
        label, baseline = settings.labels.spec_method, settings.methods.baseline
        findings.append(Finding.of("no-speculation", "--speculative-config", label=label, baseline=baseline))
    instead = ""
    if config is not None and (alive == config or configuration.is_accepted(alive, settings, release, *sizes)):
        instead = _instead(line, config, alive, release)
    return Examination(_for("command line", release), tuple(findings), instead)


def _fitting(alive: Config, target: int) -> Config:
    """The configuration without a size that vLLM refuses; by default it is the target's."""
    wrong = alive.get("method") == "draft_model" and alive.get(_DRAFTERS_SIZE) != target
    return {key: value for key, value in alive.items() if not (wrong and key == _DRAFTERS_SIZE)}


def _for(what: str, release: Release) -> str:
    return f"{what} for vLLM {release.version}" if release.version else what


def _is_dead(flag: str, release: Release) -> bool:
    """Whether the release lacks a flag; of those in no data only dead ones are known to be lacking."""
    span = releases.FLAGS.get(flag)
    return not release.has(span) if span else flag in FLAGS


def _words(line: CommandLine) -> Iterator[Finding]:
    environment = {match[1]: match[2] for word in line.before if (match := _VARIABLE.fullmatch(word))}
    if _OLD_ENTRYPOINT in line.before:
        yield Finding.of("old-entrypoint", "python -m")
    if environment.get("VLLM_USE_V1") == "0":
        yield Finding.of("v0-variable", "VLLM_USE_V1=0")
    if environment.get("PROMETHEUS_MULTIPROC_DIR"):
        yield Finding.of("lasting-directory", "PROMETHEUS_MULTIPROC_DIR")
    for name, value in environment.items():
        if _CREDENTIAL.search(name) and value and not value.startswith("$"):
            yield Finding.of("credential-variable", f"{name}=")


def _flags(line: CommandLine, release: Release) -> Iterator[Finding]:
    """Flags that the release does not have, and credentials."""
    for argument in line.arguments:
        flag, span = argument.flag, releases.FLAGS.get(argument.flag)
        if flag in FLAGS and _is_dead(flag, release):
            fix = names.fix_of(flag, FLAGS[flag], release)
            yield Finding.of("dead-flag", argument.written, who=names.who_has(span), fix=fix)
        elif span and _is_dead(flag, release):
            key = SHORTHANDS.get(flag)
            fix = f'write "{key}" in --speculative-config' if key else "leave it out"
            yield names.not_there(argument.written, "the flag", span, release, fix)
        elif flag not in ("", *READ_HERE, *FLAGS) and (meant := nearest(flag, READ_HERE)):
            yield Finding.of("unknown-flag", shown(argument.written), meant=meant.replace("_", "-"))
        elif _CREDENTIAL.search(flag) and argument.value:
            variable = _VARIABLE_OF.get(flag, "an environment variable")
            yield Finding.of("credential-flag", argument.written, variable=variable)


def _metrics(line: CommandLine, settings: Settings, *, speculates: bool) -> Iterator[Finding]:
    """What flags do to the series that the server exposes."""
    for argument in line.all("disable_log_stats"):
        yield Finding.of("statistics-disabled", argument.written, silenced_by(OF_ENGINES, all_readers(settings)))
    for argument in line.all(_PER_REQUEST):
        if argument.value not in ("none", "summary", "detailed"):
            yield Finding.of("per-request-value", argument.written, value=shown(argument.value))
        elif argument.value != "none" and not speculates:
            yield Finding.of("per-request-without-speculation", argument.written)
    # With data parallelism there is by default one API server per engine.
    flag = "api_server_count" if line.all("api_server_count") else "data_parallel_size"
    if (count := line.number(flag)) > 1:
        missing = ", ".join(NAMES[Presence.ONE_PROCESS])
        yield Finding.of("several-api-servers", f"--{flag.replace('_', '-')} {count}", missing=missing)


def _instead(line: CommandLine, config: Config, alive: Config, release: Release) -> str:
    """The whole command without dead flags and credentials; empty where nothing changes."""
    dead = {argument.flag for argument in line.arguments if _is_dead(argument.flag, release)}
    left_out = dead | {argument.flag for argument in line.arguments if _CREDENTIAL.search(argument.flag)}
    rewritten = alive != config or bool(dead.intersection(SHORTHANDS))
    left_out |= {_WHOLE, *SHORTHANDS} if rewritten else set()
    left_out |= {"model"} if _OLD_ENTRYPOINT in line.before else set()
    words = [*_before(line), *(token for a in line.arguments if a.flag not in left_out for token in a.tokens)]
    if alive and rewritten:
        words += ["--speculative-config", json.dumps(alive)]
    if words == [*line.before, *(token for argument in line.arguments for token in argument.tokens)]:
        return ""
    words = [_USERINFO.sub("", word) for word in words]
    # In double quotes a shell variable stays one.
    return " ".join(f'"{w}"' if "$" in w and not {*w} & {*'"`\\'} else shlex.quote(w) for w in words)


def _before(line: CommandLine) -> list[str]:
    """The words before the server's own arguments, with today's entrypoint, without credentials and VLLM_USE_V1=0."""
    words: list[str] = []
    for word in line.before:
        name, equals, value = word.removeprefix("--env=").partition("=")
        exposed = equals and _CREDENTIAL.search(name) and not value.startswith("$")
        if not exposed and (name, value) != ("VLLM_USE_V1", "0"):
            words.append(word)
        elif words and words[-1] in {"-e", "--env"}:
            words.pop()
    if _OLD_ENTRYPOINT not in words:
        return words
    pythons = (index for index, word in enumerate(words) if re.fullmatch(r"(.*/)?python[0-9.]*|-m", word))
    start = next(pythons, len(words) - 1)
    return [*words[:start], "vllm", "serve", *filter(None, [line.value("model")])]
