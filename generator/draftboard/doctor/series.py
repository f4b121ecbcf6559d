"""The raw series that panels, alerts and records read; which of them a server lacks, why, and what stays empty."""

import re
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace

from draftboard.alerts import ALERTS
from draftboard.catalogue import CATALOGUE, Metric, Presence, around, removed, speculation
from draftboard.dashboards import DASHBOARDS
from draftboard.doctor.finding import Empty, Finding, few, note, problem, warning
from draftboard.reading.page import VLLM
from draftboard.settings import Settings
from draftboard.signals import ALL, Edition, Level, Scope

NAMES = {
    presence: tuple(part.name for metric in CATALOGUE for part in metric.parts if metric.presence is presence)
    for presence in Presence
}
"""Names of samples that an expression may read, by when a server exposes them."""
OF_ENGINES = (*NAMES[Presence.ALWAYS], *NAMES[Presence.SPECULATING])
_NAME = re.compile(r"[a-zA-Z_:][a-zA-Z0-9_:]*")
_TEXT = re.compile(r'"(?:[^"\\]|\\.)*"')
_RECORD = re.compile(rf"\b({'|'.join(level.value for level in Level)}):\w+:\w+")
_RELABEL_RAY = """\
metric_relabel_configs:
  - {source_labels: [__name__], regex: 'ray_vllm[_:](.+)', target_label: __name__, replacement: 'vllm:$1'}"""


@dataclass(frozen=True)
class Reader:
    """An expression, by the series that it reads."""

    reads: frozenset[str]
    has_alternatives: bool
    """Whether it may have samples although one of those series has none."""
    feeds: Empty
    """The panels, alerts and records made of it."""
    from_records: bool = False
    """Whether its panels need the rules."""


def silenced_by(missing: Collection[str], readers: Iterable[Reader]) -> Empty:
    """All that is certain to stay empty while these series are missing."""
    gone = ((reader, reader.reads & set(missing)) for reader in readers)
    return together(r for r, names in gone if names and (names == r.reads or not r.has_alternatives))


def together(readers: Iterable[Reader]) -> Empty:
    """All that these expressions feed."""
    fed = [vars(reader.feeds) for reader in readers]
    return Empty(**{kind: tuple(dict.fromkeys(name for each in fed for name in each[kind])) for kind in vars(Empty())})


def all_readers(settings: Settings) -> tuple[Reader, ...]:
    """The expressions of all panels, alerts and records; panels by the signal that they show."""
    found: list[Reader] = []
    panels: dict[str, dict[str, None]] = {}
    for dashboard in (build(settings, Edition.RECORDS) for build in DASHBOARDS):
        for name, panel in dashboard.shows:
            panels.setdefault(name, {})[f"{dashboard.uid}: {panel}"] = None
    for signal in ALL:
        texts = {level: Scope(settings, level, Edition.RAW)(signal) for level in signal.levels}
        records = {signal.record_at(level, settings): text for level, text in texts.items()}
        found += [_reader([text], Empty(records=(record,))) for record, text in records.items() if record]
        if signal.name in panels:
            by_name = [Scope(settings, level, Edition.RECORDS)(signal) for level in signal.levels]
            recorded = any(_RECORD.search(_TEXT.sub("", text)) for text in by_name)
            reader = _reader(texts.values(), Empty(panels=tuple(panels[signal.name])), from_records=recorded)
            # Of hosts: the engines' series only filter them, and filter nothing where they have no sample.
            of_gpus = replace(reader, reads=reader.reads.intersection(NAMES[Presence.GPU_EXPORTER]))
            found.append(of_gpus if signal.levels == (Level.HOST,) else reader)
    for alert in ALERTS:
        watched = [part for part in (alert.watched or alert.signal, alert.guard) if part]
        text = " and ".join(Scope(settings, alert.level, Edition.RAW)(part) for part in watched)
        found.append(_reader([text], Empty(alerts=(alert.name,))))
    return tuple(found)


def _reader(texts: Iterable[str], feeds: Empty, *, from_records: bool = False) -> Reader:
    words = frozenset(_NAME.findall(_TEXT.sub("", " or ".join(dict.fromkeys(texts)))))
    reads = words.intersection(name for names in NAMES.values() for name in names)
    return Reader(reads, not words.isdisjoint({"or", "unless"}), feeds, from_records)


@dataclass(frozen=True)
class Server:
    """One server."""

    where: str
    """Its address, fit to be shown."""
    names: frozenset[str]
    """Of samples, as vLLM names them."""
    answers: bool = True
    ray: bool = False
    """Whether Ray Serve exposes it, which prefixes its series."""
    method: str | None = None
    """Its method label, empty where it has none; None on a page, which does not show labels of targets."""


_Cause = tuple[Callable[..., Finding], Sequence[Server], str, str, Sequence[str], str]
"""Severity, servers, what, fix, the missing series, text to copy."""


def place(labels: Mapping[str, str], settings: Settings) -> str:
    """A target in words."""
    names = settings.labels
    return f"{labels.get(names.instance, '')} of job {labels.get(names.job, '')}"


def named(servers: Sequence[Server], among: Sequence[Server]) -> str:
    """Some of all servers, in words."""
    return f"all {len(among)} servers" if len(servers) == len(among) > 1 else few([server.where for server in servers])


def missing_series(servers: Sequence[Server], settings: Settings, readers: Sequence[Reader]) -> Iterator[Finding]:
    """What servers lack, and what stays empty because no other server has it; from the coarsest cause to the finest."""
    there = frozenset[str]().union(*(server.names for server in servers if not server.ray))
    for make, chosen, what, fix, names, paste in _causes(servers, settings):
        if chosen:
            yield make(named(chosen, servers), what, fix, silenced_by({*names} - there, readers), paste)


def _causes(servers: Sequence[Server], settings: Settings) -> Iterator[_Cause]:
    what = f"down: {around.UP.name} is 0, so it has no samples"
    fix = "start it, or correct address, port, path (/metrics) and access in the scrape job"
    yield problem, [server for server in servers if not server.answers], what, fix, OF_ENGINES, ""
    what = "Ray Serve exposes it: its series begin with ray_vllm, which no panel or rule reads"
    fix = "add the relabelling below to the scrape job"
    yield problem, [server for server in servers if server.answers and server.ray], what, fix, OF_ENGINES, _RELABEL_RAY
    own = [server for server in servers if server.answers and not server.ray]
    telling = [server for server in own if any(name.startswith(VLLM) for name in server.names)]
    what = "it answers, but exposes no vllm: series: started with --disable-log-stats, or not a vLLM API server"
    fix = "start it without --disable-log-stats; check that the address is vLLM's own"
    yield problem, [server for server in own if server not in telling], what, fix, OF_ENGINES, ""
    if not telling:
        return
    yield from _releases(telling)
    yield from _speculation(telling, settings)
    for presence, why, fix in (
        (Presence.HTTP, "no request since it started", "none needed: they appear with the first request"),
        (Presence.ONE_PROCESS, "several API servers run", "none needed: counter resets show restarts"),
    ):
        lacking, absent = _lacking(telling, [metric for metric in CATALOGUE if metric.presence is presence])
        yield note, lacking, f"no {few(NAMES[presence])}: {why}", fix, absent, ""


def _releases(servers: Sequence[Server]) -> Iterator[_Cause]:
    v0 = {metric.name: f"{metric.name} -> {metric.instead}" for metric in removed.V0}
    if old := [server for server in servers if not server.names.isdisjoint(v0)]:
        what = f"vLLM's V0 engine: {', '.join(sorted(v0.keys() & old[0].names))} do not mean what today's counters mean"
        yield problem, old, what, f"update vLLM; what to read instead: {'; '.join(v0.values())}", (), ""
    everywhere = [metric for metric in CATALOGUE if metric.presence is Presence.ALWAYS]
    lacking, absent = _lacking(servers, [metric for metric in everywhere if metric.since == Metric.since])
    what = f"something removes series on the way: no {few(absent)}"
    yield warning, lacking, what, "look at metric_relabel_configs of the scrape job", absent, ""
    newer = [metric for metric in everywhere if metric.since != Metric.since]
    lacking, absent = _lacking(servers, newer)
    if lacking:
        there = lacking[0].names
        missing = [metric for metric in newer if {part.name for part in metric.parts} - there]
        since = max((metric.since for metric in missing), key=lambda release: [int(n) for n in release.split(".")])
        former = [old for old in removed.REMOVED if any(metric.name in old.instead for metric in missing)]
        has = [old.name for old in former if any(name.startswith(old.name) for name in there)]
        what = f"older than vLLM {since}: no {few([metric.name for metric in missing])}"
        what += f"; it has the old {', '.join(has)}" if has else ""
        yield warning, lacking, what, f"update vLLM to {since} or newer", absent, ""


def _lacking(servers: Sequence[Server], metrics: Sequence[Metric]) -> tuple[list[Server], list[str]]:
    """The servers that lack a part of these metrics, and the names of those parts."""
    names = [part.name for metric in metrics for part in metric.parts]
    lacking = [server for server in servers if not server.names.issuperset(names)]
    return lacking, [name for name in names if any(name not in server.names for server in lacking)]


def _speculation(servers: Sequence[Server], settings: Settings) -> Iterator[_Cause]:
    label, baseline, names = settings.labels.spec_method, settings.methods.baseline, NAMES[Presence.SPECULATING]
    without = [server for server in servers if speculation.DRAFTS.name not in server.names]
    if labelled := [server for server in without if server.method not in (None, "", baseline)]:
        what = f'labelled {label}="{labelled[0].method}", but exposes no series of speculation: speculation is off'
        fix = f'start it with --speculative-config, or label it {label}="{baseline}"'
        yield problem, labelled, what, fix, names, ""
    what = "speculation is off: no series of it is exposed, although they exist from the start where it is on"
    fix = f'start it with --speculative-config; if it is off on purpose, label its target {label}="{baseline}"'
    yield warning, [server for server in without if not server.method], what, fix, names, ""
    if all(server.method == baseline and server in without for server in servers):
        yield note, servers, "all servers are baselines: none speculates", "no action needed if intended", names, ""
    drafting = [server for server in servers if server not in without]
    what = f"no target label {label}: the default draft cost applies, and no alert fires if speculation is off"
    fix = f"in the scrape job, as vLLM does not export it: labels: {{{label}: eagle3}}, or what the server runs"
    yield warning, [server for server in drafting if server.method == ""], what, fix, (), ""
    what = f'labelled {label}="{baseline}", but it exposes series of speculation: not a baseline'
    fix = "label it with the method that it runs"
    yield warning, [server for server in drafting if server.method == baseline], what, fix, (), ""
