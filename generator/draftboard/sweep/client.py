"""Requests to vLLM's OpenAI endpoint, bounded in size and time; failures never quote a response."""

import asyncio
import time
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from typing import Annotated, Self

import httpx
from pydantic import AfterValidator, AliasPath, BaseModel, BeforeValidator, Field, ValidationError, model_validator

from draftboard.errors import DraftboardError
from draftboard.http import certificates, client, parsed_url, shown
from draftboard.sweep.plan import Plan, Prompt

_CHUNK, _MOST_BYTES = 65_536, 8_000_000  # An answer of 200 tokens has 1 kB; with the details of every step a few more.
_HINTS = {
    "HTTP 3": "the server redirects; use its final address",
    "HTTP 400": "is a prompt with its completion longer than the model's context? See --max-tokens",
    "HTTP 401": "authentication required: use --token-file",
    "HTTP 403": "access denied: use --token-file",
    "HTTP 404": "is the model served under that name, and is this vLLM's API server?",
}
_Count = Annotated[int, Field(ge=0, le=10_000_000)]
_Counts = Annotated[tuple[_Count, ...], Field(max_length=1_000_000)]


def _nothing(_value: object) -> None:
    """Drop a value."""


class Drafts(BaseModel):
    """One request's drafts, as `metrics.speculative_decoding` counts them."""

    acceptance_histogram: Annotated[_Counts, Field(min_length=1)]  # Entry j: drafts with exactly j accepted tokens.
    num_spec_steps: _Count
    num_accepted_draft_tokens: _Count
    num_draft_tokens: _Count
    per_step_accepted: _Counts | None = None  # With `detailed`: accepted tokens of each draft, in order.
    per_step_drafted: _Counts | None = None

    @model_validator(mode="after")
    def _agree(self) -> Self:
        histogram = self.acceptance_histogram
        if (
            sum(histogram) != self.num_spec_steps
            or sum(j * drafts for j, drafts in enumerate(histogram)) != self.num_accepted_draft_tokens
            or self.num_accepted_draft_tokens > self.num_draft_tokens
            or (self.num_draft_tokens > 0) != (self.num_spec_steps > 0)
            or len(self.per_step_accepted or ()) != len(self.per_step_drafted or ())
        ):
            raise ValueError("counts that contradict each other")
        return self


class Completion(BaseModel):
    """A completion without its text."""

    choice: Annotated[object, Field(validation_alias=AliasPath("choices", 0)), AfterValidator(_nothing)]
    """Required, and dropped."""
    tokens: Annotated[_Count, Field(validation_alias=AliasPath("usage", "completion_tokens"))]
    drafts: Annotated[
        Drafts | Annotated[None, BeforeValidator(_nothing)],
        Field(validation_alias=AliasPath("metrics", "speculative_decoding"), union_mode="left_to_right"),
    ] = None
    """None where the server does not report them, or in an unknown form."""


@dataclass(frozen=True)
class Outcome:
    """Result of one request: a completion, or a failure in a few words."""

    tag: str
    seconds: float = 0.0  # From sending to the last byte.
    completion: Completion | None = None
    failure: str = ""


@dataclass
class Batch:
    """Results of the requests sent so far; consistent at any time."""

    outcomes: list[Outcome]
    begun: int = 0
    seconds: float = 0.0  # From the first request to the last answer.

    @property
    def answers(self) -> list[Completion]:
        """Completions received."""
        return [outcome.completion for outcome in self.outcomes if outcome.completion]

    @property
    def tokens(self) -> int:
        """Tokens of all completions."""
        return sum(answer.tokens for answer in self.answers)

    @property
    def times_per_token(self) -> list[float]:
        """Seconds per token of each completed request."""
        ended = [one for one in self.outcomes if one.completion and one.completion.tokens]
        return [one.seconds / one.completion.tokens for one in ended if one.completion]


class Api:
    """A server's endpoint."""

    def __init__(self, plan: Plan, sleep: Callable[[float], None] = time.sleep) -> None:
        """Raise DraftboardError where the address or the certificates are invalid; `sleep` waits for its counters."""
        url, access = parsed_url(plan.server), plan.access
        path = url.path.rstrip("/").removesuffix("/metrics").removesuffix("/v1")
        self.base, self._plan, self.access, self.sleep = url.copy_with(path=path or "/"), plan, access, sleep
        self.name, self._url = shown(self.base), self.base.copy_with(path=f"{path}/v1/completions")
        self._verify = certificates(access) if url.scheme == "https" else False
        self._headers = access.headers | {"Accept-Encoding": "identity"}

    def complete(
        self,
        prompts: Iterable[Prompt],
        model: str,
        temperature: float,
        batch: Batch,
        ended: Callable[[], None],
        *,
        concurrency: int | None = None,
    ) -> None:
        """Have all prompts completed, `concurrency` at a time (default: the plan's); calls `ended` after each."""
        waiting, start, plan = iter(prompts), time.monotonic(), self._plan
        in_flight = concurrency or plan.concurrency
        body = {"model": model, "temperature": temperature, "max_tokens": plan.max_tokens}

        async def worker(http: httpx.AsyncClient) -> None:
            for prompt in waiting:
                batch.begun += 1
                batch.outcomes.append(await self._complete(http, prompt, body))
                batch.seconds = time.monotonic() - start
                ended()

        async def work() -> None:
            limits = httpx.Limits(max_connections=in_flight)
            options = {"headers": self._headers, "verify": self._verify, "timeout": plan.timeout, "limits": limits}
            async with client(httpx.AsyncClient, **options) as http, asyncio.TaskGroup() as group:
                for _ in range(in_flight):
                    group.create_task(worker(http))

        asyncio.run(work())

    async def _complete(self, http: httpx.AsyncClient, prompt: Prompt, body: dict[str, object]) -> Outcome:
        start, content, tag = time.monotonic(), bytearray(), prompt.tag
        try:
            request = http.stream("POST", self._url, json=body | {"prompt": prompt.text})
            async with asyncio.timeout(self._plan.timeout), request as answer:
                # A redirect is a failure: it might send a key or a prompt elsewhere.
                answer.raise_for_status()
                async for chunk in answer.aiter_raw(_CHUNK):
                    content += chunk
                    if len(content) > _MOST_BYTES:
                        return Outcome(tag, failure=f"response exceeds {_MOST_BYTES / 1e6:g} MB")
            return Outcome(tag, time.monotonic() - start, Completion.model_validate_json(bytes(content)))
        except (TimeoutError, httpx.TimeoutException):
            failure = f"no answer within {self._plan.timeout:g} s"
        except httpx.HTTPStatusError as error:
            failure = f"HTTP {error.response.status_code}"
        except httpx.HTTPError as error:
            failure = "no connection" if isinstance(error, httpx.ConnectError) else "connection lost"
        except ValidationError:
            failure = "not a completion"
        return Outcome(tag, failure=failure)


def explained(failure: str) -> str:
    """A failure with its remedy, if one is known."""
    hint = _HINTS.get("HTTP 3" if failure.startswith("HTTP 3") else failure)
    return f"{failure}: {hint}" if hint else failure


def require_answers(batch: Batch, api: Api, model: str) -> None:
    """Raise DraftboardError where no request was answered."""
    if batch.outcomes and not batch.answers:
        raise DraftboardError(
            f"{api.name}: no completion for any of {len(batch.outcomes)} requests to {model}: "
            f"{explained(batch.outcomes[0].failure)}"
        )
