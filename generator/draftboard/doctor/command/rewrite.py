"""What to write instead: the same command line without what is dead, and without credentials."""

import json
import re
import shlex
from collections.abc import Sequence
from pathlib import PurePosixPath

from draftboard.doctor.command import dead
from draftboard.doctor.command.commandline import CommandLine
from draftboard.doctor.command.configured import SHORTHANDS, WHOLE, configured, moved
from draftboard.doctor.command.credentials import is_secret, without_userinfo
from draftboard.doctor.command.keys import Config
from draftboard.doctor.command.revive import revived

_PYTHON = re.compile(r"python[0-9.]*$")
_DRAFTER_SIZE = "draft_tensor_parallel_size"
_HANDS_ON = {"-e", "--env"}
"""Of docker: the next word is a variable."""


def config_instead(config: Config) -> str:
    """The configuration as JSON; empty where nothing changes."""
    alive = revived(config)
    return json.dumps(alive) if alive != config else ""


def command_instead(line: CommandLine) -> str:
    """The whole command on one line; empty where nothing changes, or where a mistake must be mended first."""
    config, mistakes = configured(line)
    if mistakes:
        return ""
    alive = _fitting(revived(moved(line) | (config or {})), line)
    replaced = alive != (config or {})
    left_out = {argument.flag for argument in line.arguments if argument.flag in dead.FLAGS or is_secret(argument.flag)}
    left_out |= {WHOLE, *SHORTHANDS} if replaced else set()
    left_out |= {"model"} if line.old_entrypoint else set()
    kept = [word for argument in line.arguments if argument.flag not in left_out for word in argument.tokens]
    added = ["--speculative-config", json.dumps(alive)] if replaced and alive else []
    words = [*_before(line), *kept, *added]
    same = words == [*line.before, *(word for argument in line.arguments for word in argument.tokens)]
    return "" if same else " ".join(_quoted(without_userinfo(word)) for word in words)


def _fitting(config: Config, line: CommandLine) -> Config:
    """Without a drafter's tensor parallel size that vLLM would refuse: left out, it is the target's."""
    differs = config.get(_DRAFTER_SIZE) != line.number("tensor_parallel_size")
    unfit = config.get("method") == "draft_model" and differs
    return {key: value for key, value in config.items() if not (unfit and key == _DRAFTER_SIZE)}


def _before(line: CommandLine) -> list[str]:
    words = _without_credentials(line.before)
    if not line.old_entrypoint:
        return words
    starts = (index for index, word in enumerate(words) if _PYTHON.match(PurePosixPath(word).name) or word == "-m")
    program, model = next(starts, len(words) - 1), line.value("model")
    return [*words[:program], "vllm", "serve", *([model] if model else [])]


def _without_credentials(words: Sequence[str]) -> list[str]:
    kept: list[str] = []
    for word in words:
        name, equals, value = word.removeprefix("--env=").partition("=")
        if equals and is_secret(name) and not value.startswith("$"):
            if kept and kept[-1] in _HANDS_ON:
                kept.pop()
        else:
            kept.append(word)
    return kept


def _quoted(word: str) -> str:
    """Quoted for the shell, so that a variable in it stays one."""
    return f'"{word}"' if "$" in word and not set(word) & set('"`\\') else shlex.quote(word)
