"""The command line: parse, call, print. One module for each family of commands."""

import signal
import sys
from typing import Any

import click

from draftboard import __version__
from draftboard.cli.compare import compare_command
from draftboard.cli.doctor import doctor_command
from draftboard.cli.drill import drill_command
from draftboard.cli.files import build, check, signals
from draftboard.cli.plan import plan
from draftboard.cli.replay import replay_command
from draftboard.cli.report import report_command
from draftboard.cli.shared import INTERRUPTED
from draftboard.cli.simulate import simulate
from draftboard.cli.sweep import sweep_command
from draftboard.errors import DraftboardError


class _Commands(click.Group):
    """Commands that end in a line where somebody interrupts them, and not in click's word for it."""

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


_COMMANDS = (
    *(build, check, signals, replay_command, simulate, drill_command),
    *(report_command, doctor_command, compare_command, sweep_command, plan),
)
for _command in _COMMANDS:
    draftboard.add_command(_command)


def main(arguments: list[str] | None = None) -> Any:  # noqa: ANN401  (click's own)
    """Run a command. A user's mistake is one line and exit code 2; whoever is told to end ends what it started."""
    signal.signal(signal.SIGTERM, lambda number, _: sys.exit(128 + number))
    try:
        return draftboard(args=arguments, prog_name="draftboard")
    except DraftboardError as error:
        click.echo(f"draftboard: {error}", err=True)
        raise SystemExit(2) from None
