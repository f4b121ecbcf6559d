"""`calibrate`: what drafts cost, measured against a baseline."""

import re
import time
from pathlib import Path
from typing import Any

import click

from draftboard.cli import shared
from draftboard.cli.shared import FILE, require
from draftboard.durations import Duration

_MOST_LOADS, _LARGEST = 12, 256


def _loads(_context: click.Context, _option: click.Parameter, given: str | None) -> tuple[int, ...] | None:
    if given is None:
        return None
    parts = given.split(",")
    if len(parts) > _MOST_LOADS or not all(re.fullmatch(r"\s*[1-9]\d{0,2}\s*", part) for part in parts):
        raise click.BadParameter(f"1 to {_MOST_LOADS} numbers of requests, such as 1,2,4,8")
    loads = tuple(map(int, parts))
    if len(set(loads)) < len(loads) or max(loads) > _LARGEST:
        raise click.BadParameter(f"each once, and {_LARGEST} at most")
    return tuple(sorted(loads))


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
@click.option(
    "--concurrency",
    metavar="N,N,...",
    callback=_loads,
    help="Requests in flight, one after the other. Default: 1,2,4,8.",
)
@click.option(
    "--rounds", type=click.IntRange(3, 100), help="Measured rounds of each server and concurrency. Default: 5."
)
@click.option("--requests", type=click.IntRange(2, 100), help="Requests per round for each one in flight. Default: 4.")
@click.option("--prompts", type=FILE, help='Prompts: plain text, one per line, or JSON lines {"prompt": ...}.')
@click.option("--max-tokens", type=click.IntRange(2, 100_000), help="Maximum tokens per completion. Default: 200.")
@click.option("--temperature", type=shared.Number(0, 2), help="Sampling temperature. Default: 0.")
@click.option("--timeout", metavar="DURATION", callback=shared.wait, help="Maximum time per request. Default: 2m.")
@click.option("--prometheus", metavar="URL", help="Read both arms from a Prometheus' history instead.")
@click.option("--range", "span", metavar="DURATION", callback=shared.duration, help="Period before --at. Default: 7d.")
@shared.at_option
@click.option("--model", default="", help="Served model name. Default: the only one.")
@click.option("--method", default="", callback=_method, help="Drafting method, for the settings: eagle3, ngram, ...")
@click.option("--write", "fragment", type=FILE, metavar="FILE.toml", help="Also write the settings [draft_cost].")
@click.option(
    "--plot", type=FILE, metavar="FILE.svg|png", help="Also draw cost and speedup over the batch into a file."
)
@shared.force_option
@shared.access_options()
@shared.config_option
@shared.json_options
@click.option("--markdown", "in_markdown", is_flag=True, help="Print Markdown.")
def calibrate_command(
    *,
    servers: tuple[str, ...],
    prompts: Path | None,
    timeout: Duration | None,
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
    as_json: bool,
    in_markdown: bool,
    concurrency: tuple[int, ...] | None,
    rounds: int | None,
    requests: int | None,
    max_tokens: int | None,
    temperature: float | None,
) -> None:
    """Measure what drafting and verifying cost at several batch sizes, and where speculation stops paying.

    Sends the same prompts to a vLLM without speculation and to one or more that speculate, in turns: real load on those
    servers. With --prometheus, reads the history of both arms and sends nothing.
    """
    from draftboard import calibrate as room
    from draftboard import output
    from draftboard.access import Access
    from draftboard.alerts import load
    from draftboard.cli import screen
    from draftboard.files import require_new
    from draftboard.pictures import require_drawable
    from draftboard.reading import Recorded
    from draftboard.sweep import BUILT_IN, Plan, read_prompts

    require(not (as_json and in_markdown), "--json and --markdown exclude each other: choose one")
    require(plot or fragment or not force, "--force goes with --write and --plot, the files that it replaces")
    sent: dict[str, Any] = {
        "rounds": rounds,
        "requests": requests,
        "concurrency": concurrency,
        "temperature": temperature,
    }
    own: dict[str, Any] = {"timeout": timeout.seconds if timeout else None, "max_tokens": max_tokens}
    if prometheus is not None:
        require(not servers, "--prometheus is asked alone: leave out the servers")
        given = [*(value for value in (sent | own).values() if value is not None), *([prompts] if prompts else [])]
        require(
            not given,
            "--concurrency, --rounds, --requests, --prompts, --max-tokens, --temperature and --timeout go "
            "with servers: a history is not sent anything",
        )
    else:
        require(len(servers) > 1, "name a baseline and a candidate (host:port or URL), or --prometheus URL")
        require(span is None and at is None, "--range and --at go with --prometheus: servers are measured now")
        require(method or not fragment, "--write needs --method: the drafting method, which vLLM does not export")
    for path in (path for path in (fragment, plot) if path):
        require_new(path, force=force)
    if plot:
        require_drawable(plot)
    room.require_statsmodels()
    settings = load(config)
    with screen.progress_bar() as progress:
        if prometheus is not None:
            source = Recorded(prometheus, span, model, at, Access.from_files(token_file, ca_file))
            end = time.time() - settings.rules.scrape_interval.seconds if at is None else at
            measured = room.of_history(source, settings, at=end, method=method, progress=progress)
        else:
            plan = Plan(
                server=servers[0],
                model=model,
                method=method,
                prompts=read_prompts(prompts) if prompts else BUILT_IN,
                access=Access.of_api_server(token_file, ca_file),
                **{name: value for name, value in own.items() if value is not None},
            )
            wanted = room.Load(plan=plan, **{name: value for name, value in sent.items() if value is not None})
            measured = room.of_load(servers[0], servers[1:], wanted, settings, progress=progress)
    found = room.calibrated(measured, settings)
    if as_json:
        click.echo(output.as_json(found))
    elif in_markdown:
        click.echo(output.as_markdown(room.document(found)), nl=False)
    else:
        output.show(room.document(found), screen.console())
    if plot:
        room.draw(found, plot)
    if fragment:
        room.require_fragment(found)
        room.write(found, fragment)
