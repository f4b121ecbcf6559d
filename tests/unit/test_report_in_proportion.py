"""A report costs in proportion to its servers and its models, whatever those are."""

import sys
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from types import FrameType

import pytest

from draftboard import reading
from draftboard.report.reporting import Reading
from draftboard.settings import Settings

PAGE = (Path(__file__).parent.parent / "data/v0.32.0-ngram-load.prom").read_text()
NEEDED = ("vllm:spec_decode", "vllm:generation_tokens", "vllm:num_requests")
FEW = 20
TWICE = 2.2
"""Times the work of half as many, with what does not depend on their number."""


def tallies_of(number: int, *, drafting: bool, models: bool) -> list[reading.Tally]:
    """As many servers of one model, or servers of one model each."""
    lines = [line for line in PAGE.splitlines() if line.startswith(NEEDED) and (drafting or "spec_decode" not in line)]
    ((tally,),) = (reading.lifetime(reading.read("\n".join(lines) + "\n", "server")).tallies,)
    return [
        replace(tally, source=f"server-{at}", model=f"model-{at}" if models else tally.model) for at in range(number)
    ]


def work(tallies: Sequence[reading.Tally]) -> int:
    """Calls of Python's functions that a report of these engines in two parts of the time makes."""
    calls = 0

    def count(_frame: FrameType, event: str, _argument: object) -> None:
        nonlocal calls
        calls += event == "call"

    whole = reading.Growth(tuple(tallies), 30.0)
    sys.setprofile(count)
    try:
        Reading((), whole, Settings(), "", [whole, whole]).report()
    finally:
        sys.setprofile(None)
    return calls


@pytest.mark.parametrize("models", [False, True], ids=["servers", "models"])
@pytest.mark.parametrize("drafting", [False, True], ids=["plain", "drafting"])
def test_twice_as_many_take_twice_the_work(drafting: bool, models: bool) -> None:
    few, many = (work(tallies_of(number, drafting=drafting, models=models)) for number in (FEW, 2 * FEW))
    assert many <= TWICE * few
