"""`preview`: the dashboards as pages, where no Grafana runs."""

import time
from pathlib import Path

import click

from draftboard import artifacts
from draftboard.cli.shared import config_option, optional_part, progress_bar
from draftboard.prometheus import Client
from draftboard.settings import load
from draftboard.signals import Edition

_EDITIONS = {"records": (Edition.RECORDS,), "raw": (Edition.RAW,), "both": (Edition.RECORDS, Edition.RAW)}


@click.command("preview")
@click.option("--prometheus", metavar="URL", required=True, help="The server to ask.")
@click.option(
    "--out", type=click.Path(path_type=Path, file_okay=False), required=True, help="Folder to write the pages into."
)
@click.option(
    "--dashboards",
    type=click.Path(path_type=Path, exists=True, file_okay=False),
    help="Folder of draftboard-*.json to draw. Default: what `build` makes of the settings.",
)
@click.option(
    "--edition", type=click.Choice(list(_EDITIONS)), default="both", show_default=True, help="Which to make and draw."
)
@config_option
@click.option("--from", "since", metavar="TIME", help="now-6h, Unix seconds or ISO 8601. Default: the dashboard's own.")
@click.option("--to", "until", metavar="TIME", help="The same, for the end.")
def preview_command(
    *,
    prometheus: str,
    out: Path,
    dashboards: Path | None,
    edition: str,
    config: Path | None,
    since: str | None,
    until: str | None,
) -> None:
    """Draw every dashboard from its own JSON with real query results: self-contained HTML pages, not Grafana."""
    preview = optional_part("draftboard.preview", command="preview", extra="plots")
    found = preview.in_folder(dashboards) if dashboards else preview.made(load(config), _EDITIONS[edition])
    now = time.time()
    all_drawn = []
    with Client(prometheus) as client, progress_bar() as progress:
        for dashboard in found:
            span = preview.between(since or dashboard.time.since, until or dashboard.time.until, now)
            all_drawn.append(preview.drawn(dashboard, client, span, progress))
    artifacts.write(preview.pages(all_drawn), out)
    for one in all_drawn:
        click.echo(f"{out / one.dashboard.uid}.html: {len(one.panels)} panels, {one.empty} without data")
    click.echo(f"Begin at {out / 'index.html'}")
