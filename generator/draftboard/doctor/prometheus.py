"""A Prometheus: does it store all series of vLLM, scrape as the settings say, and evaluate the rules?"""

import re
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from contextlib import suppress
from dataclasses import dataclass

from draftboard.catalogue import Presence, around, removed, serving, speculation
from draftboard.doctor import buckets, series
from draftboard.doctor.finding import Empty, Examination, Finding, few, note, problem, warning
from draftboard.doctor.series import NAMES, Reader, Server, named, place
from draftboard.errors import DraftboardError
from draftboard.expr.labels import told_apart
from draftboard.expr.promql import aggregate, selector
from draftboard.expr.tree import Aggregate, Raw
from draftboard.prometheus import Client, LoadedRule, Series, Target
from draftboard.reading.page import RAY, VLLM
from draftboard.settings import Settings
from draftboard.signals import Level, Scope
from draftboard.signals.decisions import state
from draftboard.signals.latency import end_to_end, first_token, per_token, queue, step
from draftboard.signals.signal import within
from draftboard.signals.users import measured_speedup

_FILES = "alerts/recording.rules.yaml and alerts/alerting.rules.yaml"
_POINTS = 4
"""Scrapes in the window of a rate, so that one may fail; the settings require as many."""
_UNITS = {"ms": 0.001, "s": 1.0, "m": 60.0, "h": 3600.0}
_EXPERIENCED = (first_token, per_token, step, end_to_end)
_NAME = "__name__"
_BESIDE = {*NAMES[Presence.GPU_EXPORTER], around.ALERTS.name}
_STATE = f"{Level.MODEL.value}:{state.record}".format(window="[0-9a-z]+")
"""Regular expression: the record of the models' state, whatever the window in its name."""


@dataclass(frozen=True)
class Stored:
    """What is there at one time."""

    servers: tuple[Server, ...]
    jobs_by_instance: dict[str, set[str]]
    """The jobs that scrape each vLLM instance."""
    beside: frozenset[str]
    """Names of series from other exporters, and of the state's records, which exist wherever vLLM is scraped."""


def examine_prometheus(client: Client, settings: Settings, time: float) -> Examination:
    """Examine what it stored at a time, in Unix seconds, and how it works now; raises DraftboardError if it is down."""
    looked_at, readers = f"Prometheus at {client.url}", series.all_readers(settings)
    stored = _stored(client, settings, time)
    targets: list[Target] = []
    rules: list[LoadedRule] | None = None
    # A server that only stores knows neither.
    with suppress(DraftboardError):
        targets = client.targets()
    with suppress(DraftboardError):
        rules = client.rules()
    of_our_rules = of_rules(rules, stored, settings, readers)
    if not stored.servers:
        where = f"the selector {settings.selector}" if settings.selector else "scrape_configs"
        what = "no vLLM server is scraped: no series of vLLM, and no target with a method label"
        job = "scrape_configs:\n  - job_name: vllm\n    static_configs:\n      - targets: ['HOST:8000']\n"
        job += f"        labels: {{{settings.labels.spec_method}: eagle3}}"
        empty = series.together(reader for reader in readers if reader.reads)
        return Examination(looked_at, (problem(where, what, "add a job as below", empty, job), *of_our_rules))
    findings = [*series.missing_series(stored.servers, settings, readers), *of_scrapes(targets, stored, settings)]
    findings += [*of_our_rules, *_other_bounds(client, stored, settings, time), *_unresolved(client, settings, time)]
    if stored.beside.isdisjoint(names := NAMES[Presence.GPU_EXPORTER]):
        what, fix = f"no GPU exporter is scraped: no {names[0]}", "run dcgm-exporter on the GPU hosts and scrape it"
        findings.append(warning("scrape_configs", what, fix, series.silenced_by(names, readers)))
    return Examination(looked_at, tuple(findings))


def _stored(client: Client, settings: Settings, time: float) -> Stored:
    labels = settings.labels
    of_servers = {name for names in NAMES.values() for name in names} - _BESIDE - {around.UP.name}
    old = {f"{re.escape(old.name)}(_count)?" for old in removed.REMOVED}
    ray = {re.escape(prefix + serving.REQUESTS_RUNNING.name.removeprefix(VLLM)) for prefix in RAY}
    vllm = _matching({*map(re.escape, of_servers)} | old | ray, settings.selector)
    up = aggregate("max", labels.target_level, _matching([around.UP.name], settings.selector))
    seen = client.query(aggregate("group", (_NAME, *labels.target_level), vllm), time)
    beside = client.query(aggregate("group", (_NAME,), _matching([*map(re.escape, _BESIDE), _STATE])), time)
    jobs: dict[str, set[str]] = {}
    for row in seen:
        if row.labels.get(_NAME) == serving.REQUESTS_RUNNING.name:
            jobs.setdefault(row.labels.get(labels.instance, ""), set()).add(row.labels.get(labels.job, ""))
    names = frozenset(row.labels.get(_NAME, "") for row in beside)
    return Stored(_servers(client.query(up, time), seen, settings), jobs, names)


def _matching(patterns: Iterable[str], *matchers: str) -> str:
    # RE2's escapes are PromQL text, in which a backslash is doubled.
    text = "|".join(sorted(patterns)).replace("\\", "\\\\")
    return selector("", [f'{_NAME}=~"{text}"', *filter(None, matchers)])


def _servers(up: Sequence[Series], seen: Sequence[Series], settings: Settings) -> tuple[Server, ...]:
    """Targets that have series of vLLM, or a method label, which says that they should have."""

    def target(row: Series) -> tuple[str, ...]:
        return tuple(row.labels.get(label, "") for label in settings.labels.target_level)

    answers = {target(row): row.samples[-1][1] == 1 for row in up}
    names: dict[tuple[str, ...], set[str]] = {one: set() for one in answers}
    for row in seen:
        names.setdefault(target(row), set()).add(row.labels.get(_NAME, ""))
    servers = []
    for one, own in sorted(names.items()):
        labels = dict(zip(settings.labels.target_level, one, strict=True))
        method, ray = labels[settings.labels.spec_method], any(name.startswith(RAY) for name in own)
        if (one in answers and method) or any(name.startswith((VLLM, *RAY)) for name in own):
            servers.append(Server(place(labels, settings), frozenset(own), answers.get(one, True), ray, method))
    return tuple(servers)


def _other_bounds(client: Client, stored: Stored, settings: Settings, time: float) -> Iterator[Finding]:
    """Servers whose histograms have other bounds than the settings declare."""
    by = (settings.labels.job, settings.labels.instance, "le")
    asked = {family: Aggregate("group", lambda _: by, Raw(of.bucket)) for family, of in buckets.FAMILIES.items()}
    found: dict[tuple[str, str], set[float]] = {}
    for row in client.query(Scope(settings)(told_apart("family", asked)), time):
        if (family := row.labels.get("family", "")) in asked:
            bounds = found.setdefault((family, place(row.labels, settings)), set())
            bounds |= buckets.finite([row.labels.get("le", "")])
    alike: dict[tuple[str, frozenset[float]], list[Server]] = {}
    for (family, where), bounds in sorted(found.items()):
        alike.setdefault((family, frozenset(bounds)), []).append(Server(where, frozenset()))
    for (family, own), servers in alike.items():
        where = named(servers, stored.servers)
        yield from buckets.against(where, buckets.FAMILIES[family].name, {*own}, family, settings)


def _unresolved(client: Client, settings: Settings, time: float) -> Iterator[Finding]:
    """Models whose median latency is under the first bound of its histogram."""
    latencies = {latency.title: latency for latency in (*_EXPERIENCED, queue)}
    shares = told_apart("latency", {title: latency.unresolved for title, latency in latencies.items()}) >= 1 / 2
    by_model: dict[str, list[str]] = {}
    for row in client.query(Scope(settings, Level.MODEL)(shares), time):
        if (title := row.labels.get("latency", "")) in latencies:
            by_model.setdefault(row.labels.get(settings.labels.model_name, ""), []).append(title)
    for model, titles in sorted(by_model.items()):
        words = ", ".join(dict.fromkeys(map(within, titles)))
        what = f'at least half of the samples are under the first bound of {words}: percentiles say "below resolution"'
        fix = "start its servers (vLLM 0.32.0 or newer) with the flag below, and declare the same bounds"
        make = warning if any(latencies[title] in _EXPERIENCED for title in titles) else note
        yield make(f"model {model}", what, fix, paste=buckets.flag(settings))


def of_scrapes(targets: Sequence[Target], stored: Stored, settings: Settings) -> Iterator[Finding]:
    """What is wrong with scraping; `targets` is empty where the server lists none."""
    places = {server.where for server in stored.servers}
    own = [target for target in targets if place(target.labels, settings) in places]
    window, wanted = settings.rules.rate_window, settings.rules.scrape_interval
    for interval in sorted({target.interval for target in own}):
        seconds = sum(int(count) * _UNITS[unit] for count, unit in re.findall(r"(\d+)(ms|[smh])", interval))
        where, fix = f"scrape interval {interval}", f'build with rules.scrape_interval = "{interval}"'
        if seconds * _POINTS > window.seconds:
            what = f"too long for the window of {window}, which must contain {_POINTS} scrapes: rates have gaps"
            yield problem(where, what, f"scrape every {wanted}, or {fix}")
        elif seconds > wanted.seconds:
            yield warning(where, f"longer than {wanted}, which the settings declare", f"{fix}, so that windows fit it")
    errors = [(place(target.labels, settings), re.sub(r'^\w+ "[^"]*": ', "", target.error)) for target in own]
    for error in sorted({error for _, error in errors} - {""}):
        failing = [where for where, its_error in errors if its_error == error]
        yield problem(few(failing), f"the last scrape failed: {error}", "correct what the message names")
    for labels, count in Counter(tuple(sorted(target.labels.items())) for target in own).items():
        if count > 1:
            what = f"{count} targets have the same labels, so their samples merge into one series"
            yield problem(place(dict(labels), settings), what, f"give each its own {settings.labels.instance} label")
    for instance, jobs in sorted(stored.jobs_by_instance.items()):
        if len(jobs) > 1:
            what = f"scraped by {len(jobs)} jobs: {', '.join(sorted(jobs))}; sums over jobs count it twice"
            yield warning(instance, what, "keep it in one job")
    drafting = [server for server in stored.servers if speculation.DRAFTS.name in server.names]
    if drafting and not any(server.method == settings.methods.baseline for server in stored.servers):
        what = f'no server is labelled as a baseline: "{measured_speedup.title}" stays empty'
        fix = "to measure it, serve the same model once without speculation"
        yield note(f'{settings.labels.spec_method}="{settings.methods.baseline}"', what, fix)


def of_rules(
    rules: Sequence[LoadedRule] | None, stored: Stored, settings: Settings, readers: Sequence[Reader]
) -> Iterator[Finding]:
    """What keeps records and alerts from existing; `rules` is None where the server evaluates none at all."""
    need_rules = series.together(reader for reader in readers if reader.from_records or not reader.feeds.panels)
    wanted, loaded = {*need_rules.alerts, *need_rules.records}, {rule.name for rule in rules or ()}
    ours, missing = loaded & wanted, sorted(wanted - loaded)
    if broken := {rule.name: rule.error for rule in rules or () if rule.error and rule.name in wanted}:
        what = f"cannot be evaluated: {next(iter(broken.values()))}"
        yield problem(few([*broken]), what, "correct what the message names")
    state_record = str(state.record_at(Level.MODEL, settings))
    of_other_window = [name for name in sorted({*loaded, *stored.beside} - wanted) if re.fullmatch(_STATE, name)]
    alerts, records = (tuple(filter(missing.__contains__, names)) for names in (need_rules.alerts, need_rules.records))
    empty = Empty(() if ours else need_rules.panels, alerts, records)
    if not ours and state_record in stored.beside:
        what = "this Prometheus evaluates none of them, but their records exist: another server evaluates them"
        yield note("rules", what, "look there for errors and alerts, which are not visible here")
    elif missing and of_other_window:
        what = f"built with another window: {of_other_window[0]} exists, {state_record} does not"
        fix = "pass the settings that they were built with as --config, or build and load rules and dashboards again"
        yield problem("rules", what, fix, empty)
    elif not ours:
        what = f"not loaded: all panels on records stay empty, and {len(alerts)} alerts never fire"
        fix = f"rule_files: {_FILES} (`draftboard build`); the dashboards in dashboards/standalone require none"
        yield problem("rules", what, fix, empty)
    elif missing:
        what = f"{len(missing)} of {len(wanted)} are not loaded: {few(missing)}"
        yield problem("rules", what, f"load {_FILES} as `draftboard build` writes them with these settings", empty)
    elif state_record not in stored.beside and any(server.answers for server in stored.servers):
        yield warning("rules", "loaded, but no record has a sample", "wait for two evaluations; then look at its log")
