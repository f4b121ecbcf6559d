"""A `vllm serve ...` command line taken apart: what comes before it, and its arguments, each with its place."""

import json
import re
import shlex
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import takewhile
from pathlib import PurePosixPath
from typing import Any

from draftboard.doctor.command import dead
from draftboard.doctor.command.credentials import is_secret
from draftboard.doctor.command.text import checked
from draftboard.errors import DraftboardError

OLD_ENTRYPOINT = "vllm.entrypoints.openai.api_server"
_IMAGE = "vllm/vllm-openai"
_ENDS = {";", "&", "&&", "|", "||", ">", ">>", "<", "2>", "2>&1", "&>"}
_ALIASES = {
    "sc": "speculative_config",
    "tp": "tensor_parallel_size",
    "dp": "data_parallel_size",
    "asc": "api_server_count",
    "spec-draft-tp": "spec_draft_tp",
}
_SWITCHES = {"disable_log_stats", "enable_log_requests"} | {
    name for name, gone in dead.FLAGS.items() if not gone.takes_value
}
"""Known flags that take no value: what follows them is something else."""
_VARIABLE = re.compile(r"[A-Za-z_][A-Za-z0-9_]*=")


@dataclass(frozen=True)
class Argument:
    """One flag with its value, or a word that belongs to none."""

    flag: str
    """Name with underscores and without its path; empty for a word."""
    written: str
    """The flag as it was typed."""
    path: tuple[str, ...]
    """Keys of a dotted flag: `--speculative-config.method` has one."""
    value: str | None
    """None where none was given."""
    tokens: tuple[str, ...]


@dataclass(frozen=True)
class CommandLine:
    """What starts a server."""

    before: tuple[str, ...]
    """Everything before the server's own arguments: environment, wrappers, the program."""
    environment: dict[str, str]
    arguments: tuple[Argument, ...]

    @property
    def old_entrypoint(self) -> bool:
        """Whether the server is started as old articles do it."""
        return OLD_ENTRYPOINT in self.before

    def all(self, *flags: str) -> list[Argument]:
        """The arguments of these flags."""
        return [argument for argument in self.arguments if argument.flag in flags]

    def value(self, flag: str) -> str | None:
        """The last value of a flag, as argparse takes it; None where it is not given."""
        given = [argument.value for argument in self.all(flag) if not argument.path]
        return given[-1] if given else None

    def number(self, flag: str) -> int:
        """The value of a flag that counts something, of which a server has one unless told otherwise."""
        text = self.value(flag) or ""
        return int(text) if re.fullmatch(r"[0-9]{1,6}", text) else 1


def parse(text: str) -> CommandLine:
    """Take a command line apart.

    Raises:
        DraftboardError: it cannot be split into words, or starts no vLLM server.
    """
    try:
        words = shlex.split(checked(text).replace("\\\n", " "))
    except ValueError as error:
        raise DraftboardError(f"--command: {_lower(str(error))}; give it as you type it, in single quotes") from None
    start = _start(words)
    if start is None:
        raise DraftboardError("--command: starts no vLLM server; begin with `vllm serve MODEL` or an image of vLLM")
    before, own = words[:start], words[start:]
    end = next((index for index, word in enumerate(own) if word in _ENDS), len(own))
    return CommandLine(tuple(before), dict(_environment(before)), tuple(_arguments(own[:end])))


def _lower(text: str) -> str:
    return text[:1].lower() + text[1:]


def _start(words: Sequence[str]) -> int | None:
    """Where the server's own arguments begin."""
    for index, word in enumerate(words):
        if word == OLD_ENTRYPOINT or word.startswith(_IMAGE):
            return index + 1
        if PurePosixPath(word).name == "vllm" and words[index + 1 : index + 2] == ["serve"]:
            return index + 2
    return None


def _environment(words: Sequence[str]) -> Iterator[tuple[str, str]]:
    """Variables set before the program, or handed to a container."""
    for word in words:
        candidate = word.removeprefix("--env=")
        if _VARIABLE.match(candidate):
            name, _, value = candidate.partition("=")
            yield name, value


def _arguments(words: Sequence[str]) -> Iterator[Argument]:
    index = 0
    while index < len(words):
        word = words[index]
        if not word.startswith("-"):
            yield Argument("", "", (), word, (word,))
            index += 1
            continue
        written, equals, value = word.partition("=")
        flag, path = _name(written)
        own = [] if equals else _values(flag, words[index + 1 :])
        yield Argument(flag, written, path, value if equals else next(iter(own), None), (word, *own))
        index += 1 + len(own)


def _values(flag: str, follow: Sequence[str]) -> list[str]:
    """The words after a flag that are its own: one at most, but of credentials all, for there may be several."""
    own = list(takewhile(lambda word: not _is_flag(word), follow))
    return own if is_secret(flag) else [] if flag in _SWITCHES else own[:1]


def _is_flag(word: str) -> bool:
    return word.startswith("-") and not re.fullmatch(r"-[0-9.]+", word)


def _name(written: str) -> tuple[str, tuple[str, ...]]:
    name, *path = written.lstrip("-").split(".")
    if not written.startswith("--") and name in _ALIASES:
        return _ALIASES[name], tuple(path)
    return name.replace("-", "_"), tuple(path)


def dotted_value(text: str | None) -> Any:  # noqa: ANN401  (JSON)
    """The value of a dotted flag: JSON where it is some, else the text."""
    try:
        return json.loads(text or "")
    except (ValueError, RecursionError):
        return text
