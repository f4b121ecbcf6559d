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
from draftboard.doctor import buckets, configuration
from draftboard.doctor.configuration import FLAGS, MOVED, SHORTHANDS, WITHOUT_VALUE, Config, nearest, plain, read_object
from draftboard.doctor.finding import Examination, Finding, note, problem, shown, warning
from draftboard.doctor.series import NAMES, OF_ENGINES, all_readers, silenced_by
from draftboard.errors import DraftboardError
from draftboard.settings import Settings

_OLD_ENTRYPOINT = "vllm.entrypoints.openai.api_server"
_WHOLE = "speculative_config"
_ENDS = {";", "&", "&&", "|", "||", ">", ">>", "<", "2>", "2>&1", "&>"}
_PARALLEL = {"tp": "tensor_parallel_size", "dp": "data_parallel_size"}
_ALIASES = _PARALLEL | {"sc": _WHOLE, "asc": "api_server_count", "spec-draft-tp": "spec_draft_tp"}
_WITHOUT_VALUE = {"disable_log_stats", "enable_log_requests"} | WITHOUT_VALUE
_CREDENTIAL = re.compile(r"(?i)(^|[_-])(api[_-]?keys?|access[_-]key|token|secret|passw(or)?d|credentials?|auth)$")
_VARIABLE = re.compile(r"(?:--env=)?([A-Za-z_][A-Za-z0-9_]*)=(.*)", re.DOTALL)
_PER_REQUEST = "per_request_spec_decode_metrics"
_READ_HERE = (_WHOLE, *SHORTHANDS, buckets.FLAG, "disable_log_stats", _PER_REQUEST)
_VARIABLE_OF = {"api_key": "VLLM_API_KEY", "hf_token": "HF_TOKEN"}
_JSON = "give one JSON object in single quotes, with double quotes inside, and no shell variable for it"
_USERINFO = re.compile(r"(?<=://)[^/@\s]+@")


@dataclass(frozen=True)
class Argument:
    """A flag with its value, or a word that belongs to no flag."""

    flag: str
    """Name with underscores and without its path; empty for a word."""
    written: str
    path: tuple[str, ...]
    """Keys of a dotted flag: `--speculative-config.method` has one."""
    value: str | None
    tokens: tuple[str, ...]


@dataclass(frozen=True)
class CommandLine:
    """What starts a server."""

    before: tuple[str, ...]
    """Everything before the server's own arguments: environment, wrappers, the program."""
    arguments: tuple[Argument, ...]

    @property
    def environment(self) -> dict[str, str]:
        """Variables set before the program, or passed to a container."""
        return {match[1]: match[2] for word in self.before if (match := _VARIABLE.fullmatch(word))}

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
        whole, readable = self.all(_WHOLE), True
        for argument in whole:
            if argument.path:
                table = config
                for key in argument.path[:-1]:
                    inner = table.setdefault(key, {})
                    table = inner if isinstance(inner, dict) else {}
                table[argument.path[-1]] = plain(argument.value)
            elif argument.value == "":
                findings.append(note(argument.written, "empty: vLLM starts without speculation", "leave it out"))
            else:
                try:
                    config = read_object(argument.value or "")
                except ValueError as error:
                    readable = False
                    findings.append(problem(argument.written, str(error), _JSON))
        keys = set(config)
        for argument in self.all(*SHORTHANDS):
            key = SHORTHANDS[argument.flag]
            config.setdefault(key, plain(argument.value))
            if key in keys:
                what = f'sets "{key}" as --speculative-config does: vLLM refuses both together'
                findings.append(problem(argument.written, what, "leave one out"))
        once = [argument.written for argument in whole if not argument.path]
        if len(once) > 1:
            findings.append(warning(once[0], "given more than once: the last one counts", "leave the others out"))
        return (config if readable else None), findings


def parse(text: str) -> CommandLine:
    """Take a command line apart; raises DraftboardError where it starts no vLLM server."""
    try:
        words = shlex.split(configuration.checked(text).replace("\\\n", " "))
    except ValueError as error:
        reason = str(error)[:1].lower() + str(error)[1:]
        raise DraftboardError(f"--command: {reason}; put the whole command line in single quotes") from None
    for index, word in enumerate(words):
        serves = PurePosixPath(word).name == "vllm" and words[index + 1 : index + 2] == ["serve"]
        if serves or word == _OLD_ENTRYPOINT or word.startswith("vllm/vllm-openai"):
            start = index + 1 + serves
            own = takewhile(lambda word: word not in _ENDS, words[start:])
            return CommandLine(tuple(words[:start]), tuple(_arguments(own)))
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
        elif equals or flag in _WITHOUT_VALUE:
            yield Argument(flag, written, tuple(path), value if equals else None, (word,))
        else:
            follow = [*takewhile(lambda word: re.match(r"[^-]|-[0-9.]+$|$", word), rest)]
            own = [rest.popleft() for _ in (follow if _CREDENTIAL.search(flag) else follow[:1])]
            yield Argument(flag, written, tuple(path), next(iter(own), None), (word, *own))


def examine_config(text: str, settings: Settings) -> Examination:
    """Examine the value of vLLM's `--speculative-config`; raises DraftboardError where it is not a JSON object."""
    try:
        config = read_object(text)
    except ValueError as error:
        fix = """give vLLM's JSON in single quotes, such as '{"method": "mtp"}'; --command takes a command line"""
        raise DraftboardError(f"--speculative-config: {error}; {fix}") from None
    alive = configuration.revived(config)
    findings = (*configuration.spelling(config), *configuration.meaning(config, settings))
    return Examination("speculative configuration", findings, json.dumps(alive) if alive != config else "")


def examine_command(text: str, settings: Settings) -> Examination:
    """Examine the command line of a vLLM server; raises DraftboardError where it starts none."""
    line = parse(text)
    moved = {argument.flag: plain(argument.value) for argument in line.all(*MOVED)}
    config, mistakes = line.configured()
    speculates = any(argument.value != "" for argument in line.all(_WHOLE, *SHORTHANDS))
    findings = [*_words(line), *mistakes, *_credentials(line), *configuration.spelling(config or {})]
    if moved or (speculates and config is not None):
        sizes = line.number("tensor_parallel_size"), line.number("data_parallel_size")
        findings += configuration.meaning(moved | (config or {}), settings, *sizes)
    findings += _metrics(line, settings, speculates=speculates)
    findings += buckets.lint(line.value(buckets.FLAG), settings)
    if not line.all(_WHOLE, *SHORTHANDS, *FLAGS):
        what = "not given: the server does not speculate, and exposes no series of speculation"
        fix = f'mark its target as a baseline: {settings.labels.spec_method}="{settings.methods.baseline}"'
        findings.append(note("--speculative-config", what, fix))
    instead = "" if config is None else _instead(line, config, configuration.revived(moved | config))
    return Examination("command line", tuple(findings), instead)


def _words(line: CommandLine) -> Iterator[Finding]:
    if _OLD_ENTRYPOINT in line.before:
        yield note("python -m", "an old entrypoint", "write `vllm serve MODEL` with the same flags")
    if line.environment.get("VLLM_USE_V1") == "0":
        yield problem("VLLM_USE_V1=0", "the V0 engine was removed", "leave it out")
    if line.environment.get("PROMETHEUS_MULTIPROC_DIR"):
        what = "its files outlive the server: counters continue after a restart, and those of two servers add up"
        fix = "leave it out: vLLM then uses a new directory; or empty a separate directory before each start"
        yield warning("PROMETHEUS_MULTIPROC_DIR", what, fix)
    for argument in line.arguments:
        if gone := FLAGS.get(argument.flag):
            yield problem(argument.written, "a dead flag: vLLM 0.32 refuses to start with it", gone)
        elif argument.flag not in ("", *_READ_HERE) and (meant := nearest(argument.flag, _READ_HERE)):
            fix = f"write --{meant.replace('_', '-')}"
            yield problem(shown(argument.written), "an unknown flag: vLLM 0.32 refuses to start with it", fix)


def _credentials(line: CommandLine) -> Iterator[Finding]:
    what = "a credential on the command line: shell history and process list expose it"
    for argument in line.arguments:
        if _CREDENTIAL.search(argument.flag) and argument.value:
            variable = _VARIABLE_OF.get(argument.flag, "an environment variable")
            yield warning(argument.written, what, f"leave it out and set {variable} from a file of mode 600")
    for name, value in line.environment.items():
        if _CREDENTIAL.search(name) and value and not value.startswith("$"):
            yield warning(f"{name}=", what, "read it from a file of mode 600, such as a separate env_file")


def _metrics(line: CommandLine, settings: Settings, *, speculates: bool) -> Iterator[Finding]:
    """What flags do to the series that the server exposes."""
    for argument in line.all("disable_log_stats"):
        what, empty = "the server exposes no vllm: series", silenced_by(OF_ENGINES, all_readers(settings))
        yield problem(argument.written, f"{what}: everything derived from them stays empty", "leave it out", empty)
    for argument in line.all(_PER_REQUEST):
        if argument.value not in ("none", "summary", "detailed"):
            fix = "write one of none, summary, detailed"
            yield problem(argument.written, f"{shown(argument.value)} is not allowed", fix)
        elif argument.value != "none" and not speculates:
            what = "without speculation vLLM refuses to start with it"
            yield problem(argument.written, what, "leave it out, or add --speculative-config")
    # With data parallelism there is by default one API server per engine.
    flag = "api_server_count" if line.all("api_server_count") else "data_parallel_size"
    if (count := line.number(flag)) > 1:
        missing = ", ".join(NAMES[Presence.ONE_PROCESS])
        what = f"several API servers do not expose {missing}: restarts show only as counter resets"
        fix = "none needed; or --api-server-count 1 if one API server is fast enough"
        yield note(f"--{flag.replace('_', '-')} {count}", what, fix)


def _instead(line: CommandLine, config: Config, alive: Config) -> str:
    """The whole command without dead flags and credentials; empty where nothing changes."""
    size = alive.get("draft_tensor_parallel_size")
    if alive.get("method") == "draft_model" and size != line.number("tensor_parallel_size"):
        alive.pop("draft_tensor_parallel_size", None)  # vLLM refuses it; by default it is the target's
    left_out = {a.flag for a in line.arguments if a.flag in FLAGS or _CREDENTIAL.search(a.flag)}
    left_out |= {_WHOLE, *SHORTHANDS} if alive != config else set()
    left_out |= {"model"} if _OLD_ENTRYPOINT in line.before else set()
    words = [*_before(line), *(token for a in line.arguments if a.flag not in left_out for token in a.tokens)]
    if alive and alive != config:
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
