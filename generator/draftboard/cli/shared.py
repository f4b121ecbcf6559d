"""Options that commands share, without the packages that only their work needs."""

import math
import shutil
import time
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from draftboard.durations import Duration, moment
from draftboard.project import CHECKOUT

if TYPE_CHECKING:
    from draftboard.output import Document

Command = Callable[..., None]
_FORM = "draftboard.form"  # Key of what --json or --markdown chose, in click's context.
FILE = click.Path(path_type=Path, dir_okay=False)
config_option = click.option("--config", type=FILE, help="Settings that overlay the defaults, as TOML.")
force_option = click.option("--force", is_flag=True, help="Replace an existing file.")


def _print_schema(context: click.Context, _option: click.Parameter, wanted: bool) -> None:
    if wanted:
        from draftboard.cli.schemas import schema_of

        command = context.command_path.partition(" ")[2]
        other = next((f" --{name}" for name in ("summary", "stack") if context.params.get(name)), "")
        click.echo(schema_of(command + other), nl=False)
        context.exit()


def _choose_form(context: click.Context, option: click.Parameter, wanted: bool) -> None:
    if wanted:
        require(_FORM not in context.meta, "--json and --markdown are mutually exclusive")
        context.meta[_FORM] = option.name


def _flag(name: str, words: str, callback: Callable[..., None], *, eager: bool = False) -> Callable[[Command], Command]:
    return click.option(name, is_flag=True, is_eager=eager, expose_value=False, callback=callback, help=words)


def json_options(command: Command) -> Command:
    """`--json`, and `--schema`, which describes it."""
    schema = _flag("--schema", "Print the JSON Schema of --json and exit.", _print_schema, eager=True)
    return _flag("--json", "Print JSON.", _choose_form)(schema(command))


def output_options(command: Command) -> Command:
    """`--json`, `--schema` and `--markdown`."""
    return json_options(_flag("--markdown", "Print Markdown.", _choose_form)(command))


def prints_json() -> bool:
    """Whether the command was called with `--json`."""
    return click.get_current_context().meta.get(_FORM) == "json"


def print_result(result: object, document: "Callable[[], Document]") -> None:
    """Print a command's result in the form that its options choose: a document for people unless they choose JSON."""
    from draftboard import output
    from draftboard.cli.screen import console

    match click.get_current_context().meta.get(_FORM):
        case "json":
            click.echo(output.as_json(result))
        case "markdown":
            click.echo(output.as_markdown(document()), nl=False)
        case _:
            output.show(document(), console())


def print_line(text: str, *, err: bool = False) -> None:
    """Print a line of text, which may hold words of servers."""
    from draftboard.output import escape

    click.echo(escape.log(escape.terminal(text)), err=err)


class Number(click.FloatRange):
    """A number within bounds; unlike click's range, it refuses NaN."""

    name = "number"

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> float:  # noqa: ANN401
        """As click does, but for NaN."""
        try:
            float(value)
        except ValueError:
            self.fail(f"{value!r} is not a number: write digits only, in the unit that --help names", param, ctx)
        number: float = super().convert(value, param, ctx)
        if math.isnan(number):
            self.fail("must be a number", param, ctx)
        return number


factor_option = click.option(
    "--speed",
    type=Number(0, 1000, min_open=True),
    default=1.0,
    show_default=True,
    help="Time factor, by which rates read higher.",
)


def access_options(default: str = "") -> Callable[[Command], Command]:
    """`--token-file`, whose help ends with the default; and `--ca-file`."""
    token = click.option("--token-file", type=FILE, help=f"File with the bearer token of the server.{default}")
    ca = click.option("--ca-file", type=FILE, help="Certificates (PEM) to trust instead of the system's.")

    def options(command: Command) -> Command:
        return token(ca(command))

    return options


def _program(_context: click.Context, _option: click.Parameter, given: str) -> Path:
    fetched = CHECKOUT and shutil.which(given, path=CHECKOUT / ".tools/bin")
    return Path(fetched or shutil.which(given) or given).absolute()


def program_option(name: str, into: str = "") -> Callable[[Command], Command]:
    """A program: as given, else from the environment, else as fetched by `make tools`, else from PATH."""
    return click.option(
        f"--{name}-program",
        into or name,
        envvar=name.upper(),
        default=name,
        show_envvar=True,
        callback=_program,
        help="Path of the program. Default: fetched by `make tools` in a checkout, else found on PATH.",
    )


def _parsed(parse: Callable[[str], Any]) -> Callable[[click.Context, click.Parameter, str | None], Any]:
    def callback(_context: click.Context, _option: click.Parameter, given: str | None) -> Any:  # noqa: ANN401
        try:
            return None if given is None else parse(given)
        except ValueError as error:
            raise click.BadParameter(f"{given!r} {error}") from None

    return callback


def _duration(longest: str, text: str) -> Duration:
    duration = Duration.parse(text)
    if not Duration(0) < duration <= Duration.parse(longest):
        raise ValueError(f"must be longer than 0s, at most {longest}")
    return duration


def _moment(text: str) -> float:
    return moment(text, time.time())


def duration_option(
    *names: str,
    words: str,
    longest: str = "1d",
    **more: Any,  # noqa: ANN401  (click's own)
) -> Callable[[Command], Command]:
    """An option that takes a duration; `words` are its help."""
    callback = _parsed(partial(_duration, longest))
    return click.option(*names, metavar="DURATION", callback=callback, help=words, **more)


def past_option(default: str) -> Callable[[Command], Command]:
    """`--range`, a period of history."""
    return duration_option("--range", "span", longest="366d", words=f"Period before --at. Default: {default}.")


range_option = past_option("the rules' window")
at_option = click.option(
    "--at",
    metavar="TIME",
    callback=_parsed(_moment),
    help="Evaluation time: now-6h, Unix seconds or ISO 8601. Default: now.",
)


def require(condition: object, otherwise: str) -> None:
    """Raise a usage error, one line that says what to do, unless the condition holds."""
    if not condition:
        raise click.UsageError(otherwise)
