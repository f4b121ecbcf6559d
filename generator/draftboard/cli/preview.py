"""`preview`: the dashboards as pages, where no Grafana runs."""

import json
import time
from pathlib import Path
from typing import Any

import click

from draftboard import artifacts
from draftboard.access import Access
from draftboard.cli.shared import access_options, config_option, json_option, optional_part, progress_bar, require
from draftboard.prometheus import Client
from draftboard.settings import load
from draftboard.signals import Edition

_EDITIONS = {"records": (Edition.RECORDS,), "raw": (Edition.RAW,), "both": (Edition.RECORDS, Edition.RAW)}

_SCHEMA_VERSION = 1
"""Of the JSON: raised when a key changes its meaning or goes."""


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
@click.option("--edition", type=click.Choice(list(_EDITIONS)), help="Which to make and draw. Default: both.")
@config_option
@click.option("--from", "since", metavar="TIME", help="now-6h, Unix seconds or ISO 8601. Default: the dashboard's own.")
@click.option("--to", "until", metavar="TIME", help="The same, for the end.")
@access_options()
@json_option
def preview_command(
    *,
    prometheus: str,
    out: Path,
    dashboards: Path | None,
    edition: str | None,
    config: Path | None,
    since: str | None,
    until: str | None,
    token_file: Path | None,
    ca_file: Path | None,
    as_json: bool,
) -> None:
    """Draw every dashboard from its own JSON with real query results: self-contained HTML pages, not Grafana."""
    require(
        not (dashboards and (edition or config)),
        "--edition and --config say which dashboards to make: leave them out with --dashboards",
    )
    preview = optional_part("draftboard.preview", command="preview", extra="plots")
    found = preview.in_folder(dashboards) if dashboards else preview.made(load(config), _EDITIONS[edition or "both"])
    now = time.time()
    all_drawn = []
    with Client(prometheus, Access.from_files(token_file, ca_file)) as client, progress_bar() as progress:
        for dashboard in found:
            span = preview.between(since or dashboard.time.since, until or dashboard.time.until, now)
            all_drawn.append(preview.drawn(dashboard, client, span, progress))
    artifacts.write(preview.pages(all_drawn), out)
    if as_json:
        document = {"schema_version": _SCHEMA_VERSION, "pages": [_told(one, out) for one in all_drawn]}
        click.echo(json.dumps(document, indent=2))
        return
    for one in all_drawn:
        click.echo(f"{out / one.dashboard.uid}.html: {len(one.panels)} panels, {len(one.empty)} without data")
    click.echo(f"Begin at {out / 'index.html'}")


def _told(one: Any, out: Path) -> dict[str, Any]:  # noqa: ANN401  (of a module that may not be installed)
    """What is printed of a page."""
    return {
        "page": str(out / f"{one.dashboard.uid}.html"),
        "uid": one.dashboard.uid,
        "panels": len(one.panels),
        "without_data": one.empty,
    }
