"""Adaptive verification against a fixed K: what counters say of drafts misleads, and time does not."""

import json
from pathlib import Path
from typing import Any

import pytest

from draftboard.lab.simulator.serve import page
from support import command_line
from support.simulated import scenario, started

BUSY = {"method": "eagle3", "k": 7, "saturation_tokens": 60, "load": {"clients": 60}, "requests": [{"alpha": 0.6}]}


def reported(folder: Path, name: str, capsys: pytest.CaptureFixture[str], **server: Any) -> Path:
    instance = started(scenario(**BUSY | server))
    for part, at in (("before", 120), ("after", 300)):
        instance.advance(at)
        (folder / f"{name}-{part}.prom").write_bytes(page(instance))
    before, after = (folder / f"{name}-{part}.prom" for part in ("before", "after"))
    words = ("--before", before, "--after", after, "--window", "3m", "--method", "eagle3", "--json")
    code, out, _ = command_line.run("report", *words, capsys=capsys)
    assert code == 0
    (saved := folder / f"{name}.json").write_text(out)
    return saved


def test_the_measured_speedup_tells_that_it_pays_where_acceptance_tells_the_contrary(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    fixed = reported(tmp_path, "fixed", capsys)
    adaptive = reported(tmp_path, "adaptive", capsys, verify_budget=60)
    length = [json.loads(one.read_text())["models"][0]["speculation"]["acceptance_length"] for one in (fixed, adaptive)]
    assert length[1] < 0.8 * length[0]
    _, out, _ = command_line.run("compare", fixed, adaptive, capsys=capsys)
    assert "users wait less: measured speedup 1." in out
    assert "tokens, the baseline's" in out  # Tokens per step beside the time of a step.
