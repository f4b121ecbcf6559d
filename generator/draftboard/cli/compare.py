"""`compare`: two runs side by side, and a gate for CI."""

from pathlib import Path

import click

from draftboard import comparison
from draftboard.access import Access
from draftboard.cli.shared import Number, config_option, console, duration, json_option, progress_bar
from draftboard.durations import Duration
from draftboard.live.sources import RANGE, WINDOW
from draftboard.replay.recording import LATEST
from draftboard.settings import load

_FILE = click.Path(path_type=Path, dir_okay=False)
_MOST = 1e9


def _print_schema(context: click.Context, _option: click.Parameter, asked: bool) -> None:
    if asked:
        click.echo(comparison.schema(), nl=False)
        context.exit()


@click.command("compare")
@click.argument("baseline")
@click.argument("candidate")
@click.option(
    "--window",
    metavar="DURATION",
    callback=duration,
    default=str(WINDOW),
    show_default=True,
    help="Between the two readings of servers.",
)
@click.option("--prometheus", metavar="URL", default="", help="Ask a Prometheus; the sides are then LABEL=VALUE.")
@click.option(
    "--range",
    "span",
    metavar="DURATION",
    callback=duration,
    default=str(RANGE),
    show_default=True,
    help="How far back Prometheus is asked.",
)
@click.option("--until", type=click.IntRange(0, LATEST), help="Unix time at which the range ends. Default: now.")
@click.option("--model", default="", help="The model to compare, where a side has several.")
@click.option("--method", default="", help="How the candidate drafts, if it is a server: it decides the draft cost.")
@click.option("--baseline-method", default="", help="The same of the baseline.")
@click.option("--force", is_flag=True, help="Compare runs of another model, load or temperature, too.")
@click.option(
    "--max-drop-pp", type=Number(0, 100), help="Gate: percentage points by which acceptance may fall.", metavar="POINTS"
)
@click.option("--min-speedup", type=Number(0, _MOST), help="Gate: measured speedup to reach.", metavar="TIMES")
@click.option("--gpu-hour-price", type=Number(0, _MOST), help="Of one GPU, in any currency.", metavar="PRICE")
@click.option("--gpus", type=click.IntRange(1, 100_000), default=1, show_default=True, help="On each side.")
@click.option(
    "--confirm",
    type=_FILE,
    metavar="REPORT",
    help="The candidate under the same load of homogeneous work: is mixed work why its tail is worse?",
)
@click.option("--token-file", type=_FILE, help="File with the bearer token that a server asks for.")
@click.option("--ca-file", type=_FILE, help="Certificates (PEM) to trust instead of the system's.")
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
    window: Duration,
    prometheus: str,
    span: Duration,
    until: int | None,
    model: str,
    method: str,
    baseline_method: str,
    force: bool,
    max_drop_pp: float | None,
    min_speedup: float | None,
    gpu_hour_price: float | None,
    gpus: int,
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
    settings = load(config)
    with progress_bar() as progress:
        looking = comparison.Looking(
            prometheus=prometheus,
            span=span,
            at=until,
            window=window,
            model=model,
            methods=(baseline_method, method),
            access=Access.from_files(token_file, ca_file),
            progress=progress,
        )
        both = comparison.sides(baseline, candidate, settings, looking)
    found = comparison.compare(
        *both,
        settings,
        force=force,
        limits=comparison.Limits(max_drop_pp, min_speedup),
        price=None if gpu_hour_price is None else comparison.Price(gpu_hour_price, gpus),
        confirmation=comparison.saved(confirm, model) if confirm else None,
    )
    if as_json:
        click.echo(comparison.as_json(found))
    elif in_markdown:
        click.echo(comparison.as_markdown(found, settings), nl=False)
    else:
        comparison.show(found, settings, console())
    context.exit(0 if found.passed else 1)
