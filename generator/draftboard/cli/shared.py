"""What commands share: options, the console, a progress bar."""

import importlib
import math
import shutil
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from types import ModuleType
from typing import Any

import click
from rich.console import Console
from rich.progress import Progress

from draftboard.durations import Duration, moment
from draftboard.errors import DraftboardError

_PIPED_WIDTH = 200

_LONGEST, _DAY = Duration(366 * 86_400), Duration(86_400)
FILE = click.Path(path_type=Path, dir_okay=False)

config_option = click.option(
    "--config",
    type=FILE,
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


def access_options(otherwise: str = "") -> Callable[[Callable[..., None]], Callable[..., None]]:
    """`--token-file`, with what is taken where it is not given, and `--ca-file`."""
    told = f"File with the bearer token that a server asks for.{otherwise}"
    token = click.option("--token-file", type=FILE, help=told)
    ca = click.option("--ca-file", type=FILE, help="Certificates (PEM) to trust instead of the system's.")
    return lambda command: token(ca(command))


def program_option(name: str) -> Callable[[Callable[..., None]], Callable[..., None]]:
    """An option for a program: as named, else from the environment, else from PATH; as an absolute path."""
    return click.option(
        f"--{name}-program",
        name,
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
    """The callback of an option whose value is a duration longer than nothing, and no longer than a year."""
    return None if given is None else _bounded(given, _LONGEST)


def wait(_context: click.Context, _option: click.Parameter, given: str | None) -> Duration | None:
    """The same where somebody waits for it: a day at most."""
    return None if given is None else _bounded(given, _DAY)


def _bounded(given: str, longest: Duration) -> Duration:
    try:
        duration = Duration.parse(given)
    except ValueError as error:
        raise click.BadParameter(f"{given!r} {error}") from None
    if not duration.seconds:
        raise click.BadParameter(f"{given!r} must be longer than 0s")
    if duration > longest:
        raise click.BadParameter(f"{given!r} must be at most {longest}")
    return duration


def _moment(_context: click.Context, _option: click.Parameter, given: str | None) -> float | None:
    try:
        return None if given is None else moment(given, time.time())
    except ValueError as error:
        raise click.BadParameter(f"{given!r} {error}") from None


range_option = click.option(
    "--range",
    "span",
    metavar="DURATION",
    callback=duration,
    help="How far back Prometheus is asked. Default: the window of the rules.",
)
at_option = click.option(
    "--at",
    metavar="TIME",
    callback=_moment,
    help="Ask Prometheus of then: now-6h, Unix seconds or ISO 8601. Default: now.",
)


def require(allowed: object, otherwise: str) -> None:
    """Refuse options that do not go together, in words that say what to do."""
    if not allowed:
        raise click.UsageError(otherwise)


@contextmanager
def progress_bar() -> Iterator[Callable[[str, int, int], None]]:
    """A progress bar on a terminal, nothing elsewhere."""
    with Progress(console=Console(stderr=True), transient=True, disable=not sys.stderr.isatty()) as bar:
        task = bar.add_task("")

        def tell(what: str, done: int, total: int) -> None:
            bar.update(task, description=what, completed=done, total=total)

        yield tell
