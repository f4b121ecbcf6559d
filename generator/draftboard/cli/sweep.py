"""`sweep`: what temperature does to speculation, on a running vLLM."""

import math
from pathlib import Path

import click

from draftboard.access import API_KEY, Access
from draftboard.alerts import load
from draftboard.cli.shared import (
    FILE,
    INTERRUPTED,
    access_options,
    config_option,
    console,
    json_option,
    progress_bar,
    wait,
)
from draftboard.durations import Duration
from draftboard.sweep import BUILT_IN, Plan, read_prompts, show, sweep
from draftboard.sweep import as_json as sweep_as_json
from draftboard.sweep.plan import CONCURRENCY, MAX_TOKENS, REQUESTS, TEMPERATURES, WARM_UP, RequestLimits

_HOTTEST = 2
_MOST_TEMPERATURES = 20


def _temperature(given: str) -> float:
    try:
        value = float(given)
    except ValueError:
        value = math.nan
    if not 0 <= value <= _HOTTEST:
        raise click.BadParameter(f"{given!r} must be a number from 0 to {_HOTTEST}")
    return value


def _one(_context: click.Context, _option: click.Parameter, given: str | None) -> float | None:
    return None if given is None else _temperature(given)


def _several(_context: click.Context, _option: click.Parameter, given: str) -> tuple[float, ...]:
    values = tuple(_temperature(part.strip()) for part in given.split(","))
    if len(set(values)) < len(values) or len(values) > _MOST_TEMPERATURES:
        raise click.BadParameter(f"name each temperature once, and at most {_MOST_TEMPERATURES}")
    return values


@click.command("sweep")
@click.argument("url")
@click.option(
    "--temperatures",
    metavar="T,T,...",
    callback=_several,
    default=",".join(f"{value:g}" for value in TEMPERATURES),
    show_default=True,
    help="One after the other.",
)
@click.option(
    "--requests", type=click.IntRange(1, 100_000), default=REQUESTS, show_default=True, help="At each temperature."
)
@click.option("--prompts", type=FILE, help='Plain text, one prompt a line, or JSON lines {"prompt": ..., "tag": ...}.')
@click.option(
    "--concurrency", type=click.IntRange(1, 256), default=CONCURRENCY, show_default=True, help="Requests at a time."
)
@click.option(
    "--max-tokens", type=click.IntRange(1, 100_000), default=MAX_TOKENS, show_default=True, help="Of each completion."
)
@click.option("--model", default="", help="As the server names it. Default: the first that it serves.")
@click.option("--method", default="", help="How tokens are drafted, which decides the draft cost.")
@click.option(
    "--production-temperature", metavar="T", callback=_one, help="Where your traffic runs: the verdict is for it."
)
@click.option(
    "--warm-up",
    type=click.IntRange(0, 1000),
    default=WARM_UP,
    show_default=True,
    help="Requests before each temperature that no number counts.",
)
@click.option(
    "--timeout",
    metavar="DURATION",
    callback=wait,
    default=str(Duration(int(RequestLimits().seconds))),
    show_default=True,
    help="For one request.",
)
@access_options(f" Default: the variable {API_KEY}.")
@config_option
@json_option
def sweep_command(
    *,
    url: str,
    temperatures: tuple[float, ...],
    requests: int,
    prompts: Path | None,
    concurrency: int,
    max_tokens: int,
    model: str,
    method: str,
    production_temperature: float | None,
    warm_up: int,
    timeout: Duration,
    token_file: Path | None,
    ca_file: Path | None,
    config: Path | None,
    as_json: bool,
) -> None:
    """Send completions to the vLLM at URL at one temperature after the other, and judge speculation at each.

    This is real load on that server. Prompts and completions are neither stored nor printed. Ctrl-C prints what is done
    so far.
    """
    settings = load(config)
    plan = Plan(
        server=url,
        model=model,
        temperatures=temperatures,
        requests=requests,
        prompts=read_prompts(prompts) if prompts else BUILT_IN,
        concurrency=concurrency,
        max_tokens=max_tokens,
        warm_up=warm_up,
        production_temperature=production_temperature,
        method=method,
        access=Access.of_api_server(token_file, ca_file),
        limits=RequestLimits(seconds=timeout.seconds),
    )
    with progress_bar() as progress:
        found = sweep(plan, settings, progress=progress)
    if as_json:
        click.echo(sweep_as_json(found))
    else:
        show(found, settings, console())
    if found.failure:
        click.echo(f"draftboard: {found.failure}", err=True)
        raise SystemExit(2)
    if found.interrupted:
        raise SystemExit(INTERRUPTED)
