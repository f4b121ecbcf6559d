"""What the commands of `plan` share: reading lists, and printing a plan."""

from collections.abc import Callable

import click

from draftboard import plan as plan_room
from draftboard.cli.shared import console, json_option
from draftboard.errors import DraftboardError

_LONGEST_TEXT = 4_000


def paper_options(command: Callable[..., None]) -> Callable[..., None]:
    """`--json` and `--explain`."""
    explain = click.option("--explain", is_flag=True, help="Tell every formula, and who says so.")
    return json_option(explain(command))


def print_plan(plan: plan_room.Plan, *, as_json: bool, explain: bool) -> None:
    """As JSON or as tables."""
    if as_json:
        click.echo(plan_room.as_json(plan, explain=explain))
    else:
        plan_room.show(plan, console(), explain=explain)


def as_shares(_context: click.Context, option: click.Parameter, text: str | None) -> tuple[float, ...] | None:
    """Numbers between commas."""
    if text is None:
        return None
    return tuple(_number(option, part) for part in _parts(option, text))


def as_curve(_context: click.Context, option: click.Parameter, text: str) -> tuple[tuple[int, float], ...]:
    """Batch size = number, between commas."""
    points = []
    for part in _parts(option, text):
        size, equals, inflation = part.partition("=")
        if not equals or not size.strip().isdecimal():
            raise DraftboardError(f"{option.opts[0]}: {part[:40]!r} is no SIZE=V: write 1=1.0,8=1.2,32=1.8")
        points.append((int(size), _number(option, inflation)))
    return tuple(points)


def _parts(option: click.Parameter, text: str) -> list[str]:
    if len(text) > _LONGEST_TEXT:
        raise DraftboardError(f"{option.opts[0]}: {len(text)} characters are too many: at most {_LONGEST_TEXT}")
    return text.split(",")


def _number(option: click.Parameter, text: str) -> float:
    try:
        return float(text)
    except ValueError:
        raise DraftboardError(f"{option.opts[0]}: {text[:40]!r} is no number: write numbers between commas") from None
