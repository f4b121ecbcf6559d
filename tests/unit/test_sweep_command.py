"""`draftboard sweep` as a user types it: what it prints, how it ends, and what it never tells."""

import io
import json
import os
import signal
from collections.abc import Iterator
from functools import partial
from http.server import BaseHTTPRequestHandler
from pathlib import Path
from typing import Any

import pytest
from rich.console import Console

from draftboard.output import show
from draftboard.sweep import Plan, document, sweep
from support import command_line
from support.fake_vllm import COMPLETED, FakeVLLM, accepting
from support.loopback import answering, page

run = partial(command_line.run, "sweep")

FALLING = {0.0: accepting(81), 0.4: accepting(71), 0.8: accepting(52), 1.0: accepting(38)}
PASSWORD = "hunter2-hunter2"  # noqa: S105
PROMPT = "the patient's name is Ada"
QUICK = ("--requests", "4")


def interrupting(at: int) -> FakeVLLM:
    """A server during whose request of that number somebody types Ctrl-C; it gets no answer."""

    def instead(server: FakeVLLM, request: BaseHTTPRequestHandler, _body: dict[str, Any]) -> bool:
        if len(server.asked) != at:
            return False
        os.kill(os.getpid(), signal.SIGINT)
        request.rfile.read()
        return True

    return FakeVLLM(FALLING, instead=instead)


@pytest.fixture(autouse=True)
def _no_key(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("VLLM_API_KEY", raising=False)


@pytest.fixture
def ctrl_c() -> Iterator[None]:
    """Ctrl-C as on a terminal: shells start background jobs with SIGINT ignored."""
    before = signal.signal(signal.SIGINT, signal.default_int_handler)
    yield
    signal.signal(signal.SIGINT, before)


def test_every_temperature_has_a_line_and_production_the_first_word(capsys: pytest.CaptureFixture[str]) -> None:
    with answering(FakeVLLM(FALLING, level="detailed")) as place:
        code, out, err = run(place, *QUICK, "--production-temperature", "0.9", capsys=capsys)
    assert (code, err) == (0, "")
    assert "\x1b" not in out
    lines = out.splitlines()
    assert f"m at http://{place}: 8 prompts (built-in prompts), up to 200 tokens each, 4 at a time" in lines[0]
    assert lines[2].startswith("At production's 0.9  unclear (assumed): measure against a baseline (rule of thumb: ")
    assert "0.9 was not swept, 1 is the nearest" in out
    for temperature, share, thumb in (("0", "81.0%", "likely benefit"), ("0.8", "52.0%", "near break-even")):
        assert any(
            line.split()[:1] == [temperature] and share in line and thumb in line and "400" in line for line in lines
        )
    for title in (
        "Measured by the client",
        "Acceptance of single requests",
        "Acceptance of single drafts",
        "verdict by tag",
    ):
        assert title in out


@pytest.mark.parametrize("width", [60, 80, 200])
def test_it_is_readable_on_a_terminal(width: int) -> None:
    with answering(FakeVLLM(FALLING, level="detailed")) as place:
        found = sweep(Plan(server=place, requests=4), sleep=lambda _: None)
    console = Console(width=width, record=True, force_terminal=True, file=io.StringIO())
    show(document(found), console)
    told = console.export_text()
    assert max(map(len, told.splitlines())) <= width
    for row in found.rows:
        assert f"{row.server.speculation.acceptance:.1%}" in told if row.server.speculation else False
    assert "…" not in told
    for last in ("Drafts", "Tokens/s", "CV"):
        assert any(line.rstrip().endswith(last) or line.startswith(f"{last}: ") for line in told.splitlines())


def test_json_holds_it_all(capsys: pytest.CaptureFixture[str]) -> None:
    with answering(FakeVLLM(FALLING, level="summary")) as place:
        code, out, _ = run(place, *QUICK, "--temperatures", "0,1", "--method", "eagle3", "--json", capsys=capsys)
    assert code == 0
    found = json.loads(out)
    assert (found["schema_version"], found["interrupted"], found["production"]) == (1, False, None)
    first, second = found["rows"]
    assert (first["temperature"], second["temperature"]) == (0, 1)
    assert first["server"]["speculation"]["draft_cost"] == 0.05
    assert second["by_request"]["acceptance"]["p50"] == 0.38
    assert first["tokens_per_second"] > 0
    assert first["time_per_token"]["count"] == 4


@pytest.mark.usefixtures("ctrl_c")
def test_ctrl_c_prints_what_is_done_so_far(capsys: pytest.CaptureFixture[str]) -> None:
    with answering(interrupting(at=11)) as place:
        code, out, err = run(place, *QUICK, "--concurrency", "1", "--production-temperature", "1", capsys=capsys)
    assert (code, err) == (130, "")
    assert "Interrupted: these are the results so far." in out
    assert "4 of 4" in out
    assert "0.4 (2 of 4)" in out
    assert "81.0%" in out
    assert "52.0%" not in out
    assert "0.4 is the nearest" in out


@pytest.mark.usefixtures("ctrl_c")
def test_ctrl_c_before_anything_is_done_says_so(capsys: pytest.CaptureFixture[str]) -> None:
    with answering(interrupting(at=1)) as place:
        code, out, err = run(place, "--concurrency", "1", capsys=capsys)
    assert (code, err) == (130, "")
    assert "interrupted before the first response" in out


@pytest.mark.parametrize("form", [(), ("--json",)])
def test_prompts_and_completions_are_neither_printed_nor_stored(
    form: tuple[str, ...], tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    def instead(server: FakeVLLM, request: BaseHTTPRequestHandler, body: dict[str, Any]) -> bool:
        if len(server.asked) > 4:
            page(json.dumps({"error": f"no such thing: {body['prompt']}"}), 400)(request)
            return True
        return False

    prompts = tmp_path / "prompts.jsonl"
    prompts.write_text(json.dumps({"prompt": PROMPT, "tag": "ward"}) + "\n")
    monkeypatch.chdir(tmp_path)
    with answering(FakeVLLM(FALLING, level="detailed", instead=instead)) as place:
        code, out, err = run(place, *QUICK, "--temperatures", "0", "--prompts", prompts, *form, capsys=capsys)
    assert code == 0
    assert "HTTP 400" in out
    assert "ward" in out
    for hidden in (PROMPT, COMPLETED):
        assert hidden not in out + err
    assert [path.name for path in tmp_path.iterdir()] == ["prompts.jsonl"]


def test_the_key_is_sent_from_file_or_environment_and_never_printed(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    token = tmp_path / "token"
    token.write_text(PASSWORD + "\n")
    for given in (("--token-file", str(token)), ()):
        server = FakeVLLM(FALLING)
        with answering(server) as place:
            address = f"http://{place}/v1?key={PASSWORD}"
            code, out, err = run(address, *QUICK, "--temperatures", "0", *given, capsys=capsys)
        assert code == 0
        assert server.keys == {f"Bearer {PASSWORD}"}
        assert PASSWORD not in out + err
        monkeypatch.setenv("VLLM_API_KEY", PASSWORD)
    monkeypatch.setenv("VLLM_API_KEY", f"{PASSWORD}\nX: 1")
    code, out, err = run("127.0.0.1:1", capsys=capsys)
    assert (code, out) == (2, "")
    assert err == "draftboard: VLLM_API_KEY: not a token: must be one line of printable characters without blanks\n"


def test_a_closed_server_asks_for_a_key_without_telling_the_one_it_got(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    def closed(_server: FakeVLLM, request: BaseHTTPRequestHandler, _body: dict[str, Any]) -> bool:
        page(f"wrong key {PASSWORD}", 401)(request)
        return True

    (tmp_path / "token").write_text(PASSWORD)
    with answering(FakeVLLM(FALLING, instead=closed)) as place:
        address = f"http://user:{PASSWORD}@{place}"
        code, out, err = run(address, "--token-file", tmp_path / "token", capsys=capsys)
    assert (code, out, err.count("\n")) == (2, "", 1)
    assert f"http://***@{place}: no completion for any of 2 requests to m" in err
    assert "use --token-file" in err
    assert PASSWORD not in err


def test_a_server_that_breaks_half_way_leaves_what_is_done_and_ends_with_2(capsys: pytest.CaptureFixture[str]) -> None:
    def instead(server: FakeVLLM, _request: BaseHTTPRequestHandler, _body: dict[str, Any]) -> bool:
        if len(server.asked) == 7:
            server.page = lambda: "gone"  # type: ignore[method-assign]
        return False

    with answering(FakeVLLM(FALLING, instead=instead)) as place:
        code, out, err = run(place, *QUICK, capsys=capsys)
    assert code == 2
    assert "81.0%" in out
    assert err.startswith(f"draftboard: http://{place}/metrics: not a page of metrics")
    assert err.count("\n") == 1


@pytest.mark.parametrize(
    ("arguments", "reason"),
    [
        ((), "Missing argument"),
        (("h:1", "--temperatures", "0,warm"), "'warm' is not a number"),
        (("h:1", "--temperatures", "nan"), "must be a number"),
        (("h:1", "--temperatures", "0,0.0"), "each temperature once"),
        (("h:1", "--temperatures", "3"), "3.0 is not in the range 0<=x<=2"),
        (("h:1", "--production-temperature", "-1"), "-1.0 is not in the range 0<=x<=2"),
        (("h:1", "--requests", "0"), "--requests"),
        (("h:1", "--concurrency", "1000"), "--concurrency"),
        (("h:1", "--timeout", "2d"), "at most 1d"),
        (("h:1", "--prompts", "absent"), "absent: cannot read the prompts"),
        (("ftp://h",), "the address 'ftp://h' is not valid"),
    ],
)
def test_a_command_that_makes_no_sense_ends_with_2(
    arguments: tuple[str, ...], reason: str, capsys: pytest.CaptureFixture[str]
) -> None:
    code, out, err = run(*arguments, capsys=capsys)
    assert (code, out) == (2, "")
    assert reason in " ".join(err.split())
