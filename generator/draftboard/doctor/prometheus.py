"""A Prometheus: does it store all series of vLLM, scrape as the settings say, and evaluate the rules?"""

import re
from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from operator import itemgetter

from draftboard.catalogue import CATALOGUE, ELSEWHERE, Presence, around, probe, removed
from draftboard.catalogue.dialects import DIALECTS, LOOKED_FOR, Dialect, dialect_of
from draftboard.catalogue.known import seen_by
from draftboard.catalogue.metric import Kind
from draftboard.doctor import series
from draftboard.doctor.buckets import FAMILIES, buckets_flag, finite, other_bounds
from draftboard.doctor.finding import Empty, Examination, Finding
from draftboard.doctor.labels import of_labels
from draftboard.doctor.loaded import of_other_builds, of_short_retention
from draftboard.doctor.releases import UNKNOWN, Release
from draftboard.doctor.series import NAMES, Reader, Server, named, place
from draftboard.errors import DraftboardError
from draftboard.expr.nodes import Aggregate, Labels, Raw, merged
from draftboard.expr.promql import aggregate, selector
from draftboard.expr.to_promql import promql_of
from draftboard.output import shortened
from draftboard.prometheus import Client, LoadedRule, Series, Target
from draftboard.settings import Settings
from draftboard.signals import Level, Scope, latency, traffic
from draftboard.signals.signal import within
from draftboard.signals.states import state
from draftboard.signals.users import measured_speedup

_FILES = "alerts/recording.rules.yaml and alerts/alerting.rules.yaml"
_POINTS = 4  # scrapes in the window of a rate, so that one may fail; the settings require as many
_UNITS = {"ms": 0.001, "s": 1.0, "m": 60.0, "h": 3600.0}
_NAME = "__name__"
_BESIDE = {name for presence in ELSEWHERE for name in NAMES[presence]} - {around.UP.name}
_SHOWN = (state, traffic.generation_tokens)
"""What is recorded of a model whenever a server of it answers; each tier has one of them."""
_RECORDS = [f"{Level.MODEL.value}:{one.record}".format(window="[0-9a-z]+") for one in _SHOWN]
"""Regular expressions: these records, whatever the window in their names."""
_Target = tuple[str, ...]


@dataclass(frozen=True)
class Stored:
    """What is there at one time."""

    servers: tuple[Server, ...]
    jobs_by_instance: dict[str, set[str]]
    beside: frozenset[str]  # names of other exporters' series, and of records that vLLM always leads to


def examine_prometheus(
    client: Client, settings: Settings, time: float, release: Release = UNKNOWN, ruler: Client | None = None
) -> Examination:
    """Examine what it stored at a time, in Unix seconds, and how it works now; raises DraftboardError if it is down.

    `ruler` evaluates the rules, where another server does: Mimir's, Thanos', vmalert.
    """
    looked_at, readers = f"Prometheus at {client.url}", series.all_readers(settings)
    stored = _stored(client, settings, time)
    targets: list[Target] = []
    rules: list[LoadedRule] | None = None
    # A server that only stores knows neither.
    with suppress(DraftboardError):
        targets = client.targets()
    with suppress(*(() if ruler else (DraftboardError,))):
        rules = (ruler or client).rules()
    of_our_rules = [*of_rules(rules, stored, settings, readers)]
    if not ruler:  # It reads a store of its own, which may keep more.
        of_our_rules += of_short_retention(rules or (), client, time)
    if not stored.servers:
        where = f"the selector {settings.selector}" if settings.selector else "scrape_configs"
        empty = series.silenced_by({name for names in NAMES.values() for name in names}, readers)
        nothing = Finding.of("no-server", where, empty, label=settings.labels.spec_method, looked_for=LOOKED_FOR)
        return Examination(looked_at, (nothing, *of_our_rules))
    findings = [*series.missing_series(stored.servers, settings, readers, release)]
    findings += of_scrapes(targets, stored, settings)
    findings += _merged_engines(client, settings, time)
    findings += of_labels(client, settings, stored.servers, time)
    findings += [*of_our_rules, *_other_bounds(client, stored, settings, time), *_unresolved(client, settings, time)]
    if stored.beside.isdisjoint(names := NAMES[Presence.GPU_EXPORTER]):
        empty = series.silenced_by(names, readers)
        findings.append(Finding.of("no-gpu-exporter", "scrape_configs", empty, name=names[0]))
    return Examination(looked_at, tuple(findings))


@dataclass
class _TargetSeries:
    """What is stored of one target."""

    up: bool | None = None  # None where there is no `up` of it
    names: set[str] = field(default_factory=set)
    dialect: Dialect | None = None
    info: Mapping[str, str] = field(default_factory=dict)  # labels of the plugin's series


def _stored(client: Client, settings: Settings, time: float) -> Stored:
    """Targets that have series of vLLM, or a method label, which says that they should have; and what is beside."""
    labels, jobs, found = settings.labels, dict[str, set[str]](), defaultdict[_Target, _TargetSeries](_TargetSeries)

    def rows(how: str, selected: str, *by: str) -> Iterator[tuple[_TargetSeries, Series]]:
        for row in client.query(aggregate(how, (*by, *labels.target_series), selected), time):
            yield found[tuple(row.labels.get(label, "") for label in labels.target_series)], row

    of_servers = {name for names in NAMES.values() for name in names} - _BESIDE - {around.UP.name}
    old = {f"{re.escape(removal.name)}(_count)?" for removal in removed.REMOVED}
    ours = {settings.dialect.named(name) for name in of_servers if name not in settings.dialect.missing}
    ours |= {metric.name for metric in settings.dialect.own}
    if settings.dialect.spellings is None:  # So called where they are native.
        ours |= {settings.dialect.named(one.name) for one in CATALOGUE if one.kind is Kind.HISTOGRAM}
    signs = {dialect.sign: dialect for dialect in DIALECTS.values() if dialect.sign}
    others = seen_by() | signs.keys()
    for target, row in rows("max", _matching([around.UP.name], settings.selector)):
        target.up = row.samples[-1][1] == 1
    # A router of engines without the label has a job for each of its models.
    which = (labels.instance,) if settings.dialect.has_models else (labels.model_name, labels.instance)
    read = _matching({*map(re.escape, ours | others)} | old, settings.selector)
    for target, row in rows("group", read, _NAME, *which[:-1]):
        name = row.labels.get(_NAME, "")
        dialect = dialect_of(name)
        target.dialect = dialect or target.dialect or signs.get(name)
        meant = {*dialect.meant(name)} if dialect else {name}
        target.names |= meant
        if target.dialect and target.dialect.seen_by.name in meant:
            which_server = " of ".join(filter(None, (row.labels.get(label, "") for label in which)))
            jobs.setdefault(which_server, set()).add(row.labels.get(labels.job, ""))
    for target, row in rows("group", _matching([probe.INFO.name], settings.selector), "method", "adaptive"):
        target.info = row.labels
    beside = client.query(aggregate("group", (_NAME,), _matching([*map(re.escape, _BESIDE), *_RECORDS])), time)
    servers = []
    for values, target in sorted(found.items(), key=itemgetter(0)):
        known = dict(zip(labels.target_series, values, strict=True))
        if target.dialect or (target.up is not None and known[labels.spec_method]):
            server = Server(
                place(known, settings),
                frozenset(target.names),
                answers=target.up is not False,
                dialect=target.dialect,
                method=known[labels.spec_method],
                verification=known[labels.spec_verification],
                reported_method=target.info.get("method", ""),
                adaptive=target.info.get("adaptive") == "true",
            )
            servers.append(server)
    return Stored(tuple(servers), jobs, frozenset(row.labels.get(_NAME, "") for row in beside))


def _merged_engines(client: Client, settings: Settings, time: float) -> Iterator[Finding]:
    """Engines of a target that the settings do not tell apart, where the dialect has a label that does."""
    own, labels = settings.dialect.engine_label, settings.labels
    if own and own != labels.engine:
        by, series_of_engines = (
            (*labels.target_series, labels.engine),
            settings.dialect.named(settings.dialect.seen_by.name),
        )
        for row in client.query(aggregate("count", by, selector(series_of_engines, [])), time):
            if (count := row.samples[-1][1]) > 1:
                where, words = (
                    place(row.labels, settings),
                    {"count": f"{count:.0f}", "label": labels.engine, "own": own},
                )
                yield Finding.of("one-engine-of-many", where, **words)


def _matching(patterns: Iterable[str], *matchers: str) -> str:
    # RE2's escapes are PromQL text, in which a backslash is doubled.
    text = "|".join(sorted(patterns)).replace("\\", "\\\\")
    return selector("", [f'{_NAME}=~"{text}"', *filter(None, matchers)])


def _other_bounds(client: Client, stored: Stored, settings: Settings, time: float) -> Iterator[Finding]:
    """Servers whose histograms have other bounds than the settings declare."""
    by = (Labels("job"), Labels("instance"), "le")
    bounds_by_family = {
        family: Aggregate("group", by, Raw(of.bucket))
        for family, of in FAMILIES.items()
        if settings.dialect.spelled(of.bucket)
    }
    bounds_of: dict[tuple[str, str], set[float]] = {}
    for row in (
        client.query(promql_of(merged("family", bounds_by_family), Scope(settings)), time) if bounds_by_family else ()
    ):
        if (family := row.labels.get("family", "")) in bounds_by_family:
            bounds = bounds_of.setdefault((family, place(row.labels, settings)), set())
            bounds |= finite([row.labels.get("le", "")])
    alike: dict[tuple[str, frozenset[float]], list[Server]] = {}
    for (family, where), bounds in sorted(bounds_of.items()):
        alike.setdefault((family, frozenset(bounds)), []).append(Server(where, frozenset()))
    for (family, own), servers in alike.items():
        where = named(servers, stored.servers)
        yield from other_bounds(where, FAMILIES[family].name, {*own}, family, settings)


def _unresolved(client: Client, settings: Settings, time: float) -> Iterator[Finding]:
    """Models whose median latency is under the first bound of its histogram."""
    if not (latencies := {one.title: one for one in latency.FELT.values() if one.unresolved.exists(settings)}):
        return
    shares = merged("latency", {title: one.unresolved for title, one in latencies.items()}) >= 1 / 2
    by_model: dict[str, list[str]] = {}
    for row in client.query(promql_of(shares, Scope(settings, Level.MODEL)), time):
        if (title := row.labels.get("latency", "")) in latencies:
            by_model.setdefault(row.labels.get(settings.labels.model_name, ""), []).append(title)
    for model, titles in sorted(by_model.items()):
        times = ", ".join(dict.fromkeys(map(within, titles)))
        yield Finding.of("below-resolution", f"model {model}", times=times, flag=buckets_flag(settings))


def of_scrapes(targets: Sequence[Target], stored: Stored, settings: Settings) -> Iterator[Finding]:
    """What is wrong with scraping; `targets` is empty where the server lists none."""
    places = {server.where for server in stored.servers}
    own = [target for target in targets if place(target.labels, settings) in places]
    window, longest = settings.rules.rate_window, settings.rules.longest_scrape_interval
    for interval in sorted({target.interval for target in own}):
        seconds = sum(int(count) * _UNITS[unit] for count, unit in re.findall(r"(\d+)(ms|[smh])", interval))
        values = {"interval": interval, "window": window, "longest": longest, "points": _POINTS}
        if seconds * _POINTS > window.seconds:
            yield Finding.of("scrapes-too-rare", f"scrape interval {interval}", **values)
        elif seconds > longest.seconds:
            yield Finding.of("scrapes-rarer", f"scrape interval {interval}", **values)
    errors = [(place(target.labels, settings), re.sub(r'^\w+ "[^"]*": ', "", target.error)) for target in own]
    for error in sorted({error for _, error in errors} - {""}):
        yield Finding.of(
            "failed-scrape", shortened([where for where, its_error in errors if its_error == error]), error=error
        )
    for labels, count in Counter(tuple(sorted(target.labels.items())) for target in own).items():
        if count > 1:
            where, label = place(dict(labels), settings), settings.labels.instance
            yield Finding.of("same-labels", where, count=count, label=label)
    for instance, jobs in sorted(stored.jobs_by_instance.items()):
        if len(jobs) > 1:
            yield Finding.of("several-jobs", instance, count=len(jobs), jobs=", ".join(sorted(jobs)))
    speculates = any(server.speculates for server in stored.servers)
    if speculates and not any(server.method == settings.methods.baseline for server in stored.servers):
        where = f'{settings.labels.spec_method}="{settings.methods.baseline}"'
        yield Finding.of("nothing-to-compare", where, title=measured_speedup.title)


def of_rules(
    rules: Sequence[LoadedRule] | None, stored: Stored, settings: Settings, readers: Sequence[Reader]
) -> Iterator[Finding]:
    """What keeps records and alerts from existing; `rules` is None where the server evaluates none at all."""
    need_rules = series.merged(reader for reader in readers if reader.from_records or not reader.feeds.panels)
    wanted, loaded = {*need_rules.alerts, *need_rules.records}, {rule.name for rule in rules or ()}
    ours, missing = loaded & wanted, sorted(wanted - loaded)
    if broken := {rule.name: rule.error for rule in rules or () if rule.error and rule.name in wanted}:
        yield Finding.of("broken-rule", shortened([*broken]), error=next(iter(broken.values())))
    shown = [str(one.record_name(Level.MODEL, settings)) for one in _SHOWN]
    of_other_window = [
        (name, own)
        for pattern, own in zip(_RECORDS, shown, strict=True)
        for name in sorted({*loaded, *stored.beside} - wanted - {own})
        if re.fullmatch(pattern, name)
    ]
    alerts, records = (tuple(filter(missing.__contains__, names)) for names in (need_rules.alerts, need_rules.records))
    empty = Empty(() if ours else need_rules.panels, alerts, records)
    if ours and not of_other_window:
        yield from of_other_builds(rules or (), settings)
    if not ours and not stored.beside.isdisjoint(shown):
        yield Finding.of("evaluated-elsewhere", "rules")
    elif missing and of_other_window:
        other, own = of_other_window[0]
        yield Finding.of("other-window", "rules", empty, other=other, own=own)
    elif not ours:
        yield Finding.of("no-rules", "rules", empty, alerts=len(alerts), files=_FILES)
    elif missing:
        values = {"missing": len(missing), "wanted": len(wanted), "names": shortened(missing), "files": _FILES}
        yield Finding.of("missing-rules", "rules", empty, **values)
    elif stored.beside.isdisjoint(shown) and any(server.answers for server in stored.servers):
        yield Finding.of("no-records", "rules")
