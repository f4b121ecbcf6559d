"""Troubles and quiet days of `tests/data/outages.yaml`, simulated a minute at a time and told by the shipped rules.

Each server serves its requests by Little's law, with noise. promtool evaluates all shipped alerts over its series, and
the shipped inhibitions are applied: what is left is what people are told. Scenarios share an evaluation: each has a
cluster of its own.
"""

import json
import re
import subprocess
import tempfile
import tomllib
import zlib
from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field, fields, replace
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np

from draftboard.build import render
from draftboard.settings import Settings
from support.rulefiles import loaded, needed, rules

ROOT = Path(__file__).parents[2]
DATA = ROOT / "tests/data/outages.yaml"
FILES = ("alerts/recording.rules.yaml", "alerts/alerting.rules.yaml")
MINUTE = 60
K = 3
ALWAYS = "DraftboardWatchdog"
_START = 0  # A process start: promtool begins at the first second of Unix time.
_SERVER_MINUTES = 7_000
# A token is accepted as often as the one before it, where that was: what is accepted on average, by how often.
_REACHED = np.linspace(0, 1, 1_001)
_MEANS = np.mean([_REACHED ** (position + 1) for position in range(K)], axis=0)

Labels = dict[str, str]
Key = tuple[tuple[str, str], ...]


@dataclass(frozen=True)
class Server:
    """What a server is like for a minute. Shares are of its requests, times are seconds."""

    rate: float = 1.0  # Requests a second that users send to it.
    tokens: float = 200.0  # Of an answer.
    prompt: float = 500.0
    step: float = 0.02  # A decode step of a small batch.
    slots: float = 64.0  # Requests that run at most.
    accept: float = 0.6  # Draft acceptance.
    coverage: float = 1.0  # Drafts over decode steps.
    errors: float = 0.0  # Requests that end in an error inside the engine.
    http5xx: float = 0.0  # Requests that never reach the engine.
    http4xx: float = 0.0
    strayed: float = 0.0  # Requests to a path that no server has.
    cancelled: float = 0.0  # Requests whose client goes away after the first token.
    lost: float = 0.0  # Requests that are accepted and reach no engine.
    cut: float = 0.0  # Answers that end at their length limit.
    rejected: float = 0.0
    preempted: float = 0.0  # Preemptions of a request.
    kv: float = 0.0  # Added to what the batch holds.
    hung: float = 0.0  # 1: nothing is scheduled or generated any more.
    waits: float = 0.0  # Requests held back, whatever the room.
    up: float = 1.0  # 0: answers no scrape.
    there: float = 1.0  # 0: is no scrape target.
    plain: float = 0.0  # 1: has lost its drafter.
    miscounted: float = 0.0  # Of accepted tokens, those of no position.
    bare: float = 0.0  # 1: has no vLLM series yet.
    lag: float = 0.0  # 1: none of its samples arrives, its target neither.


@dataclass(frozen=True)
class Change:
    """From a minute on, some servers are different: until another minute, at intervals, gradually."""

    minute: int
    who: str
    values: Mapping[str, tuple[float, float]]  # At its begin and at its end.
    until: int
    every: int = 0
    swing: bool = False  # A day's curve between both.
    renew: bool = False  # Under a new address afterwards.
    restart: bool = False

    def share(self, minute: int) -> float | None:
        """How far it has gone, from 0 to 1; None before and after it."""
        if self.every and minute >= self.minute:
            length = self.until - self.minute
            past = (minute - self.minute) % self.every
            return past / length if past < length else None
        if not self.minute <= minute < self.until:
            return None
        if self.swing:
            return float(0.5 - 0.5 * np.cos(2 * np.pi * minute / 1440))
        return (minute - self.minute) / max(1, self.until - self.minute)


@dataclass(frozen=True)
class Scenario:
    """A trouble, or a quiet day."""

    name: str
    servers: tuple[tuple[Labels, Server], ...]
    changes: tuple[Change, ...]
    minutes: int
    fault: int  # The minute in which it begins.
    told: Mapping[str, int]  # Alerts that people must be told of, and within how many minutes.
    may: frozenset[str]  # Others that they may be told of.
    ends: bool  # Whether the fault ends, so that nothing need be told any more.
    alone: bool
    inhibits: tuple[tuple[str, str], ...]  # Alerts of which the first keeps the second from people.
    every: int  # Minutes between two evaluations: weeks are long.
    settings: str  # Those that differ from the default, as TOML.
    series: Mapping[str, str] = field(default_factory=dict)  # Of others than vLLM.

    @property
    def cluster(self) -> str:
        """The label that tells its series from those of other scenarios."""
        return re.sub(r"\W+", "-", self.name)


@cache
def scenarios() -> dict[str, Scenario]:
    """All, by name."""
    document = loaded(DATA.read_text())
    read = {}
    for kind, entries in document.items():
        for name, entry in entries.items():
            if kind == "quiet":
                entry.setdefault("told", {})
            read[name] = _scenario(name, entry)
    return read


def _scenario(name: str, entry: Mapping[str, Any]) -> Scenario:
    minutes = entry.get("minutes", 180)
    servers: list[tuple[Labels, Server]] = []
    for text in entry.get("servers", ["4"]):
        count, *words = text.split()
        labels = {"job": "vllm", "model_name": "m", "spec_method": "eagle3"}
        numbers = {}
        for word in words:
            key, _, value = word.partition("=")
            if key in {one.name for one in fields(Server)}:
                numbers[key] = float(value)
            else:
                labels[key] = value
        first = sum(1 for one, _ in servers if one["job"] == labels["job"])
        servers += [
            ({"instance": f"{labels['job']}-{first + number}"} | labels, replace(Server(), **numbers))
            for number in range(int(count))
        ]
    changes = tuple(_change(text, minutes) for text in entry.get("changes", []))
    fault = entry.get("fault", changes[0].minute if changes else 0)
    return Scenario(
        name=name,
        servers=tuple(servers),
        changes=changes,
        minutes=minutes,
        fault=fault,
        told=entry["told"],
        may=frozenset(entry.get("may", [])),
        ends=entry.get("ends", bool(changes) and all(change.until < minutes for change in changes)),
        alone=entry.get("alone", False),
        inhibits=tuple((cause, target) for text in entry.get("inhibits", []) for cause, target in [text.split(" > ")]),
        every=entry.get("every", 1),
        settings=entry.get("settings", ""),
        series=entry.get("series", {}) | dict(zip(_REPLICAS, entry.get("replicas", []), strict=False)),
    )


_REPLICAS = tuple(
    f'kube_deployment_{of}{{job="kube-state-metrics",deployment="d",model_name="m"}}'
    for of in ("spec_replicas", "status_replicas_available", "status_replicas_updated")
)
"""What kube-state-metrics counts of a deployment."""


_CHANGE = re.compile(r"(?P<at>\d+)(?:-(?P<until>\d+))?(?:/(?P<every>\d+))? (?P<who>\S+) (?P<rest>.+)")


def _change(text: str, minutes: int) -> Change:
    """`60-90 0,1 rate=0 restart`: `/15` repeats it, `a..b` moves from a to b, `a~b` swings between them in a day."""
    found = _CHANGE.fullmatch(text)
    assert found, text
    values, flags = {}, set()
    for word in found["rest"].split():
        name, assigned, value = word.partition("=")
        if not assigned:
            flags.add(name)
            continue
        begin, *end = re.split(r"\.\.|~", value)
        values[name] = (float(begin), float((end or [begin])[0]))
        assert name in {one.name for one in fields(Server)}, text
    assert flags <= {"restart", "renew"}, text
    until = int(found["until"] or minutes + 1)
    every = int(found["every"] or 0)
    swing = "~" in text
    return Change(int(found["at"]), found["who"], values, until, every, swing, "renew" in flags, "restart" in flags)


def _concerns(change: Change, number: int, labels: Labels) -> bool:
    return any(
        who in {"*", str(number)} or labels.get(who.partition(":")[0]) == who.partition(":")[2]
        for who in change.who.split(",")
    )


class _Running:
    """One server's state: what it has counted since its process began."""

    def __init__(self, number: int, labels: Labels, server: Server, scenario: Scenario) -> None:
        self.labels, self.server = labels, server
        self.changes = [change for change in scenario.changes if _concerns(change, number, labels)]
        self.chance = np.random.default_rng(zlib.crc32(f"{scenario.name} {number}".encode()))
        self.address, self.started, self.off = 0, _START, True
        self.restarted: set[int] = set()
        self.reset()

    def reset(self) -> None:
        self.counted: dict[str, float] = defaultdict(float)
        self.queue = self.running = 0.0

    def at(self, minute: int) -> Server:
        values: dict[str, float] = {}
        for change in self.changes:
            share = change.share(minute)
            if share is not None:
                values |= {name: a + (b - a) * share for name, (a, b) in change.values.items()}
        return replace(self.server, **values)

    def advance(self, minute: int) -> Iterator[tuple[str, Labels, float]]:
        """A minute of work, and then what a scrape finds."""
        now = self.at(minute)
        instance = self.labels["instance"] + (f"-{self.address}" if self.address else "")
        target = {name: text for name, text in self.labels.items() if name != "model_name"} | {"instance": instance}
        begins = any(change.restart and change.share(minute) == 0 for change in self.changes)
        if now.lag:
            return
        if not now.up or not now.there:
            if not self.off:
                self.address += any(change.renew and change.share(minute) is not None for change in self.changes)
                self.reset()
            self.off = True
            if now.there:
                yield "up", target, 0.0
            return
        if begins:
            self.reset()
        if self.off or begins:
            self.started, self.off = _START + minute * MINUTE, False
            instance = self.labels["instance"] + (f"-{self.address}" if self.address else "")
            target["instance"] = instance
        self._work(now)
        yield "up", target, 1.0
        if now.bare:
            return
        yield from self._page(now, target)

    def _work(self, now: Server) -> None:
        add = self.counted
        sent = float(self.chance.poisson(now.rate * MINUTE))
        shares = {"http5xx": now.http5xx, "http4xx": now.http4xx, "strayed": now.strayed}
        shares |= {"rejected": now.rejected, "lost": now.lost}
        refused = {name: float(self.chance.binomial(int(sent), share)) for name, share in shares.items()}
        arrived = max(0.0, sent - sum(refused.values()))
        add["5xx"] += refused["http5xx"] + refused["rejected"]
        add["4xx"] += refused["http4xx"]
        add["404"] += refused["strayed"]
        add["rejected"] += refused["rejected"]
        drafting = 0.0 if now.plain else now.coverage
        per_step = 1 + drafting * K * now.accept
        step = now.step * (1 + self.running / 100)
        seconds = now.tokens / per_step * step
        room = 0.0 if now.hung or now.waits else now.slots / seconds * MINUTE
        begun = min(self.queue + arrived, room)
        self.queue += arrived - begun
        if now.waits:
            self.queue = max(self.queue, now.waits)
        if not now.hung:
            self.running = min(now.slots, begun / MINUTE * seconds)
        failed = float(self.chance.binomial(int(begun), now.errors))
        left = float(self.chance.binomial(int(begun - failed), now.cancelled))
        ended = begun - failed - left
        add["2xx"] += ended + left + refused["lost"]
        add["5xx"] += failed
        add["stop"] += ended * (1 - now.cut)
        add["length"] += ended * now.cut
        add["error"] += failed
        add["first"] += begun
        tokens = begun * now.tokens * (1 + 0.05 * self.chance.normal()) if begun else 0.0
        add["tokens"] += tokens
        add["prompt"] += begun * now.prompt
        steps = tokens / per_step
        add["steps"] += steps
        slowness = step * (1 + 0.05 * self.chance.normal())
        add["step_seconds"] += steps * slowness
        add["token_seconds"] += ended / per_step * slowness
        add["ended"] += ended
        drafts = steps * drafting
        accept = now.accept + 0.1 * now.accept * (1 - now.accept) * self.chance.normal()
        add["drafts"] += drafts
        add["drafted"] += drafts * K
        reached = float(np.interp(accept, _MEANS, _REACHED))
        add["accepted"] += drafts * K * accept * (1 + now.miscounted)
        for position in range(K):
            add[f"accepted{position}"] += drafts * reached ** (position + 1)
        add["preempted"] += begun * now.preempted

    def _page(self, now: Server, target: Labels) -> Iterator[tuple[str, Labels, float]]:
        add = self.counted
        yield "process_start_time_seconds", target, float(self.started)
        for status in ("2xx", "4xx", "5xx"):
            if add[status]:
                handler = {"handler": "/v1/completions", "method": "POST", "status": status}
                yield "http_requests_total", target | handler, add[status]
        if add["404"]:
            yield "http_requests_total", target | {"handler": "none", "method": "POST", "status": "4xx"}, add["404"]
        engine = target | {"model_name": self.labels["model_name"], "engine": "0"}
        yield "vllm:num_requests_running", engine, self.running
        yield "vllm:num_requests_waiting", engine, self.queue
        usage = 0.02 + 0.6 * self.running / now.slots + now.kv
        moves = 0.0 if now.hung or now.waits else 0.02 * self.chance.random()
        yield "vllm:kv_cache_usage_perc", engine, usage * (1 + moves)
        for reason in ("stop", "length", "error"):
            yield "vllm:request_success_total", engine | {"finished_reason": reason}, add[reason]
        rejections = {name: text for name, text in engine.items() if name != "engine"}
        yield "vllm:admission_rejections_total", rejections | {"reason": "max_num_queued_reqs"}, add["rejected"]
        for name, key in _PLAIN.items():
            yield name, engine, add[key]
        if target["spec_method"] == "none" or now.plain:
            return
        for name, key in _SPECULATIVE.items():
            yield name, engine, add[key]
        for position in range(K):
            deep = engine | {"position": str(position)}
            yield "vllm:spec_decode_num_accepted_tokens_per_pos_total", deep, add[f"accepted{position}"]


_PLAIN = {
    "vllm:generation_tokens_total": "tokens",
    "vllm:prompt_tokens_total": "prompt",
    "vllm:time_to_first_token_seconds_count": "first",
    "vllm:inter_token_latency_seconds_count": "steps",
    "vllm:inter_token_latency_seconds_sum": "step_seconds",
    "vllm:request_time_per_output_token_seconds_count": "ended",
    "vllm:request_time_per_output_token_seconds_sum": "token_seconds",
    "vllm:num_preemptions_total": "preempted",
}
_SPECULATIVE = {
    "vllm:spec_decode_num_drafts_total": "drafts",
    "vllm:spec_decode_num_draft_tokens_total": "drafted",
    "vllm:spec_decode_num_accepted_tokens_total": "accepted",
}


def simulated(scenario: Scenario) -> list[dict[str, str]]:
    """Its series in promtool's notation, a sample a minute."""
    samples: dict[Key, dict[int, float]] = defaultdict(dict)
    running = [_Running(*one, scenario) for one in ((n, *of) for n, of in enumerate(scenario.servers))]
    for minute in range(scenario.minutes + 1):
        for server in running:
            for name, labels, value in server.advance(minute):
                key = tuple(sorted({"__name__": name, "cluster": scenario.cluster, **labels}.items()))
                samples[key][minute] = value
    lagging = any("lag" in change.values for change in scenario.changes)
    found = [_notation(key, values, scenario.minutes, stale=not lagging) for key, values in samples.items()]
    if not lagging:
        own = f'up{{cluster="{scenario.cluster}",job="prometheus"}}'
        found.append({"series": own, "values": f"1x{scenario.minutes}"})
    for selector, numbers in scenario.series.items():
        name, _, inside = selector.partition("{")
        found.append({"series": f'{name}{{cluster="{scenario.cluster}",{inside or "}"}', "values": numbers})
    return found


def _notation(key: Key, values: Mapping[int, float], minutes: int, *, stale: bool) -> dict[str, str]:
    inside = ",".join(f'{name}="{value}"' for name, value in key if name != "__name__" and value)
    items, before = [], False
    for minute in range(minutes + 1):
        here = minute in values
        items.append(f"{values[minute]:.10g}" if here else "stale" if before and stale else "_")
        before = here
    return {"series": f"{dict(key)['__name__']}{{{inside}}}", "values": " ".join(items)}


@dataclass(frozen=True)
class Told:
    """An alert that people are told of, and the minutes in which it fires."""

    alert: str
    severity: str
    labels: Key
    minutes: tuple[int, ...]


@cache
def _groups(settings: str) -> list[dict[str, Any]]:
    if settings:
        files = dict(render(Settings.model_validate(tomllib.loads(settings))))
    else:
        files = {path: (ROOT / path).read_text() for path in FILES}
    return needed(files, " ".join(rule["alert"] for rule in rules(files, "alert")))


@cache
def alerts() -> frozenset[str]:
    """The names of all shipped alerts."""
    return frozenset(rule["alert"] for group in _groups("") for rule in group["rules"] if "alert" in rule)


@cache
def inhibitions() -> dict[tuple[str, str], tuple[str, ...]]:
    """Pairs of an alert and one that it keeps from people, with the labels that must be equal."""
    document = loaded((ROOT / "deploy/alertmanager/alertmanager.yml").read_text())
    found = {}
    for rule in document["inhibit_rules"]:
        (cause,), (targets,) = rule["source_matchers"], rule["target_matchers"]
        for target in targets.partition("=~")[2].strip('"').split("|"):
            found[cause.partition("=")[2].strip('"'), target] = tuple(rule["equal"])
    return found


_ALERT = re.compile(r'\{(?P<labels>__name__="ALERTS"[^{}]*)\} 1E\+00')
_LABEL = re.compile(r'(\w+)="((?:[^"\\]|\\.)*)"')
_MOMENT = re.compile(r'expr: "ALERTS[^\n]*, time: (?P<time>[\ddhms]+),')


def _minute(time: str) -> int:
    parts = {unit: int(number) for number, unit in re.findall(r"(\d+)([dhms])", time)}
    return parts.get("d", 0) * 1440 + parts.get("h", 0) * 60 + parts.get("m", 0)


def firing(batch: Iterable[Scenario], promtool: Path) -> dict[int, list[Labels]]:
    """Alerts that fire at each minute, of scenarios that are evaluated together."""
    batch = list(batch)
    minutes, every = max(scenario.minutes for scenario in batch), batch[0].every
    groups = _groups(batch[0].settings)
    with tempfile.TemporaryDirectory() as folder:
        test = {
            "rule_files": ["rules.yaml"],
            "evaluation_interval": f"{every}m",
            "group_eval_order": [group["name"] for group in groups],
            "tests": [
                {
                    "interval": "1m",
                    "input_series": [series for scenario in batch for series in simulated(scenario)],
                    "promql_expr_test": [
                        {"eval_time": f"{minute}m", "expr": 'ALERTS{alertstate="firing"}'}
                        for minute in range(every, minutes + 1, every)
                    ],
                }
            ],
        }
        (Path(folder) / "rules.yaml").write_text(json.dumps({"groups": groups}))
        (Path(folder) / "outages.yaml").write_text(json.dumps(test))
        command = [str(promtool), "test", "rules", f"{folder}/outages.yaml"]
        done = subprocess.run(command, capture_output=True, text=True, check=False)
    # Nothing is expected, so that promtool prints what it got.
    found: dict[int, list[Labels]] = {}
    text = done.stdout + done.stderr
    moments = list(_MOMENT.finditer(text))
    assert moments, text[:3000]
    for moment, after in zip(moments, [*(m.start() for m in moments[1:]), len(text)], strict=True):
        part = text[moment.end() : after]
        found[_minute(moment["time"])] = [dict(_LABEL.findall(one["labels"])) for one in _ALERT.finditer(part)]
    return found


def told(fired: Mapping[int, list[Labels]], scenario: Scenario, but: tuple[str, str] | None = None) -> list[Told]:
    """What people are told of a scenario: without what is inhibited, of all pairs but one, and without the watchdog."""
    pairs = {pair: equal for pair, equal in inhibitions().items() if pair != but}
    seen: dict[tuple[str, str, Key], list[int]] = defaultdict(list)
    for minute, everything in sorted(fired.items()):
        if minute > scenario.minutes:
            break
        alerts = [one for one in everything if one.get("cluster", scenario.cluster) == scenario.cluster]
        for one in alerts:
            if one["alertname"] != ALWAYS and not _inhibited(one, alerts, pairs):
                labels = tuple(sorted((n, v) for n, v in one.items() if n not in _ASIDE))
                seen[one["alertname"], one["severity"], labels].append(minute)
    return [Told(alert, severity, labels, tuple(m)) for (alert, severity, labels), m in seen.items()]


_ASIDE = {"alertname", "alertstate", "severity", "cluster", "__name__"}


def _inhibited(alert: Labels, alerts: list[Labels], pairs: Mapping[tuple[str, str], tuple[str, ...]]) -> bool:
    return any(
        (cause["alertname"], alert["alertname"]) in pairs
        and all(cause.get(label, "") == alert.get(label, "") for label in pairs[cause["alertname"], alert["alertname"]])
        for cause in alerts
        if cause is not alert
    )


def batches() -> list[list[Scenario]]:
    """Scenarios that are evaluated together: of one length, as many as promtool's limit of samples allows."""
    found: list[list[Scenario]] = []
    for scenario in sorted(scenarios().values(), key=_alike):
        last = found[-1] if found else []
        together = [*last, scenario]
        fits = sum(len(one.servers) for one in together) * scenario.minutes <= _SERVER_MINUTES * scenario.every
        if last and fits and not scenario.alone and _alike(last[0]) == _alike(scenario):
            last.append(scenario)
        else:
            found.append([scenario])
    return found


def _alike(scenario: Scenario) -> tuple[bool, int, int, str]:
    return not scenario.alone, scenario.minutes, scenario.every, scenario.settings
