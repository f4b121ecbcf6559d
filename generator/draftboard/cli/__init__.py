"""The command line: parse, call, print. One module for each family of commands."""

import atexit
import codecs
import gc
import importlib
import importlib.util
import io
import json
import os
import signal
import sys
from typing import Any

import click

from draftboard import __version__
from draftboard.cli.shared import print_line
from draftboard.errors import DraftboardError

_COMMANDS = {
    "report": ("report:report_command", "Report whether speculation pays, and what to change."),
    "explain": ("explain:explain_command", "Show where a signal, record or alert comes from, with live values."),
    "doctor": ("doctor:doctor_command", "Find what is missing or wrong, and how to correct it."),
    "compare": ("compare:compare_command", "Compare two runs and check gates for CI."),
    "sweep": ("sweep:sweep_command", "Measure speculation at several temperatures."),
    "calibrate": ("calibrate:calibrate_command", "Measure draft costs by batch size against a baseline."),
    "history": ("history:history_command", "List past changes, and whether each helped."),
    "experiment": ("experiment:experiment", "Plan and read an experiment on one fleet."),
    "alerts": ("alerts:alerts", "Print the notifications that you would have had."),
    "plan": ("plan:plan", "Plan draft length, memory, cost and K by batch size."),
    "init": ("files:init", "Write a settings file with every default as a comment."),
    "build": ("files:build", "Write dashboards, rules and the stack's configuration."),
    "check": ("files:check", "Compare files on disk with a build; exit 1 if they differ."),
    "signals": ("files:signals", "List signals with description, action and PromQL."),
    "stack": ("stack:stack", "Write the Docker Compose stack to a folder."),
    "serve": ("serve:serve_command", "Answer an assistant (Model Context Protocol)."),
    "top": ("top:top_command", "Show every model live in the terminal."),
    "replay": ("lab:replay_command", "Evaluate the rules over a recording."),
    "demo": ("lab:demo", "Replay ten minutes of a real vLLM, then drill an alert."),
    "simulate": ("lab:simulate", "Serve or record simulated vLLM /metrics pages."),
    "drill": ("lab:drill_command", "Run a scenario and check that its alerts arrive."),
}
"""Module and function of each command, and its line in the list of commands, which loads none of them."""
_DEVELOPMENT = "draftboard_dev"
"""The package beside this one of a checkout, which no wheel holds."""


class _Late(click.Command):
    """A command of another module, which is imported when the command is called or completed."""

    def __init__(self, name: str, place: str, short_help: str) -> None:
        super().__init__(name, short_help=short_help)
        self._place = place

    def make_context(
        self,
        info_name: str | None,
        args: list[str],
        parent: click.Context | None = None,
        **extra: Any,  # noqa: ANN401  (click's own)
    ) -> click.Context:
        """The context of the command itself."""
        module, _, function = self._place.partition(":")
        command: click.Command = getattr(importlib.import_module(module), function)
        return command.make_context(info_name, args, parent, **extra)


class _Commands(click.Group):
    """Commands that are imported late; an interruption is one line on stderr."""

    def list_commands(self, ctx: click.Context) -> list[str]:  # noqa: ARG002
        return list(self.commands)

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:
        if cmd_name == "new" and importlib.util.find_spec(_DEVELOPMENT):
            return _Late(cmd_name, f"{_DEVELOPMENT}.new:new", "Write the skeleton of an addition.")
        return super().get_command(ctx, cmd_name)

    def invoke(self, ctx: click.Context) -> Any:  # noqa: ANN401  (click's own)
        try:
            result = super().invoke(ctx)
            sys.stdout.flush()
        except KeyboardInterrupt:
            click.echo("draftboard: interrupted", err=True)
            raise SystemExit(130) from None  # as in shells
        except click.exceptions.NoArgsIsHelpError:
            raise
        except click.UsageError as error:
            # click repeats arguments as they are, and a pipeline may pass names of strangers' files.
            from draftboard.output import escape

            raise click.UsageError(escape.log(escape.terminal(error.format_message())), error.ctx) from None
        except OSError as error:
            raise _not_written(error) from None
        return result


def _not_written(error: OSError) -> SystemExit:
    """The exit of a command that cannot write its output: not 1, which means a missed gate."""
    # Python would try once more at its end.
    os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
    if isinstance(error, BrokenPipeError):
        return SystemExit(128 + signal.SIGPIPE)  # as in shells
    print_line(f"draftboard: {error.filename or 'standard output'}: {error.strerror or error}", err=True)
    return SystemExit(2)


@click.group(
    cls=_Commands,
    commands=[_Late(name, f"{__name__}.{place}", words) for name, (place, words) in _COMMANDS.items()],
    context_settings={"help_option_names": ["-h", "--help"]},
)
@click.version_option(__version__, package_name="draftboard")
def draftboard() -> None:
    """Monitoring as code for vLLM speculative decoding."""


def _escaped(error: UnicodeError) -> tuple[str, int]:
    """Characters that the output's encoding lacks, as JSON escapes."""
    if not isinstance(error, UnicodeEncodeError):
        raise error
    return json.dumps(error.object[error.start : error.end])[1:-1], error.end


codecs.register_error("draftboard", _escaped)


_COLLECTED_AFTER = 700_000
"""New objects between searches for cycles, of which pages have none: more than a page of 10 MB makes. At the default
of 700 they cost a third."""


def _terminated(number: int, _frame: object) -> None:
    sys.exit(128 + number)  # as in shells


def main(arguments: list[str] | None = None) -> Any:  # noqa: ANN401  (click's own)
    """Run a command. A user's mistake is one line and exit code 2; on SIGTERM a command ends what it started."""
    if sys.stderr is None:  # closed by the caller, as in `2>&-`
        sys.stderr = io.StringIO()
    if sys.stdout is None:
        print_line("draftboard: standard output is closed: redirect it to a file or to /dev/null", err=True)
        raise SystemExit(2)
    for stream in (sys.stdout, sys.stderr):
        if isinstance(stream, io.TextIOWrapper):
            stream.reconfigure(errors="draftboard")
    signal.signal(signal.SIGTERM, _terminated)
    gc.set_threshold(_COLLECTED_AFTER, 20, 20)
    atexit.register(gc.freeze)  # What is left at the end goes with the process: a search in it takes a tenth as long.
    try:
        return draftboard(args=arguments, prog_name="draftboard")
    except DraftboardError as error:
        print_line(f"draftboard: {error}", err=True)
        raise SystemExit(2) from None
