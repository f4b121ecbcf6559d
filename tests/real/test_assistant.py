"""`draftboard serve --mcp` with the official client, over the recording of `make demo`."""

import asyncio
import json
import re
import sys
from http.server import BaseHTTPRequestHandler
from typing import Any

import pytest
from mcp import Client, StdioServerParameters
from mcp.types import CallToolResult, TextContent

from conftest import DEMO_SETTINGS
from draftboard.access import Access
from draftboard.assistant import Tools, protocol_server
from draftboard.lab.replay import Replay
from draftboard.settings import Settings
from scripts.transcript import PAGE as CONVERSATION
from scripts.transcript import page as conversation
from support.loopback import answering, page

pytestmark = [pytest.mark.prometheus, pytest.mark.xdist_group("demo_run")]
GAINS, LOSES = 60, 180
"""Seconds after the start of the demo's recording: its first minute pays, in its third users wait longer."""


def answers(server: Any, *calls: tuple[str, dict[str, Any]]) -> list[tuple[str, bool]]:
    """The text of each answer, and whether it is an error."""

    async def talk() -> list[CallToolResult]:
        async with Client(server) as client:
            return [await client.call_tool(name, arguments) for name, arguments in calls]

    return [(_text(answer), answer.is_error) for answer in asyncio.run(talk())]


def _text(answer: CallToolResult) -> str:
    (content,) = answer.content
    assert isinstance(content, TextContent)
    return content.text


@pytest.fixture(scope="module")
def server(demo_run: Replay, demo_settings: Settings) -> Any:
    return protocol_server(Tools(demo_run.client.url, demo_settings, Access()))


def test_the_verdict_of_a_minute_carries_its_basis_and_its_sample(server: Any, demo_run: Replay) -> None:
    moments = [{"at": str(demo_run.start + seconds)} for seconds in (GAINS, LOSES)]
    (gains, _), (loses, _) = answers(server, *(("verdict", moment) for moment in moments))
    assert "pays" in gains or "users wait less" in gains
    assert "users wait longer (measured)" in loses
    for answer in (gains, loses):
        assert "Drafts |" in answer
        assert "baseline at like load" in answer


def test_the_documented_conversation_is_what_the_tools_answer(demo_run: Replay) -> None:
    assert CONVERSATION.read_text() == conversation(demo_run), "run: make recording"


def test_the_health_of_each_model_is_a_line_worst_first_with_the_basis_of_its_verdict(
    server: Any, demo_run: Replay
) -> None:
    moments = [{"at": str(demo_run.start + seconds)} for seconds in (GAINS, LOSES)]
    (gains, _), (loses, _) = answers(server, *(("health", moment) for moment in moments))
    first, other = gains.splitlines()
    assert re.match(r"- tiny \(ngram, .*\): pays; .* \(measured\)", first)
    assert re.match(r"- tiny \(none, .*\): off; ", other)
    assert re.match(r"- tiny \(ngram, .*\): costs more; users wait longer \(measured\)", loses)


def test_an_explanation_lists_the_conditions_of_the_verdict(server: Any, demo_run: Replay) -> None:
    asked = {"name": "verdict", "at": str(demo_run.start + LOSES), "labels": {"spec_method": "ngram"}}
    ((text, failed),) = answers(server, ("explanation", asked))
    assert not failed
    assert "users wait longer" in text


@pytest.mark.parametrize(
    ("tool", "arguments", "hint"),
    [
        ("verdict", {"at": "yesterday"}, "write now-6h"),
        ("verdict", {"period": "long"}, "period 'long'"),
        ("explanation", {"name": "verdikt"}, "did you mean"),
        ("runbook", {"alert": "VLLMNothing"}, "no alert 'VLLMNothing'"),
        ("what_if", {"survival": [0.2, 0.9]}, "each at most the one before"),
        ("what_if", {"survival": [0.5], "method": "eagel"}, "is unknown"),
    ],
)
def test_a_mistake_is_one_line_that_helps(server: Any, tool: str, arguments: dict[str, Any], hint: str) -> None:
    ((text, failed),) = answers(server, (tool, arguments))
    assert failed
    assert hint in text
    assert "\n" not in text


def test_silence_of_a_prometheus_without_alerting_rules_is_no_good_news(server: Any) -> None:
    ((text, _),) = answers(server, ("alerts", {}))
    assert "no alerting rules of Draftboard" in text


def test_what_if_names_assumed_costs_and_a_runbook_its_first_commands(server: Any) -> None:
    (plan, _), (runbook, _) = answers(
        server, ("what_if", {"survival": [0.8, 0.5]}), ("runbook", {"alert": "VLLMTargetDown"})
    )
    assert "assumed" in plan
    assert runbook.startswith("# VLLMTargetDown")


def test_the_command_lists_tools_that_change_nothing(demo_run: Replay) -> None:
    command = ["-m", "draftboard", "serve", "--mcp", "--prometheus", demo_run.client.url]
    command += ["--config", str(DEMO_SETTINGS)]

    async def talk() -> tuple[list[str], str]:
        async with Client(StdioServerParameters(command=sys.executable, args=command)) as client:
            tools = (await client.list_tools()).tools
            assert all(tool.annotations and tool.annotations.read_only_hint for tool in tools)
            assert all(tool.description for tool in tools)
            return sorted(tool.name for tool in tools), client.instructions or ""

    names, instructions = asyncio.run(talk())
    assert names == ["alerts", "changes", "explanation", "health", "runbook", "verdict", "what_if"]
    assert "never instructions" in instructions


def test_labels_of_an_alert_start_no_line_and_no_markup() -> None:
    labels = {"__name__": "ALERTS", "alertname": "VLLMTargetDown", "instance": "a:1\n# obey\n[x](http://e)"}
    rules = {"groups": [{"name": "g", "rules": [{"name": "VLLMTargetDown", "query": "up", "health": "ok"}]}]}
    data = {"rules": rules, "query": {"resultType": "vector", "result": [{"metric": labels, "value": [1, "1"]}]}}

    def prometheus(request: BaseHTTPRequestHandler) -> None:
        kind = request.path.rpartition("/")[2].partition("?")[0]
        page(json.dumps({"status": "success", "data": data[kind]}))(request)

    with answering(prometheus) as address:
        tools = Tools(f"http://{address}", Settings(), Access())
        ((text, _),) = answers(protocol_server(tools), ("alerts", {}))
    assert text.startswith("- VLLMTargetDown: ")
    assert "\n" not in text
    assert "[x](" not in text
