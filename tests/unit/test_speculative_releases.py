"""What the doctor's data file of releases is made of, and its making from small distributions."""

import io
import tarfile
import tomllib
import zipfile
from collections.abc import Callable
from pathlib import Path

import pytest

from draftboard.doctor.names import FLAGS, REMARKS, SHORTHANDS, VLLM
from draftboard.doctor.releases import CHOICES, HOLDS, KEYS, RELEASES
from scripts import speculative_releases
from scripts.speculative_releases import DATA, Known, main, written

Run = Callable[..., tuple[int, str]]
CONFIGURATION = """
from typing import Literal, Optional
Family = Literal["a_mtp", "b_mtp"]
Method = Literal["ngram", Family]
class Other:
    ngram: int = 1
class SpeculativeConfig:
    '''Its text is not kept.'''
    method: Optional[Method] = None
    num_speculative_tokens: int = Field(default=None, gt=0)
    share: float = 0.5
    {}
    def check(self):
        inner: int = 1
"""
COMMAND_LINE = """
class EngineArgs:
    disable_log_stats: bool = False
    other: int = 1
    def add(parser):
        parser.add_argument("--spec-method", "-x")
"""


def distribution(folder: Path, release: str, more: str = "", path: str = "vllm/config/speculative.py") -> Path:
    archive = folder / f"vllm-{release}.tar.gz"
    sources = {path: CONFIGURATION.format(more), "vllm/engine/arg_utils.py": COMMAND_LINE, "setup.py": "1 / 0"}
    with tarfile.open(archive, "w:gz") as into:
        for name, text in sources.items():
            member = tarfile.TarInfo(f"vllm-{release}/{name}")
            member.size = len(text)
            into.addfile(member, io.BytesIO(text.encode()))
    return archive


@pytest.fixture
def run(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> Run:
    """Run the script; gives its exit status and its line of error."""

    def with_arguments(*arguments: str | Path) -> tuple[int, str]:
        monkeypatch.setattr("sys.argv", ["speculative_releases.py", *map(str, arguments)])
        return main(), capsys.readouterr().err

    return with_arguments


def test_releases_are_read_in_their_order_wherever_the_class_stands(tmp_path: Path, run: Run) -> None:
    data = tmp_path / "releases.toml"
    new = distribution(tmp_path, "0.10.1", "fast: bool = True")
    old = distribution(tmp_path, "0.9.0", "slow: Literal['very'] | None = None", "vllm/config.py")
    assert run("--anew", "--data", data, new, old) == (0, "")
    known = tomllib.loads(data.read_text())
    assert known == {
        "releases": ["0.9.0", "0.10.1"],
        "keys": {
            "method": ["0.9.0", "0.10.1"],
            "num_speculative_tokens": ["0.9.0", "0.10.1"],
            "share": ["0.9.0", "0.10.1"],
            "slow": ["0.9.0", "0.9.0"],
            "fast": ["0.10.1", "0.10.1"],
        },
        "choices": {
            "method": {name: ["0.9.0", "0.10.1"] for name in ("a_mtp", "b_mtp", "ngram")},
            "slow": {"very": ["0.9.0", "0.9.0"]},
        },
        "flags": {name: ["0.9.0", "0.10.1"] for name in ("disable_log_stats", "spec_method")},
        "holds": {
            "method": "anything",
            "num_speculative_tokens": "a whole number of at least 1",
            "share": "anything",
            "slow": "anything",
            "fast": "true or false",
        },
    }


def test_a_newer_release_is_added_to_what_was_read(tmp_path: Path, run: Run) -> None:
    data = tmp_path / "releases.toml"
    assert run("--anew", "--data", data, distribution(tmp_path, "0.9.0")) == (0, "")
    assert run("--data", data, distribution(tmp_path, "0.10.0", "fast: bool = True")) == (0, "")
    keys = tomllib.loads(data.read_text())["keys"]
    assert (keys["method"], keys["fast"]) == (["0.9.0", "0.10.0"], ["0.10.0", "0.10.0"])


def test_a_wheel_is_read_where_a_release_has_nothing_else(tmp_path: Path, run: Run) -> None:
    wheel, data = tmp_path / "vllm-0.15.0-cp38-abi3-linux_x86_64.whl", tmp_path / "releases.toml"
    with zipfile.ZipFile(wheel, "w") as into:
        into.writestr("vllm/config/speculative.py", CONFIGURATION.format(""))
    assert run("--anew", "--data", data, wheel) == (0, "")
    assert tomllib.loads(data.read_text())["releases"] == ["0.15.0"]


@pytest.mark.parametrize(
    ("name", "content", "words"),
    [
        ("other-1.0.tar.gz", b"", "not named as a distribution of vLLM"),
        ("vllm-0.40.0.tar.gz", b"<html>", "not an archive that can be read"),
        ("vllm-0.40.0-py3.whl", b"<html>", "not an archive that can be read"),
        ("vllm-0.41.0.tar.gz", None, "no such file"),
    ],
)
def test_what_is_no_distribution_ends_with_2_and_changes_nothing(
    name: str, content: bytes | None, words: str, tmp_path: Path, run: Run
) -> None:
    data = tmp_path / "releases.toml"
    data.write_text(DATA.read_text())
    if content is not None:
        (tmp_path / name).write_bytes(content)
    status, error = run("--data", data, tmp_path / name)
    assert status == 2
    (line,) = error.splitlines()
    assert words in line
    assert data.read_text() == DATA.read_text()


@pytest.mark.parametrize(
    ("release", "more", "words"),
    [
        ("0.11.0", "", "is not newer than 0.11.0"),
        ("0.10.0", "", "is not newer than 0.11.0"),
        ("0.12.0", "fast: bool = True", "0.12.0 has fast again, which 0.11.0 had not"),
    ],
)
def test_a_release_out_of_its_turn_and_a_name_that_comes_back_end_with_2(
    release: str, more: str, words: str, tmp_path: Path, run: Run
) -> None:
    data = tmp_path / "releases.toml"
    first = distribution(tmp_path, "0.10.0", "fast: bool = True")
    assert run("--anew", "--data", data, first, distribution(tmp_path, "0.11.0")) == (0, "")
    status, error = run("--data", data, distribution(tmp_path, release, more))
    assert status == 2
    assert words in error


def test_the_file_is_as_the_script_writes_it() -> None:
    assert written(Known(**tomllib.loads(DATA.read_text()))) == DATA.read_text()


def test_every_minor_release_is_read() -> None:
    minors = [int(release.split(".")[1]) for release in RELEASES]
    assert sorted(set(minors)) == list(range(10, 34))


def test_what_is_said_of_names_is_said_of_names_that_exist() -> None:
    assert set(REMARKS) <= set(CHOICES["method"])
    assert {key for keys in VLLM["stricter"].values() for key in keys} | set(VLLM["traps"]) <= set(KEYS)
    assert set(SHORTHANDS.values()) <= set(KEYS)
    assert set(HOLDS) == set(KEYS)
    assert set(FLAGS) <= speculative_releases.WATCHED
