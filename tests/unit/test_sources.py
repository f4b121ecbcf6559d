"""What the commands take for a file and what for an address: one line where it is neither, and never a traceback."""

import os
from pathlib import Path

import pytest

from draftboard.cli import main
from draftboard.errors import DraftboardError
from draftboard.reading import is_saved

COMMANDS = {"report": 1, "doctor": 1, "compare": 2}
"""How many sources each is given."""
SECRET = "hunter2-hunter2"  # noqa: S105


def run(command: str, source: str | Path, capsys: pytest.CaptureFixture[str]) -> tuple[int, str, str]:
    with pytest.raises(SystemExit) as ended:
        main([command, *[str(source)] * COMMANDS[command]])
    out, err = capsys.readouterr()
    return int(ended.value.code or 0), out, err


@pytest.mark.parametrize("command", COMMANDS)
@pytest.mark.parametrize(
    ("source", "reason"),
    [
        ("pages/before.prom", "pages/before.prom: no such file, and not an address: write host:port"),
        ("before", "before: no such file, and not an address: write host:port"),
        (".", ".: not a regular file, and not an address: write host:port"),
        ("x" * 5000, "xxx...: File name too long, and not an address: write host:port"),
        ("a\0b", "'a\\x00b': no such file, and not an address: write host:port"),
    ],
)
def test_what_is_neither_a_file_nor_an_address_is_one_line(
    command: str, source: str, reason: str, capsys: pytest.CaptureFixture[str]
) -> None:
    code, out, err = run(command, source, capsys)
    assert (code, out, err.count("\n")) == (2, "", 1)
    assert reason in err
    assert len(err) < 300


@pytest.mark.parametrize("command", COMMANDS)
def test_a_folder_that_is_closed_is_one_line(
    command: str, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    def closed(_path: Path, **_: bool) -> None:
        raise PermissionError(13, "Permission denied")

    monkeypatch.setattr(Path, "stat", closed)
    code, out, err = run(command, "closed/page.prom", capsys)
    assert (code, out) == (2, "")
    assert err == (
        "draftboard: closed/page.prom: Permission denied, and not an address: write host:port or http(s)://host:port\n"
    )


@pytest.mark.parametrize("command", COMMANDS)
def test_a_long_address_is_an_address_and_shows_no_password(command: str, capsys: pytest.CaptureFixture[str]) -> None:
    code, _, err = run(command, f"http://u:{SECRET}@127.0.0.1:1/{'x' * 5000}", capsys)
    assert code == 2
    assert SECRET not in err


@pytest.mark.parametrize("name", ["gpu:8000", "[::1]:8000", "gpu:8000/metrics", "https://gpu", f"u:{SECRET}@gpu"])
def test_an_address_is_no_file(name: str) -> None:
    assert not is_saved(name)


def test_what_waits_for_a_writer_is_not_waited_for(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    pipe = tmp_path / "pipe"
    os.mkfifo(pipe)
    with pytest.raises(DraftboardError, match="not a regular file"):
        is_saved(str(pipe))
    with pytest.raises(SystemExit):
        main(["report", "--before", str(pipe), "--after", str(pipe)])
    assert capsys.readouterr().err == f"draftboard: {pipe}: cannot read the page of metrics: not a regular file\n"
