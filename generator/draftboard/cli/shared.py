"""Options that commands share, without the packages that only their work needs."""

import math
import shutil
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import click

from draftboard.durations import Duration, moment
from draftboard.project import CHECKOUT

FILE = click.Path(path_type=Path, dir_okay=False)
config_option = click.option("--config", type=FILE, help="Settings that overlay the defaults, as TOML.")
force_option = click.option("--force", is_flag=True, help="Replace an existing file.")


def _print_schema(context: click.Context, _option: click.Parameter, asked: bool) -> None:
    if asked:
        from draftboard.cli.schemas import schema_of

        click.echo(schema_of(context.command_path.partition(" ")[2]), nl=False)
        context.exit()


def json_options(command: Callable[..., None]) -> Callable[..., None]:
    """`--json`, and `--schema`, which describes it."""
    schema = click.option(
        "--schema",
        is_flag=True,
        is_eager=True,
        expose_value=False,
        callback=_print_schema,
        help="Print the JSON Schema of --json and exit.",
    )
    return click.option("--json", "as_json", is_flag=True, help="Print JSON.")(schema(command))


class Number(click.FloatRange):
    """A number within bounds; unlike click's range, it refuses NaN."""

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> float:  # noqa: ANN401
        """As click does, but for NaN."""
        number: float = super().convert(value, param, ctx)
        if math.isnan(number):
            self.fail("must be a number", param, ctx)
        return number


factor_option = click.option(
    "--speed", type=Number(0, 1000, min_open=True), default=1.0, show_default=True, help="Time factor."
)


def access_options(otherwise: str = "") -> Callable[[Callable[..., None]], Callable[..., None]]:
    """`--token-file`, whose help ends with the default, `otherwise`; and `--ca-file`."""
    token = click.option("--token-file", type=FILE, help=f"File with the bearer token of the server.{otherwise}")
    ca = click.option("--ca-file", type=FILE, help="Certificates (PEM) to trust instead of the system's.")
    return lambda command: token(ca(command))


def _program(_context: click.Context, _option: click.Parameter, given: str) -> Path:
    fetched = CHECKOUT and shutil.which(given, path=CHECKOUT / ".tools/bin")
    found = fetched or shutil.which(given)
    return Path(found or given).absolute()


def program_option(name: str) -> Callable[[Callable[..., None]], Callable[..., None]]:
    """An option for a program: as named, else from the environment, else what `make tools` fetched, else from PATH."""
    return click.option(
        f"--{name}-program",
        name,
        envvar=name.upper(),
        default=name,
        show_envvar=True,
        callback=_program,
        help="The program. Default: what `make tools` fetched for the checkout, else that on PATH.",
    )


def _parsed(parse: Callable[[str], Any]) -> Callable[[click.Context, click.Parameter, str | None], Any]:
    def callback(_context: click.Context, _option: click.Parameter, given: str | None) -> Any:  # noqa: ANN401
        try:
            return None if given is None else parse(given)
        except ValueError as error:
            raise click.BadParameter(f"{given!r} {error}") from None

    return callback


def _duration(text: str, longest: str) -> Duration:
    duration = Duration.parse(text)
    if not Duration(0) < duration <= Duration.parse(longest):
        raise ValueError(f"must be longer than 0s, at most {longest}")
    return duration


duration = _parsed(lambda text: _duration(text, "366d"))
wait = _parsed(lambda text: _duration(text, "1d"))
_moment = _parsed(lambda text: moment(text, time.time()))
range_option = click.option(
    "--range", "span", metavar="DURATION", callback=duration, help="Period before --at. Default: the rules' window."
)
at_option = click.option(
    "--at", metavar="TIME", callback=_moment, help="Time to ask of: now-6h, Unix seconds or ISO 8601. Default: now."
)


def require(allowed: object, otherwise: str) -> None:
    """Refuse options that do not go together, in words that say what to do."""
    if not allowed:
        raise click.UsageError(otherwise)
