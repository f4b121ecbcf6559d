"""A Prometheus that remembers records of models whose K changes, with the truth of what each K costs and yields."""

import json
import random
import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler
from typing import Any
from urllib.parse import parse_qs

from draftboard.catalogue import serving, speculation
from draftboard.settings import Settings
from draftboard.signals import Level, acceptance, requests, traffic
from draftboard.signals.capacity import prompt_tokens
from draftboard.signals.costs import step_cost as recorded_cost
from draftboard.signals.drafting import configured_k, lowest_k
from draftboard.signals.events import restarts
from draftboard.signals.latency import end_to_end, per_token
from draftboard.signals.states import STATES, state
from draftboard.signals.steps import pure_step_time_by_batch, step_time_by_batch
from draftboard.signals.users import measured_speedup, speedup_uncertainty
from draftboard.signals.verdicts import verdict
from support.loopback import page

END = 1_800_000_000
WINDOW = 300
C, ALPHA, PLAIN = 0.06, 0.6, 0.02
RATE = 20.0  # Decode steps a second.

_SIGNALS = {
    str(signal.record_name(Level.MODEL, Settings())): signal.name
    for signal in (
        *(traffic.generation_tokens, traffic.drafts, configured_k, lowest_k, traffic.decode_steps),
        *(step_time_by_batch, pure_step_time_by_batch, acceptance.tokens_per_step, acceptance.acceptance_length),
        *(per_token.mean, requests.request_rate, restarts, state, verdict, measured_speedup, speedup_uncertainty),
        *(traffic.first_tokens, prompt_tokens, recorded_cost, end_to_end.mean),
    )
}


def step_cost(k: int, load: int) -> float:
    """In plain steps of that batch."""
    return 1 + 0.02 * load + k * C if k else 1.0


def tokens(k: int) -> float:
    """A step's, with drafts accepted at one rate."""
    return 1 + ALPHA * k


def speedup(before: int, after: int, load: int) -> float:
    """The truth."""
    return tokens(after) / step_cost(after, load) * step_cost(before, load) / tokens(before)


@dataclass(frozen=True)
class Variant:
    """A model drafted in one way, from one hour before the end to another."""

    k: int
    since: float
    until: float = 0.0
    model: str = "m"
    method: str = "eagle3"
    variant: str = ""
    lowest: int | None = None  # Where engines differ.
    loads: Sequence[int] = (1,)  # In turns, each for an hour.
    restarted: float | None = None  # Hours before the end.
    pure: bool = False
    also: Mapping[str, float] = field(default_factory=dict)  # Further records, by signal.
    runs: Mapping[str, str] = field(default_factory=dict)  # What its engines export of themselves.

    @property
    def labels(self) -> dict[str, str]:
        own = {"job": "vllm", "model_name": self.model, "spec_method": self.method, "variant": self.variant}
        return {name: text for name, text in own.items() if text}

    def values(self, at: float, chance: random.Random) -> dict[str, tuple[float, str]]:
        """By record: its value and batch."""
        hours = (END - at) / 3600
        load = self.loads[int(hours) % len(self.loads)]
        noise = 1 + chance.gauss(0, 0.02)
        step = PLAIN * step_cost(self.k, load) * noise
        found: dict[str, tuple[float, str]] = {
            traffic.generation_tokens.name: (RATE * tokens(self.k), ""),
            traffic.decode_steps.name: (RATE, ""),
            acceptance.tokens_per_step.name: (tokens(self.k), ""),
            # Prefills share the page's steps.
            step_time_by_batch.name: (step * (2 if self.pure else 1), str(load)),
            per_token.mean.name: (step / tokens(self.k), ""),
            requests.request_rate.name: (0.5, ""),
            state.name: (STATES["drafting" if self.k else "off"].value, ""),
            restarts.name: (float(self.restarted is not None and 0 <= self.restarted - hours < 1), ""),
        }
        if self.k:
            found |= {
                traffic.drafts.name: (RATE, ""),
                acceptance.acceptance_length.name: (tokens(self.k), ""),
                configured_k.name: (self.k, ""),
                lowest_k.name: (self.k if self.lowest is None else self.lowest, ""),
            }
        found |= {name: (number, "") for name, number in self.also.items()}
        if self.pure:
            found[pure_step_time_by_batch.name] = (step, str(load))
        return found


@dataclass
class Memory:
    """What answers queries of a range; `hidden` says which moments have no records.

    `servers` are the labels of what is scraped until `gone` hours before the end, `gpus` how many GPUs those have.
    """

    variants: Sequence[Variant]
    hidden: Callable[[float], bool] = lambda _: False
    value: str = ""
    instead: bytes = b""
    seed: int = 0
    servers: Sequence[Mapping[str, str]] = ()
    gone: float = 0
    gpus: int = 0
    queries: list[str] = field(default_factory=list)
    samples: int = 0
    known: dict[tuple[int, float], dict[str, tuple[float, str]]] = field(default_factory=dict)

    def __call__(self, request: BaseHTTPRequestHandler) -> None:
        body = request.rfile.read(int(request.headers["Content-Length"])).decode()
        asked = {name: text[0] for name, text in parse_qs(body).items()}
        start, end, step = (float(asked[name]) for name in ("start", "end", "step"))
        times = [start + number * step for number in range(int((end - start) / step) + 1)]
        if asked["query"].startswith(serving.REQUESTS_RUNNING.name):
            there = [[at, "1"] for at in times if (END - at) / 3600 >= self.gone]
            _answer(request, "matrix", [{"metric": dict(labels), "values": there} for labels in self.servers])
            return
        if asked["query"].startswith(speculation.DRAFTS.name):
            _answer(request, "matrix", [])
            return
        self.queries.append(asked["query"])
        result = list(self._result(asked["query"], times))
        self.samples += sum(len(series["values"]) for series in result)
        _answer(request, "matrix", result, self.instead)

    def _values(self, variant: Variant, at: float) -> dict[str, tuple[float, str]]:
        if (id(variant), at) not in self.known:
            self.known[id(variant), at] = variant.values(at, random.Random(hash((self.seed, variant.k, at))))
        return self.known[id(variant), at]

    def _result(self, query: str, times: Sequence[float]) -> Any:
        if "DCGM" in query:
            if self.gpus:
                yield {"metric": {}, "values": [[at, str(self.gpus)] for at in times]}
            return
        if query.startswith("group by"):
            for variant in self.variants:
                at_times = [[at, "1"] for at in times if variant.until <= (END - at) / 3600 < variant.since]
                if variant.runs and at_times:
                    yield {"metric": {**variant.labels, **variant.runs}, "values": at_times}
            return
        record, _, matchers = query.partition("{")
        name, chosen = _SIGNALS[record], re.search(r'model_name=~?"([^"]*)"', matchers)
        for variant in self.variants:
            by_batch: dict[str, list[list[object]]] = {}
            for at in times if chosen is None or chosen[1] == variant.model else ():
                hours = (END - at) / 3600
                if (
                    variant.until <= hours < variant.since
                    and not self.hidden(hours)
                    and name in self._values(variant, at)
                ):
                    value, batch = self._values(variant, at)[name]
                    by_batch.setdefault(batch, []).append([at, self.value or repr(value)])
            for batch, values in by_batch.items():
                own = {"batch": batch} if batch else {}
                yield {"metric": {"__name__": record} | variant.labels | own, "values": values}


def _answer(request: BaseHTTPRequestHandler, kind: str, result: object, instead: bytes = b"") -> None:
    text = json.dumps({"status": "success", "data": {"resultType": kind, "result": result}}).encode()
    page(instead or text, Content_Type="application/json")(request)
