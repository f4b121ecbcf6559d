"""Series that servers lack: which, why, and what stays empty without them."""

from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import lru_cache

from draftboard.alerts import of_settings
from draftboard.catalogue import CATALOGUE, RECORDED, Metric, Presence, around, removed, serving
from draftboard.catalogue.dialects import DIALECTS, LOOKED_FOR, Dialect
from draftboard.catalogue.metric import Kind, release_numbers
from draftboard.dashboards import places
from draftboard.doctor.finding import Empty, Finding
from draftboard.doctor.releases import UNKNOWN, Release
from draftboard.expr.nodes import Expr
from draftboard.expr.reads import stays_empty
from draftboard.expr.to_promql import TooLongError, to_promql
from draftboard.output import shortened
from draftboard.rules import records
from draftboard.settings import Settings
from draftboard.signals import ALL, Edition, Scope, Signal

NAMES = {
    presence: tuple(part.name for metric in CATALOGUE for part in metric.parts if metric.presence is presence)
    for presence in Presence
}
"""Names of samples that an expression may read, by when a server exposes them."""
OF_ENGINES = (*NAMES[Presence.ALWAYS], *NAMES[Presence.SPECULATING])
_V0 = {metric.name: f"{metric.name} -> {metric.instead}" for metric in removed.V0}


@dataclass(frozen=True)
class Reader:
    """An expression that reads series, at the levels at which it is evaluated."""

    expression: Expr
    scopes: tuple[Scope, ...]
    feeds: Empty  # the panels, alerts and records made of it
    from_records: bool = False  # its panels need the rules

    def stays_empty(self, missing: Collection[str]) -> bool:
        """Whether it is certain to have no sample while these series are missing."""
        return all(stays_empty(self.expression, missing, scope) for scope in self.scopes)


def silenced_by(missing: Collection[str], readers: Iterable[Reader]) -> Empty:
    """All that is certain to stay empty while these series are missing."""
    return merged(reader for reader in readers if reader.stays_empty(missing)) if missing else Empty()


def merged(readers: Iterable[Reader]) -> Empty:
    """All that these expressions feed."""
    fed = [vars(reader.feeds) for reader in readers]
    return Empty(**{kind: tuple(dict.fromkeys(name for each in fed for name in each[kind])) for kind in vars(Empty())})


@lru_cache(maxsize=4)  # of all that one command examines
def all_readers(settings: Settings) -> tuple[Reader, ...]:
    """The expressions of all panels, alerts and records; panels by the signal that they show."""
    readers, panels, kept = list[Reader](), places(settings), records(settings)
    raw, recorded_there = (Scope(settings, edition=edition) for edition in (Edition.RAW, Edition.RECORDS))
    for signal in ALL:
        scopes = tuple(raw.at(level) for level in signal.levels)
        named = {signal.record_name(scope.level, settings): scope for scope in scopes}
        made = [(record, scope) for record, scope in named.items() if record in kept]
        readers += [Reader(signal, (scope,), Empty(records=(str(record),))) for record, scope in made]
        if signal.name in panels:
            recorded = any(_from_records(signal, recorded_there.at(scope.level), scope) for scope in scopes)
            readers.append(Reader(signal, scopes, Empty(panels=panels[signal.name]), from_records=recorded))
    for alert in of_settings(settings):
        watched = alert.watched or alert.signal
        guarded = watched.combined("and", alert.guard) if alert.guard else watched
        readers.append(Reader(guarded, (raw.at(alert.level),), Empty(alerts=(alert.name,))))
    return tuple(readers)


def _from_records(signal: Signal, recorded: Scope, raw: Scope) -> bool:
    """Whether pages read a record for it."""
    from_records = to_promql(signal, recorded)
    try:
        # What is longer is not equal.
        return from_records != to_promql(signal, replace(raw, longest=len(from_records)))
    except TooLongError:
        return True


@dataclass(frozen=True)
class Server:
    """One server."""

    where: str  # fit to be shown
    names: frozenset[str]  # of samples, as vLLM names them
    answers: bool = True
    dialect: Dialect | None = None  # whose names it has; None where no engine is known that has them
    method: str | None = None  # label, empty where it has none; None on a page, which does not show labels of targets
    verification: str | None = None  # the same
    reported_method: str = ""  # method, by the plugin for vLLM; empty where it does not run
    adaptive: bool = False  # by the plugin

    @property
    def speculates(self) -> bool:
        """Whether it exposes a counter that only servers with speculation do."""
        shown = self.dialect.shows_speculation if self.dialect else ()
        return any(metric.name in self.names for metric in shown)

    def lacks(self, metric: Metric) -> bool:
        """Whether a metric is missing that servers of its release expose at any time, or with speculation."""
        presence = self.dialect.presence(metric) if self.dialect else metric.presence
        expected = presence is Presence.ALWAYS or (presence is Presence.SPECULATING and self.speculates)
        return expected and not self.names.issuperset(part.name for part in metric.parts)

    def drops(self, metric: Metric) -> bool:
        """Whether it exposes a part of a metric that it lacks, or one as new, and not what the metric replaced."""
        if metric.presence is not Presence.ALWAYS or not self.lacks(metric) or self.former(metric):
            return False
        exposed = [
            one for one in CATALOGUE if one.presence is Presence.ALWAYS and not self.names.isdisjoint(_parts(one))
        ]
        newest = max((release_numbers(one.since) for one in exposed), default=())
        return release_numbers(metric.since) <= newest

    def former(self, metric: Metric) -> list[str]:
        """The names that it exposes of what the metric replaced."""
        replaced = [old.name for old in removed.REMOVED if metric.name in old.instead]
        return [old for old in replaced if any(name.startswith(old) for name in self.names)]


def _parts(metric: Metric) -> list[str]:
    return [part.name for part in metric.parts]


_Cause = tuple[str, Sequence[Server], Sequence[str], dict[str, str]]
"""Of `findings.toml`: a finding's name; the servers, the missing series, values for the words."""


def place(labels: Mapping[str, str], settings: Settings) -> str:
    """A target in words."""
    return f"{labels.get(settings.labels.instance, '')} of job {labels.get(settings.labels.job, '')}"


def named(servers: Sequence[Server], among: Sequence[Server]) -> str:
    """Some of all servers, in words."""
    return (
        f"all {len(among)} servers"
        if len(servers) == len(among) > 1
        else shortened([server.where for server in servers])
    )


def missing_series(
    servers: Sequence[Server], settings: Settings, readers: Sequence[Reader], release: Release = UNKNOWN
) -> Iterator[Finding]:
    """What servers lack, from the coarsest cause to the finest, and what stays empty because no other server has it."""
    read = [server for server in servers if server.dialect in {None, settings.dialect}]
    exposed = frozenset[str]().union(*(server.names for server in read))
    for kind, chosen, names, values in _causes(servers, settings, release):
        if chosen:
            yield Finding.of(kind, named(chosen, servers), silenced_by({*names} - exposed, readers), **values)


def _causes(servers: Sequence[Server], settings: Settings, release: Release) -> Iterator[_Cause]:
    yield "down", [server for server in servers if not server.answers], OF_ENGINES, {"up": around.UP.name}
    answering = [server for server in servers if server.answers]
    for name, other in DIALECTS.items():
        if other is not settings.dialect:
            kind, values = "ray" if name == "ray" else "other-dialect", {"engine": other.engine, "name": name}
            spoken = [server for server in answering if server.dialect is other]
            yield kind, spoken, OF_ENGINES, values | {"begin": other.prefixes[0], "own": settings.dialect.engine}
    yield "silent", [server for server in answering if not server.dialect], OF_ENGINES, {"looked_for": LOOKED_FOR}
    reporting = [server for server in answering if server.dialect is settings.dialect]
    if reporting and settings.dialect.spellings:
        dialect = settings.dialect
        values = {"engine": dialect.engine, "reports": dialect.reports, "omits": dialect.omits}
        yield "partial-dialect", reporting, (), values
    elif reporting:
        native = {
            server.where: parts for server in reporting if (parts := _converted(server, settings.dialect, release))
        }
        converted = [server for server in reporting if server.where in native]
        yield "native-histograms", converted, [*frozenset[str]().union(*native.values())], {}
        reporting = [replace(one, names=one.names | native.get(one.where, frozenset())) for one in reporting]
        yield from _releases(reporting, settings.dialect, release)
    if reporting:
        yield from _speculation([server for server in reporting if server.names.isdisjoint(_V0)], settings, release)
    for presence, kind in ((Presence.HTTP, "no-request"), (Presence.ONE_PROCESS, "no-process-series")):
        exported = [metric for metric in _surely(presence, release) if settings.dialect.spelled(metric)]
        lacking, absent = _lacking(reporting, exported)
        yield kind, lacking, absent, {"names": shortened(NAMES[presence])}


def _surely(presence: Presence, release: Release) -> list[Metric]:
    """The metrics that every server of the release exposes when the presence says so."""
    return [metric for metric in CATALOGUE if metric.presence is presence and not release.may_lack(metric)]


def _converted(server: Server, dialect: Dialect, release: Release) -> frozenset[str]:
    """What is missing of a server's histograms, where they are native ones, or are all that is missing.

    Without its feature for native histograms, Prometheus before 4 converts them and stores nothing.
    """
    if server.method is None:  # A page has none but its own.
        return frozenset()
    histograms = [one for one in CATALOGUE if one.kind is Kind.HISTOGRAM and dialect.presence(one) is Presence.ALWAYS]
    absent = [one for one in histograms if one.name in server.names]
    if not absent:
        others = (one for one in _surely(Presence.ALWAYS, release) if one not in histograms)
        absent = [] if any(map(server.lacks, others)) else histograms
    parts = frozenset(part for one in absent for part in _parts(one))
    return parts if server.names.isdisjoint(parts) else frozenset()


def _releases(servers: Sequence[Server], dialect: Dialect, release: Release) -> Iterator[_Cause]:
    if old := [server for server in servers if not server.names.isdisjoint(_V0)]:
        names = ", ".join(sorted(_V0.keys() & old[0].names))
        yield "v0-series", old, (), {"names": names, "instead": "; ".join(_V0.values())}
    sure = _surely(Presence.ALWAYS, release)
    dropped = [metric for metric in CATALOGUE if metric in sure or any(server.drops(metric) for server in servers)]
    lacking = [
        server for server in servers if any(server.lacks(one) for one in sure) or any(map(server.drops, dropped))
    ]
    absent = [name for one in dropped for name in _parts(one) if any(name not in server.names for server in lacking)]
    yield "removed-on-the-way", lacking, absent, {"names": shortened([*map(dialect.named, absent)])}
    if dialect.presence(dialect.seen_by) is Presence.COUNTED:
        nothing = [server for server in servers if dialect.seen_by.name not in server.names]
        yield "nothing-counted", nothing, (), {"begin": dialect.prefixes[0]}
    if dialect.in_flight and dialect.finished:
        served = {dialect.in_flight.name, serving.REQUESTS_FINISHED.name}
        uncounted = [one for one in servers if one.names >= served and dialect.finished.name not in one.names]
        yield "finished-not-kept", uncounted, (), {"name": dialect.finished.name}
    yield from _older(servers, dialect, release)


def _older(servers: Sequence[Server], dialect: Dialect, release: Release) -> Iterator[_Cause]:
    """Servers that are older than series; a note where these came after the release whose pages were recorded."""
    newer = [metric for metric in CATALOGUE if release.may_lack(metric) and not metric.until]
    for kind, is_recorded in (("old-release", True), ("newer-series", False)):
        metrics = [metric for metric in newer if metric.exists_in(RECORDED) is is_recorded]
        behind = [
            (one, missing)
            for one in servers
            if (missing := [metric for metric in metrics if one.lacks(metric) and not one.drops(metric)])
        ]
        if not behind:
            continue
        first, missing = behind[0]
        has = ", ".join(dict.fromkeys(old for metric in missing for old in first.former(metric)))
        values = {
            "since": max((metric.since for metric in missing), key=release_numbers),
            "names": shortened([dialect.named(metric.name) for metric in missing]),
            "old": f"; it has the old {has}" if has else "",
            "own": f"vLLM {release.version}, " if release.version else "",
        }
        absent = [part.name for _, missing in behind for metric in missing for part in metric.parts]
        yield kind, [server for server, _ in behind], absent, values


def _lacking(servers: Sequence[Server], metrics: Sequence[Metric]) -> tuple[list[Server], list[str]]:
    """The servers that lack a part of these metrics, and the names of those parts."""
    names = [part.name for metric in metrics for part in metric.parts]
    lacking = [server for server in servers if not server.names.issuperset(names)]
    return lacking, [name for name in names if any(name not in server.names for server in lacking)]


def _speculation(servers: Sequence[Server], settings: Settings, release: Release) -> Iterator[_Cause]:
    baseline, dialect = settings.methods.baseline, settings.dialect
    counters = [one for one in _surely(Presence.SPECULATING, release) if dialect.spelled(one)]
    names = [metric.name for metric in counters]
    words = {"label": settings.labels.spec_method, "baseline": baseline}
    without = [server for server in servers if not server.speculates]
    labelled = [server for server in without if server.method not in (None, "", baseline)]
    unlabelled = [server for server in without if not server.method]
    if not dialect.is_plain_known:
        yield "nothing-drafted-yet", [*labelled, *unlabelled], (), words
    else:
        if labelled:
            yield "labelled-but-off", labelled, names, words | {"method": str(labelled[0].method)}
        yield "speculation-off", unlabelled, names, words
    if all(server.method == baseline and server in without for server in servers):
        yield "only-baselines", servers, names, {}
    drafting = [server for server in servers if server.speculates]
    for metric in counters:
        presence, name = dialect.presence(metric), metric.name
        of = {Presence.ALWAYS: servers, Presence.SPECULATING: drafting}.get(presence, [])
        dropped = [server for server in of if name not in server.names]
        yield "dropped-counter", dropped, [name], {"name": dialect.named(name)}
    yield "no-label", [server for server in drafting if server.method == "" and not server.reported_method], (), words
    yield from _reported(servers, settings)
    yield "no-baseline", [server for server in drafting if server.method == baseline], (), words


def _reported(servers: Sequence[Server], settings: Settings) -> Iterator[_Cause]:
    """What the plugin for vLLM reports and the labels do not."""
    labels, methods = settings.labels, settings.methods
    reporting = [server for server in servers if server.reported_method and server.method is not None]
    for method, label in sorted({(server.reported_method, str(server.method)) for server in reporting}):
        own = [server for server in reporting if (server.reported_method, server.method) == (method, label)]
        words = {"label": labels.spec_method, "method": method, "labelled": label}
        if not label:
            yield "label-reported", own, (), words
        elif method != label and methods.baseline not in (method, label):  # else other findings say it
            yield "label-differs", own, (), words
    adaptive = [server for server in servers if server.adaptive and server.verification not in methods.adaptive]
    yield "adaptive-reported", adaptive, (), {"label": labels.spec_verification, "value": methods.adaptive[0]}
