"""What a fleet pays: the series of its servers that something reads, those that nothing reads, and the rules."""

import re
from collections.abc import Iterator, Mapping, Sequence
from contextlib import suppress

from draftboard.catalogue import around
from draftboard.catalogue.known import ADDED, known_series, seen_by
from draftboard.doctor.finding import Examination, Finding
from draftboard.doctor.loaded import of_ours
from draftboard.errors import DraftboardError
from draftboard.expr.promql import aggregate, selector
from draftboard.expr.scope import RECORD_NAMES
from draftboard.output import shortened
from draftboard.prometheus import Client, LoadedRule, Series
from draftboard.rules import RECORDED_BYTES, SCRAPED_BYTES, records
from draftboard.settings import Settings

_MADE = "|".join((RECORD_NAMES, *ADDED))
"""Names that no server's page has: records, and what Prometheus adds."""
_NAME = re.compile(r"[a-zA-Z_:][a-zA-Z0-9_:]*")
_PATTERN = re.compile(r'__name__=~"((?:[^"\\]|\\.)*)"')
_MINUTE, _DAY = 60, 86_400
_MOST = 1e12
"""Series: no server counts more."""


def examine_cost(client: Client, settings: Settings, time: float, ruler: Client | None = None) -> Examination:
    """What the servers' series and the rules cost at a time, in Unix seconds; DraftboardError if it is down."""
    stored, rules = _scraped(client, settings, time), list[LoadedRule]()
    with suppress(*(() if ruler else (DraftboardError,))):  # A server that only stores has none.
        rules = (ruler or client).rules()
    read = [*known_series(settings.dialect), *_named(rules, stored)]
    wanted = re.compile("|".join(read))
    beside = _beside(client, settings, time)
    findings = [*_of_servers(stored, wanted, read, beside, settings), *_of_rules(rules, client, settings, time)]
    return Examination(f"Cost at {client.url}", tuple(findings))


def _scraped(client: Client, settings: Settings, time: float) -> Mapping[str, int]:
    """How many series of servers there are, by name."""
    scraped = _selected(settings, '__name__=~".+"', f'__name__!~"{_MADE}"')
    target = ", ".join(settings.labels.target)
    return _counted(client, f"{scraped} and on ({target}) {_servers(settings)}", time)


def _servers(settings: Settings) -> str:
    """PromQL for the targets of servers."""
    signs = "|".join(sorted(seen_by()))
    return aggregate("group", settings.labels.target, _selected(settings, f'__name__=~"{signs}"'))


def _selected(settings: Settings, *matchers: str) -> str:
    """PromQL for series of the settings' selector, by their names."""
    return selector("", [*matchers, *filter(None, [settings.selector])])


def _beside(client: Client, settings: Settings, time: float) -> str:
    """What the list to keep would drop: series of other targets in the servers' jobs, in words."""
    servers, job, target = _servers(settings), settings.labels.job, ", ".join(settings.labels.target)
    others = f"({around.UP.name} == 1 unless on ({target}) {servers}) and on ({job}) group by ({job}) ({servers})"
    rows = client.query(f"count by ({job}) ({others})", time)
    jobs = [f"{row.labels.get(job, '')} ({row.samples[-1][1]:.0f})" for row in rows]
    return (
        f". Not in a job that scrapes other targets, too: it drops their series. Here {shortened(jobs)}" if jobs else ""
    )


def _counted(client: Client, selected: str, time: float) -> dict[str, int]:
    """How many series there are, by name."""
    rows = client.query(f"count by (__name__) ({selected})", time)
    return {name: int(row.samples[-1][1]) for row in rows if (name := row.labels.get("__name__")) and _is_count(row)}


def _is_count(row: Series) -> bool:
    return 0 < row.samples[-1][1] < _MOST


def _named(rules: Sequence[LoadedRule], stored: Mapping[str, int]) -> Iterator[str]:
    """Names of stored series that a loaded rule reads, whoever wrote it."""
    queries = {rule.query for rule in rules}
    words = {word for query in queries for word in _NAME.findall(query)}
    patterns = [pattern.replace("\\\\", "\\") for query in queries for pattern in _PATTERN.findall(query)]
    for name in stored:
        if name in words or any(_fits(pattern, name) for pattern in patterns):
            yield name


def _fits(pattern: str, name: str) -> bool:
    try:
        return re.fullmatch(pattern, name) is not None
    except re.error:  # RE2 knows what Python does not: then it may be read.
        return True


def _of_servers(
    stored: Mapping[str, int], wanted: re.Pattern[str], read: Sequence[str], beside: str, settings: Settings
) -> Iterator[Finding]:
    total = sum(stored.values())
    unread = {name: count for name, count in stored.items() if not wanted.fullmatch(name)}
    pace = settings.rules.scrape_interval
    for kind, count in (("series-read", total - sum(unread.values())), ("series-unread", sum(unread.values()))):
        if not count and kind == "series-unread":
            continue
        words = {"count": f"{count:,}", "total": f"{total:,}", "share": f"{count / total:.0%}" if total else "0%"}
        most = ", ".join(sorted(unread, key=lambda name: (-unread[name], name))[:3])
        keep = "|".join(dict.fromkeys(sorted(read)))
        cost = _words(count * _MINUTE / pace.seconds, SCRAPED_BYTES)
        yield Finding.of(kind, "scraped series", pace=pace, cost=cost, most=most, keep=keep, beside=beside, **words)


def _of_rules(rules: Sequence[LoadedRule], client: Client, settings: Settings, time: float) -> Iterator[Finding]:
    ours = of_ours(rules)
    made = {rule.name: rule.interval for rule in ours} or dict.fromkeys(
        records(settings), settings.rules.evaluation_interval.seconds
    )
    stored = _counted(client, f'{{__name__=~"{RECORD_NAMES}"}}', time)
    series = {name: count for name, count in stored.items() if name in made}
    samples = sum(count * _MINUTE / made[name] for name, count in series.items())
    seconds = sum(rule.seconds * _MINUTE / rule.interval for rule in ours)
    yield Finding.of(
        "rules-cost",
        "rules",
        records=len(series),
        count=f"{sum(series.values()):,.0f}",
        cost=_words(samples, RECORDED_BYTES),
        seconds=f"{seconds:.2g} s a minute ({seconds / _MINUTE:.1%} of a core)" if ours else "an unknown time",
        tier=settings.rules.tier,
    )


def _words(samples: float, size: float) -> str:
    """Samples a minute, and what they take up at so many bytes each."""
    return f"{samples:,.0f} samples a minute, up to {samples * _DAY / _MINUTE * size / 1e6:,.1f} MB a day"
