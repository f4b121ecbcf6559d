"""Which series servers lack, why, and what stays empty for it: the same questions of pages and of Prometheus."""

from collections.abc import Iterator, Sequence
from dataclasses import replace

from draftboard.catalogue import CATALOGUE, Metric, Presence, around, removed, speculation
from draftboard.doctor.finding import Finding, few, note, problem, warning
from draftboard.doctor.running.names import OLD, RELABEL_RAY
from draftboard.doctor.running.readers import Reader, silenced_by
from draftboard.doctor.running.server import Server, lacking, named
from draftboard.reading.page import VLLM
from draftboard.settings import Settings

NAMES = {
    presence: tuple(part.name for metric in CATALOGUE for part in metric.parts if metric.presence is presence)
    for presence in Presence
}
_OF_ENGINES = (*NAMES[Presence.ALWAYS], *NAMES[Presence.SPECULATING])
_EVERYWHERE = tuple(metric for metric in CATALOGUE if metric.presence is Presence.ALWAYS)
_OLDEST = "0.8.5"


def explain(servers: Sequence[Server], settings: Settings, readers: Sequence[Reader]) -> Iterator[Finding]:
    """What each group of servers lacks, from the coarsest cause to the finest."""
    yield from _down(servers, readers)
    answering = [server for server in servers if server.answers]
    yield from _renamed_by_ray(answering, readers)
    own = [server for server in answering if not server.ray]
    yield from _silent(own, readers)
    telling = [server for server in own if _tells(server)]
    if telling:
        yield from _of_v0(telling)
        yield from _old(telling, readers)
        yield from _not_speculating(telling, settings, readers)
        yield from _around(telling, readers)


def _tells(server: Server) -> bool:
    """Whether an engine says anything."""
    return any(name.startswith(VLLM) for name in server.names)


def _with_empty(
    finding: Finding, names: Sequence[str], servers: Sequence[Server], readers: Sequence[Reader]
) -> Finding:
    """With what stays empty, as far as no other server has those series."""
    return replace(finding, empty=silenced_by(lacking(names, servers), readers))


def _down(servers: Sequence[Server], readers: Sequence[Reader]) -> Iterator[Finding]:
    if down := [server for server in servers if not server.answers]:
        told = problem(
            named(down, servers),
            f"down: {around.UP.name} is 0, so there is nothing of it to see",
            "start it, or mend address, port, path (/metrics) and access in the scrape job",
        )
        yield _with_empty(told, _OF_ENGINES, servers, readers)


def _renamed_by_ray(servers: Sequence[Server], readers: Sequence[Reader]) -> Iterator[Finding]:
    if by_ray := [server for server in servers if server.ray]:
        told = problem(
            named(by_ray, servers),
            "Ray Serve exposes it: its series begin with ray_vllm, and no panel or rule reads those",
            "add to the scrape job what stands below",
            RELABEL_RAY,
        )
        others = [server for server in servers if not server.ray]
        yield _with_empty(told, _OF_ENGINES, others, readers)


def _silent(servers: Sequence[Server], readers: Sequence[Reader]) -> Iterator[Finding]:
    if silent := [server for server in servers if not _tells(server)]:
        told = problem(
            named(silent, servers),
            "it answers, but exposes no vllm: series: started with --disable-log-stats, or no vLLM API server",
            "start it without --disable-log-stats; check that the address is vLLM's own",
        )
        yield _with_empty(told, _OF_ENGINES, servers, readers)


def _of_v0(servers: Sequence[Server]) -> Iterator[Finding]:
    v0 = {metric.name for metric in removed.V0}
    if old := [server for server in servers if v0 & server.names]:
        yield problem(
            named(old, servers),
            f"vLLM's V0 engine: {', '.join(sorted(v0 & old[0].names))} mean something else than today's counters",
            "update vLLM; what to read instead: " + "; ".join(_instead(name) for name in sorted(v0)),
        )


def _instead(name: str) -> str:
    return next(f"{old.name} -> {old.instead}" for old in OLD if old.name == name)


def _old(servers: Sequence[Server], readers: Sequence[Reader]) -> Iterator[Finding]:
    """Series that every server of a newer release has."""
    dropped = [part.name for metric in _EVERYWHERE for part in metric.parts if metric.since == _OLDEST]
    if lacks := _lacking(servers, dropped):
        absent = _absent(lacks, dropped)
        told = warning(
            named(lacks, servers),
            f"something removes series on the way: no {few(absent)}",
            "look at metric_relabel_configs of the scrape job",
        )
        yield _with_empty(told, absent, servers, readers)
    newer = [metric for metric in _EVERYWHERE if metric.since != _OLDEST]
    if lacks := _lacking(servers, [part.name for metric in newer for part in metric.parts]):
        missing = [metric for metric in newer if any(part.name not in lacks[0].names for part in metric.parts)]
        since = max((metric.since for metric in missing), key=_version)
        absent = _absent(lacks, [part.name for metric in newer for part in metric.parts])
        told = warning(
            named(lacks, servers),
            f"older than vLLM {since}: no {few([metric.name for metric in missing])}{_former(missing, lacks[0])}",
            f"update vLLM to {since} or newer",
        )
        yield _with_empty(told, absent, servers, readers)


def _lacking(servers: Sequence[Server], names: Sequence[str]) -> list[Server]:
    return [server for server in servers if not server.names.issuperset(names)]


def _absent(servers: Sequence[Server], names: Sequence[str]) -> list[str]:
    return [name for name in names if any(name not in server.names for server in servers)]


def _version(release: str) -> tuple[int, ...]:
    return tuple(int(part) for part in release.split("."))


def _former(missing: Sequence[Metric], server: Server) -> str:
    """The same thing under an older name, where the server has it."""
    there = [
        old.name
        for old in OLD
        if any(metric.name in old.instead for metric in missing) and any(n.startswith(old.name) for n in server.names)
    ]
    return f"; it has the old {', '.join(there)}" if there else ""


def _not_speculating(servers: Sequence[Server], settings: Settings, readers: Sequence[Reader]) -> Iterator[Finding]:
    label, baseline = settings.labels.spec_method, settings.methods.baseline
    without = [server for server in servers if speculation.DRAFTS.name not in server.names]
    labelled = [server for server in without if server.method and server.method != baseline]
    unlabelled = [server for server in without if not server.method]
    if labelled:
        told = problem(
            named(labelled, servers),
            f'labelled {label}="{labelled[0].method}", but exposes no series of speculation: speculation is off',
            f'start it with --speculative-config, or label it {label}="{baseline}"',
        )
        yield _with_empty(told, NAMES[Presence.SPECULATING], servers, readers)
    if unlabelled:
        told = warning(
            named(unlabelled, servers),
            "speculation is off: no series of it is exposed, which they are from the start where it is on",
            f'start it with --speculative-config; if it is off on purpose, label its target {label}="{baseline}"',
        )
        yield _with_empty(told, NAMES[Presence.SPECULATING], servers, readers)
    if len(without) == len(servers) and not labelled and not unlabelled:
        told = note(named(without, servers), "baselines, all of them: nothing speculates", "nothing, if so intended")
        yield _with_empty(told, NAMES[Presence.SPECULATING], servers, readers)


def _around(servers: Sequence[Server], readers: Sequence[Reader]) -> Iterator[Finding]:
    wishes: tuple[tuple[Presence, str, str], ...] = (
        (Presence.HTTP, "no request came in since it started", "nothing: they appear with the first request"),
        (
            Presence.ONE_PROCESS,
            "several API servers run, of which none tells",
            "nothing: restarts show in the counters",
        ),
    )
    for presence, why, fix in wishes:
        if lacks := [server for server in servers if not server.names.issuperset(NAMES[presence])]:
            told = note(named(lacks, servers), f"no {few(NAMES[presence])}: {why}", fix)
            yield _with_empty(told, NAMES[presence], servers, readers)
