"""An upgrade of a real vLLM, told by what its probe exports: `VLLM_BEFORE` names the program of another release.

The pages of both servers are those of one target that restarted in between.
"""

import os
from pathlib import Path

import pytest

from conftest import Tell, replayed
from draftboard.attribution import Explanation
from draftboard.durations import Duration
from draftboard.expr.to_promql import promql_of
from draftboard.history import document, of_past
from draftboard.history.runs import RUNS, of_effects
from draftboard.output import as_markdown
from draftboard.reading import Recorded
from draftboard.settings import Settings
from draftboard.signals import Scope
from support.lensed import LENSED, START, VARIABLES, ask_many, recording
from support.replays import behind
from support.vllm_server import SPECULATION, Start, serving

BEFORE = os.environ.get("VLLM_BEFORE", "")
PARTS, REQUESTS, APART = 12, 4, 150
"""Pages of each server, requests between them, and seconds of the recording: two pages in a window."""
pytestmark = [pytest.mark.vllm, pytest.mark.skipif(not BEFORE, reason="VLLM_BEFORE names no vLLM of another release")]


def test_an_upgrade_is_named_with_both_releases_and_its_parts_add_up(
    start: Start, tiny_model: Path, stack_settings: Settings, tmp_path: Path, tell: Tell
) -> None:
    (folder := tmp_path / "earlier").mkdir()
    earlier = serving(
        folder,
        program=Path(BEFORE),
        model=tiny_model,
        settings=stack_settings,
        speculation=SPECULATION,
        words=LENSED,
        variables=VARIABLES,
    )
    pages: list[str] = []
    for part, server_of in enumerate((earlier, start("later", SPECULATION, LENSED, variables=VARIABLES))):
        with server_of as server:
            pages.append(server.page())
            for number in range(part * PARTS, (part + 1) * PARTS):
                begin = number * REQUESTS
                ask_many(server, range(begin, begin + REQUESTS))
                pages.append(server.page())
    source, end, settings = tmp_path / "run.om", START + APART * (len(pages) - 1), Settings()
    source.write_text("".join(recording(pages, APART)))
    wanted = [promql_of(one, Scope(settings)) for name, one in of_effects(settings).items() if name != RUNS]
    rules, _ = behind(wanted, settings)
    with replayed(source, settings, rules=rules) as replay:
        found = of_past(Recorded(replay.client.url, Duration(end - START)), settings, at=end, explain=True)
    (model,) = found.models
    assert any("vllm_version" in change.what for change in model.changes)
    why = model.explanation
    assert isinstance(why, Explanation)
    for figure in why.figures:
        assert sum(part.amount for part in figure.parts) == pytest.approx(figure.after - figure.before)
    told = as_markdown(document(found))
    assert f"version {version(pages[0])} -\\> {version(pages[-1])}" in told
    tell("an upgrade of a real vLLM", told)


def version(page: str) -> str:
    """The release that the probe exports."""
    return page.partition('vllm_version="')[2].partition('"')[0]
