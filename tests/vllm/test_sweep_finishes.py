"""`sweep` finishes on a real server, and what it counts is what the answers say."""

import json
from typing import Any

import pytest

from support.vllm_commands import draftboard, succeeded
from support.vllm_server import Vllm

pytestmark = pytest.mark.vllm

TEMPERATURES = (0.0, 0.6, 1.2)
REQUESTS = 4


@pytest.fixture(scope="module")
def swept(vllm: Vllm) -> Any:
    load = ("--requests", REQUESTS, "--max-tokens", 96, "--concurrency", 2, "--warm-up", 1)
    temperatures = ",".join(map(str, TEMPERATURES))
    told = ("--method", "ngram", "--token-file", vllm.key_file, "--json")
    return json.loads(succeeded(draftboard("sweep", vllm.url, "--temperatures", temperatures, *load, *told)).stdout)


def test_it_is_done_with_every_temperature(swept: Any) -> None:
    assert [row["temperature"] for row in swept["rows"]] == list(TEMPERATURES)
    assert all(row["answered"] == row["requests"] == REQUESTS for row in swept["rows"])
    assert not swept["interrupted"]
    assert not swept["failure"]


def test_the_counters_grew_by_what_the_answers_tell(swept: Any) -> None:
    counted = ("drafts", "draft_tokens", "accepted_tokens", "accepted_per_position")
    for row in swept["rows"]:
        server, answers = row["server"]["sample"], row["by_request"]["sample"]
        assert [server[name] for name in counted] == [answers[name] for name in counted]


def test_nobody_else_is_suspected(swept: Any) -> None:
    assert not any(row["foreign"]["found"] for row in swept["rows"])
    assert {row["foreign"]["unexplained_drafts"] for row in swept["rows"]} == {0}


def test_acceptance_is_highest_without_chance(swept: Any) -> None:
    cold, *others = [row["server"]["speculation"]["acceptance"] for row in swept["rows"]]
    assert cold > max(others)
