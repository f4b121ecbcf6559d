"""The console, and a progress bar."""

import sys
from collections.abc import Iterator
from contextlib import contextmanager

from rich import markup, progress
from rich.console import Console

from draftboard.output import Progress, escape


class _Console(Console):
    def on_broken_pipe(self) -> None:
        raise  # noqa: PLE0704  (rich calls this while it handles the error, and would end with 1, a missed gate)


def console() -> Console:
    """Colours and the terminal's width on a terminal; plain and wide when piped."""
    return _Console() if sys.stdout.isatty() else _Console(width=200, highlight=False)


@contextmanager
def progress_bar() -> Iterator[Progress]:
    """A progress bar on a terminal, nothing elsewhere."""
    with progress.Progress(console=Console(stderr=True), transient=True, disable=not sys.stderr.isatty()) as bar:
        task = bar.add_task("")

        def update(what: str, done: int, total: int) -> None:
            bar.update(task, description=markup.escape(escape.terminal(what)), completed=done, total=total)

        yield update
