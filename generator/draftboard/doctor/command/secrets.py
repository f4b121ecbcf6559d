"""Credentials on a command line: told of, never repeated."""

from collections.abc import Iterator

from draftboard.doctor.command.commandline import CommandLine
from draftboard.doctor.command.credentials import is_secret
from draftboard.doctor.finding import Finding, warning

_VARIABLES = {"api_key": "VLLM_API_KEY", "hf_token": "HF_TOKEN"}
"""Where vLLM looks for what these flags hold."""


def found(line: CommandLine) -> Iterator[Finding]:
    """A warning for each credential that everybody on the machine can read in the list of processes."""
    for argument in line.arguments:
        if is_secret(argument.flag) and argument.value:
            variable = _VARIABLES.get(argument.flag, "an environment variable")
            yield _told(argument.written, f"leave it out and give {variable} to the server from a file of mode 600")
    for name, value in line.environment.items():
        if is_secret(name) and value and not value.startswith("$"):
            yield _told(f"{name}=", "read it from a file of mode 600, such as an env_file of its own")


def _told(where: str, fix: str) -> Finding:
    return warning(where, "a credential on the command line: it stays in the shell's history and process list", fix)
