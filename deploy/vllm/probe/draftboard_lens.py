"""An ASGI middleware for vLLM: how speculation serves each class of requests, beside vLLM's own metrics.

`vllm serve --middleware draftboard_probe.Lens --per-request-spec-decode-metrics summary` puts it around the API. It
reads the per-request metrics that vLLM adds to answers and changes nothing on their way. README.md lists the series.
"""

import contextlib
import functools
import json
import logging
import os
import re
import time
from collections.abc import Awaitable, Callable, Collection, Iterator, MutableMapping
from typing import Any, NamedTuple

from prometheus_client import Counter

Message = MutableMapping[str, Any]
Receive = Callable[[], Awaitable[Message]]
Send = Callable[[Message], Awaitable[None]]
App = Callable[[Message, Receive, Send], Awaitable[None]]

CLASS = ("model_name", "dimension", "class")
# In the order of `Answer.amounts`.
OF_CLASSES = (
    Counter("draftboard_spec_class_requests", "Requests, by class.", CLASS),
    Counter("draftboard_spec_class_drafts", "Drafts, by class of their request.", CLASS),
    Counter("draftboard_spec_class_draft_tokens", "Draft tokens, by class of their request.", CLASS),
    Counter("draftboard_spec_class_accepted_tokens", "Accepted tokens, by class of their request.", CLASS),
    Counter("draftboard_spec_class_prompt_tokens", "Prompt tokens, by class of their request.", CLASS),
    Counter("draftboard_spec_class_generation_tokens", "Generated tokens, by class of their request.", CLASS),
    Counter("draftboard_spec_class_decode_seconds", "Time after the first token of timed requests, by class.", CLASS),
    Counter("draftboard_spec_class_decode_tokens", "Tokens after the first of timed requests, by class.", CLASS),
)
UNMEASURED = Counter("draftboard_spec_lens_unmeasured", "Requests without class, by reason.", ("model_name", "reason"))

CUT, ABSENT, LARGE, FAILED = "cut", "absent", "large", "failed"
"""The answer did not end; it has no metrics of speculation; it is too large to read; the lens failed on it."""
TEMPERATURES = (0.0, 0.4, 0.8, 1.2)
PROMPTS = (1024, 4096, 16384, 65536)
UNKNOWN, DEFAULT = "unknown", "default"
OTHER, NONE = "_OTHER", "_NONE"
"""Of names: no name begins with an underscore, so that no request can pass as one of them."""
MODEL_NAME = re.compile(r"(?!_)[\w .:/@+-]{1,64}", re.ASCII)
HEADER_VALUE = re.compile(r"[A-Za-z0-9][\w.-]{0,63}", re.ASCII)
SECRET = (b"authorization", b"proxy-authorization", b"cookie", b"x-api-key", b"api-key")
"""Headers whose values must not stand on a page of metrics."""
LARGEST = 1 << 20
"""Bytes of a request, or of an answer that is no stream, that are read."""
TAIL = 1 << 16
"""Bytes at the end of a stream that are read."""
TEMPERATURE, EVENT = b'"temperature"', b"data: {"

log = logging.getLogger("vllm.draftboard_lens")


class Answer(NamedTuple):
    """What vLLM says of one request, checked."""

    name: str
    drafts: int
    draft_tokens: int
    accepted_tokens: int
    prompt_tokens: int
    generation_tokens: int
    decode_seconds: float
    decode_tokens: int

    @property
    def amounts(self) -> tuple[float, ...]:
        """What `OF_CLASSES` grow by."""
        return (1, *self[1:])


def answer_of(said: Any, seconds: float | None) -> Answer | None:
    """Of a JSON answer, or of the last event of a stream that took `seconds`; None if it has no metrics.

    Raises:
        Exception: It has metrics of another form.
    """
    metrics = said.get("metrics") or {}
    spec, usage = metrics.get("speculative_decoding"), said.get("usage")
    if not spec or not usage:
        return None
    drafts, drafted, accepted, prompt, generated = counts = (
        *(spec[key] for key in ("num_spec_steps", "num_draft_tokens", "num_accepted_draft_tokens")),
        *(usage["prompt_tokens"], usage.get("completion_tokens") or 0),
    )
    if any(type(count) is not int or not 0 <= count < 1 << 53 for count in counts) or accepted > drafted:
        raise ValueError("counts of a request contradict each other")
    # vLLM's own clock where --enable-per-request-metrics is on.
    own = metrics.get("generation_time_ms")
    took, after_first = seconds if own is None else float(own) / 1000, generated - 1
    if took is None or not 0 < took < float("inf") or after_first < 1:
        took, after_first = 0.0, 0
    return Answer(str(said["model"]), drafts, drafted, accepted, prompt, generated, took, after_first)


def class_of(number: object, bounds: tuple[float, ...]) -> str:
    """The least bound that is not below a number, in words."""
    if number is None:
        return DEFAULT
    if isinstance(number, bool) or not isinstance(number, (int, float)) or number != number:  # noqa: PLR0124
        return UNKNOWN
    bound = next((bound for bound in bounds if number <= bound), None)
    if bound is None:
        return f"over {bounds[-1]:g}"
    return f"up to {bound:g}" if bound else "0"


def temperature_of(asked: bytes) -> object:
    """Of a request's body; None if it has none.

    Within a string of JSON quotes are escaped, so the last match is a key or a whole string. If what follows it ends
    one object, it is a key of the outermost one: a long prompt before it is not parsed a second time, after vLLM's.
    """
    at = asked.rfind(TEMPERATURE)
    for text in (b"{" + asked[at:], asked) if at >= 0 else (b"{}",):
        # A body that is not JSON is vLLM's to refuse.
        with contextlib.suppress(ValueError, RecursionError):
            body = json.loads(text)
            return body.get("temperature") if isinstance(body, dict) else UNKNOWN
    return UNKNOWN


class Names:
    """Those that are listed; if none is, the first plain ones that come, at most so many. The rest are one."""

    def __init__(self, most: int, plain: re.Pattern[str], listed: Collection[str] = ()) -> None:
        self._most = 0 if listed else most
        self._plain = plain
        self._known = set(listed)

    def known(self, name: str) -> str:
        """The name itself, or OTHER."""
        if name in self._known:
            return name
        if len(self._known) >= self._most or not self._plain.fullmatch(name):
            return OTHER
        self._known.add(name)
        return name


class Request:
    """One request on its way: nothing of it outlives it but counts."""

    def __init__(self, model: str, header: bytes | None) -> None:
        self.model = model
        self.header = header
        self.status = 0
        self._body: bytearray | None = bytearray()
        self.answer = bytearray()
        self._stream = self._ended = self._large = False
        self._temperature: object = UNKNOWN
        self._times: tuple[float, float] | None = None

    def received(self, message: Message) -> None:
        """A part of the request."""
        if message["type"] != "http.request" or self._body is None:
            return
        body = message.get("body", b"")
        if len(self._body) + len(body) > LARGEST:
            self._body = None
            return
        self._body += body
        if not message.get("more_body", False):
            asked, self._body = bytes(self._body), None
            self._temperature = temperature_of(asked)

    def sent(self, message: Message) -> None:
        """A part of the answer, which the client has by now."""
        if message["type"] == "http.response.start":
            self.status = message["status"]
            kinds = [value for name, value in message.get("headers", ()) if name.lower() == b"content-type"]
            self._stream = any(kind.startswith(b"text/event-stream") for kind in kinds)
        elif message["type"] == "http.response.body":
            self._ended = not message.get("more_body", False)
            if body := message.get("body", b""):
                self._keep(body)

    def _keep(self, body: bytes) -> None:
        if self._stream:
            if len(self.answer) + len(body) > 2 * TAIL:
                # Nothing may stand before a gap: it would pass as the last event.
                self._large, body = True, body[-TAIL:]
                del self.answer[: -TAIL if len(body) < TAIL else None]
            self.answer += body
            # Comments that keep a connection open may come before the first token.
            if self._times or EVENT in self.answer:
                now = time.perf_counter()
                self._times = (self._times[0] if self._times else now, now)
        elif self._large or len(self.answer) + len(body) > LARGEST:
            self._large = True
            self.answer.clear()
        else:
            self.answer += body

    def measured(self) -> Answer | str:
        """What vLLM says of it, or why that is not known."""
        if not self._ended:
            return CUT
        # Of a large stream the last event may be there, a large answer is not.
        said = self._last_event() if self._stream else self.answer
        if not said:
            return LARGE if self._large else ABSENT
        seconds = self._times[1] - self._times[0] if self._times else None
        return answer_of(json.loads(said), seconds) or ABSENT

    def _last_event(self) -> bytes:
        lines = reversed(self.answer.split(b"\n"))
        return next((bytes(line[len(EVENT) - 1 :]) for line in lines if line.startswith(EVENT)), b"")

    def classes(self, answer: Answer, names: Names, headers: Names | None) -> Iterator[tuple[str, str]]:
        """Its classes, each by what it is one."""
        temperature = class_of(self._temperature, TEMPERATURES)
        prompt = class_of(answer.prompt_tokens, PROMPTS)
        yield "temperature", temperature
        yield "prompt", prompt
        yield "temperature and prompt", f"{temperature}, {prompt}"
        yield "name", names.known(answer.name)
        if headers:
            value = self.header
            # Not decoded where it is longer than any name.
            yield "header", NONE if value is None else headers.known(value[:65].decode("latin-1"))


class Lens:
    """What vLLM puts around its API: passes all on unchanged, then counts; it never fails a request."""

    def __init__(self, app: App) -> None:
        self.app = app
        self._failed = False
        self._header = header_of(os.environ.get("DRAFTBOARD_LENS_HEADER", ""))
        listed = set(filter(None, map(str.strip, os.environ.get("DRAFTBOARD_LENS_CLASSES", "").split(","))))
        most = os.environ.get("DRAFTBOARD_LENS_VALUES", "")
        limit = int(most) if most.isascii() and most.isdigit() and len(most) <= 3 else 16  # noqa: PLR2004
        self._names = Names(limit, MODEL_NAME)
        self._headers = Names(limit, HEADER_VALUE, listed) if self._header else None
        # labels() takes longer than inc(); what is cached is bounded as the classes are.
        self._of_class = functools.cache(lambda *labels: [metric.labels(*labels) for metric in OF_CLASSES])

    async def __call__(self, scope: Message, receive: Receive, send: Send) -> None:
        """Serve a request by the application."""
        request: Request | None = None
        with self._harmless(scope):
            request = self._request(scope)
        if request is None:
            await self.app(scope, receive, send)
            return

        async def receiving() -> Message:
            message = await receive()
            with self._harmless(scope):
                request.received(message)
            return message

        async def sending(message: Message) -> None:
            await send(message)
            with self._harmless(scope):
                request.sent(message)

        try:
            await self.app(scope, receiving, sending)
        finally:
            with self._harmless(scope):
                self._count(request)

    def _request(self, scope: Message) -> Request | None:
        if scope["type"] != "http" or scope["method"] != "POST" or not scope["path"].endswith("/completions"):
            return None
        values = (value for name, value in scope["headers"] if name.lower() == self._header) if self._header else ()
        return Request(model_of(scope), next(iter(values), None))

    def _count(self, request: Request) -> None:
        if request.status not in (0, 200):
            return
        answer = request.measured()
        if isinstance(answer, str):
            UNMEASURED.labels(request.model, answer).inc()
            return
        for by, name in request.classes(answer, self._names, self._headers):
            for counter, amount in zip(self._of_class(request.model, by, name), answer.amounts, strict=True):
                counter.inc(amount)

    @contextlib.contextmanager
    def _harmless(self, scope: Message) -> Iterator[None]:
        """Keep exceptions from vLLM, which would fail the request."""
        try:
            yield
        except Exception:
            if not self._failed:
                self._failed = True
                log.exception("draftboard lens: counting failed, vLLM goes on; further failures are only counted")
            with contextlib.suppress(Exception):
                UNMEASURED.labels(model_of(scope), FAILED).inc()


def header_of(name: str) -> bytes:
    """The header whose values are classes, as ASGI names it; empty without one."""
    header = name.strip().lower().encode("latin-1", "replace")
    if header in SECRET:
        log.warning("draftboard lens: no classes by the header %s, whose values are secret", name)
        return b""
    return header


def model_of(scope: Message) -> str:
    """The label `model_name` of vLLM's own series; empty if the application does not know it."""
    state = getattr(scope.get("app"), "state", None)
    model = getattr(getattr(state, "vllm_config", None), "model_config", None)
    return str(getattr(model, "served_model_name", ""))
