"""What pages read beside vLLM's own overview: writes that section of the page on performance.

`make bench` does, too: this part alone takes a few minutes.
"""

import tempfile
from collections.abc import Mapping
from datetime import UTC, datetime
from pathlib import Path

from conftest import OBJECTIVES, program
from draftboard.build import render
from draftboard.settings import load
from scripts.performance import rewrite, table
from support import grafana
from support.fleets import Fleet
from support.priced import DAY, HOURS, WEEK, evaluated, of_vllm, samples

FLEETS = (Fleet("few", 10), Fleet("many", 100))
TEXT = """## Beside vLLM's own overview

Samples that Prometheus reads when a page is opened, as a share of those of vLLM's own overview in the same Prometheus:
`vllm_overview.json`, which `tools/generate_grafana_dashboards.py` of the repository vllm-project/vllm writes (0b9faa41,
not released). Below 1 a page is cheaper. Annotations are included.

{table}
Measured on {date} at one point of each graph, and multiplied: what Prometheus reads once for a whole graph counts at
each point. vLLM's page is counted without its panels of HTTP and of SLOs. `make test-long` bounds the shares: no page
above 1 over 24 hours, `draftboard-overview` below 1/300 over 3 hours.

"""


def share(one: float, most: float) -> str:
    """Of small ones the reciprocal."""
    return f"{one / most:.2f}" if one > most / 10 else f"1/{most / one:,.0f}"


def section(shares: Mapping[str, list[str]], theirs: list[str]) -> str:
    """Of the page: a row for each dashboard, and what vLLM's reads."""
    spans = [f"{shown}, {fleet.engines} engines" for shown in (HOURS, DAY, WEEK) for fleet in FLEETS]
    rows = [[f"`{uid}`", *cells] for uid, cells in shares.items()] + [["vLLM's own, samples", *theirs]]
    return TEXT.format(table=table(["dashboard", *spans], rows), date=datetime.now(UTC).date())


def measured() -> str:
    """The section."""
    settings = load(OBJECTIVES)
    files = render(settings)
    pages = grafana.dashboards(files).values()
    shares: dict[str, list[str]] = {page["uid"]: [] for page in pages}
    theirs = []
    with (
        tempfile.TemporaryDirectory(prefix="draftboard-bench-") as name,
        evaluated(files, settings, FLEETS, Path(name), program("prometheus")) as http,
    ):
        for shown in (HOURS, DAY, WEEK):
            for fleet in FLEETS:
                most = of_vllm(http, settings, fleet, shown)
                theirs.append(f"{most / 1e6:,.1f} M")
                for page in pages:
                    shares[page["uid"]].append(share(samples(http, page, settings, fleet, shown), most))
    return section(shares, theirs)


if __name__ == "__main__":
    rewrite(measured())
