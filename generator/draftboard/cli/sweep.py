"""`sweep`: speculation of a running vLLM at several temperatures."""

import signal
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Any

import click

from draftboard.access import API_KEY, Access
from draftboard.alerts import load
from draftboard.cli import screen, shared
from draftboard.durations import Duration
from draftboard.settings import method_of
from draftboard.sweep import BUILT_IN, Plan, document, read_prompts, sweep

_TEMPERATURE, _MOST_TEMPERATURES = shared.Number(0, 2), 20
_TIMEOUT = str(Duration(int(Plan.timeout)))


def _several(context: click.Context, option: click.Parameter, given: str) -> tuple[float, ...]:
    values = tuple(_TEMPERATURE.convert(part.strip(), option, context) for part in given.split(","))
    if len(set(values)) < len(values) or len(values) > _MOST_TEMPERATURES:
        raise click.BadParameter(f"each temperature once, and at most {_MOST_TEMPERATURES}")
    return values


def _count(name: str, least: int, most: int, words: str) -> Callable[[shared.Command], shared.Command]:
    option, bounds = f"--{name.replace('_', '-')}", click.IntRange(least, most)
    return click.option(option, type=bounds, default=getattr(Plan, name), show_default=True, help=words)


@click.command("sweep")
@click.argument("url")
@click.option(
    "--temperatures",
    metavar="T,T,...",
    callback=_several,
    default=",".join(f"{value:g}" for value in Plan.temperatures),
    show_default=True,
    help="Sampling temperatures, in this order.",
)
@_count("requests", 1, 100_000, "Requests per temperature.")
@click.option(
    "--prompts", type=shared.FILE, help='Prompts: plain text, one per line, or JSON lines {"prompt": ..., "tag": ...}.'
)
@_count("concurrency", 1, 256, "Requests in flight.")
@_count("max_tokens", 1, 100_000, "Maximum tokens per completion.")
@click.option("--model", default="", help="Served model name. Default: the first one.")
@click.option("--method", default="", help="Drafting method; selects the draft cost.")
@click.option(
    "--production-temperature", type=_TEMPERATURE, metavar="T", help="Temperature of production, for the verdict."
)
@_count("warm_up", 0, 1000, "Warm-up requests per temperature, excluded from results.")
@shared.duration_option("--timeout", default=_TIMEOUT, show_default=True, words="Maximum time per request.")
@shared.access_options(f" Default: the variable {API_KEY}.")
@shared.config_option
@shared.json_options
def sweep_command(
    *,
    url: str,
    prompts: Path | None,
    timeout: Duration,
    token_file: Path | None,
    ca_file: Path | None,
    config: Path | None,
    **planned: Any,  # noqa: ANN401  (fields of the plan)
) -> None:
    """Send completions to the vLLM at URL at several temperatures and judge speculation at each.

    This is real load on that server. Prompts and completions are neither stored nor printed. Ctrl-C prints the results
    so far.
    """
    settings, access = load(config), Access.of_api_server(token_file, ca_file)
    text = read_prompts(prompts) if prompts else BUILT_IN
    planned["method"] = method_of(planned["method"], settings)
    plan = Plan(server=url, prompts=text, timeout=timeout.seconds, access=access, **planned)
    with screen.progress_bar() as progress:
        result = sweep(plan, settings, progress=progress)
    shared.print_result(result, partial(document, result))
    if result.failure:
        shared.print_line(f"draftboard: {result.failure}", err=True)
        raise SystemExit(2)
    if result.interrupted:
        raise SystemExit(128 + signal.SIGINT)
