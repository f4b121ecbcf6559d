"""Which series of a server anything of Draftboard reads: what a scrape keeps."""

from collections.abc import Iterator

from draftboard.catalogue import CATALOGUE, ELSEWHERE, Metric, Presence, removed
from draftboard.catalogue.dialect import Dialect
from draftboard.catalogue.dialects import DIALECTS

ADDED = ("ALERTS.*", "up", "scrape_.*")
"""Patterns of the series that Prometheus adds to those of a page."""
_OF_OTHERS = ELSEWHERE - {Presence.PROBE, Presence.PROPOSED}


def of_servers() -> Iterator[Metric]:
    """The series that servers expose themselves, histograms in parts."""
    return (part for metric in CATALOGUE if metric.presence not in _OF_OTHERS for part in metric.parts)


def seen_by() -> set[str]:
    """The series by which servers of all dialects are known for as long as they run."""
    return {name for dialect in DIALECTS.values() for name in dialect.written(dialect.seen_by)}


def known_series(dialect: Dialect) -> list[str]:
    """Patterns of the names of a server's series that rules, dashboards and commands read, sorted."""
    names = {name for part in of_servers() for name in dialect.written(part)} | {metric.name for metric in dialect.own}
    # `draftboard doctor` recognises by them what the settings do not name, and what is too old.
    names |= seen_by() | {dialect.sign for dialect in DIALECTS.values() if dialect.sign}
    return sorted(names | {f"{old.name}(_count)?" for old in removed.REMOVED})
