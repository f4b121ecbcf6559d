"""`compare`: two runs side by side, and a gate for CI."""

from pathlib import Path

import click

from draftboard import compare as compare_room
from draftboard.access import Access
from draftboard.alerts import load
from draftboard.cli.shared import (
    FILE,
    Number,
    access_options,
    at_option,
    config_option,
    console,
    json_option,
    progress_bar,
    range_option,
    require,
    wait,
)
from draftboard.durations import Duration
from draftboard.reading.sources import WINDOW

_MOST = 1e9


def _print_schema(context: click.Context, _option: click.Parameter, asked: bool) -> None:
    if asked:
        click.echo(compare_room.schema(), nl=False)
        context.exit()


@click.command("compare")
@click.argument("baseline")
@click.argument("candidate")
@click.option(
    "--window",
    metavar="DURATION",
    callback=wait,
    help=f"Between the two readings of servers. Default: {WINDOW}.",
)
@click.option("--prometheus", metavar="URL", default="", help="Ask a Prometheus; the sides are then LABEL=VALUE.")
@range_option
@at_option
@click.option("--model", default="", help="The model to compare, where a side has several.")
@click.option("--method", default="", help="How the candidate drafts, if it is a server: it decides the draft cost.")
@click.option("--baseline-method", default="", help="The same of the baseline.")
@click.option("--force", is_flag=True, help="Compare runs of another model, load or temperature, too.")
@click.option(
    "--max-drop-pp", type=Number(0, 100), help="Gate: percentage points by which acceptance may fall.", metavar="POINTS"
)
@click.option("--min-speedup", type=Number(0, _MOST), help="Gate: measured speedup to reach.", metavar="TIMES")
@click.option("--gpu-hour-price", type=Number(0, _MOST), help="Of one GPU, in any currency.", metavar="PRICE")
@click.option("--gpus", type=click.IntRange(1, 100_000), help="On each side. Default: 1.")
@click.option(
    "--confirm",
    type=FILE,
    metavar="REPORT",
    help="The candidate under the same load of homogeneous work: is mixed work why its tail is worse?",
)
@access_options()
@config_option
@json_option
@click.option("--markdown", "in_markdown", is_flag=True, help="Print Markdown.")
@click.option(
    "--schema",
    is_flag=True,
    is_eager=True,
    expose_value=False,
    callback=_print_schema,
    help="Print the JSON Schema of --json, and look at nothing.",
)
@click.pass_context
def compare_command(
    context: click.Context,
    *,
    baseline: str,
    candidate: str,
    window: Duration | None,
    prometheus: str,
    span: Duration | None,
    at: float | None,
    model: str,
    method: str,
    baseline_method: str,
    force: bool,
    max_drop_pp: float | None,
    min_speedup: float | None,
    gpu_hour_price: float | None,
    gpus: int | None,
    confirm: Path | None,
    token_file: Path | None,
    ca_file: Path | None,
    config: Path | None,
    as_json: bool,
    in_markdown: bool,
) -> None:
    """Say what CANDIDATE gives users that BASELINE does not.

    Each is a report that `draftboard report --json` saved, or a running server; servers are read over the same time.
    With --prometheus, each is a label and its value, such as variant=a or spec_method=none.

    Exit code 0: compared, all gates met. 1: a gate was missed or cannot be judged. 2: not comparable, or a mistake.
    """
    require(not (as_json and in_markdown), "--json and --markdown exclude each other: choose one")
    require(prometheus or (span is None and at is None), "--range and --at go with --prometheus: servers are read now")
    require(not (prometheus and window), "--window goes with servers: Prometheus is asked over --range")
    require(gpus is None or gpu_hour_price is not None, "--gpus goes with --gpu-hour-price: alone it says nothing")
    settings = load(config)
    with progress_bar() as progress:
        looking = compare_room.Looking(
            prometheus=prometheus,
            span=span,
            at=at,
            window=window or WINDOW,
            model=model,
            methods=(baseline_method, method),
            access=Access.from_files(token_file, ca_file),
            progress=progress,
        )
        both = compare_room.sides(baseline, candidate, settings, looking)
    found = compare_room.compare(
        *both,
        settings,
        force=force,
        limits=compare_room.Limits(max_drop_pp, min_speedup),
        price=None if gpu_hour_price is None else compare_room.Price(gpu_hour_price, gpus or 1),
        confirmation=compare_room.saved(confirm, model) if confirm else None,
    )
    if as_json:
        click.echo(compare_room.as_json(found))
    elif in_markdown:
        click.echo(compare_room.as_markdown(found, settings), nl=False)
    else:
        compare_room.show(found, settings, console())
    context.exit(0 if found.passed else 1)
