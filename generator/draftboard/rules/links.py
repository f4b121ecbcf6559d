"""Chains of few records, for rulers that show what a rule records one evaluation later, in one group too.

A record is made at one link of a chain: it reads records of earlier links, and computes the others in place.
"""

from collections.abc import Iterable, Iterator, Mapping
from collections.abc import Set as AbstractSet
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Protocol

from draftboard.catalogue import around
from draftboard.expr.reads import metrics_of
from draftboard.expr.to_promql import definition, rolled_up
from draftboard.rules.packing import depths, reads, records_in
from draftboard.rules.rule import RecordingRule
from draftboard.signals import Scope, Signal

LINKS = 3
"""Records in a row."""
LONGEST_QUERY = 16_384
"""Characters: the default limit of VictoriaMetrics (`-search.maxQueryLen`)."""
ROOM = 0.8
"""Of that limit, what a query may take up with the default labels: others may be longer."""


class Recordable(Protocol):
    """A record, and how it is computed."""

    @property
    def rule(self) -> RecordingRule:
        """The rule that reads every other record by name."""

    @property
    def reads_series(self) -> bool:
        """Whether it reads raw series, beside records."""

    def reading(self, records: frozenset[str]) -> str:
        """Its expression where it reads the present of these records only."""


@dataclass(frozen=True)
class Definition:
    """A signal that is recorded at the level of a scope."""

    record: str
    signal: Signal
    scope: Scope

    @cached_property
    def rule(self) -> RecordingRule:
        """The rule that reads every other record by name."""
        return RecordingRule(record=self.record, expr=definition(self.signal, self.scope))

    @property
    def reads_series(self) -> bool:
        """Whether it reads raw series, beside records."""
        expr, scope = self.signal.expr, self.scope
        # Alerts are made by rules too, from what was recorded before.
        read = {*metrics_of(expr, scope, recorded=False)} - {around.ALERTS.name}
        return not rolled_up(self.signal, scope) and bool(read)

    def reading(self, records: frozenset[str]) -> str:
        """Its expression where it reads the present of these records only."""
        return definition(self.signal, replace(self.scope, records=records))


def in_few_links(definitions: Iterable[Recordable]) -> Iterator[RecordingRule]:
    """Rules of all records. One whose expression is too long at a link is written at the next, that reads more.

    What goes on from its own past hardly ever changes, so that it is no link; what is too long at every link, stays.
    """
    records = list(definitions)
    by_name = {one.rule.record for one in records if one.rule.record in records_in(one.rule.expr)}
    read = {record: below - by_name for record, below in reads(one.rule for one in records).items()}
    below, above = depths(read), _heights(read)
    links: dict[str, int] = {}
    for one in records:
        record = one.rule.record
        first = _first_link(below[record], above[record], reads_series=one.reads_series)
        for link in range(first, LINKS + 1):
            links[record] = link
            expr = one.reading(frozenset(by_name.union(name for name, earlier in links.items() if earlier < link)))
            if len(expr) < ROOM * LONGEST_QUERY:
                yield RecordingRule(record=record, expr=expr)
                break
        else:
            by_name.add(record)
            yield one.rule


def _first_link(below: int, above: int, *, reads_series: bool) -> int:
    """The first one unless far more is below it than above it, and for what reads raw series.

    The latter so that all it reads is of one moment.
    """
    if below <= above + 1 or reads_series:
        return 1
    return min(below + 1, 2 if above else LINKS)


def _heights(read: Mapping[str, AbstractSet[str]]) -> dict[str, int]:
    """Number of records in a row above each record."""
    heights = dict.fromkeys(read, 0)
    for record in reversed(list(read)):
        for below in read[record]:
            heights[below] = max(heights[below], heights[record] + 1)
    return heights
