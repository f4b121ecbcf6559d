"""`report`: whether speculation pays now, by a running vLLM, saved pages or a Prometheus."""

import sys
import time
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, NoReturn

import click

from draftboard.cli import shared
from draftboard.cli.shared import FILE, Number, require
from draftboard.durations import READING, Duration

if TYPE_CHECKING:
    from collections.abc import Callable

    from draftboard.access import Access
    from draftboard.reading import Lifetime, Pages, Recorded, Servers, Source
    from draftboard.report import Report
    from draftboard.settings import Settings


_PAGES = 2  # A server and its baseline.
sources_argument = click.argument("sources", nargs=-1, metavar="[URL|PAGE]...")
window_option = shared.duration_option(
    "--window", words=f"Sampling window of servers (default {READING}), or time between two saved pages."
)
before_option = click.option("--before", type=FILE, help="Earlier saved page; requires --after.")
after_option = click.option("--after", type=FILE, help="Later saved page of the same server.")
prometheus_option = click.option("--prometheus", metavar="URL", help="Read from Prometheus instead of servers.")
method_option = click.option(
    "--method", default="", help="Drafting method, which vLLM does not export; selects the draft cost."
)


@click.command("report")
@sources_argument
@window_option
@before_option
@after_option
@prometheus_option
@shared.past_option("the rules' window; 7d with --summary")
@shared.at_option
@click.option("--summary", is_flag=True, is_eager=True, help="In how many hours of a range speculation helped users.")
@click.option("--model", default="", help="Report only this model (with --prometheus).")
@method_option
@click.option("--temperature", type=Number(0, 100), help="Sampling temperature of the workload; stored for `compare`.")
@click.option("--top-p", type=Number(0, 1), help="Sampling top_p of the workload; stored for `compare`.")
@click.option("--max-tokens", type=Number(1, 1e9), help="max_tokens of the workload; stored for `compare`.")
@click.option("--engines", is_flag=True, help="Also report each engine.")
@click.option("--all", "every_model", is_flag=True, help="Print every model, not only the worst of many.")
@shared.access_options()
@shared.config_option
@shared.output_options
@click.option("--plot", type=FILE, metavar="FILE.svg|png", help="Also draw survival and speedup to a file.")
@shared.force_option
@shared.duration_option("--every", words="With --json: print a line for each model, again and again, this far apart.")
@click.option("--otlp", is_flag=True, help="With --every: also send each line as an OpenTelemetry log record.")
def report_command(
    *,
    sources: tuple[str, ...],
    window: Duration | None,
    before: Path | None,
    after: Path | None,
    prometheus: str | None,
    span: Duration | None,
    at: float | None,
    summary: bool,
    model: str,
    method: str,
    engines: bool,
    every_model: bool,
    token_file: Path | None,
    ca_file: Path | None,
    config: Path | None,
    plot: Path | None,
    force: bool,
    every: Duration | None,
    otlp: bool,
    **sampling: float | None,
) -> None:
    """Report whether speculation pays, why, and what to change.

    URL is a running server, as host:port or in full; several are reported together. PAGE is a saved page: it covers
    all the time since its server started. A server without speculation beside one of its model that speculates is its
    baseline, and measures it.
    """
    from draftboard.access import Access
    from draftboard.alerts import load
    from draftboard.cli import screen
    from draftboard.files import require_new
    from draftboard.pictures import require_drawable
    from draftboard.reading import Lifetime, Pages, Recorded, Servers
    from draftboard.report import Sampling, document, draw, report, telemetry

    require(not every or shared.prints_json(), "--every requires --json")
    require(every or not otlp, "--otlp requires --every")
    require(not (every and (plot or at is not None)), "--every excludes --plot and --at")
    require(plot or not force, "--force requires --plot: it replaces that file")
    if summary:
        others = (sources, window, before, after, method, engines, every_model, plot, every, *sampling.values())
        require(prometheus and not any(others), "--summary takes --prometheus, --range, --at and --model alone")
    if plot:
        require_new(plot, force=force)
        require_drawable(plot)
    settings, access = load(config), Access.from_files(token_file, ca_file)
    if prometheus is not None:
        require(not (sources or before or after), "--prometheus cannot be combined with server or page arguments")
        require(not window, "--window applies to servers and pages: use --range with --prometheus")
        recorded = Recorded(prometheus, span, model, at, access)
        if summary:
            _summarise(recorded, settings)
            return
        source: Source = recorded
    else:
        require(not model, "--model requires --prometheus")
        require(span is None and at is None, "--range and --at require --prometheus")
        source = source_of_pages(sources, before, after, window, access)
        needless = (token_file or ca_file) and not isinstance(source, Servers)
        require(not needless, "--token-file and --ca-file apply to servers, not to saved pages")
    requests = Sampling(**sampling)
    if every:
        require(not isinstance(source, Pages | Lifetime), "--every requires servers or --prometheus")
        look = partial(report, source, settings, method=method, engines=engines or None, sampling=requests)
        _repeat(look, every, send=telemetry.sender() if otlp else None)
    with screen.progress_bar() as progress:
        judged = engines or (None if shared.prints_json() else False)  # To judge hundreds of engines takes seconds.
        result = report(source, settings, method=method, engines=judged, sampling=requests, progress=progress)
    shared.print_result(result, partial(document, result, settings, engines=engines, every_model=every_model))
    if plot:
        draw(result, settings, plot)


def _summarise(source: "Recorded", settings: "Settings") -> None:
    """Print the past of the fleet."""
    from draftboard.cli import screen
    from draftboard.report.summarised import summarised
    from draftboard.report.summary import of_range

    # By then the last evaluation is recorded.
    end = time.time() - settings.rules.evaluation_interval.seconds if source.at is None else source.at
    with screen.progress_bar() as progress:
        result = of_range(source, settings, at=end, progress=progress)
    shared.print_result(result, partial(summarised, result))


def _repeat(look: "Callable[[], Report]", every: Duration, send: "Callable[[Report], None] | None") -> NoReturn:
    """Print each model of each report as a line of JSON, a report of it alone; a failure is a line on stderr."""
    from draftboard import output
    from draftboard.errors import DraftboardError

    while True:
        begun = time.monotonic()
        try:
            latest = look()
        except DraftboardError as error:
            shared.print_line(f"draftboard: {error}", err=True)
        else:
            for model in latest.models:
                one = replace(latest, models=(model,))
                click.echo(output.as_json(one, indent=None))
                if send:
                    send(one)
            sys.stdout.flush()
        time.sleep(max(0.0, begun + every.seconds - time.monotonic()))


def source_of_pages(
    sources: tuple[str, ...], before: Path | None, after: Path | None, window: Duration | None, access: "Access"
) -> "Servers | Pages | Lifetime":
    """Servers, unless what is named is a file."""
    from draftboard.reading import Lifetime, Pages, Servers, is_saved

    require(bool(before) == bool(after), "--before and --after require each other")
    if before and after:
        require(not sources, "--before and --after cannot be combined with server or page arguments")
        return Pages(before, after, window)
    require(bool(sources), "give a server (host:port or URL), a saved page, or --prometheus URL")
    require(sources.count("-") <= 1, "standard input (-) can be read once: give the other page as a file")
    saved = [source for source in sources if is_saved(source)]
    if not saved:
        return Servers(sources, window or READING, access)
    require(
        len(saved) == len(sources) <= _PAGES,
        "give one saved page, or that of a server and that of its baseline, and no addresses beside them",
    )
    require(not window, "--window applies to servers, or to --before and --after: a single page has no window")
    return Lifetime(*map(Path, saved))
