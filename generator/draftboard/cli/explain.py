"""`explain`: where the number of a signal, record or alert comes from."""

import time
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING

import click

from draftboard.cli import report, screen, shared
from draftboard.cli.shared import require
from draftboard.durations import Duration

if TYPE_CHECKING:
    from draftboard.expr.vector import Labels


@click.command("explain")
@click.argument("name")
@report.sources_argument
@report.window_option
@report.before_option
@report.after_option
@report.prometheus_option
@shared.at_option
@click.option("--label", "labels", multiple=True, metavar="NAME=VALUE", help="Explain only series with this label.")
@click.option("--depth", type=click.IntRange(0, 20), default=1, show_default=True, help="Levels of signals below it.")
@click.option("--promql", is_flag=True, help="Print the PromQL of each signal, too.")
@report.method_option
@shared.access_options()
@shared.config_option
@shared.output_options
def explain_command(
    *,
    name: str,
    sources: tuple[str, ...],
    window: Duration | None,
    before: Path | None,
    after: Path | None,
    prometheus: str | None,
    at: float | None,
    labels: tuple[str, ...],
    depth: int,
    promql: bool,
    method: str,
    token_file: Path | None,
    ca_file: Path | None,
    config: Path | None,
) -> None:
    """Show what a number is computed from, with live values.

    NAME is a signal, a record or an alert. URL is a running server, PAGE a saved page, as for `report`. Without a
    source the expressions are printed without values. Of a decision, such as the verdict, every row is listed with
    its condition, up to the first that holds.
    """
    from draftboard.access import Access
    from draftboard.alerts import load
    from draftboard.explain import document, explain, of_prometheus, of_reading
    from draftboard.reading import Recorded
    from draftboard.report import read

    settings, access, only = load(config), Access.from_files(token_file, ca_file), _labels(labels)
    if prometheus is not None:
        require(not (sources or before or after), "--prometheus cannot be combined with server or page arguments")
        require(not (window or method), "--window and --method apply to servers and pages")
        when = time.time() if at is None else at
        result = of_prometheus(name, Recorded(prometheus, at=when, access=access), settings, depth=depth, only=only)
    elif sources or before or after:
        require(at is None, "--at requires --prometheus")
        source = report.source_of_pages(sources, before, after, window, access)
        with screen.progress_bar() as progress:
            reading = read(source, settings, method, progress=progress)
        result = of_reading(name, reading, depth=depth, only=only)
    else:
        require(not labels, "--label requires a server, a page or --prometheus")
        result = explain(name, settings, depth=depth)
    shared.print_result(result, partial(document, result, promql=promql))


def _labels(given: tuple[str, ...]) -> "Labels":
    pairs = [one.partition("=") for one in given]
    for (name, sign, _), text in zip(pairs, given, strict=True):
        require(name and sign, f"--label {text!r}: write NAME=VALUE")
    return frozenset((name, value) for name, _, value in pairs)
