"""What depends on how the package is installed: where programs are looked for, and whose stack is written."""

from pathlib import Path

import click
import pytest

from draftboard import project
from draftboard.cli import main, shared
from draftboard.errors import DraftboardError
from draftboard.prometheus import Promtool, process


def placed(path: Path) -> Path:
    """An executable file."""
    path.parent.mkdir(parents=True)
    path.touch(0o755)
    return path


def chosen(*arguments: str) -> Path:
    """The program that a command with these arguments would start."""
    found: list[Path] = []

    @click.command()
    @shared.program_option("promtool")
    def command(promtool: Path) -> None:
        found.append(promtool)

    command(arguments, standalone_mode=False)
    return found[0]


@pytest.fixture
def elsewhere(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The current folder, with a promtool on PATH."""
    monkeypatch.delenv("PROMTOOL", raising=False)
    monkeypatch.setenv("PATH", str(placed(tmp_path / "path/promtool").parent))
    monkeypatch.chdir(tmp_path)
    return tmp_path


@pytest.fixture
def checkout(elsewhere: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setattr(shared, "CHECKOUT", elsewhere / "checkout")
    return elsewhere / "checkout"


def test_programs_fetched_for_the_checkout_are_found_from_any_folder(checkout: Path) -> None:
    fetched = placed(checkout / ".tools/bin/promtool")
    assert chosen() == fetched


def test_without_them_the_one_on_path_is_used(checkout: Path, elsewhere: Path) -> None:
    assert not checkout.exists()
    assert chosen() == elsewhere / "path/promtool"


def test_a_wheel_uses_the_one_on_path(elsewhere: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(shared, "CHECKOUT", None)
    assert chosen() == elsewhere / "path/promtool"


def test_a_named_one_outranks_both(checkout: Path, elsewhere: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    placed(checkout / ".tools/bin/promtool")
    monkeypatch.setenv("PROMTOOL", str(elsewhere / "variable/promtool"))
    assert chosen() == elsewhere / "variable/promtool"
    assert chosen("--promtool-program=./option/promtool") == elsewhere / "option/promtool"


@pytest.mark.parametrize(
    ("checkout", "says"),
    [
        (Path("/src/draftboard"), "run `make tools` in /src/draftboard, or set PROMTOOL"),
        (None, "install Prometheus 3.5 or newer, https://prometheus.io/download, or set PROMTOOL"),
    ],
)
def test_a_missing_program_is_named_with_the_way_to_have_it(
    checkout: Path | None, says: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(process, "CHECKOUT", checkout)
    with pytest.raises(DraftboardError) as refused:
        Promtool(tmp_path / "promtool").load_openmetrics(tmp_path, tmp_path)
    assert str(refused.value).endswith(f"cannot run promtool: No such file or directory; {says}")


def test_a_checkout_writes_no_second_stack(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit) as ended:
        main(["stack", "init", str(tmp_path / "stack")])
    assert ended.value.code == 2
    assert f"runs from the checkout {project.CHECKOUT}, which holds the stack" in capsys.readouterr().err
    assert list(tmp_path.iterdir()) == []
