"""`history`: what changed, and whether it helped."""

import time
from pathlib import Path

import click

from draftboard.cli import shared
from draftboard.cli.shared import require
from draftboard.durations import Duration


@click.command("history")
@click.option("--prometheus", metavar="URL", required=True, help="The Prometheus that evaluates the rules.")
@click.option("--range", "span", metavar="DURATION", callback=shared.duration, help="Period before --at. Default: 14d.")
@shared.at_option
@click.option("--model", default="", help="Only this model.")
@shared.access_options()
@shared.config_option
@shared.json_options
@click.option("--markdown", "in_markdown", is_flag=True, help="Print Markdown.")
def history_command(
    *,
    prometheus: str,
    span: Duration | None,
    at: float | None,
    model: str,
    token_file: Path | None,
    ca_file: Path | None,
    config: Path | None,
    as_json: bool,
    in_markdown: bool,
) -> None:
    """List changes of K, method, variant and of speculation on or off, and what each did at like load.

    Reads the records of Draftboard's rules. Intervals require the extra draftboard[calibrate].
    """
    from draftboard import history as room
    from draftboard import output
    from draftboard.access import Access
    from draftboard.alerts import load
    from draftboard.cli import screen
    from draftboard.reading import Recorded

    require(not (as_json and in_markdown), "--json and --markdown exclude each other: choose one")
    settings = load(config)
    source = Recorded(prometheus, span, model, at, Access.from_files(token_file, ca_file))
    # A record of the last evaluations is there by then.
    end = time.time() - settings.rules.evaluation_interval.seconds if at is None else at
    with screen.progress_bar() as progress:
        found = room.of_past(source, settings, at=end, progress=progress)
    if as_json:
        click.echo(output.as_json(found))
    elif in_markdown:
        click.echo(output.as_markdown(room.document(found)), nl=False)
    else:
        output.show(room.document(found), screen.console())
