"""A report of more models than a person reads: counts, then the worst; all of them only where they are asked for."""

import json
import re
from pathlib import Path

import pytest

from draftboard.report.document import MOST_MODELS
from support.command_line import run

PAGE = (Path(__file__).parent.parent / "data/v0.32.0-ngram-load.prom").read_text()


def page_of(models: int, folder: Path, waits: int | None = None) -> Path:
    """The page of a server of so many models, at most one of which has requests that wait."""
    lines = [line for line in PAGE.splitlines() if "model_name=" in line]
    found = []
    for number in range(models):
        for line in lines:
            named = re.sub('model_name="[^"]*"', f'model_name="m{number}"', line)
            if number == waits and line.startswith("vllm:num_requests_waiting{"):
                named = f"{named.rpartition(' ')[0]} 3000"
            found.append(named)
    path = folder / "page.prom"
    path.write_text("\n".join(found) + "\n")
    return path


def headings(out: str) -> list[str]:
    return re.findall(r"(?m)^(m\d+)  ", out)


def test_as_many_as_a_person_reads_are_all_printed(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    code, out, _ = run("report", page_of(MOST_MODELS, tmp_path), capsys=capsys)
    assert code == 0
    assert headings(out) == [f"m{number}" for number in range(MOST_MODELS)]
    assert "--all" not in out


def test_of_more_the_worst_follow_the_counts(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    code, out, _ = run("report", page_of(MOST_MODELS + 3, tmp_path, waits=MOST_MODELS + 1), capsys=capsys)
    assert code == 0
    assert len(headings(out)) == MOST_MODELS
    assert headings(out)[:2] == [f"m{MOST_MODELS + 1}", "m0"]
    assert f"{MOST_MODELS + 3} models, of which the {MOST_MODELS} worst follow: --all prints all." in out
    counts = re.findall(r"(?m)^ (users wait|unclear \(assumed\)) +(\d+) *$", out)
    assert counts == [("users wait", "1"), ("unclear (assumed)", f"{MOST_MODELS + 2}")]


def test_all_are_printed_where_they_are_asked_for_and_in_json(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    page = page_of(MOST_MODELS + 1, tmp_path)
    _, out, _ = run("report", page, "--all", capsys=capsys)
    assert len(headings(out)) == MOST_MODELS + 1
    _, out, _ = run("report", page, "--json", capsys=capsys)
    assert len(json.loads(out)["models"]) == MOST_MODELS + 1
