"""A server that completes, counts and tells as vLLM does, at once: how drafts fare is told by temperature."""

import json
import threading
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler
from typing import Any

from support import loopback, pages

Answer = Callable[[BaseHTTPRequestHandler], None]
COMPLETED = "the text that was made up for "


def accepting(percent: int, drafts: int = 100) -> list[int]:
    """A histogram whose acceptance is that share: drafts of 4 tokens are taken whole or not at all."""
    whole = drafts * percent // 100
    return [drafts - whole, 0, 0, 0, whole]


@dataclass
class FakeVLLM:
    """Answers requests of a loopback server."""

    histograms: Mapping[float, Sequence[int]] = field(default_factory=dict)
    """Drafts of one completion by accepted tokens, for each temperature."""
    by_prompt: Callable[[str], Sequence[int]] | None = None
    """The same, where it is the prompt that decides."""
    level: str = "none"
    """Of --per-request-spec-decode-metrics."""
    engines: int = 1
    """Which take requests in turn."""
    instead: Callable[["FakeVLLM", BaseHTTPRequestHandler, dict[str, Any]], bool] = lambda *_: False
    """Answers a completion in its own way, and says whether it did."""
    drafts: list[list[int]] = field(default_factory=list)
    """Counted, by engine and accepted tokens."""
    requests: list[int] = field(default_factory=list)
    asked: list[dict[str, Any]] = field(default_factory=list)
    """Bodies of the completions asked for."""
    keys: set[str | None] = field(default_factory=set)
    running: int = 0
    counts: bool = True
    lock: threading.Lock = field(default_factory=threading.Lock)

    def __post_init__(self) -> None:
        self.drafts = [[0] * 5 for _ in range(self.engines)]
        self.requests = [0] * self.engines

    def __call__(self, request: BaseHTTPRequestHandler) -> None:
        with self.lock:
            self.keys.add(request.headers["Authorization"])
        path = request.path.partition("?")[0]
        if path == "/metrics":
            loopback.page(self.page())(request)
        elif path == "/v1/completions":
            body = json.loads(request.rfile.read(int(request.headers["Content-Length"])))
            with self.lock:
                self.asked.append(body)
            if not self.instead(self, request, body):
                loopback.page(json.dumps(self.complete(body)))(request)
        else:
            loopback.page("", 404)(request)

    def page(self) -> str:
        with self.lock:
            return "".join(
                pages.page(
                    [sum(drafts[j:]) for j in range(1, 5)],
                    drafts=sum(drafts),
                    engine=str(engine),
                    generated=_tokens(drafts),
                    requests=self.requests[engine],
                    running=self.running,
                )
                for engine, drafts in enumerate(self.drafts)
            )

    def complete(self, body: dict[str, Any]) -> dict[str, Any]:
        """Count a request, and answer it."""
        histogram = self.by_prompt(body["prompt"]) if self.by_prompt else self.histograms[body["temperature"]]
        self.count(histogram)
        answer = {"choices": [{"text": COMPLETED + body["prompt"]}], "usage": {"completion_tokens": _tokens(histogram)}}
        if self.level != "none":
            answer["metrics"] = {"speculative_decoding": drafts_of(histogram, detailed=self.level == "detailed")}
        return answer

    def count(self, histogram: Sequence[int]) -> None:
        """Somebody's request."""
        with self.lock:
            engine = sum(self.requests) % self.engines
            if self.counts:
                self.requests[engine] += 1
                self.drafts[engine] = [
                    old + new for old, new in zip(self.drafts[engine], [*histogram, 0, 0, 0, 0], strict=False)
                ]


def drafts_of(histogram: Sequence[int], *, detailed: bool = False) -> dict[str, Any]:
    """What vLLM tells of one request."""
    drafts, longest = sum(histogram), len(histogram) - 1
    accepted = sum(j * count for j, count in enumerate(histogram))
    told: dict[str, Any] = {
        "mean_acceptance_length": 1 + accepted / drafts if drafts else 0.0,
        "draft_acceptance_rate": accepted / (drafts * longest) if drafts else 0.0,
        "acceptance_histogram": list(histogram),
        "num_spec_steps": drafts,
        "num_accepted_draft_tokens": accepted,
        "num_draft_tokens": drafts * longest,
        "num_spec_tokens": longest,
    }
    if detailed:
        told["per_step_accepted"] = [j for j, count in enumerate(histogram) for _ in range(count)]
        told["per_step_drafted"] = [longest] * drafts
    return told


def _tokens(histogram: Sequence[int]) -> int:
    return sum((j + 1) * count for j, count in enumerate(histogram))
