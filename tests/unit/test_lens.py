"""The lens: it counts each class of requests as vLLM measures them, keeps bounded memory, and never harms a request."""

import asyncio
import json
import re
from collections.abc import Iterator
from contextlib import suppress
from types import ModuleType, SimpleNamespace
from typing import Any
from unittest import mock

import pytest
from hypothesis import given
from hypothesis import strategies as st
from prometheus_client import REGISTRY

from support.probed import FOLDER, MODEL, imported, lens_imported, metrics

SERVER = SimpleNamespace(
    state=SimpleNamespace(vllm_config=SimpleNamespace(model_config=SimpleNamespace(served_model_name=MODEL)))
)
JSON_START = {"type": "http.response.start", "status": 200, "headers": [(b"content-type", b"application/json")]}
STREAM_START = {**JSON_START, "headers": [(b"Content-Type", b"text/event-stream; charset=utf-8")]}
DONE = b"data: [DONE]\n\n"


@pytest.fixture
def module(monkeypatch: pytest.MonkeyPatch) -> Iterator[ModuleType]:
    monkeypatch.delenv("PROMETHEUS_MULTIPROC_DIR", raising=False)
    for name in ("HEADER", "CLASSES", "VALUES"):
        monkeypatch.delenv(f"DRAFTBOARD_LENS_{name}", raising=False)
    with lens_imported() as found:
        yield found


def said(accepted: int = 30, drafts: int = 20, drafted: int = 80, *, prompt: int = 100, **more: Any) -> dict[str, Any]:
    """What vLLM answers, or says in the last event of a stream."""
    spec = {"num_spec_steps": drafts, "num_draft_tokens": drafted, "num_accepted_draft_tokens": accepted}
    usage = {"prompt_tokens": prompt, "completion_tokens": drafts + accepted}
    return {"model": "served", "usage": usage, "metrics": {"speculative_decoding": spec}, **more}


def body(content: bytes, *, more: bool = False) -> dict[str, Any]:
    return {"type": "http.response.body", "body": content, "more_body": more}


def plain(answer: Any) -> list[dict[str, Any]]:
    return [JSON_START, body(json.dumps(answer).encode())]


def events(*contents: bytes) -> list[dict[str, Any]]:
    """A stream of these parts, and its empty end."""
    return [STREAM_START, *(body(content, more=True) for content in contents), body(b"")]


def event(answer: Any) -> bytes:
    return f"data: {json.dumps(answer)}\n\n".encode()


def serve(lens: Any, answer: list[dict[str, Any]], asked: bytes = b'{"temperature": 0}', **more: Any) -> list[Any]:
    """What a client is sent."""
    return asyncio.run(served(lens, answer, asked, **more))


async def served(
    lens: Any,
    answer: list[dict[str, Any]],
    asked: bytes = b"{}",
    *,
    headers: Any = (),
    path: str = "/v1/completions",
    error: BaseException | None = None,
) -> list[Any]:
    """The application reads the whole request first, and may fail at the end."""
    sent: list[Any] = []
    parts = iter([(asked[:7], True), (asked[7:], False)])

    async def app(_scope: Any, receive: Any, send: Any) -> None:
        while (await receive())["more_body"]:
            pass
        for message in answer:
            await send(message)
        if error:
            raise error

    async def receive() -> dict[str, Any]:
        part, more = next(parts)
        return {"type": "http.request", "body": part, "more_body": more}

    async def send(message: dict[str, Any]) -> None:
        sent.append(message)

    lens.app = app
    await lens({"type": "http", "method": "POST", "path": path, "headers": headers, "app": SERVER}, receive, send)
    return sent


def classes(name: str, by: str = "temperature and prompt") -> dict[str, float]:
    return {
        sample.labels["class"]: sample.value
        for metric in REGISTRY.collect()
        for sample in metric.samples
        if sample.name == f"draftboard_spec_class_{name}_total"
        and sample.labels["dimension"] == by
        and sample.labels["model_name"] == MODEL
    }


def value(name: str, **labels: str) -> float:
    return REGISTRY.get_sample_value(f"draftboard_spec_lens_{name}_total", {"model_name": MODEL, **labels}) or 0.0


def failures() -> float:
    return value("unmeasured", reason="failed")


@pytest.fixture
def lens(module: ModuleType) -> Any:
    return module.Lens(None)


@pytest.mark.parametrize("streamed", [False, True])
def test_an_answer_counts_in_its_classes_as_vllm_measured_it(lens: Any, streamed: bool) -> None:
    parts = events(event({"choices": [{"text": "a"}]}), event(said()), DONE) if streamed else plain(said())
    assert serve(lens, parts) == parts
    for name, expected in {
        "requests": 1,
        "drafts": 20,
        "draft_tokens": 80,
        "accepted_tokens": 30,
        "prompt_tokens": 100,
        "generation_tokens": 50,
    }.items():
        for by, of in {
            "temperature": "0",
            "prompt": "up to 1024",
            "temperature and prompt": "0, up to 1024",
            "name": "served",
        }.items():
            assert classes(name, by) == {of: expected}, (name, by)
    assert classes("requests", "header") == {}
    assert failures() == 0


@pytest.mark.parametrize(
    ("asked", "expected"),
    [
        (b'{"temperature": 0}', "0"),
        (b'{"temperature": 0.4}', "up to 0.4"),
        (b'{"temperature": 0.41}', "up to 0.8"),
        (b'{"temperature": 1.2}', "up to 1.2"),
        (b'{"temperature": 2}', "over 1.2"),
        (b'{"temperature": null}', "default"),
        (b"{}", "default"),
        (b'{"tools": {"temperature": 0}}', "default"),
        (b'{"temperature": NaN}', "unknown"),
        (b'{"temperature": true}', "unknown"),
        (b'{"temperature": "hot"}', "unknown"),
        (b'{"temperature"', "unknown"),
        (b'{"temperature": 1, "tools": [{"temperature": 0}]}', "up to 1.2"),
        (b'{"tools": [{"temperature": 0}], "temperature": 1}', "up to 1.2"),
        (b'{"temperature": 1, "temperature": 0}', "0"),
        (b'{"temperature": 1, "stop": "temperature"}', "up to 1.2"),
        (b'{"temperature": 1, "prompt": "\\"temperature\\": 0}"}', "up to 1.2"),
        (b'{"prompt": "{\\"temperature\\": 0}"}', "default"),
        (b'["temperature"]', "unknown"),
        (b"\xff\xfe{", "default"),
        (b"[" * 200_000 + b'"temperature"', "unknown"),
        (b'{"temperature": 0, "prompt": "' + b"a" * (1 << 20) + b'"}', "unknown"),
    ],
)
def test_a_temperature_has_a_class(lens: Any, asked: bytes, expected: str) -> None:
    serve(lens, plain(said()), asked)
    assert classes("requests", "temperature") == {expected: 1}
    assert failures() == 0


@pytest.mark.parametrize(
    ("tokens", "expected"),
    [(0, "up to 1024"), (1024, "up to 1024"), (1025, "up to 4096"), (65536, "up to 65536"), (65537, "over 65536")],
)
def test_a_prompt_has_a_class(lens: Any, tokens: int, expected: str) -> None:
    serve(lens, plain(said(prompt=tokens)))
    assert classes("requests", "prompt") == {expected: 1}


def test_ten_thousand_tenants_are_the_first_sixteen_and_others(
    module: ModuleType, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("DRAFTBOARD_LENS_HEADER", "X-Tenant")
    lens = module.Lens(None)

    async def all_of_them() -> None:
        for number in range(10_000):
            await served(lens, plain(said()), headers=[(b"x-tenant", f"tenant-{number}".encode())])

    asyncio.run(all_of_them())
    tenants = classes("requests", "header")
    assert tenants == {**{f"tenant-{number}": 1 for number in range(16)}, "_OTHER": 9_984}


def test_listed_tenants_are_classes_whoever_comes_before_them(
    module: ModuleType, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("DRAFTBOARD_LENS_HEADER", "X-Tenant")
    monkeypatch.setenv("DRAFTBOARD_LENS_CLASSES", "search, ops@example.org,none,")
    lens = module.Lens(None)
    for value in (*(f"junk-{number}" for number in range(30)), "search", "ops@example.org", "none", "Search", ""):
        serve(lens, plain(said()), headers=[(b"x-tenant", value.encode())])
    assert classes("requests", "header") == {"search": 1, "ops@example.org": 1, "none": 1, "_OTHER": 32}
    serve(lens, plain(said()))
    assert classes("requests", "header")["_NONE"] == 1


@pytest.mark.parametrize("header", ["Authorization", "proxy-authorization", "COOKIE", "x-api-key", "api-key"])
def test_a_header_that_holds_a_secret_makes_no_classes(
    module: ModuleType, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture, header: str
) -> None:
    monkeypatch.setenv("DRAFTBOARD_LENS_HEADER", header)
    serve(module.Lens(None), plain(said()), headers=[(header.lower().encode(), b"sk-123")])
    assert classes("requests", "header") == {}
    assert [record.levelname for record in caplog.records] == ["WARNING"]
    assert "sk-123" not in caplog.text


@pytest.mark.parametrize(
    ("headers", "expected"),
    [
        ([], "_NONE"),
        ([(b"x-tenant", b"a")], "a"),
        ([(b"x-tenant", b"none")], "none"),
        ([(b"x-tenant", b"other")], "other"),
        ([(b"x-tenant", b"team-1.eu_2")], "team-1.eu_2"),
        ([(b"X-TENANT", b"a"), (b"x-tenant", b"b")], "a"),
        *(
            ([(b"x-tenant", value)], "_OTHER")
            for value in (
                *(b"", b" ", b".", b"_OTHER", b"_NONE", b"team a", b"https://evil.example/login", b"@everyone"),
                *(
                    b"ops@example.org",
                    b"{{ drop }}",
                    b"<b>",
                    b"\xff\n",
                    b"\x1b[2J",
                    b"a\n",
                    b"a" * 65,
                    b"x" * 10_000_000,
                ),
                "\N{SNOWMAN}".encode(),
            )
        ),
    ],
)
def test_a_header_is_a_class_only_if_it_is_a_short_name(
    module: ModuleType, monkeypatch: pytest.MonkeyPatch, headers: Any, expected: str
) -> None:
    monkeypatch.setenv("DRAFTBOARD_LENS_HEADER", "X-Tenant")
    serve(module.Lens(None), plain(said()), headers=headers)
    assert classes("requests", "header") == {expected: 1}


@pytest.mark.parametrize(
    ("name", "expected"),
    [
        ("/models/org-8B", "/models/org-8B"),
        ("a b@c:1", "a b@c:1"),
        ("_OTHER", "_OTHER"),
        ("a\nb", "_OTHER"),
        ("", "_OTHER"),
    ],
)
def test_a_served_name_is_a_class(lens: Any, name: str, expected: str) -> None:
    serve(lens, plain(said(model=name)))
    assert classes("requests", "name") == {expected: 1}


@pytest.mark.parametrize("limit", ["", "many", "-1", "9999", "\N{SUPERSCRIPT TWO}"])
def test_a_limit_that_is_none_does_not_keep_vllm_from_starting(
    module: ModuleType, monkeypatch: pytest.MonkeyPatch, limit: str
) -> None:
    monkeypatch.setenv("DRAFTBOARD_LENS_VALUES", limit)
    lens = module.Lens(None)
    for number in range(20):
        serve(lens, plain(said(model=f"adapter-{number}")))
    assert len(classes("requests", "name")) == 17


@pytest.mark.parametrize(
    ("answer", "reason"),
    [
        (plain(said(metrics=None)), "absent"),
        (plain(said(metrics={"speculative_decoding": None})), "absent"),
        (plain({"choices": []}), "absent"),
        (events(event({"choices": []}), DONE), "absent"),
        (events(DONE), "absent"),
        (events(), "absent"),
        ([STREAM_START, body(event(said()), more=True)], "cut"),
        ([JSON_START], "cut"),
        ([], "cut"),
        ([JSON_START, body(b" " * 600_000, more=True), body(b" " * 600_000)], "large"),
        (events(event({"choices": []}), event(said(more="x" * 200_000)) + DONE), "large"),
        (events(event({"choices": []}), *[b": ping\n\n"] * 20_000, DONE), "large"),
    ],
)
def test_a_request_without_metrics_is_counted_by_the_reason(lens: Any, answer: Any, reason: str) -> None:
    serve(lens, answer)
    assert value("unmeasured", reason=reason) == 1
    assert classes("requests") == {}
    assert failures() == 0


@pytest.mark.parametrize("error", [ConnectionResetError(), asyncio.CancelledError(), RuntimeError("of vLLM")])
def test_a_killed_client_and_an_error_of_vllm_stay_what_they_are(lens: Any, error: BaseException) -> None:
    with pytest.raises(type(error)):
        serve(lens, [STREAM_START, body(event(said()), more=True)], error=error)
    assert value("unmeasured", reason="cut") == 1
    assert classes("requests") == {}


def test_a_refused_request_is_not_counted(lens: Any) -> None:
    serve(lens, [{**JSON_START, "status": 400}, body(b'{"error": 1}')])
    serve(lens, [{**JSON_START, "status": 401}, body(b"")])
    assert value("unmeasured", reason="absent") == failures() == 0


@pytest.mark.parametrize("path", ["/metrics", "/v1/embeddings", "/health"])
def test_other_endpoints_pass_untouched(lens: Any, path: str) -> None:
    parts = plain(said())
    assert serve(lens, parts, path=path) == parts
    assert classes("requests") == {}


@pytest.mark.parametrize(
    "broken",
    [
        b"{",
        b"[]",
        b"[" * 200_000,
        b'{"usage": 1, "metrics": {"speculative_decoding": 1}}',
        json.dumps(said(accepted=81)).encode(),
        json.dumps(said(accepted=-1)).encode(),
        json.dumps(said(drafts=1.5)).encode(),  # type: ignore[arg-type]
        json.dumps(said(prompt=10**400)).encode(),
        json.dumps({**said(), "usage": {"x": 1}}).encode(),
    ],
)
def test_an_answer_that_it_cannot_read_reaches_the_user_and_is_an_error(
    lens: Any, caplog: pytest.LogCaptureFixture, broken: bytes
) -> None:
    for number in (1, 2):
        parts = [JSON_START, body(broken)]
        assert serve(lens, parts) == parts
        assert failures() == number
    assert classes("requests") == {}
    assert [record.name for record in caplog.records] == ["vllm.draftboard_lens"]


@pytest.mark.parametrize("part", ["_request", "_count"])
def test_a_fault_of_the_lens_never_reaches_a_request(lens: Any, part: str) -> None:
    with mock.patch.object(lens, part, side_effect=RuntimeError("of ours")):
        assert serve(lens, plain(said())) == plain(said())
    assert failures() == 1


@pytest.mark.parametrize("part", ["received", "sent"])
def test_a_fault_amid_a_message_never_reaches_a_request(module: ModuleType, lens: Any, part: str) -> None:
    parts = events(event(said()), DONE)
    with mock.patch.object(module.Request, part, side_effect=RuntimeError("of ours")):
        assert serve(lens, parts) == parts
    assert failures() > 0


def test_an_error_that_cannot_even_be_counted_does_no_harm(module: ModuleType, lens: Any) -> None:
    full = OSError(28, "No space left on device")
    with mock.patch.object(module.UNMEASURED, "labels", side_effect=full):
        assert serve(lens, [JSON_START, body(b"{")]) == [JSON_START, body(b"{")]


@given(data=st.data())
def test_a_stream_cut_anywhere_counts_the_same_or_not_at_all(data: st.DataObject) -> None:
    """In parts of any size it counts as vLLM measured it; ended early it counts nothing and fails nobody."""
    whole = event({"choices": [{"text": 'data: {"metrics": 1}'}]}) + event(said()) + DONE
    cuts = sorted(data.draw(st.sets(st.integers(1, len(whole) - 1), max_size=12)))
    parts = [whole[begin:end] for begin, end in zip([0, *cuts], [*cuts, len(whole)], strict=True)]
    kept = data.draw(st.integers(0, len(parts)))
    early = data.draw(st.booleans())
    with lens_imported() as module:
        answer = events(*parts[:kept])[: -1 if early else None]
        assert serve(module.Lens(None), answer) == answer
        complete = not early and len(b"".join(parts[:kept])) >= len(whole) - len(DONE)
        counted = classes("draft_tokens")
        assert counted in ({"0, up to 1024": 80}, {}) if not early else counted == {}
        assert counted or not complete


@given(parts=st.lists(st.binary(max_size=60), max_size=8), streamed=st.booleans())
def test_no_bytes_of_an_answer_harm_it(parts: list[bytes], streamed: bool) -> None:
    answer = [STREAM_START if streamed else JSON_START, *(body(part, more=True) for part in parts), body(b"")]
    with lens_imported() as module:
        assert serve(module.Lens(None), answer) == answer
        assert classes("requests") == {}


@pytest.mark.parametrize("asked", [b'"temperature": 1}', b'"max_tokens": 9}'])
def test_of_a_long_request_only_what_follows_the_temperature_is_parsed(module: ModuleType, asked: bytes) -> None:
    request = module.Request(MODEL, None)
    with mock.patch.object(module.json, "loads", wraps=json.loads) as loads:
        request.received({"type": "http.request", "body": b'{"prompt": "' + b"a" * 1_000_000 + b'", ' + asked})
    assert sum(len(call.args[0]) for call in loads.call_args_list) < 100


def test_a_long_stream_keeps_only_its_end(module: ModuleType) -> None:
    request = module.Request(MODEL, None)
    request.sent(STREAM_START)
    for _ in range(3000):
        request.sent(body(event({"choices": [{"text": "x" * 400}]}), more=True))
        assert len(request.answer) <= 2 * module.TAIL
    request.sent(body(b"x" * 10_000_000, more=True))
    assert len(request.answer) <= 3 * module.TAIL
    request.sent(body(b"\n\n" + event(said()) + DONE))
    assert request.measured().draft_tokens == 80


@pytest.mark.parametrize("before", [0, 40_000, 90_000])
def test_a_last_event_of_60_kb_is_read_whatever_comes_before_it(lens: Any, before: int) -> None:
    text = event({"choices": [{"text": "x" * before}]})
    serve(lens, events(text, event(said(choices="x" * 60_000)), DONE))
    assert classes("draft_tokens") == {"0, up to 1024": 80}


def test_a_stream_is_timed_from_its_first_part_to_its_last(lens: Any, module: ModuleType) -> None:
    with mock.patch.object(module.time, "perf_counter", side_effect=[10.0, 10.5, 12.0]):
        serve(lens, events(b'data: {"choices": []}\n\n', event(said()), DONE))
    assert classes("decode_seconds") == {"0, up to 1024": 2.0}
    assert classes("decode_tokens") == {"0, up to 1024": 49}


@pytest.mark.parametrize("first", [[b'data: {"choices": []}\n\n'], [b"dat", b'a: {"choices": []}\n\n']])
def test_what_keeps_a_connection_open_before_the_first_token_starts_no_clock(
    lens: Any, module: ModuleType, first: list[bytes]
) -> None:
    pings = [b": ping\n\n", b"\n", b": data\n\n"]
    with mock.patch.object(module.time, "perf_counter", side_effect=[10.0, 10.5, 12.0]):
        serve(lens, events(*pings, *first, event(said()), DONE))
    assert classes("decode_seconds") == {"0, up to 1024": 2.0}


@pytest.mark.parametrize(
    ("own", "seconds", "tokens"), [(980.0, 0.98, 49), (None, 0.0, 0), (0.0, 0.0, 0), (1e999, 0.0, 0)]
)
def test_a_plain_answer_is_timed_only_by_vllms_own_clock(lens: Any, own: Any, seconds: float, tokens: int) -> None:
    answer = said()
    answer["metrics"]["generation_time_ms"] = own
    serve(lens, plain(answer))
    assert classes("decode_seconds") == {"0, up to 1024": seconds}
    assert classes("decode_tokens") == {"0, up to 1024": tokens}


def test_an_application_that_names_no_model_still_counts(lens: Any) -> None:
    with mock.patch.object(SERVER, "state", None):
        serve(lens, plain(said()))
    assert REGISTRY.get_sample_value(
        "draftboard_spec_class_requests_total", {"model_name": "", "dimension": "temperature", "class": "0"}
    )


def test_vllm_finds_it_beside_the_probe_which_alone_loads_nothing_of_it() -> None:
    with imported() as probe, lens_imported() as module, mock.patch.dict("sys.modules", draftboard_lens=module):
        assert "Lens" not in vars(probe)
        assert probe.Lens is module.Lens
        with pytest.raises(AttributeError):
            probe.Other  # noqa: B018


def test_the_readme_lists_its_series(module: ModuleType) -> None:
    made = {f"{one.name}_total" for metric in metrics(module) for one in metric.collect()}
    listed = set(re.findall(r"`(draftboard_spec_(?:class|lens)_\w+)", (FOLDER / "README.md").read_text()))
    assert listed == made
    assert len(made) == 9


def test_other_scopes_pass(lens: Any) -> None:
    seen = []

    async def app(scope: Any, *_: Any) -> None:
        seen.append(scope)

    lens.app = app
    with suppress(StopIteration):
        for scope in ({"type": "lifespan"}, {"type": "websocket", "path": "/v1/realtime"}):
            asyncio.run(lens(scope, None, None))
    assert len(seen) == 2
    assert failures() == 0
