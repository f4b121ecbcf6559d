"""`top`: a live page in the terminal."""

import sys
from functools import partial
from pathlib import Path

import click

from draftboard.cli import report, shared
from draftboard.cli.shared import require
from draftboard.durations import Duration

_EVERY = Duration(10)


@click.command("top")
@report.sources_argument
@report.prometheus_option
@shared.duration_option(
    "--every", words=f"Time between readings, and window of servers. Default: {_EVERY}.", longest="1h"
)
@report.method_option
@shared.access_options()
@shared.config_option
def top_command(
    *,
    sources: tuple[str, ...],
    prometheus: str | None,
    every: Duration | None,
    method: str,
    token_file: Path | None,
    ca_file: Path | None,
    config: Path | None,
) -> None:
    """Show every model in the terminal, worst first, until q is pressed.

    URL is a running server; with --prometheus the models of a Prometheus. `e` explains the verdict of the model under
    the cursor, `w` shows its numbers and the expected speedup of every draft length.
    """
    from draftboard.access import Access
    from draftboard.alerts import load
    from draftboard.extras import optional_module
    from draftboard.reading import Recorded, Servers
    from draftboard.top import look

    require(sys.stdin.isatty() and sys.stdout.isatty(), "top requires a terminal: `draftboard report` prints once")
    require(bool(sources) != (prometheus is not None), "give servers (host:port or URL), or --prometheus URL")
    app = optional_module("draftboard.top.app", "top requires", "top")
    pause, access = every or _EVERY, Access.from_files(token_file, ca_file)
    source = Servers(sources, pause, access) if prometheus is None else Recorded(prometheus, access=access)
    seconds = 0.0 if prometheus is None else pause.seconds  # Servers are read over their window.
    app.Top(partial(look, source, load(config), method), seconds).run()
