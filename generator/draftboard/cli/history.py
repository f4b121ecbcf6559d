"""`history`: what changed, and whether it helped."""

import time
from functools import partial
from pathlib import Path

import click

from draftboard.cli import shared
from draftboard.durations import Duration


@click.command("history")
@click.option("--prometheus", metavar="URL", required=True, help="The Prometheus that evaluates the rules.")
@shared.past_option("14d; 6h with --explain")
@shared.at_option
@click.option("--model", default="", help="Report only this model.")
@click.option("--explain", is_flag=True, help="Also say why figures changed: mix, load, drafter, release ...")
@shared.access_options()
@shared.config_option
@shared.output_options
def history_command(
    *,
    prometheus: str,
    span: Duration | None,
    at: float | None,
    model: str,
    explain: bool,
    token_file: Path | None,
    ca_file: Path | None,
    config: Path | None,
) -> None:
    """List changes of K, method, variant and of speculation on or off, and what each did at like load.

    Reads the records of Draftboard's rules.
    """
    from draftboard.access import Access
    from draftboard.alerts import load
    from draftboard.cli import screen
    from draftboard.history import document
    from draftboard.history.finding import of_past
    from draftboard.reading import Recorded

    settings = load(config)
    source = Recorded(prometheus, span, model, at, Access.from_files(token_file, ca_file))
    # By then the last evaluation is recorded.
    end = time.time() - settings.rules.evaluation_interval.seconds if at is None else at
    with screen.progress_bar() as progress:
        result = of_past(source, settings, at=end, explain=explain, progress=progress)
    shared.print_result(result, partial(document, result))
