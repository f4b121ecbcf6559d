"""Credentials on a command line: found by their names, never repeated."""

import re
from collections.abc import Iterator

from draftboard.doctor.commandline import Argument, CommandLine
from draftboard.doctor.finding import Finding, warning

_SECRET = re.compile(r"(?i)(^|_)(api_?keys?|tokens?|secrets?|passw(or)?ds?|credentials?|access_key|auth)$")
_NOT_SECRET = {"num_speculative_tokens", "spec_tokens"}
_USERINFO = re.compile(r"(?<=://)[^/@\s]+@")
_ENVIRONMENT_OF = {"api_key": "VLLM_API_KEY", "hf_token": "HF_TOKEN"}


def found(line: CommandLine) -> Iterator[Finding]:
    """A warning for each credential that everybody on the machine can read in the list of processes."""
    for argument in line.arguments:
        if is_secret(argument) and argument.value:
            variable = _ENVIRONMENT_OF.get(argument.flag, "an environment variable")
            yield _told(argument.written, f"leave it out and give {variable} to the server from a file of mode 600")
    for name, value in line.environment.items():
        if is_secret_name(name) and value and not value.startswith("$"):
            yield _told(f"{name}=", "read it from a file of mode 600, such as an env_file of its own")


def _told(where: str, fix: str) -> Finding:
    return warning(where, "a credential on the command line: it stays in the shell's history and process list", fix)


def is_secret(argument: Argument) -> bool:
    """Whether the flag's value must not be repeated."""
    return is_secret_name(argument.flag)


def is_secret_name(name: str) -> bool:
    """Whether a flag or variable of this name holds a credential."""
    name = name.replace("-", "_")
    counts = name in _NOT_SECRET or "max_" in name or "num_" in name
    return bool(_SECRET.search(name)) and not counts


def without_userinfo(word: str) -> str:
    """A word, without what may be a password in an address."""
    return _USERINFO.sub("", word)
