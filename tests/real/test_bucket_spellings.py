"""Prometheus 2 stores the bound `1` as it is exposed, Prometheus 3 as `1.0`: the rules make the same of both."""

import lzma
import re
from collections.abc import Iterator
from pathlib import Path

import pytest

from conftest import RECORDING, replayed
from draftboard.lab.replay import Replay
from draftboard.rules import RecordingRule, recording_groups

pytestmark = [pytest.mark.prometheus, pytest.mark.long, pytest.mark.xdist_group("demo_run")]


@pytest.fixture(scope="module")
def short_spelling(demo_run: Replay, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Replay]:
    """The recorded run with whole bounds written without a fraction."""
    path: Path = tmp_path_factory.mktemp("spelling") / "run.om"
    with lzma.open(RECORDING, "rt") as text:
        path.write_text(re.sub(r'le="(\d+)\.0"', r'le="\1"', text.read()))
    with replayed(path, demo_run.settings) as replay:
        yield replay


def values(replay: Replay, record: str) -> dict[tuple[frozenset[tuple[str, str]], int], float]:
    """By labels and time since the start; bounds as numbers, however they are written."""
    found = {}
    for series in replay.client.query_range(record, replay.start, replay.end, replay.step):
        labels = {name: str(float(text)) if name == "le" else text for name, text in series.labels.items()}
        for at, value in series.samples:
            found[frozenset(labels.items()), round(at - replay.start)] = value
    return found


def test_every_record_has_the_same_values(demo_run: Replay, short_spelling: Replay) -> None:
    compared = 0
    for group in recording_groups(demo_run.settings):
        for rule in group.rules:
            assert isinstance(rule, RecordingRule)
            expected, found = (values(replay, rule.record) for replay in (demo_run, short_spelling))
            assert found == pytest.approx(expected, rel=1e-12), rule.record
            compared += len(found)
    assert compared > 50_000


def test_the_two_are_really_spelled_differently(demo_run: Replay, short_spelling: Replay) -> None:
    expr = "group by (le) (vllm:time_to_first_token_seconds_bucket)"
    at = demo_run.start + 60
    long, short = (
        {series.labels["le"] for series in replay.client.query(expr, at)} for replay in (demo_run, short_spelling)
    )
    assert "1.0" in long - short
    assert "1" in short - long
