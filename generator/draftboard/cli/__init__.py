"""The command line: parse, call, print. One module for each family of commands."""

import importlib
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
    "build": "files:build",
    "check": "files:check",
    "signals": "files:signals",
    "replay": "replay:replay_command",
    "simulate": "simulate:simulate",
    "drill": "drill:drill_command",
}
"""Module and function of each command, imported when it is asked for: what others need costs it no time."""
INTERRUPTED = 130
"""Exit code after Ctrl-C, as shells have it."""


class _Commands(click.Group):
    """Commands that end in a line where somebody interrupts them, and not in click's word for it."""

    def list_commands(self, ctx: click.Context) -> list[str]:  # noqa: ARG002
        """Those on a running server first."""
        return list(_COMMANDS)

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:  # noqa: ARG002
        """Import the command's module."""
        if cmd_name not in _COMMANDS:
            return None
        module, function = _COMMANDS[cmd_name].split(":")
        command: click.Command = getattr(importlib.import_module(f"draftboard.cli.{module}"), function)
        return command

    def invoke(self, ctx: click.Context) -> Any:  # noqa: ANN401  (click's own)
        """As click does."""
        try:
            return super().invoke(ctx)
        except KeyboardInterrupt:
            click.echo("draftboard: interrupted", err=True)
            raise SystemExit(INTERRUPTED) from None


@click.group(cls=_Commands, context_settings={"help_option_names": ["-h", "--help"]})
@click.version_option(__version__, package_name="draftboard")
def draftboard() -> None:
    """Monitoring as code for vLLM speculative decoding."""


def main(arguments: list[str] | None = None) -> Any:  # noqa: ANN401  (click's own)
    """Run a command. A user's mistake is one line and exit code 2; whoever is told to end ends what it started."""
    signal.signal(signal.SIGTERM, lambda number, _: sys.exit(128 + number))
    try:
        return draftboard(args=arguments, prog_name="draftboard")
    except DraftboardError as error:
        click.echo(f"draftboard: {error}", err=True)
        raise SystemExit(2) from None
