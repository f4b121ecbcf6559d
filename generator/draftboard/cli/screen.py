"""The console, and a progress bar."""

import os
import sys
from collections.abc import Iterator
from contextlib import contextmanager

from rich.console import Console

from draftboard.cli.shared import print_line
from draftboard.output import Progress, escape, no_progress

_PIPED = 100
"""Columns of a table in a pipe: what most terminals, logs and pagers show in one line."""


class _Console(Console):
    def on_broken_pipe(self) -> None:
        raise  # noqa: PLE0704  (rich calls this while it handles the error, and would end with 1, a missed gate)


def console() -> Console:
    """Colours and the terminal's width on a terminal.

    In a pipe plain, sentences in one line each, and tables as wide as COLUMNS says, else 100.
    """
    if sys.stdout.isatty():
        return _Console()
    columns = os.environ.get("COLUMNS", "")
    return _Console(
        width=int(columns) if columns.isdigit() and int(columns) else _PIPED, highlight=False, soft_wrap=True
    )


@contextmanager
def progress_bar(*, piped: bool = False) -> Iterator[Progress]:
    """A progress bar on a terminal; elsewhere nothing, or a line on stderr for each call where `piped` asks for it."""
    if not sys.stderr.isatty():
        yield _line if piped else no_progress
        return

    from rich import markup, progress

    with progress.Progress(console=Console(stderr=True), transient=True) as bar:
        task = bar.add_task("")

        def update(what: str, done: int, total: int) -> None:
            bar.update(task, description=markup.escape(escape.terminal(what)), completed=done, total=total)

        yield update


def _line(what: str, done: int, total: int) -> None:
    print_line(f"{what} ({done} of {total} steps done)", err=True)
