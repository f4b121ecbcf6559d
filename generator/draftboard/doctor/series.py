"""Series of servers: what is read, what is missing and why, what stays empty, and whether counters move and agree."""

import time
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path

from draftboard import reading
from draftboard.access import Access
from draftboard.alerts import built
from draftboard.catalogue import CATALOGUE, Metric, Presence, around, probe, removed, serving, speculation
from draftboard.catalogue.dialects import DIALECTS, LOOKED_FOR, Dialect
from draftboard.dashboards import places
from draftboard.doctor.buckets import FAMILIES, finite, other_bounds
from draftboard.doctor.finding import Empty, Examination, Finding, few, found
from draftboard.durations import Duration
from draftboard.expr.tree import Expr
from draftboard.report import broken_identities
from draftboard.settings import Settings
from draftboard.settings.fields import LONGEST_DRAFT
from draftboard.signals import ALL, Edition, Level, Scope, traffic
from draftboard.signals.acceptance import acceptance
from draftboard.status import Status

NAMES = {
    presence: tuple(part.name for metric in CATALOGUE for part in metric.parts if metric.presence is presence)
    for presence in Presence
}
"""Names of samples that an expression may read, by when a server exposes them."""
OF_ENGINES = (*NAMES[Presence.ALWAYS], *NAMES[Presence.SPECULATING])
_V0 = {metric.name: f"{metric.name} -> {metric.instead}" for metric in removed.V0}


@dataclass(frozen=True)
class Reader:
    """What is asked of the series: an expression, at the levels at which it is asked."""

    asks: Expr
    scopes: tuple[Scope, ...]
    feeds: Empty  # the panels, alerts and records made of it
    from_records: bool = False  # its panels need the rules

    def is_silent(self, missing: Collection[str]) -> bool:
        """Whether it is certain to stay empty while these series are missing."""
        return all(self.asks.is_silent(missing, scope) for scope in self.scopes)


def silenced_by(missing: Collection[str], readers: Iterable[Reader]) -> Empty:
    """All that is certain to stay empty while these series are missing."""
    return together(reader for reader in readers if reader.is_silent(missing)) if missing else Empty()


def together(readers: Iterable[Reader]) -> Empty:
    """All that these expressions feed."""
    fed = [vars(reader.feeds) for reader in readers]
    return Empty(**{kind: tuple(dict.fromkeys(name for each in fed for name in each[kind])) for kind in vars(Empty())})


@lru_cache(maxsize=4)  # of all that one command examines
def all_readers(settings: Settings) -> tuple[Reader, ...]:
    """The expressions of all panels, alerts and records; panels by the signal that they show."""
    readers, panels = list[Reader](), places(settings)
    raw, recorded_there = (Scope(settings, edition=edition) for edition in (Edition.RAW, Edition.RECORDS))
    for signal in ALL:
        scopes = tuple(raw.at(level) for level in signal.levels)
        records = {signal.record_at(scope.level, settings): scope for scope in scopes}
        readers += [Reader(signal, (scope,), Empty(records=(record,))) for record, scope in records.items() if record]
        if signal.name in panels:
            recorded = any(recorded_there.at(scope.level)(signal) != scope(signal) for scope in scopes)
            readers.append(Reader(signal, scopes, Empty(panels=panels[signal.name]), from_records=recorded))
    for alert in built(settings):
        watched = alert.watched or alert.signal
        guarded = watched.combined("and", alert.guard) if alert.guard else watched
        readers.append(Reader(guarded, (raw.at(alert.level),), Empty(alerts=(alert.name,))))
    return tuple(readers)


@dataclass(frozen=True)
class Server:
    """One server."""

    where: str  # fit to be shown
    names: frozenset[str]  # of samples, as vLLM names them
    answers: bool = True
    dialect: Dialect | None = None  # whose names it has; None where no engine is known that has them
    method: str | None = None  # label, empty where it has none; None on a page, which does not show labels of targets
    verification: str | None = None  # the same
    told: str = ""  # method, by the plugin for vLLM; empty where it does not run
    adaptive: bool = False  # by the plugin

    @property
    def speculates(self) -> bool:
        """Whether it exposes any counter of speculation."""
        return not self.names.isdisjoint(NAMES[Presence.SPECULATING])


_Cause = tuple[str, Sequence[Server], Sequence[str], dict[str, str]]
"""Of `findings.toml`: a finding's name; the servers, the missing series, values for the words."""


def place(labels: Mapping[str, str], settings: Settings) -> str:
    """A target in words."""
    return f"{labels.get(settings.labels.instance, '')} of job {labels.get(settings.labels.job, '')}"


def named(servers: Sequence[Server], among: Sequence[Server]) -> str:
    """Some of all servers, in words."""
    return f"all {len(among)} servers" if len(servers) == len(among) > 1 else few([server.where for server in servers])


def missing_series(servers: Sequence[Server], settings: Settings, readers: Sequence[Reader]) -> Iterator[Finding]:
    """What servers lack, and what stays empty because no other server has it; from the coarsest cause to the finest."""
    read = [server for server in servers if server.dialect in {None, settings.dialect}]
    there = frozenset[str]().union(*(server.names for server in read))
    for kind, chosen, names, values in _causes(servers, settings):
        if chosen:
            yield found(kind, named(chosen, servers), silenced_by({*names} - there, readers), **values)


def _causes(servers: Sequence[Server], settings: Settings) -> Iterator[_Cause]:
    yield "down", [server for server in servers if not server.answers], OF_ENGINES, {"up": around.UP.name}
    answering = [server for server in servers if server.answers]
    for name, other in DIALECTS.items():
        if other is not settings.dialect:
            kind, values = "ray" if name == "ray" else "other-dialect", {"engine": other.engine, "name": name}
            spoken = [server for server in answering if server.dialect is other]
            yield kind, spoken, OF_ENGINES, values | {"begin": other.prefixes[0], "own": settings.dialect.engine}
    yield "silent", [server for server in answering if not server.dialect], OF_ENGINES, {"looked_for": LOOKED_FOR}
    telling = [server for server in answering if server.dialect is settings.dialect]
    if telling and settings.dialect.spellings:
        yield "told-in-part", telling, (), {key: getattr(settings.dialect, key) for key in ("engine", "tells", "hides")}
    elif telling:
        yield from _releases(telling)
    if telling:
        yield from _speculation([server for server in telling if server.names.isdisjoint(_V0)], settings)
    for presence, kind in ((Presence.HTTP, "no-request"), (Presence.ONE_PROCESS, "no-process-series")):
        exported = [metric for metric in CATALOGUE if metric.presence is presence and settings.dialect.spelled(metric)]
        lacking, absent = _lacking(telling, exported)
        yield kind, lacking, absent, {"names": few(NAMES[presence])}


def _releases(servers: Sequence[Server]) -> Iterator[_Cause]:
    if old := [server for server in servers if not server.names.isdisjoint(_V0)]:
        names = ", ".join(sorted(_V0.keys() & old[0].names))
        yield "v0-series", old, (), {"names": names, "instead": "; ".join(_V0.values())}
    everywhere = [metric for metric in CATALOGUE if metric.presence is Presence.ALWAYS]
    lacking, absent = _lacking(servers, [metric for metric in everywhere if metric.since == Metric.since])
    yield "removed-on-the-way", lacking, absent, {"names": few(absent)}
    newer = [metric for metric in everywhere if metric.since != Metric.since]
    lacking, absent = _lacking(servers, newer)
    if lacking:
        there = lacking[0].names
        missing = [metric for metric in newer if not there.issuperset(part.name for part in metric.parts)]
        since = max((metric.since for metric in missing), key=lambda release: [int(n) for n in release.split(".")])
        former = [old.name for old in removed.REMOVED if any(metric.name in old.instead for metric in missing)]
        has = ", ".join(old for old in former if any(name.startswith(old) for name in there))
        values = {"since": since, "names": few([metric.name for metric in missing])}
        yield "old-release", lacking, absent, values | {"old": f"; it has the old {has}" if has else ""}


def _lacking(servers: Sequence[Server], metrics: Sequence[Metric]) -> tuple[list[Server], list[str]]:
    """The servers that lack a part of these metrics, and the names of those parts."""
    names = [part.name for metric in metrics for part in metric.parts]
    lacking = [server for server in servers if not server.names.issuperset(names)]
    return lacking, [name for name in names if any(name not in server.names for server in lacking)]


def _speculation(servers: Sequence[Server], settings: Settings) -> Iterator[_Cause]:
    baseline, dialect = settings.methods.baseline, settings.dialect
    names = [name for name in NAMES[Presence.SPECULATING] if name not in dialect.missing]
    words = {"label": settings.labels.spec_method, "baseline": baseline}
    without = [server for server in servers if not server.speculates]
    if labelled := [server for server in without if server.method not in (None, "", baseline)]:
        yield "labelled-but-off", labelled, names, words | {"method": str(labelled[0].method)}
    yield "speculation-off", [server for server in without if not server.method], names, words
    if all(server.method == baseline and server in without for server in servers):
        yield "only-baselines", servers, names, {}
    drafting = [server for server in servers if server.speculates]
    for name in names:
        yield (
            "dropped-counter",
            [server for server in drafting if name not in server.names],
            [name],
            {"name": dialect.named(name)},
        )
    yield "no-label", [server for server in drafting if server.method == "" and not server.told], (), words
    yield from _told(servers, settings)
    yield "no-baseline", [server for server in drafting if server.method == baseline], (), words


def _told(servers: Sequence[Server], settings: Settings) -> Iterator[_Cause]:
    """What the plugin for vLLM tells and the labels do not."""
    labels, methods = settings.labels, settings.methods
    telling = [server for server in servers if server.told and server.method is not None]
    for method, label in sorted({(server.told, str(server.method)) for server in telling}):
        own = [server for server in telling if (server.told, server.method) == (method, label)]
        words = {"label": labels.spec_method, "method": method, "labelled": label}
        if not label:
            yield "label-told", own, (), words
        elif method != label and methods.baseline not in (method, label):  # else other findings say it
            yield "label-differs", own, (), words
    adaptive = [server for server in servers if server.adaptive and server.verification not in methods.adaptive]
    yield "adaptive-told", adaptive, (), {"label": labels.spec_verification, "value": methods.adaptive[0]}


def examine_sources(
    sources: Sequence[str], settings: Settings, window: Duration, access: Access, progress: Callable[..., None]
) -> Iterator[Examination]:
    """Examine saved pages, then servers twice, `window` apart; raises DraftboardError if one has no page of metrics."""
    saved = [source for source in sources if reading.is_saved(source)]
    if saved:
        yield examine_pages([reading.load(Path(path)) for path in saved], (), settings)
    if servers := [source for source in sources if source not in saved]:
        before = reading.scrape(servers, access)
        for second in range(window.seconds):
            progress("second reading", second, window.seconds)
            time.sleep(1)
        yield examine_pages(before, reading.scrape(servers, access), settings)


def examine_pages(pages: Sequence[reading.Page], later: Sequence[reading.Page], settings: Settings) -> Examination:
    """Examine pages of servers, and later pages of the same servers, or none; raises DraftboardError for others."""
    now = later or pages
    servers = [_server_of(page) for page in now]
    findings = [*missing_series(servers, settings, all_readers(settings))]
    for page in now:
        dialect = page.dialect or settings.dialect
        for tally in reading.lifetime(page).tallies:
            findings += _since_start(tally, settings.speaking(dialect))
        for family, histogram in FAMILIES.items():
            bounds = finite(dict(labels).get("le", "") for labels in page.of(histogram.bucket))
            name = dialect.named(histogram.name)
            findings += other_bounds(page.source, name, bounds, family, settings) if bounds else ()
    for before, after in zip(pages, later, strict=False):
        findings += _moving(reading.growth(before, after), after)
    return Examination(", ".join(page.source for page in pages), tuple(findings))


def _server_of(page: reading.Page) -> Server:
    told = next((dict(labels) for labels in page.of(probe.INFO)), {})
    adaptive = told.get("adaptive") == "true"
    return Server(
        page.source, frozenset(page.by_name), dialect=page.dialect, told=told.get("method", ""), adaptive=adaptive
    )


def _since_start(tally: reading.Tally, settings: Settings) -> Iterator[Finding]:
    """Whether the counters are possible, what share of drafted tokens was accepted, and what dashboards do not show."""
    who, least, longest = _who(tally), settings.traffic.drafts_to_judge, settings.max_draft_tokens
    counts = reading.Reader(reading.counts_of([tally], settings), Level.ENGINE)
    numbers = counts.of(reading.labels_of(tally, settings))
    positions = len(numbers.by(traffic.accepted_tokens_per_pos))
    if positions > longest:
        covered = min(positions, LONGEST_DRAFT)
        yield found("many-positions", who, positions=positions, longest=longest, covered=covered)
    needed = (traffic.drafts, traffic.draft_tokens, traffic.accepted_tokens)
    counted, drafted, accepted = (numbers.value(signal) for signal in needed)
    if not counted or drafted is None or accepted is None:
        return
    if broken := broken_identities(numbers, who):
        for one in broken:
            yield found("contradiction", who, says=one.says, error=one.error)
    elif counted < least:
        yield found("few-drafts", who, drafts=counted, least=least)
    else:
        share = numbers.value(acceptance) or 0.0
        band = acceptance.step_of(share, settings)
        yield found(_how_much(share, drafted, band.status, settings), who, share=share, drafted=drafted, band=band.says)


def _how_much(share: float, drafted: float, status: Status, settings: Settings) -> str:
    """The finding on an acceptance: a drafter that does not fit, a bad one, any other."""
    if drafted >= settings.traffic.draft_tokens_to_judge_fit and share < settings.thresholds.unfit:
        return "unfit-drafter"
    return "low-acceptance" if status is Status.BAD else "acceptance"


def _moving(grown: reading.Growth, page: reading.Page) -> Iterator[Finding]:
    span = f"within {grown.seconds:.0f} s" if grown.seconds is not None else "between the two readings"
    for engine in grown.gone:
        yield found("stopped", page.source, engine=engine, span=span)
    for tally in grown.tallies:
        if not (generated := tally.total(serving.GENERATION_TOKENS)):
            yield found("idle", _who(tally), span=span)
        elif tally.total(speculation.DRAFTS) == 0:
            yield found("nothing-drafted", _who(tally), generated=generated, span=span)


def _who(tally: reading.Tally) -> str:
    return f"{tally.model}{f' engine {tally.engine}' if tally.engine else ''} at {tally.source}"
