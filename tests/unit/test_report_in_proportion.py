"""A report costs in proportion to its servers and its models, whatever those are, and so much a model."""

import re
import sys
from collections.abc import Callable, Sequence
from dataclasses import replace
from functools import partial
from pathlib import Path
from types import FrameType

import pytest

from draftboard import reading
from draftboard.report import Reading, report
from draftboard.settings import Settings

PAGE = (Path(__file__).parent.parent / "data/v0.32.0-ngram-load.prom").read_text()
NEEDED = ("vllm:spec_decode", "vllm:generation_tokens", "vllm:num_requests")
FEW = 20
TWICE = 2.2
"""Times the work of half as many, with what does not depend on their number."""
CALLS = 5_000
"""Of Python's functions for a model of 262 series that are read."""


def tallies_of(number: int, *, drafting: bool, models: bool) -> list[reading.Tally]:
    """As many servers of one model, or servers of one model each."""
    lines = [line for line in PAGE.splitlines() if line.startswith(NEEDED) and (drafting or "spec_decode" not in line)]
    ((tally,),) = (reading.lifetime(reading.read("\n".join(lines) + "\n", "server")).tallies,)
    return [
        replace(tally, source=f"server-{at}", model=f"model-{at}" if models else tally.model) for at in range(number)
    ]


def work(of: Callable[[], object]) -> int:
    """Calls of Python's functions."""
    calls = 0

    def count(_frame: FrameType, event: str, _argument: object) -> None:
        nonlocal calls
        calls += event == "call"

    sys.setprofile(count)
    try:
        of()
    finally:
        sys.setprofile(None)
    return calls


def reported(tallies: Sequence[reading.Tally]) -> None:
    """Report engines in two parts of the time."""
    whole = reading.Growth(tuple(tallies), 30.0)
    Reading((), whole, Settings(), "", [whole, whole]).report()


@pytest.mark.parametrize("models", [False, True], ids=["servers", "models"])
@pytest.mark.parametrize("drafting", [False, True], ids=["plain", "drafting"])
def test_twice_as_many_take_twice_the_work(drafting: bool, models: bool) -> None:
    fleets = (tallies_of(number, drafting=drafting, models=models) for number in (FEW, 2 * FEW))
    few, many = (work(partial(reported, fleet)) for fleet in fleets)
    assert many <= TWICE * few


def test_a_further_model_of_a_page_takes_a_bounded_number_of_calls(tmp_path: Path) -> None:
    lines = [line for line in PAGE.splitlines() if "model_name=" in line]
    calls = []
    for number in (FEW, 2 * FEW):
        pages = (re.sub('model_name="[^"]*"', f'model_name="m{at}"', line) for line in lines for at in range(number))
        path = tmp_path / f"{number}.prom"
        path.write_text("\n".join(pages) + "\n")
        calls.append(work(partial(report, reading.Lifetime(path), engines=False)))
    assert (calls[1] - calls[0]) / FEW <= CALLS
