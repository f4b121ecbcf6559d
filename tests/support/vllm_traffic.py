"""A little traffic, and what the answers themselves say of speculation."""

from collections.abc import Iterable, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from typing import Any

import httpx

from support.vllm_server import KEY, MODEL, Vllm

PROMPTS = (
    "The quick brown fox jumps over the lazy dog.",
    "for number in range(10): print(number)",
    "to be or not to be, that is the question",
    "one two three one two three one two",
)
TEMPERATURES = (0.0, 0.0, 0.6)
TOKENS = 96
AT_A_TIME = 4
REQUESTS = len(PROMPTS) * len(TEMPERATURES)


@dataclass(frozen=True)
class Told:
    """Sums over answers of what vLLM counted for each of them."""

    drafts: int
    draft_tokens: int
    accepted_tokens: int
    lengths: tuple[int, ...]
    """Drafts with 0, 1, ... K accepted tokens."""

    @property
    def acceptance(self) -> float:
        """Accepted over drafted tokens."""
        return self.accepted_tokens / self.draft_tokens

    @property
    def accepted_per_position(self) -> tuple[int, ...]:
        """Drafts accepted at least to the first position, the second, ..."""
        return tuple(sum(self.lengths[depth:]) for depth in range(1, len(self.lengths)))


def send(server: Vllm) -> list[dict[str, Any]]:
    """Each prompt at each temperature, several at a time; returns the answers."""
    asked = [(prompt, temperature) for temperature in TEMPERATURES for prompt in PROMPTS]
    with (
        httpx.Client(base_url=server.url, headers={"Authorization": f"Bearer {KEY}"}, trust_env=False) as client,
        ThreadPoolExecutor(AT_A_TIME) as several,
    ):
        return list(several.map(lambda each: _answer(client, *each), asked))


def told(answers: Iterable[dict[str, Any]]) -> Told:
    """What the server says in its answers with `--per-request-spec-decode-metrics`."""
    each = [answer["metrics"]["speculative_decoding"] for answer in answers]
    return Told(
        drafts=sum(one["num_spec_steps"] for one in each),
        draft_tokens=sum(one["num_draft_tokens"] for one in each),
        accepted_tokens=sum(one["num_accepted_draft_tokens"] for one in each),
        lengths=_added([one["acceptance_histogram"] for one in each]),
    )


def _answer(client: httpx.Client, prompt: str, temperature: float) -> dict[str, Any]:
    request = {
        "model": MODEL,
        "prompt": prompt,
        "max_tokens": TOKENS,
        "temperature": temperature,
        "seed": 1,
        "ignore_eos": True,  # the model ends nowhere on purpose
    }
    answer: dict[str, Any] = client.post("/v1/completions", json=request, timeout=120).raise_for_status().json()
    return answer


def _added(rows: Sequence[Sequence[int]]) -> tuple[int, ...]:
    return tuple(sum(column) for column in zip(*rows, strict=True))
