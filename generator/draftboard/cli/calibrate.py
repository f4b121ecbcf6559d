"""`calibrate`: what drafts cost, measured against a baseline."""

import re
import time
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from draftboard.cli import shared
from draftboard.cli.shared import FILE, require
from draftboard.durations import Duration

if TYPE_CHECKING:
    from draftboard.calibrate import Load

_MOST_LOADS, _LARGEST = 12, 256


def _loads(_context: click.Context, _option: click.Parameter, given: str | None) -> tuple[int, ...] | None:
    if given is None:
        return None
    parts = given.split(",")
    if len(parts) > _MOST_LOADS or not all(re.fullmatch(r"\s*[1-9]\d{0,2}\s*", part) for part in parts):
        raise click.BadParameter(f"1 to {_MOST_LOADS} numbers of requests, such as 1,2,4,8")
    loads = tuple(sorted({int(part) for part in parts}))
    if len(loads) < len(parts) or loads[-1] > _LARGEST:
        raise click.BadParameter(f"each once, and {_LARGEST} at most")
    return loads


def _method(_context: click.Context, _option: click.Parameter, given: str) -> str:
    if not given:
        return given
    from draftboard.settings.fields import METHOD_NAME

    pattern, rule = METHOD_NAME
    if not re.fullmatch(pattern, given):
        raise click.BadParameter(f"{given!r} {rule}")
    return given


@click.command("calibrate")
@click.argument("servers", nargs=-1, metavar="[BASELINE_URL CANDIDATE_URL...]")
@click.option("--concurrency", metavar="N,N,...", callback=_loads, help="Requests in flight. Default: 1,2,4,8.")
@click.option("--rounds", type=click.IntRange(3, 100), help="Measured rounds per server and concurrency. Default: 5.")
@click.option("--requests", type=click.IntRange(2, 100), help="Requests per round for each one in flight. Default: 4.")
@click.option(
    "--prompts",
    type=FILE,
    multiple=True,
    help='Prompts: plain text, one per line, or JSON lines {"prompt": ...}; also once for each context.',
)
@click.option("--max-tokens", type=click.IntRange(2, 100_000), help="Maximum tokens per completion. Default: 200.")
@click.option("--temperature", type=shared.Number(0, 2), help="Sampling temperature. Default: 0.")
@shared.duration_option("--timeout", words="Maximum time per request. Default: 2m.")
@click.option("--prometheus", metavar="URL", help="Read both variants from a Prometheus' history instead.")
@shared.past_option("7d")
@shared.at_option
@click.option("--model", default="", help="Served model name. Default: the only one.")
@click.option("--method", default="", callback=_method, help="Drafting method, for the settings: eagle3, ngram, ...")
@click.option("--write", "fragment", type=FILE, metavar="FILE.toml", help="Also write the settings [draft_cost].")
@click.option("--plot", type=FILE, metavar="FILE.svg|png", help="Also draw cost and speedup by batch size into a file.")
@shared.force_option
@shared.access_options()
@shared.config_option
@shared.output_options
def calibrate_command(
    *,
    servers: tuple[str, ...],
    prometheus: str | None,
    span: Duration | None,
    at: float | None,
    model: str,
    method: str,
    fragment: Path | None,
    plot: Path | None,
    force: bool,
    token_file: Path | None,
    ca_file: Path | None,
    config: Path | None,
    **load_options: Any,  # noqa: ANN401  (what is sent; each None where it is not given)
) -> None:
    """Measure what drafting and verifying cost at several batch sizes, and where speculation stops paying.

    Sends the same prompts to a vLLM without speculation and to one or more that speculate, in turns: real load on those
    servers. With --prometheus, reads the history of baseline and candidates and sends nothing.
    """
    from draftboard import calibrate as room
    from draftboard.access import Access
    from draftboard.alerts import load
    from draftboard.cli import screen
    from draftboard.files import require_new
    from draftboard.pictures import require_drawable
    from draftboard.reading import Recorded
    from draftboard.settings import spelled

    require(plot or fragment or not force, "--force requires --write or --plot: it replaces those files")
    given = {name: value for name, value in load_options.items() if value not in {None, ()}}
    if prometheus is not None:
        require(not servers, "--prometheus cannot be combined with server arguments")
        require(not given, f"{', '.join(map(_option, given))} cannot be combined with --prometheus: nothing is sent")
    else:
        require(len(servers) > 1, "give a baseline and a candidate (host:port or URL), or --prometheus URL")
        require(span is None and at is None, "--range and --at require --prometheus")
        require(method or not fragment, "--write requires --method: vLLM does not export the drafting method")
    for path in filter(None, (fragment, plot)):
        require_new(path, force=force)
    if plot:
        require_drawable(plot)
    room.require_statsmodels()
    settings = load(config)
    method = spelled(method, settings) or method
    with screen.progress_bar() as progress:
        if prometheus is not None:
            source = Recorded(prometheus, span, model, at, Access.from_files(token_file, ca_file))
            end = time.time() - settings.rules.scrape_interval.seconds if at is None else at
            measured = room.of_history(source, settings, at=end, method=method, progress=progress)
        else:
            access = Access.of_api_server(token_file, ca_file)
            wanted = _load(given, model=model, method=method, access=access)
            measured = room.of_load(servers[0], servers[1:], wanted, settings, progress=progress)
    result = room.calibrated(measured, settings)
    shared.print_result(result, partial(room.document, result))
    if plot:
        room.draw(result, plot)
    if fragment:
        room.require_fragment(result)
        room.write(result, fragment)


def _option(name: str) -> str:
    return f"--{name.replace('_', '-')}"


def _load(given: dict[str, Any], **plan: Any) -> "Load":  # noqa: ANN401
    """The load that the options ask for, with the defaults of its classes."""
    from draftboard.calibrate import Load
    from draftboard.sweep import Plan, read_prompts

    given["prompts"] = tuple(map(read_prompts, given.pop("prompts", ())))
    if timeout := given.pop("timeout", None):
        plan["timeout"] = timeout.seconds
    if max_tokens := given.pop("max_tokens", None):
        plan["max_tokens"] = max_tokens
    return Load(plan=Plan(server="", **plan), **given)
