"""`report`: what a running vLLM, or a Prometheus, says of speculation now."""

from pathlib import Path

import click

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
from draftboard.output import as_json as to_json
from draftboard.output import as_markdown, show
from draftboard.reading import WINDOW, Lifetime, Pages, Recorded, Servers, Source, is_saved
from draftboard.report import Sampling, document, draw, report, require_drawable, schema


@click.command("report")
@click.argument("sources", nargs=-1, metavar="[URL|PAGE]...")
@click.option(
    "--window",
    metavar="DURATION",
    callback=wait,
    help=f"Between the readings: of servers, where {WINDOW} is usual, or of saved pages, which do not tell.",
)
@click.option("--before", type=FILE, help="A page saved earlier, with --after.")
@click.option("--after", type=FILE, help="A page of the same server saved later.")
@click.option("--prometheus", metavar="URL", help="Ask a Prometheus instead of servers.")
@range_option
@at_option
@click.option("--model", default="", help="Only this model, of Prometheus.")
@click.option(
    "--method", default="", help="How tokens are drafted, which vLLM does not say: it decides the draft cost."
)
@click.option("--temperature", type=Number(0, 100), help="Requests' own, kept in the report: compare wants it alike.")
@click.option("--top-p", type=Number(0, 1), help="The same of top_p.")
@click.option("--max-tokens", type=Number(1, 1e9), help="The same of max_tokens.")
@click.option("--engines", is_flag=True, help="Tell of each engine, too.")
@access_options()
@config_option
@json_option
@click.option("--markdown", "in_markdown", is_flag=True, help="Print Markdown.")
@click.option("--plot", type=FILE, metavar="FILE.svg|png", help="Draw decay and speedup into a file, too.")
@click.option("--schema", "as_schema", is_flag=True, help="Print the JSON Schema of --json, and look at nothing.")
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
    temperature: float | None,
    top_p: float | None,
    max_tokens: float | None,
    engines: bool,
    token_file: Path | None,
    ca_file: Path | None,
    config: Path | None,
    as_json: bool,
    in_markdown: bool,
    plot: Path | None,
    as_schema: bool,
) -> None:
    """Say whether speculation pays, why, and what to change.

    URL is a running server, as host:port or in full; several are told of together. PAGE is a saved page, which tells of
    all the time since its server started.
    """
    if as_schema:
        click.echo(schema(), nl=False)
        return
    require(not (as_json and in_markdown), "--json and --markdown exclude each other: choose one")
    if plot:
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
        saved = not isinstance(source, Servers)
        require(not (saved and (token_file or ca_file)), "--token-file and --ca-file go with servers: a page is a file")
    sampling = Sampling(temperature=temperature, top_p=top_p, max_tokens=max_tokens)
    with progress_bar() as progress:
        found = report(source, settings, method=method, engines=engines, sampling=sampling, progress=progress)
    if as_json:
        click.echo(to_json(found))
    elif in_markdown:
        click.echo(as_markdown(document(found, settings, engines=engines)), nl=False)
    else:
        show(document(found, settings, engines=engines), console())
    if plot:
        draw(found, settings, plot)


def _of_pages(
    sources: tuple[str, ...], before: Path | None, after: Path | None, window: Duration | None, access: Access
) -> Source:
    """Servers, unless what is named is a file."""
    if before or after:
        require(not sources, "--before and --after are read alone: leave out other servers and pages")
        if before and after:
            return Pages(before, after, window)
        raise click.UsageError("--before and --after go together")
    require(bool(sources), "name a server (host:port or URL), a saved page, or --prometheus URL")
    saved = [source for source in sources if is_saved(source)]
    if not saved:
        return Servers(sources, window or WINDOW, access)
    require(len(sources) == 1, "a saved page is read alone: of two pages of one server, name --before and --after")
    require(not window, "--window goes with servers, or with --before and --after: one page tells of all its time")
    return Lifetime(Path(saved[0]))
