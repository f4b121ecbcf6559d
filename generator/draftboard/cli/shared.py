"""What commands share: options, the console, a progress bar."""

import importlib
import math
import shutil
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from types import ModuleType
from typing import Any

import click
from rich.console import Console
from rich.progress import Progress

from draftboard.durations import Duration
from draftboard.errors import DraftboardError

_PIPED_WIDTH = 200

config_option = click.option(
    "--config",
    type=click.Path(path_type=Path),
    help="Settings that overlay the defaults, as TOML.",
)
json_option = click.option("--json", "as_json", is_flag=True, help="Print JSON.")


class Number(click.FloatRange):
    """A number within bounds. What is no number lies in no range, and yet click lets it pass."""

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> float:  # noqa: ANN401
        """As click does, but for NaN."""
        number: float = super().convert(value, param, ctx)
        if math.isnan(number):
            self.fail("must be a number", param, ctx)
        return number


factor_option = click.option(
    "--speed",
    type=Number(0, 1000, min_open=True),
    default=1.0,
    show_default=True,
    help="Time factor.",
)


def program_option(name: str) -> Callable[[Callable[..., None]], Callable[..., None]]:
    """An option for a program: as named, else from the environment, else from PATH; as an absolute path."""
    return click.option(
        f"--{name}",
        envvar=name.upper(),
        default=name,
        show_envvar=True,
        callback=lambda _context, _option, given: Path(shutil.which(given) or given).absolute(),
        help="The program, where it is not the one on PATH.",
    )


def optional_part(name: str, *, command: str, extra: str) -> ModuleType:
    """A module that needs the packages of an extra, which other commands do without.

    Raises:
        DraftboardError: they are not installed.
    """
    try:
        return importlib.import_module(name)
    except ModuleNotFoundError as error:
        missing = str(error.name).partition(".")[0]
        raise DraftboardError(
            f"{command} needs the package {missing}: install the extra, pip install 'draftboard[{extra}]'",
        ) from None


def console() -> Console:
    """Colours and the terminal's width on a terminal; plain and wide when piped."""
    return Console() if sys.stdout.isatty() else Console(width=_PIPED_WIDTH, highlight=False)


def duration(_context: click.Context, _option: click.Parameter, given: str | None) -> Duration | None:
    """The callback of an option whose value is a duration longer than nothing."""
    if given is None:
        return None
    try:
        duration = Duration.parse(given)
    except ValueError as error:
        raise click.BadParameter(f"{given!r} {error}") from None
    if not duration.seconds:
        raise click.BadParameter(f"{given!r} must be longer than 0s")
    return duration


@contextmanager
def progress_bar() -> Iterator[Callable[[str, int, int], None]]:
    """A progress bar on a terminal, nothing elsewhere."""
    with Progress(console=Console(stderr=True), transient=True, disable=not sys.stderr.isatty()) as bar:
        task = bar.add_task("")

        def tell(what: str, done: int, total: int) -> None:
            bar.update(task, description=what, completed=done, total=total)

        yield tell
