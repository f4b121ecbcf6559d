"""`draftboard new` in a copy of the checkout: what it writes builds, passes the linter and names what is left to do."""

import os
import shutil
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from conftest import ROOT
from draftboard import project
from draftboard.cli import main
from draftboard_dev.skeletons import MARK

EVERY = {
    "signal queue_time_share --family requests": (
        "generator/draftboard/signals/requests.py",
        "tests/rules/records-queue_time_share.cases.yaml",
    ),
    "alert VLLMQueueTimeLong --signal rejection_ratio --beyond rejected": (
        "generator/draftboard/alerts/serving.py",
        "generator/draftboard/alerts/runbooks/VLLMQueueTimeLong.md.j2",
        "tests/rules/alert-VLLMQueueTimeLong.cases.yaml",
    ),
    "page queue": ("generator/draftboard/dashboards/pages/queue.py",),
    "metric vllm:spec_decode_num_skipped_total --label reason": ("generator/draftboard/catalogue/speculation.py",),
    "metric vllm:queue_depth": ("generator/draftboard/catalogue/serving.py",),
    "dialect tgi --engine TGI --prefix tgi_": (
        "generator/draftboard/catalogue/dialects.py",
        "tests/data/dialects/tgi.txt",
        "docs/operate/dialects.md",
    ),
}
"""Commands, each with the files in which something is left to fill in."""
FOLDERS = ("generator", "tests/rules", "tests/data/dialects", "docs/operate")


def marked(root: Path) -> Iterator[str]:
    """Places that hold the mark of a skeleton."""
    for path in (path for folder in FOLDERS for path in (root / folder).rglob("*") if path.is_file()):
        if "draftboard_dev" not in path.parts and path.suffix in {".py", ".j2", ".yaml", ".txt", ".md"}:
            lines = enumerate(path.read_text().splitlines(), start=1)
            yield from (f"{path.relative_to(root)}:{number}: {line.strip()}" for number, line in lines if MARK in line)


def test_nothing_is_left_to_fill_in() -> None:
    assert [*marked(ROOT)] == []


@pytest.fixture
def copy(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A checkout of its own."""
    for folder in FOLDERS:
        shutil.copytree(ROOT / folder, tmp_path / folder, ignore=shutil.ignore_patterns("__pycache__"))
    shutil.copy(ROOT / "pyproject.toml", tmp_path)
    monkeypatch.setattr(project, "CHECKOUT", tmp_path)
    return tmp_path


def run(arguments: str, capsys: pytest.CaptureFixture[str]) -> tuple[int, str, str]:
    """Exit code, standard output and standard error."""
    with pytest.raises(SystemExit) as ended:
        main(["new", *arguments.split()])
    return int(ended.value.code or 0), *capsys.readouterr()


@pytest.mark.long
def test_what_every_kind_writes_builds_and_passes_the_linter(copy: Path, capsys: pytest.CaptureFixture[str]) -> None:
    for arguments, paths in EVERY.items():
        code, out, err = run(arguments, capsys)
        assert (code, err) == (0, "")
        left = {place.partition(":")[0] for place in marked(copy)}
        assert left >= set(paths)
        assert set(paths) <= set(out.splitlines())
    environment = os.environ | {"PYTHONPATH": str(copy / "generator")}
    modules = " ".join(path for paths in EVERY.values() for path in paths if path.endswith(".py"))
    for module in (f"ruff check {modules}", f"ruff format --check {modules}", "draftboard build --out built"):
        command = [sys.executable, "-m", *module.split()]
        done = subprocess.run(command, cwd=copy, env=environment, capture_output=True, text=True, check=False)
        assert done.returncode == 0, done.stdout + done.stderr
    assert "VLLMQueueTimeLong" in (copy / "built/alerts/alerting.rules.yaml").read_text()
    assert "vllm_queue_time_share" in (copy / "built/alerts/recording.rules.yaml").read_text()
    assert (copy / "built/dashboards/draftboard-queue.json").exists()


@pytest.mark.parametrize(
    ("arguments", "line"),
    [
        (
            "signal Queue-share --family requests",
            "'Queue-share' is not a valid signal: write one such as queue_time_share",
        ),
        ("signal acceptance --family requests", "signal acceptance already exists"),
        ("signal queue_share --family nowhere", "'nowhere' is not a module of signals: write one of absence, "),
        ("alert QueueLong --signal rejection_ratio --beyond rejected", "'QueueLong' is not a valid alert"),
        ("alert VLLMErrors --signal rejection_ratio --beyond rejected", "alert VLLMErrors already exists"),
        ("alert VLLMQueueLong --signal nothing --beyond bad", "'nothing' is not a signal"),
        ("alert VLLMQueueLong --signal rejection_ratio --beyond bad", "no band 'bad'; it has admitted, rejected"),
        ("page Queue", "'Queue' is not a valid page"),
        ("page queue_time", "'queue_time' is not a valid page"),
        (f"page {'a' * 26}", f"'{'a' * 26}' is not a valid page"),
        ("page overview", "page overview already exists"),
        ("metric queue_depth", "'queue_depth' is not a valid metric"),
        ("metric vllm:num_preemptions_total", "metric vllm:num_preemptions_total already exists"),
        ("metric vllm:queue_depth --label a-b", "'a-b' is not a valid label"),
        ("metric vllm:preemptions_total", "PREEMPTIONS already exists in draftboard.catalogue.serving: define"),
        ("metric vllm:queue_depth --since newest", "'newest' is not a valid release: write one such as"),
        ("dialect TGI --engine TGI --prefix tgi_", "'TGI' is not a valid dialect"),
        ("dialect sglang --engine SGLang --prefix sgl_", "dialect sglang already exists"),
        ("dialect tgi --engine TGI --prefix vllm:", "prefix vllm: already exists"),
    ],
)
def test_a_wrong_name_is_one_line_and_writes_nothing(
    arguments: str, line: str, copy: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    before = {path: path.read_bytes() for path in copy.rglob("*") if path.is_file()}
    code, out, err = run(arguments, capsys)
    assert (code, out, err.count("\n")) == (2, "", 1)
    assert line in err
    assert {path: path.read_bytes() for path in copy.rglob("*") if path.is_file()} == before


def test_it_needs_a_checkout(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    monkeypatch.setattr(project, "CHECKOUT", None)
    assert run("page queue", capsys)[0] == 2
