"""Talking to vLLM's OpenAI endpoint: bounded in size and time; failures have names, and never quote an answer."""

import asyncio
import time
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from http import HTTPStatus
from typing import Annotated, Any

import httpx
from pydantic import BaseModel, Field, ValidationError

from draftboard.access import parsed_url, shown
from draftboard.errors import DraftboardError
from draftboard.sweep.answers import Completion, completion
from draftboard.sweep.plan import Plan
from draftboard.sweep.prompts import Prompt

_CHUNK = 65_536
_VERSION = "/v1"
_PAGE = "/metrics"
_LONGEST_NAME = 500
_HINTS = {
    HTTPStatus.UNAUTHORIZED: "give its key with --token-file",
    HTTPStatus.FORBIDDEN: "give its key with --token-file",
    HTTPStatus.NOT_FOUND: "is the model served under that name, and is this vLLM's API server?",
    HTTPStatus.BAD_REQUEST: "is a prompt with its completion longer than the model's context? See --max-tokens",
}


class Failure(Exception):  # noqa: N818  (no error of ours: it is counted)
    """A request that brought no answer to use, in a few words."""


@dataclass(frozen=True)
class Outcome:
    """What became of one request."""

    tag: str
    seconds: float
    """From sending to the last byte, as the client saw it."""
    completion: Completion | None
    failure: str = ""
    """Why there is no completion."""


@dataclass
class Batch:
    """What became of the requests sent so far; whole whenever it is looked at."""

    outcomes: list[Outcome]
    begun: int = 0
    seconds: float = 0.0
    """From the first request to the last answer."""

    @property
    def given_up(self) -> int:
        """Requests that were under way when all was broken off."""
        return self.begun - len(self.outcomes)


class Api:
    """A server's endpoint."""

    def __init__(self, plan: Plan) -> None:
        """Raise DraftboardError where the address, or the file of certificates, cannot be used."""
        url = parsed_url(plan.server)
        path = url.path.rstrip("/").removesuffix(_PAGE).removesuffix(_VERSION)
        self.base = url.copy_with(path=path or "/")
        self.name = shown(self.base)
        self._plan = plan
        self._verify = plan.access.certificates if url.scheme == "https" else False

    @property
    def page(self) -> str:
        """The address of the page of metrics."""
        return str(self._at(_PAGE))

    def first_model(self) -> str:
        """The first model that the server names.

        Raises:
            DraftboardError: it names none.
        """

        async def asked() -> bytes:
            async with self._client() as client:
                return await self._ask(client, "GET", f"{_VERSION}/models")

        try:
            name = _Models.model_validate_json(asyncio.run(asked())).data[0].id
        except Failure as failure:
            raise DraftboardError(f"{self.name}: cannot learn the model's name: {explained(str(failure))}") from None
        except ValidationError:
            name = ""
        if not name.isprintable() or not name:
            raise DraftboardError(f"{self.name}: names no model at {_VERSION}/models; give its name with --model")
        return name

    def complete(
        self, prompts: Iterable[Prompt], model: str, temperature: float, batch: Batch, tell: Callable[[], None]
    ) -> None:
        """Have all prompts completed, some at a time; outcomes go to the batch as they come, and each is told."""
        asyncio.run(self._complete_all(prompts, model, temperature, batch, tell))

    async def _complete_all(
        self, prompts: Iterable[Prompt], model: str, temperature: float, batch: Batch, tell: Callable[[], None]
    ) -> None:
        waiting, start = iter(prompts), time.monotonic()

        async def worker(client: httpx.AsyncClient) -> None:
            for prompt in waiting:
                batch.begun += 1
                batch.outcomes.append(await self._complete(client, prompt, model, temperature))
                batch.seconds = time.monotonic() - start
                tell()

        async with self._client() as client, asyncio.TaskGroup() as group:
            for _ in range(self._plan.concurrency):
                group.create_task(worker(client))

    async def _complete(self, client: httpx.AsyncClient, prompt: Prompt, model: str, temperature: float) -> Outcome:
        body = {
            "model": model,
            "prompt": prompt.text,
            "temperature": temperature,
            "max_tokens": self._plan.max_tokens,
        }
        start = time.monotonic()
        try:
            content = await self._ask(client, "POST", f"{_VERSION}/completions", body)
        except Failure as failure:
            return Outcome(prompt.tag, time.monotonic() - start, None, str(failure))
        seconds, answer = time.monotonic() - start, completion(content)
        return Outcome(prompt.tag, seconds, answer, "" if answer else "not a completion")

    async def _ask(
        self, client: httpx.AsyncClient, method: str, path: str, body: dict[str, Any] | None = None
    ) -> bytes:
        limits = self._plan.limits
        try:
            async with (
                asyncio.timeout(limits.seconds),
                client.stream(method, self._at(path), json=body) as answer,
            ):
                if answer.status_code != HTTPStatus.OK:
                    raise Failure(f"HTTP {answer.status_code}")
                content = bytearray()
                async for chunk in answer.aiter_raw(_CHUNK):
                    content += chunk
                    if len(content) > limits.bytes:
                        raise Failure(f"an answer over {limits.bytes / 1e6:g} MB")
        except (TimeoutError, httpx.TimeoutException):
            raise Failure(f"no answer within {limits.seconds:g} s") from None
        except httpx.ConnectError:
            raise Failure("no connection") from None
        except httpx.HTTPError:
            raise Failure("connection broken off") from None
        return bytes(content)

    def _client(self) -> httpx.AsyncClient:
        # A redirect is a failure, for it might lead a key or a prompt elsewhere.
        return httpx.AsyncClient(
            headers=self._plan.access.headers | {"Accept-Encoding": "identity"},
            verify=self._verify,
            timeout=self._plan.limits.seconds,
            limits=httpx.Limits(max_connections=self._plan.concurrency),
            follow_redirects=False,
        )

    def _at(self, path: str) -> httpx.URL:
        return self.base.copy_with(path=self.base.path.rstrip("/") + path)


class _Model(BaseModel):
    id: Annotated[str, Field(max_length=_LONGEST_NAME)]


class _Models(BaseModel):
    data: Annotated[list[_Model], Field(min_length=1)]


def explained(failure: str) -> str:
    """A failure with what to do about it, where that is known."""
    hint = next((hint for status, hint in _HINTS.items() if failure == f"HTTP {status.value}"), "")
    if not hint and failure.startswith("HTTP 3"):
        hint = "it redirects; name the address of the server itself"
    return f"{failure}: {hint}" if hint else failure
