"""`alerts replay`: the notifications of a past."""

import time
from functools import partial
from pathlib import Path

import click

from draftboard.cli import shared
from draftboard.durations import Duration


@click.group()
def alerts() -> None:
    """Judge alerts before you rely on them."""


@alerts.command("replay")
@click.option("--prometheus", metavar="URL", required=True, help="The Prometheus that scrapes the servers.")
@shared.past_option("30d")
@shared.at_option
@click.option("--incidents", type=shared.FILE, help="Your incidents, as TOML: [[incident]] with name, start and end.")
@shared.duration_option("--late", words="A message so long after an incident's start is late. Default: 10m.")
@shared.duration_option("--early", words="How long before its start a message may fit it. Default: 30m.")
@shared.access_options()
@shared.config_option
@shared.output_options
@shared.program_option("prometheus", into="program")
@shared.program_option("promtool")
def replay(
    *,
    prometheus: str,
    span: Duration | None,
    at: float | None,
    incidents: Path | None,
    late: Duration | None,
    early: Duration | None,
    token_file: Path | None,
    ca_file: Path | None,
    config: Path | None,
    program: Path,
    promtool: Path,
) -> None:
    """Print the notifications that you would have had, and compare them with your incidents.

    Reads the series ALERTS where Draftboard's rules were loaded, else evaluates the rules over records or samples.
    """
    from draftboard.access import Access
    from draftboard.alerts import load
    from draftboard.cli import screen
    from draftboard.lab import notified
    from draftboard.prometheus import Client

    settings = load(config)
    given = None if incidents is None else notified.load_incidents(incidents)
    end = time.time() if at is None else at
    since = end - (span or Duration.parse("30d")).seconds
    evaluator = notified.Evaluator(program, promtool)
    tolerances = {"late": late or Duration.parse("10m"), "early": early or Duration.parse("30m")}
    with screen.progress_bar() as progress, Client(prometheus, Access.from_files(token_file, ca_file)) as client:
        found = notified.outlook(
            client, settings, evaluator, since=since, until=end, incidents=given, **tolerances, progress=progress
        )
    shared.print_result(found, partial(notified.document, found))
