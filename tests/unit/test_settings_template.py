"""The settings file of `draftboard init`: it sets nothing, and holds every key with its default."""

import re
import tomllib
from pathlib import Path
from typing import Any, get_args

import pytest

from draftboard.cli import main
from draftboard.files import Table
from draftboard.settings import Settings, load
from draftboard.settings.template import template


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    return tmp_path


def init(*arguments: str) -> int:
    with pytest.raises(SystemExit) as ended:
        main(["init", *arguments])
    return int(ended.value.code or 0)


def keys(document: dict[str, Any], *path: str) -> dict[tuple[str, ...], Any]:
    """All values by their path; of a list of tables the first."""
    found: dict[tuple[str, ...], Any] = {}
    for key, value in document.items():
        inner = value[0] if isinstance(value, list) and value and isinstance(value[0], dict) else value
        found |= keys(inner, *path, key) if isinstance(inner, dict) else {(*path, key): value}
    return found


def fields(model: type[Table], *path: str) -> set[tuple[str, ...]]:
    """The path of every key of a model; a table by name has any name."""
    found = set()
    for name, field in model.model_fields.items():
        key = (*path, field.alias or name)
        inner = [
            each for each in (field.annotation, *get_args(field.annotation)) if getattr(each, "model_fields", None)
        ]
        named = (*key, "SpecDecodeNotPaying") if key == ("alerts",) else key
        found |= fields(inner[0], *named) if inner else {key}
    return found


def test_as_written_it_is_the_defaults(folder: Path) -> None:
    assert init() == 0
    assert load(folder / "draftboard.toml") == Settings()


def test_every_key_of_the_settings_is_there_and_no_other() -> None:
    written = keys(tomllib.loads(re.sub(r"(?m)^#(?! )", "", template())))
    known = fields(Settings)
    of_field = {path: {key for key in known if path[: len(key)] == key} for path in written}
    assert all(of_field.values())
    assert set.union(*of_field.values()) == known


def test_what_is_not_an_example_is_the_default() -> None:
    text = re.sub(r"(?m)^#\[.*(\n.+)*|^#.* # example$", "", template())
    document = keys(tomllib.loads(re.sub(r"(?m)^#(?! )", "", text)))
    defaults = keys(Settings().model_dump(mode="json", by_alias=True))
    assert len(document) > 100
    assert document == {path: defaults[path] for path in document}


def test_all_lines_hold_without_their_mark(folder: Path) -> None:
    (folder / "all.toml").write_text(re.sub(r"(?m)^#(?! )", "", template()))
    told = load(folder / "all.toml")
    assert told.alerts["SpecDecodeNotPaying"].severity == "critical"
    assert told.stack.email
    assert set(told.slo.declared) == {"time_to_first_token", "time_per_output_token", "end_to_end", "errors"}


def test_reasons_come_from_the_model() -> None:
    before, _, after = template().partition("\n#window = ")
    assert before.endswith(
        "# Window of every rate: at least four scrapes, so that one may fail. Default: four scrapes, at least 5m."
    )
    assert after.startswith('"5m"  # example\n')


def test_comments_fit_120_columns() -> None:
    assert max(len(line) for line in template().splitlines() if line.startswith("# ")) <= 120


def test_an_existing_file_is_left_alone(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (folder / "mine.toml").write_text("mine")
    assert init("mine.toml") == 2
    assert capsys.readouterr().err == "draftboard: mine.toml: exists: choose another path, or replace it with --force\n"
    assert (folder / "mine.toml").read_text() == "mine"


@pytest.mark.usefixtures("folder")
def test_a_folder_that_is_not_there_is_one_line(capsys: pytest.CaptureFixture[str]) -> None:
    assert init("absent/draftboard.toml") == 2
    assert capsys.readouterr().err.startswith("draftboard: absent/draftboard.toml: absent is not a folder: create it")
