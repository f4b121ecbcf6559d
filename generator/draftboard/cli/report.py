"""`report`: what a running vLLM, or a Prometheus, says of speculation now."""

from pathlib import Path
from typing import TYPE_CHECKING

import click

from draftboard.cli import shared
from draftboard.cli.shared import FILE, Number, require
from draftboard.durations import READING, Duration

if TYPE_CHECKING:
    from draftboard.access import Access
    from draftboard.reading import Source


@click.command("report")
@click.argument("sources", nargs=-1, metavar="[URL|PAGE]...")
@click.option(
    "--window",
    metavar="DURATION",
    callback=shared.wait,
    help=f"Time of the readings, or between pages. Servers: {READING}.",
)
@click.option("--before", type=FILE, help="An earlier saved page; needs --after.")
@click.option("--after", type=FILE, help="A later saved page of the same server.")
@click.option("--prometheus", metavar="URL", help="Read from Prometheus instead of servers.")
@shared.range_option
@shared.at_option
@click.option("--model", default="", help="Only this model; needs --prometheus.")
@click.option("--method", default="", help="Drafting method, which vLLM does not export; sets the draft cost.")
@click.option("--temperature", type=Number(0, 100), help="Temperature of the requests, kept for compare.")
@click.option("--top-p", type=Number(0, 1), help="top_p of the requests, kept for compare.")
@click.option("--max-tokens", type=Number(1, 1e9), help="max_tokens of the requests, kept for compare.")
@click.option("--engines", is_flag=True, help="Report each engine, too.")
@shared.access_options()
@shared.config_option
@shared.json_options
@click.option("--markdown", "in_markdown", is_flag=True, help="Print Markdown.")
@click.option("--plot", type=FILE, metavar="FILE.svg|png", help="Also draw decay and speedup into a file.")
@shared.force_option
def report_command(
    *,
    sources: tuple[str, ...],
    window: Duration | None,
    before: Path | None,
    after: Path | None,
    prometheus: str | None,
    span: Duration | None,
    at: float | None,
    model: str,
    method: str,
    engines: bool,
    token_file: Path | None,
    ca_file: Path | None,
    config: Path | None,
    as_json: bool,
    in_markdown: bool,
    plot: Path | None,
    force: bool,
    **sampling: float | None,
) -> None:
    """Report whether speculation pays, why, and what to change.

    URL is a running server, as host:port or in full; several are reported together. PAGE is a saved page: it covers
    all the time since its server started.
    """
    from draftboard import output
    from draftboard.access import Access
    from draftboard.alerts import load
    from draftboard.cli import screen
    from draftboard.files import require_new
    from draftboard.pictures import require_drawable
    from draftboard.reading import Recorded, Servers
    from draftboard.report import Sampling, document, draw, report

    require(not (as_json and in_markdown), "--json and --markdown exclude each other: choose one")
    require(plot or not force, "--force goes with --plot, the file that it replaces")
    if plot:
        require_new(plot, force=force)
        require_drawable(plot)
    settings, access = load(config), Access.from_files(token_file, ca_file)
    if prometheus is not None:
        require(not (sources or before or after), "--prometheus is asked alone: leave out servers and pages")
        require(not window, "--window goes with servers and pages: Prometheus is asked over --range")
        source: Source = Recorded(prometheus, span, model, at, access)
    else:
        require(not model, "--model goes with --prometheus: pages are few enough to show all")
        require(span is None and at is None, "--range and --at go with --prometheus: servers are read now")
        source = _of_pages(sources, before, after, window, access)
        needless = (token_file or ca_file) and not isinstance(source, Servers)
        require(not needless, "--token-file and --ca-file go with servers: a page is a file")
    given = Sampling(**sampling)
    with screen.progress_bar() as progress:
        found = report(source, settings, method=method, engines=engines, sampling=given, progress=progress)
    if as_json:
        click.echo(output.as_json(found))
    elif in_markdown:
        click.echo(output.as_markdown(document(found, settings, engines=engines)), nl=False)
    else:
        output.show(document(found, settings, engines=engines), screen.console())
    if plot:
        draw(found, settings, plot)


def _of_pages(
    sources: tuple[str, ...], before: Path | None, after: Path | None, window: Duration | None, access: "Access"
) -> "Source":
    """Servers, unless what is named is a file."""
    from draftboard.reading import Lifetime, Pages, Servers, is_saved

    require(bool(before) == bool(after), "--before and --after go together")
    if before and after:
        require(not sources, "--before and --after are read alone: leave out other servers and pages")
        return Pages(before, after, window)
    require(bool(sources), "name a server (host:port or URL), a saved page, or --prometheus URL")
    saved = [source for source in sources if is_saved(source)]
    if not saved:
        return Servers(sources, window or READING, access)
    require(len(sources) == 1, "a saved page is read alone: of two pages of one server, name --before and --after")
    require(not window, "--window goes with servers, or with --before and --after: one page tells of all its time")
    return Lifetime(Path(saved[0]))
