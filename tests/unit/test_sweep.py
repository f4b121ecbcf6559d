"""A sweep of temperatures: each is judged by what it alone did, and whatever disturbs it is said."""

import io
import json
from http.server import BaseHTTPRequestHandler
from pathlib import Path
from typing import Any

import pytest
from rich.console import Console

from draftboard.errors import DraftboardError
from draftboard.output import as_markdown, show
from draftboard.settings import Settings
from draftboard.settings.thresholds import Thresholds
from draftboard.sweep import Plan, Prompt, Prompts, Sweep, document, sweep
from support.fake_vllm import FakeVLLM, accepting, drafts_of
from support.loopback import answering, page

FALLING = {0.0: accepting(81), 0.4: accepting(71), 0.8: accepting(52), 1.0: accepting(38)}
TWO = Prompts((Prompt("one", "easy"), Prompt("two", "hard")), "two prompts")
DATA = Path(__file__).parent.parent / "data"


def swept(server: FakeVLLM, **planned: Any) -> Sweep:
    """A sweep of a made-up server, of four requests at each temperature unless planned otherwise."""
    with answering(server) as place:
        options: dict[str, Any] = {"server": place, "requests": 4, "prompts": TWO} | planned
        return sweep(Plan(**options), sleep=lambda _: None)


def failing(*statuses: int) -> FakeVLLM:
    """A server that answers the third and further completions with these, then well again."""
    left = list(statuses)

    def instead(server: FakeVLLM, request: BaseHTTPRequestHandler, _body: dict[str, Any]) -> bool:
        if len(server.asked) > 2 and left:
            page('{"error": "prompt: one"}', left.pop(0))(request)
            return True
        return False

    return FakeVLLM(FALLING, instead=instead)


def test_four_temperatures_with_twenty_requests_of_two_hundred_tokens_are_the_default() -> None:
    server = FakeVLLM(FALLING)
    with answering(server) as place:
        found = sweep(Plan(server=place), sleep=lambda _: None)
    assert [(row.temperature, row.requests, row.answered) for row in found.rows] == [
        (temperature, 20, 20) for temperature in (0, 0.4, 0.8, 1)
    ]
    assert {body["max_tokens"] for body in server.asked} == {200}
    assert {body["model"] for body in server.asked} == {"m"}
    assert len(server.asked) == 4 * 22
    assert len({body["prompt"] for body in server.asked}) == 8
    assert "built-in prompts" in found.notes[0]


def test_no_temperature_is_tainted_by_the_ones_before_it() -> None:
    found = swept(FakeVLLM(FALLING))
    shares = [row.server.speculation.acceptance for row in found.rows if row.server.speculation]
    assert shares == pytest.approx([0.81, 0.71, 0.52, 0.38])
    drafts = [row.server.sample.drafts for row in found.rows if row.server.sample]
    assert drafts == [400] * 4
    upward = swept(FakeVLLM(FALLING), temperatures=(1.0, 0.0))
    assert [row.server.sample for row in upward.rows] == [found.rows[3].server.sample, found.rows[0].server.sample]


def test_numbers_of_a_temperature_have_intervals() -> None:
    server = FakeVLLM(by_prompt=lambda prompt: accepting({"one": 60, "two": 40}[prompt]))
    (row,) = swept(server, temperatures=(0.0,), requests=40, concurrency=1).rows
    assert len(row.server.parts) == 20
    assert sum(part.drafts for part in row.server.parts) == 4000
    share = swept(server, temperatures=(0.0,), requests=8, concurrency=1).rows[0].intervals.acceptance
    assert share
    assert share.value == pytest.approx(0.5)
    assert share.low < 0.5 < share.high
    assert row.intervals.time_per_token
    assert row.time_per_token
    assert row.intervals.time_per_token.value == pytest.approx(row.time_per_token.mean)
    assert "50.0% (" in as_markdown(document(swept(server, temperatures=(0.0,), requests=8, concurrency=1)))


def test_a_page_in_between_may_be_missed() -> None:
    server = FakeVLLM(FALLING)

    def answer(request: BaseHTTPRequestHandler) -> None:
        if request.path == "/metrics" and len(server.asked) == 6:
            page("", 503)(request)
        else:
            server(request)

    with answering(answer) as place:
        (row,) = sweep(
            Plan(server=place, requests=10, temperatures=(0.0,), concurrency=1, prompts=TWO), sleep=lambda _: None
        ).rows
    assert [part.drafts for part in row.server.parts] == [*[100] * 3, 200, *[100] * 5]


def test_of_few_answers_there_is_no_interval_and_it_is_said() -> None:
    found = swept(FakeVLLM(FALLING))
    assert {row.intervals.acceptance for row in found.rows} == {None}
    assert "no 95 % intervals: they require 8 answers at a temperature" in found.notes


def test_the_rule_of_thumb_stands_beside_the_verdict_and_may_contradict_it() -> None:
    costs = Settings.model_validate({"draft_cost": {"default": 0.1}})
    with answering(FakeVLLM(FALLING)) as place:
        rows = sweep(Plan(server=place, requests=4, prompts=TWO), costs, sleep=lambda _: None).rows
    assert [row.rule_of_thumb for row in rows] == ["likely benefit", "likely benefit", "near break-even", "disable"]
    assert {row.server.verdict.says for row in rows} == {"pays (assumed)"}


def test_the_rule_of_thumb_follows_the_settings() -> None:
    settings = Settings(thresholds=Thresholds.model_validate({"acceptance": {"fair": 0.3, "healthy": 0.5}}))
    with answering(FakeVLLM(FALLING)) as place:
        rows = sweep(Plan(server=place, requests=4, prompts=TWO), settings, sleep=lambda _: None).rows
    assert [row.rule_of_thumb for row in rows] == [*["likely benefit"] * 3, "near break-even"]


def test_too_few_drafts_are_not_judged() -> None:
    (row,) = swept(FakeVLLM({0.0: accepting(80, drafts=10)}), temperatures=(0.0,)).rows
    assert (row.server.verdict.says, row.rule_of_thumb) == (None, None)
    assert row.server.verdict.reasons == ("Not enough drafts (40 of 200)",)


def test_engines_are_summed_and_warm_up_is_left_out() -> None:
    server = FakeVLLM(FALLING, engines=2)
    (row,) = swept(server, temperatures=(0.4,), warm_up=3).rows
    assert len(row.server.engines) == 2
    assert row.server.sample
    assert row.server.sample.drafts == 400
    assert len(server.asked) == 7
    assert row.foreign
    assert (row.foreign.generated, row.foreign.unexplained_tokens, row.foreign.found) == (4 * 384, 0, False)


def test_requests_that_fail_are_counted_by_their_status() -> None:
    (row,) = swept(failing(500, 500, 503), temperatures=(0.0,), requests=8).rows
    assert row.failures == {"HTTP 500": 2, "HTTP 503": 1}
    assert (row.answered, row.requests) == (5, 8)
    assert row.notes[:2] == ("2 of 8 requests failed: HTTP 500", "1 of 8 requests failed: HTTP 503")
    assert "one" not in "".join(row.notes).split()


def test_one_prompt_alone_is_named_as_no_workload() -> None:
    found = swept(FakeVLLM(FALLING), prompts=Prompts((Prompt("one"),), "a file"), temperatures=(0.0,))
    assert found.notes[0].startswith("a single prompt does not represent")
    assert found.rows[0].by_tag == ()


@pytest.mark.parametrize("level", ["none", "summary"])
def test_foreign_traffic_is_flagged(level: str) -> None:
    def instead(server: FakeVLLM, _request: BaseHTTPRequestHandler, _body: dict[str, Any]) -> bool:
        if len(server.asked) == 4:
            server.count(accepting(10))
        return False

    (row,) = swept(FakeVLLM(FALLING, instead=instead, level=level), temperatures=(0.0,)).rows
    assert row.foreign
    assert row.foreign.found
    assert (row.foreign.unexplained_requests, row.foreign.unexplained_tokens) == (1, 140)
    assert row.foreign.unexplained_drafts == (100 if level == "summary" else None)
    assert "foreign traffic: 1 requests, 140 tokens" in row.notes[0]
    assert "tolerance: 1% of tokens" in row.notes[0]


def test_foreign_requests_that_run_on_are_flagged_though_they_have_not_ended() -> None:
    server = FakeVLLM(FALLING, running=2)
    (row,) = swept(server, temperatures=(0.0,)).rows
    assert row.foreign
    assert (row.foreign.found, row.foreign.running, row.foreign.unexplained_tokens) == (True, 4, 0)


def test_tokens_of_requests_without_an_answer_are_not_called_foreign() -> None:
    def instead(server: FakeVLLM, request: BaseHTTPRequestHandler, body: dict[str, Any]) -> bool:
        if len(server.asked) != 4:
            return False
        server.complete(body)
        page("", 500)(request)
        return True

    (row,) = swept(FakeVLLM(FALLING, instead=instead), temperatures=(0.0,), max_tokens=500).rows
    assert row.failures == {"HTTP 500": 1}
    assert row.foreign
    assert not row.foreign.found


def test_a_server_that_counts_less_than_it_returns_is_taken_for_a_load_balancer() -> None:
    def instead(server: FakeVLLM, _request: BaseHTTPRequestHandler, _body: dict[str, Any]) -> bool:
        server.counts = len(server.asked) % 2 == 0
        return False

    (row,) = swept(FakeVLLM(FALLING, instead=instead), temperatures=(0.0,), concurrency=1).rows
    assert "848 tokens fewer than it returned" in row.notes[0]


def test_a_restart_in_between_is_named_and_nothing_is_called_foreign() -> None:
    def instead(server: FakeVLLM, _request: BaseHTTPRequestHandler, _body: dict[str, Any]) -> bool:
        if len(server.asked) == 6:
            server.drafts, server.requests = [[0] * 5], [0]
        return False

    (row,) = swept(FakeVLLM(FALLING, instead=instead), temperatures=(0.0,), concurrency=1).rows
    assert row.foreign is None
    assert any("restarted in between" in note for note in row.server.notes)


@pytest.mark.parametrize(
    ("swept_at", "production", "nearest", "warnings"),
    [
        ((0.0, 0.8), 0.8, 0.8, []),
        ((0.0, 0.4, 0.8), 0.6, 0.8, ["0.6 was not swept"]),
        ((0.0, 0.4), 0.8, 0.4, ["0.8 was not swept", "this is optimistic"]),
        ((0.0,), 0.7, 0.0, ["0.7 was not swept", "says nothing about 0.7", "this is optimistic"]),
        ((0.4, 0.8), 0.0, 0.4, ["0 was not swept"]),
    ],
)
def test_the_verdict_is_for_the_temperature_of_production(
    swept_at: tuple[float, ...], production: float, nearest: float, warnings: list[str]
) -> None:
    found = swept(FakeVLLM(FALLING), temperatures=swept_at, production_temperature=production)
    assert found.production
    assert found.production.measured_at == nearest
    row = next(row for row in found.rows if row.temperature == nearest)
    assert (found.production.verdict, found.production.rule_of_thumb) == (row.server.verdict, row.rule_of_thumb)
    assert len(found.production.warnings) == len(warnings)
    assert all(part in line for part, line in zip(warnings, found.production.warnings, strict=True))


def test_counters_that_contradict_each_other_are_no_verdict_for_production() -> None:
    class Contradictory(FakeVLLM):
        def page(self) -> str:
            # A position that a deeper one needs.
            return super().page().replace('position="3"', 'position="7"')

    found = swept(Contradictory(FALLING), temperatures=(0.8,), production_temperature=0.8)
    assert found.production
    assert (found.production.verdict.says, found.production.rule_of_thumb) == (None, None)
    assert found.production.verdict.withheld == "counters contradict each other"
    console = Console(file=io.StringIO(), width=200)
    show(document(found), console)
    assert isinstance(console.file, io.StringIO)
    assert "At production's 0.8  no verdict: counters contradict each other" in console.file.getvalue()


def test_speculation_that_is_off_ends_it_before_anything_is_sent() -> None:
    asked = []
    off = page((DATA / "v0.32.0-baseline.prom").read_text())

    def answer(request: BaseHTTPRequestHandler) -> None:
        asked.append(request.path)
        off(request)

    with answering(answer) as place, pytest.raises(DraftboardError) as error:
        sweep(Plan(server=place))
    assert "nothing to sweep: speculation off: no series of speculation is exposed" in str(error.value)
    assert asked == ["/metrics"]


def test_a_server_that_goes_away_ends_it_with_what_is_done() -> None:
    def instead(server: FakeVLLM, request: BaseHTTPRequestHandler, _body: dict[str, Any]) -> bool:
        if len(server.asked) > 6:
            server.page = lambda: "gone"  # type: ignore[method-assign]
            request.close_connection = True
            return True
        return False

    found = swept(FakeVLLM(FALLING, instead=instead), temperatures=(0.0, 0.4))
    assert [row.temperature for row in found.rows] == [0.0]
    assert found.failure
    assert "not a page of metrics" in found.failure


@pytest.mark.parametrize(
    ("answer", "reason"),
    [
        (page(b"x" * 8_000_001), "response exceeds 8 MB"),
        (page("", 307, Location="http://127.0.0.1:1/steal"), "HTTP 307: the server redirects"),
        (page("", 401), "HTTP 401: authentication required: use --token-file"),
        (page("", 404), "HTTP 404: is the model served under that name"),
        (lambda request: request.wfile.write(b"hello"), "connection lost"),
    ],
)
def test_a_server_that_completes_nothing_gets_one_clear_line(answer: Any, reason: str) -> None:
    assert reason in refused(answer)


def test_a_server_that_does_not_answer_in_time_gets_one_clear_line() -> None:
    assert "no answer within 0.3 s" in refused(lambda request: request.rfile.read(), timeout=0.3)


@pytest.mark.parametrize(
    "text",
    [
        "garbage",
        "[]",
        "[" * 100_000,
        '{"choices": [], "usage": {"completion_tokens": 1}}',
        '{"choices": [{}], "usage": {"completion_tokens": -1}}',
    ],
    ids=["text", "list", "deep", "no choice", "no count"],
)
def test_what_is_no_completion_gets_one_clear_line(text: str) -> None:
    assert "not a completion" in refused(page(text))


def refused(answer: Any, **planned: Any) -> str:
    """The line that a server gets for its completions."""

    def instead(_server: FakeVLLM, request: BaseHTTPRequestHandler, _body: dict[str, Any]) -> bool:
        answer(request)
        return True

    with pytest.raises(DraftboardError) as error:
        swept(FakeVLLM(FALLING, instead=instead), **planned)
    line = str(error.value)
    assert "no completion for any of 2 requests to m: " in line
    assert "\n" not in line
    return line


def test_counts_that_contradict_each_other_are_ignored() -> None:
    def instead(server: FakeVLLM, request: BaseHTTPRequestHandler, body: dict[str, Any]) -> bool:
        told = server.complete(body)
        told["metrics"] = {"speculative_decoding": drafts_of([1, 1]) | {"num_spec_steps": 9}}
        page(json.dumps(told))(request)
        return True

    found = swept(FakeVLLM(FALLING, instead=instead), temperatures=(0.0,))
    assert found.rows[0].by_request is None
    assert "in a form that this release knows" in found.notes[0]
