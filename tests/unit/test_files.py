"""Files appear complete or not at all, and never replace a folder, a device or a pipe."""

import os
from pathlib import Path

import pytest

from draftboard.errors import DraftboardError
from draftboard.files import whole


def test_a_file_appears_when_it_is_complete(tmp_path: Path) -> None:
    target = tmp_path / "past.om"
    with whole(target, "past") as staged:
        staged.write_text("half")
        assert not target.exists()
    assert target.read_text() == "half"
    assert list(tmp_path.iterdir()) == [target]


def test_a_failure_leaves_the_old_file_unchanged(tmp_path: Path) -> None:
    target = tmp_path / "past.om"
    target.write_text("old")
    with pytest.raises(DraftboardError, match="File exists"), whole(target, "past") as staged:
        write_half(staged)
    assert target.read_text() == "old"
    assert list(tmp_path.iterdir()) == [target]


def write_half(staged: Path) -> None:
    staged.touch()
    staged.mkdir()


@pytest.mark.parametrize("make", [Path.mkdir, os.mkfifo], ids=["a folder", "a pipe"])
def test_what_is_not_a_regular_file_stays_and_is_named(tmp_path: Path, make: object) -> None:
    target = tmp_path / "there"
    make(target)  # type: ignore[operator]
    with (
        pytest.raises(DraftboardError, match="there: cannot write the past: not a regular file; choose another path"),
        whole(target, "past"),
    ):
        pytest.fail("began to write")
    assert not target.is_file()


def test_a_place_that_cannot_be_written_is_named_in_one_line(tmp_path: Path) -> None:
    words = "cannot write the past: No such file or directory; choose another path"
    with pytest.raises(DraftboardError, match=words), whole(tmp_path / "absent/past.om", "past"):
        pytest.fail("began to write")
