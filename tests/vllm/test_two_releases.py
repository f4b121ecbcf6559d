"""An upgrade of a real vLLM, told by what its probe exports: `VLLM_BEFORE` names the program of another release.

The pages of both servers are those of one target that restarted in between.
"""

import os
import shlex
from pathlib import Path

import pytest

from conftest import Tell, replayed
from draftboard.attribution import Explanation
from draftboard.durations import Duration
from draftboard.expr.to_promql import promql_of
from draftboard.history import document
from draftboard.history.finding import of_past
from draftboard.history.runs import RUNS, of_effects
from draftboard.output import as_markdown
from draftboard.reading import Recorded
from draftboard.settings import Settings
from draftboard.signals import Scope
from support.lensed import LENSED, START, ask_many, drafting, plugged, recording
from support.replays import behind
from support.vllm_server import Start, serving

BEFORE = os.environ.get("VLLM_BEFORE", "")
PARTS, REQUESTS, APART = 12, 4, 150
"""Pages of each server, requests between them, and seconds of the recording: two pages in a window."""
DROPPING = """#!/bin/sh
dropped=
for word; do
    shift
    case $word,$dropped in
        --custom-histogram-buckets,) dropped=option ;;
        *,option) dropped=value ;;
        *) set -- "$@" "$word" ;;
    esac
done
exec {program} "$@"
"""
pytestmark = [pytest.mark.vllm, pytest.mark.skipif(not BEFORE, reason="VLLM_BEFORE names no vLLM of another release")]


def test_an_upgrade_is_named_with_both_releases_and_its_parts_add_up(
    start: Start, models: Path, stack_settings: Settings, tmp_path: Path, tell: Tell
) -> None:
    for name in ("earlier", "plugins", "bin"):
        (tmp_path / name).mkdir()
    speculation, variables = drafting(models), plugged(tmp_path / "plugins")
    earlier = serving(
        tmp_path / "earlier",
        program=without_buckets(tmp_path / "bin"),
        model=models / "target",
        settings=stack_settings,
        speculation=speculation,
        words=LENSED,
        variables=variables,
    )
    pages: list[str] = []
    for part, server_of in enumerate((earlier, start("later", speculation, LENSED, variables=variables))):
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


def without_buckets(folder: Path) -> Path:
    """The earlier release, without the option of the stack's script that only 0.32 and newer have."""
    (program := folder / "vllm").write_text(DROPPING.format(program=shlex.quote(BEFORE)))
    program.chmod(0o755)
    return program


def version(page: str) -> str:
    """The release that the probe exports."""
    return page.partition('vllm_version="')[2].partition('"')[0]
