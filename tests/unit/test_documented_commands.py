"""What the documentation tells to type works, and prints what is shown. `tests/docs/` types what needs servers."""

import re
import shlex
from pathlib import Path
from typing import Any

import click
import pytest

from conftest import ROOT
from draftboard.cli import draftboard
from draftboard.doctor import examine_command
from draftboard.doctor.finding import Severity
from draftboard.settings import Settings
from support.command_line import options_of_commands, run
from support.documented import Shown, shown

ALL = shown()
RUN, BESIDE = ([each for each in ALL if each.fate == fate] for fate in ("run", "run beside servers"))
NEITHER = [each for each in ALL if each.fate not in {"run", "run beside servers"}]


@pytest.mark.parametrize("each", RUN, ids=str)
def test_a_command_prints_what_is_shown(
    each: Shown, monkeypatch: pytest.MonkeyPatch, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(ROOT)
    words = each.words[1:]
    if "costs.toml" in words:
        costs = tmp_path / "costs.toml"
        costs.write_text("[draft_cost]\nverify_inflation = { 1 = 1.0, 64 = 4.5 }\n")
        words[words.index("costs.toml")] = str(costs)
    code, out, err = run(*words, capsys=capsys)
    assert code < 2, err
    printed = [line.rstrip() for line in out.splitlines()]
    for line in each.output:
        # Columns are as wide as the terminal lets them be.
        assert line == "..." or " ".join(line.split()) in {" ".join(one.split()) for one in printed}, line


def parse(command: click.Command, words: list[str], parent: click.Context | None = None) -> None:
    """Refuses options and arguments that are not the command's, and does nothing else."""
    with command.make_context("draftboard", words, parent) as context:
        if isinstance(context.command, click.Group):
            rest: list[Any] = [*context._protected_args, *context.args]  # noqa: SLF001  (click has no other name)
            _, below, rest = context.command.resolve_command(context, rest)
            assert below
            parse(below, rest, context)


@pytest.mark.parametrize("each", [one for one in BESIDE if one.command.startswith("draftboard ")], ids=str)
def test_a_command_that_needs_a_server_or_writes_has_these_options(
    each: Shown, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.chdir(tmp_path)
    for word in each.words:
        if re.fullmatch(r"[\w-]+\.(json|prom|toml|om|jsonl)", word):
            Path(word).touch()
    parse(draftboard, each.words[1:])


@pytest.mark.parametrize("each", NEITHER, ids=str)
def test_a_command_that_is_not_typed_says_why(each: Shown) -> None:
    assert each.fate, "run it, or add a reason to support/documented.py"
    targets = {
        name
        for path in ("Makefile", "deploy/stack.mk")
        for line in re.findall(r"(?m)^([a-z- ]+):", (ROOT / path).read_text())
        for name in line.split()
    }
    for target in re.findall(r"(?:^|\s)make ([a-z-]+)", each.command.partition("#")[0]):
        assert target in targets
    if "vllm serve" in each.command and "..." not in each.command:
        command = " ".join(map(shlex.quote, each.words))
        assert not [one for one in examine_command(command, Settings()).findings if one.severity is Severity.PROBLEM]


OPTIONS = [(words, option) for words, options in options_of_commands().items() for option in sorted(options)]
WRITTEN = [
    frozenset(re.findall(r"--[a-z][a-z-]*[a-z]|\w+", path.read_text()))
    for path in (
        ROOT / "README.md",
        ROOT / "CHANGELOG.md",
        *ROOT.glob("docs/**/*.md"),
        *ROOT.glob("tests/**/test_*.py"),
    )
]
"""The words of every page and test, the options among them."""


@pytest.mark.parametrize(
    ("words", "option"), OPTIONS, ids=lambda part: part if isinstance(part, str) else " ".join(part)
)
def test_an_option_is_named_beside_its_command_in_a_page_or_a_test(words: tuple[str, ...], option: str) -> None:
    assert any(option in text and text.issuperset(words) for text in WRITTEN), (
        f"no page, changelog or test names `draftboard {' '.join(words)}` together with {option}: describe it in "
        f"docs/commands/{words[0]}.md, or test it"
    )
