"""Series of two fleets and what rules and pages read of them: `make budget` writes the table of `draftboard.rules`."""

import argparse
import json
import sys
import tempfile
import time
from pathlib import Path

from conftest import OBJECTIVES
from draftboard.build import render
from draftboard.catalogue import around
from draftboard.durations import Duration
from draftboard.lab.replay.order import in_order
from draftboard.prometheus import Client
from draftboard.rules import RecordingRule, recording_groups
from draftboard.settings import load
from support.budget import TABLE, read_by_pages, read_by_rules
from support.fleets import Fleet, complete, read_beyond, scraped
from support.rulefiles import rules
from support.waiting import until

FLEETS = (Fleet("few", 10), Fleet("many", 20))
PAST = Duration(420)
EVALUATED = "evaluated"
"""Record of when the last evaluation that is over began."""


def main() -> None:
    """Scrape both fleets, evaluate all records twice, and write the table."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--prometheus", type=Path, required=True)
    given = parser.parse_args()
    settings = load(OBJECTIVES)
    files = render(settings)
    written = {rule["record"]: rule for rule in rules(files, "record")}
    order = (
        rule.record
        for step in in_order(recording_groups(settings))
        for rule in step.rules
        if isinstance(rule, RecordingRule)
    )
    last = {"record": EVALUATED, "expr": "time()"}
    group = {"name": "all", "interval": "10s", "rules": [*(written[record] for record in order), last]}
    longer = read_beyond((rule["expr"] for rule in rules(files)), PAST)
    with tempfile.TemporaryDirectory(prefix="draftboard-budget-") as folder:
        running = scraped(FLEETS, settings, given.prometheus, Path(folder), [group], past=PAST, read_longer=longer)
        with running as url, Client(url) as client:
            until(lambda: complete(client, FLEETS, PAST), "every server is scraped", 600)
            until(lambda: _scraped_again(client), "every server is scraped a second time", 60)
            since = time.time() + 10  # The evaluation after the next: some records read others.
            until(lambda: client.query(f"{EVALUATED} > {since}", time.time()), "two evaluations", 300)
            series = {str(one.engines): _series(client, one) for one in FLEETS}
    read = {engines: read_by_rules(files, held, settings) for engines, held in series.items()}
    pages = {engines: read_by_pages(files, held, settings) for engines, held in series.items()}
    TABLE.write_text(json.dumps({"series": series, "rules": read, "pages": pages}, indent=1, sort_keys=True) + "\n")
    sys.stdout.write(f"{TABLE}: {sum(read['10'].values()):,.0f} samples a minute of 10 engines\n")


def _scraped_again(client: Client) -> bool:
    """Whether every server has been: of one scrape alone nothing says how many series come with each."""
    again = f"count(count_over_time({around.SERIES_ADDED.name}[5m]) > 1) == count({around.UP.name})"
    return bool(client.query(again, time.time()))


def _series(client: Client, fleet: Fleet) -> dict[str, float]:
    found = client.query(f'count by (__name__) ({{__name__!="",job="{fleet.job}"}})', time.time())
    return {one.labels["__name__"]: one.samples[0][1] for one in found}


if __name__ == "__main__":
    main()
