"""How vLLM servers are scraped: how often, whether twice, and with which labels."""

import re
from collections import Counter
from collections.abc import Iterator, Sequence

from draftboard.catalogue import speculation
from draftboard.doctor.finding import Finding, few, note, problem, warning
from draftboard.doctor.running.server import Server, named, place
from draftboard.doctor.running.stored import Stored
from draftboard.prometheus import Target
from draftboard.settings import Settings
from draftboard.signals.users import measured_speedup

_POINTS = 4
"""Scrapes within the window of a rate, so that a failed one leaves enough; the settings want as many."""
_UNITS = {"ms": 0.001, "s": 1.0, "m": 60.0, "h": 3600.0}
_INTERVAL = re.compile(r"(\d+)(ms|[smh])")
_ADDRESS = re.compile(r'^\w+ "[^"]*": ')


def explain(targets: Sequence[Target], stored: Stored, settings: Settings) -> Iterator[Finding]:
    """What is amiss; `targets` is empty where the server tells none."""
    places = {server.where for server in stored.servers}
    own = [target for target in targets if place(target.labels, settings) in places]
    yield from _intervals(own, settings)
    yield from _failing(own, settings)
    yield from _same_labels(own, settings)
    yield from _scraped_twice(stored)
    yield from _labels(stored.servers, settings)


def _seconds(interval: str) -> float:
    return sum(int(count) * _UNITS[unit] for count, unit in _INTERVAL.findall(interval))


def _intervals(targets: Sequence[Target], settings: Settings) -> Iterator[Finding]:
    rules = settings.rules
    for interval in sorted({target.interval for target in targets}, key=_seconds):
        where = f"scrape interval {interval}"
        if _seconds(interval) * _POINTS > rules.rate_window.seconds:
            yield problem(
                where,
                f"too long for the window of {rules.rate_window}, which must hold {_POINTS} scrapes: rates have gaps",
                f'scrape every {rules.scrape_interval}, or build with rules.scrape_interval = "{interval}"',
            )
        elif _seconds(interval) > rules.scrape_interval.seconds:
            yield warning(
                where,
                f"longer than the settings say, {rules.scrape_interval}",
                f'build with rules.scrape_interval = "{interval}", so that windows fit it',
            )


def _failing(targets: Sequence[Target], settings: Settings) -> Iterator[Finding]:
    for error in sorted({_ADDRESS.sub("", target.error) for target in targets if target.error}):
        where = [place(target.labels, settings) for target in targets if target.error.endswith(error)]
        yield problem(few(where), f"the last scrape failed: {error}", "mend what the message names")


def _same_labels(targets: Sequence[Target], settings: Settings) -> Iterator[Finding]:
    counted = Counter(tuple(sorted(target.labels.items())) for target in targets)
    for labels, count in counted.items():
        if count > 1:
            where = place(dict(labels), settings)
            what = f"{count} targets have these same labels, so that their samples fall into one series"
            yield problem(where, what, f"give each a label {settings.labels.instance} of its own")


def _scraped_twice(stored: Stored) -> Iterator[Finding]:
    for instance, jobs in sorted(stored.jobs_by_instance.items()):
        if len(jobs) > 1:
            what = f"scraped by {len(jobs)} jobs: {', '.join(sorted(jobs))}; whoever adds jobs up counts it twice"
            yield warning(instance, what, "keep it in one job")


def _labels(servers: Sequence[Server], settings: Settings) -> Iterator[Finding]:
    label, methods = settings.labels.spec_method, settings.methods
    drafting = [server for server in servers if speculation.DRAFTS.name in server.names]
    if bare := [server for server in drafting if not server.method]:
        yield warning(
            named(bare, servers),
            f"no target label {label}, and vLLM exports no method: the draft cost is the default's, and nobody notices "
            "if speculation is off",
            f"in the scrape job: labels: {{{label}: eagle3}}, or what the server runs",
        )
    if wrong := [server for server in drafting if server.method == methods.baseline]:
        yield warning(
            named(wrong, servers),
            f'labelled {label}="{methods.baseline}", yet it exposes series of speculation: no baseline',
            "label it with the method that it runs",
        )
    if drafting and not any(server.method == methods.baseline for server in servers):
        yield note(
            f'{label}="{methods.baseline}"',
            f'no server is labelled as a baseline: "{measured_speedup.title}" stays empty',
            "serve the same model once without speculation, if you want a measurement",
        )
