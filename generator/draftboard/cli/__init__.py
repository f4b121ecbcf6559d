"""The command line: parse, call, print. One module for each family of commands."""

import importlib
import os
import signal
import sys
from typing import Any

import click

from draftboard import __version__
from draftboard.errors import DraftboardError

_COMMANDS = {
    "report": "report:report_command",
    "doctor": "doctor:doctor_command",
    "compare": "compare:compare_command",
    "sweep": "sweep:sweep_command",
    "plan": "plan:plan",
    "init": "files:init",
    "build": "files:build",
    "check": "files:check",
    "signals": "files:signals",
    "stack": "stack:stack",
    "replay": "lab:replay_command",
    "demo": "lab:demo",
    "simulate": "lab:simulate",
    "drill": "lab:drill_command",
}
"""Module and function of each command, imported when it is called: a command loads no other command's packages."""


class _Commands(click.Group):
    """Commands that are imported late, and end in one line of ours when they are interrupted."""

    def list_commands(self, ctx: click.Context) -> list[str]:  # noqa: ARG002
        return list(_COMMANDS)

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:  # noqa: ARG002
        module, _, function = _COMMANDS.get(cmd_name, "").partition(":")
        if not function:
            return None
        command: click.Command = getattr(importlib.import_module(f"draftboard.cli.{module}"), function)
        return command

    def invoke(self, ctx: click.Context) -> Any:  # noqa: ANN401  (click's own)
        try:
            result = super().invoke(ctx)
            sys.stdout.flush()
        except KeyboardInterrupt:
            click.echo("draftboard: interrupted", err=True)
            raise SystemExit(130) from None  # as in shells
        except OSError as error:
            raise _not_written(error) from None
        return result


def _not_written(error: OSError) -> SystemExit:
    """The end of a command that cannot write what it says: not 1, which means a missed gate."""
    # Python would try once more at its end.
    os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
    if isinstance(error, BrokenPipeError):
        return SystemExit(128 + signal.SIGPIPE)  # as in shells: who reads has enough
    click.echo(f"draftboard: {error.filename or 'standard output'}: {error.strerror or error}", err=True)
    return SystemExit(2)


@click.group(cls=_Commands, context_settings={"help_option_names": ["-h", "--help"]})
@click.version_option(__version__, package_name="draftboard")
def draftboard() -> None:
    """Monitoring as code for vLLM speculative decoding."""


def main(arguments: list[str] | None = None) -> Any:  # noqa: ANN401  (click's own)
    """Run a command. A user's mistake is one line and exit code 2; on SIGTERM a command ends what it started."""
    signal.signal(signal.SIGTERM, lambda number, _: sys.exit(128 + number))
    try:
        return draftboard(args=arguments, prog_name="draftboard")
    except DraftboardError as error:
        click.echo(f"draftboard: {error}", err=True)
        raise SystemExit(2) from None
