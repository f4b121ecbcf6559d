"""What a ruler has evaluated: records computed again at their own time, and how late each alert can be."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from math import ceil, isclose

from draftboard.doctor.finding import AlertDelay, Examination, Finding
from draftboard.doctor.loaded import of_ours
from draftboard.output import shortened
from draftboard.prometheus import Client, LoadedRule
from draftboard.rules import records_in
from draftboard.settings import Settings

_MUCH = 0.05
"""Share of values that a Prometheus with fresh samples may have made before a scrape arrived; measured: 0.02."""


def examine_ruler(ruler: Client, store: Client, settings: Settings, time: float) -> Examination:
    """The rules that a server evaluates now, by what a store has of a window before a time, in Unix seconds."""
    ours = of_ours(ruler.rules())
    found = tuple(_of_early_records(ours, store, settings, time))
    return Examination(f"Ruler at {ruler.url}", found, delays=_delays(ours, settings))


def _of_early_records(rules: Sequence[LoadedRule], store: Client, settings: Settings, time: float) -> Iterator[Finding]:
    """Values that differ when their samples have had a window's time to arrive."""
    points, changed = 0, dict[str, int]()
    then = time - settings.rules.rate_window.seconds
    for rule in rules:
        # What goes on from its own past would read itself, computed again.
        if rule.is_alert or not rule.query or rule.name in records_in(rule.query):
            continue
        if not (newest := store.query(f"max(timestamp({rule.name}))", then)):
            continue
        made, again = (_values(store, expr, newest[0].samples[0][1]) for expr in (rule.name, rule.query))
        both = made.keys() | again.keys()
        points += len(both)
        if differ := sum(not _equal(made.get(one), again.get(one)) for one in both):
            changed[rule.name] = differ
    if not points:
        yield Finding.of("records-not-computed", "records", window=settings.rules.rate_window)
        return
    share = sum(changed.values()) / points
    kind = "records-early" if share > _MUCH else "records-settled"
    names = shortened(sorted(changed, key=lambda name: (-changed[name], name)))
    yield Finding.of(
        kind,
        "records",
        share=f"{share:.1%}",
        points=f"{points:,}",
        names=f": {names}" if names else "",
        offset=settings.rules.query_offset,
    )


def _values(store: Client, expr: str, at: float) -> Mapping[frozenset[tuple[str, str]], float]:
    return {frozenset(row.unnamed.items()): row.samples[-1][1] for row in store.query(expr, at)}


def _equal(one: float | None, other: float | None) -> bool:
    if one is None or other is None:
        return False
    return isclose(one, other, rel_tol=1e-9) or (one != one and other != other)  # noqa: PLR0124  (NaN)


@dataclass(frozen=True)
class _Ages:
    """How old the samples are that the evaluation of a rule rests on, in seconds, at most."""

    rules: Mapping[str, LoadedRule]
    order: Mapping[str, int]
    youngest: float

    def of(self, rule: LoadedRule, above: frozenset[str] = frozenset()) -> float:
        """Of the oldest chain of records below it; records above it are of the past."""
        seen = above | {rule.name}
        below = [self.rules[name] for name in records_in(rule.query) & self.rules.keys() - seen]
        return max((self.of(one, seen) + self._since(one, rule) for one in below), default=self.youngest)

    def _since(self, record: LoadedRule, reader: LoadedRule) -> float:
        """From the last evaluation of a record to that of what reads it."""
        if record.group == reader.group:
            return 0.0 if self.order[record.name] < self.order[reader.name] else record.interval
        if reader.interval % record.interval or not (record.evaluated and reader.evaluated):
            return record.interval
        return (reader.evaluated - record.evaluated) % record.interval


def _delays(rules: Sequence[LoadedRule], settings: Settings) -> tuple[AlertDelay, ...]:
    """Of each alert, the longest first."""
    records = {rule.name: rule for rule in rules if not rule.is_alert}
    scrape = settings.rules.scrape_interval.seconds + settings.rules.query_offset.seconds
    ages = _Ages(records, {rule.name: place for place, rule in enumerate(rules)}, float(scrape))
    delays = []
    for rule in rules:
        if rule.is_alert:
            pending = ceil(rule.duration / rule.interval) * rule.interval
            seconds = ceil(ages.of(rule) + rule.interval + pending)
            delays.append(AlertDelay(rule.name, int(rule.duration), seconds))
    return tuple(sorted(delays, key=lambda one: (-one.at_most_seconds, one.alert)))
