"""Secrets are random, readable by their owner only, created once and never printed."""

import errno
import os
import stat
from pathlib import Path
from types import ModuleType

import pytest

from conftest import ROOT
from support.scripts import loaded

FOR_OTHERS = stat.S_IRWXG | stat.S_IRWXO


@pytest.fixture
def script(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> ModuleType:
    """The script, with a temporary folder in place of deploy/."""
    module = loaded("deploy/tools/make_secrets.py", monkeypatch)
    monkeypatch.setattr(module, "DEPLOY", tmp_path)
    monkeypatch.delenv("SUDO_UID", raising=False)
    monkeypatch.delenv("SUDO_GID", raising=False)
    (tmp_path / ".env.example").write_text((ROOT / "deploy/.env.example").read_text())
    return module


def owner_in_env(folder: Path) -> dict[str, str]:
    lines = (folder / ".env").read_text().splitlines()
    return dict(line.split("=", 1) for line in lines if line.startswith("STACK_"))


def test_every_secret_that_the_stack_mounts_is_created(script: ModuleType, tmp_path: Path) -> None:
    assert script.main() == 0
    mounted = {path.name for path in (tmp_path / "secrets").iterdir()}
    text = (ROOT / "deploy/docker-compose.yml").read_text()
    assert mounted == {name for name in mounted if f"{{file: ./secrets/{name}}}" in text}
    assert len(mounted) == text.count("{file: ./secrets/")


def test_only_the_owner_can_read_them(script: ModuleType, tmp_path: Path) -> None:
    before = os.umask(0)
    try:
        script.main()
    finally:
        os.umask(before)
    for path in [tmp_path / "secrets", *(tmp_path / "secrets").iterdir()]:
        assert not path.stat().st_mode & FOR_OTHERS, path
    assert {stat.S_IMODE(path.stat().st_mode) for path in (tmp_path / "secrets").iterdir()} == {0o600}


def test_generated_secrets_are_random_and_long_and_all_others_empty(script: ModuleType, tmp_path: Path) -> None:
    script.main()
    ours = [(tmp_path / "secrets" / name).read_text() for name in script.OURS]
    assert len(set(ours)) == len(ours)
    assert min(map(len, ours)) >= 40
    assert {(tmp_path / "secrets" / name).read_text() for name in script.YOURS} == {""}


def test_no_secret_is_printed(script: ModuleType, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    script.main()
    shown = "".join(capsys.readouterr())
    for name in script.OURS:
        assert (tmp_path / "secrets" / name).read_text() not in shown


def test_a_second_run_changes_no_content_and_repairs_modes(script: ModuleType, tmp_path: Path) -> None:
    script.main()
    (tmp_path / "secrets/hf_token").write_text("mine")
    (tmp_path / "secrets/hf_token").chmod(0o644)
    before = {path.name: path.read_text() for path in (tmp_path / "secrets").iterdir()}
    environment = (tmp_path / ".env").read_text()
    assert script.main() == 0
    assert {path.name: path.read_text() for path in (tmp_path / "secrets").iterdir()} == before
    assert (tmp_path / ".env").read_text() == environment
    assert stat.S_IMODE((tmp_path / "secrets/hf_token").stat().st_mode) == 0o600


def test_env_has_the_owner_of_the_secrets_which_is_never_root(script: ModuleType, tmp_path: Path) -> None:
    script.main()
    owner = (tmp_path / "secrets/vllm_api_key").stat()
    assert owner_in_env(tmp_path) == {"STACK_UID": str(owner.st_uid), "STACK_GID": str(owner.st_gid)}
    assert owner.st_uid != 0


def test_lines_of_the_user_in_env_are_kept(script: ModuleType, tmp_path: Path) -> None:
    (tmp_path / ".env").write_text("MODEL=mine")
    script.main()
    assert (tmp_path / ".env").read_text().startswith("MODEL=mine\n")
    assert owner_in_env(tmp_path).keys() == {"STACK_UID", "STACK_GID"}


def test_another_owner_in_env_is_an_error_that_names_it(
    script: ModuleType, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / ".env").write_text("STACK_UID=4242\nSTACK_GID=4242\n")
    assert script.main() == 2
    assert "STACK_UID=4242" in capsys.readouterr().err


def test_a_symbolic_link_in_place_of_a_secret_is_not_followed(
    script: ModuleType, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / "secrets").mkdir()
    (tmp_path / "elsewhere").write_text("untouched")
    (tmp_path / "secrets/vllm_api_key").symlink_to(tmp_path / "elsewhere")
    assert script.main() == 2
    assert "is not a regular file" in capsys.readouterr().err
    assert (tmp_path / "elsewhere").read_text() == "untouched"


def state_of(folder: Path) -> dict[str, tuple[int, int, int, str]]:
    found = [folder / ".env", folder / "secrets", *(folder / "secrets").iterdir()]
    stats = [(path, path.stat()) for path in found]
    return {
        path.name: (told.st_uid, told.st_gid, told.st_mode, path.read_text() if path.is_file() else "")
        for path, told in stats
    }


def test_a_run_of_another_user_changes_nothing(
    script: ModuleType, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """The running containers read the files as their owner."""
    script.main()
    (tmp_path / "secrets/vllm_api_key").chmod(0o640)
    before = state_of(tmp_path)
    monkeypatch.setenv("SUDO_UID", "1234")
    monkeypatch.setenv("SUDO_GID", "1234")
    assert script.main() == 2
    assert "this user's is 1234" in capsys.readouterr().err
    assert state_of(tmp_path) == before


def test_a_full_disk_leaves_no_secret_rather_than_an_empty_one(
    script: ModuleType, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    def full(_: int) -> None:
        raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))

    monkeypatch.setattr(script.os, "fsync", full)
    assert script.main() == 2
    assert capsys.readouterr().err.splitlines() == [f"make_secrets.py: [Errno {errno.ENOSPC}] No space left on device"]
    assert list((tmp_path / "secrets").iterdir()) == []
    assert not (tmp_path / ".env").exists()


def test_a_disk_that_is_full_when_the_owner_is_written_leaves_the_users_lines(
    script: ModuleType, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / ".env").write_text("MODEL=mine\n")
    script.make_all(tmp_path / "secrets", 1000, 1000)

    def full(*_: object) -> None:
        raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))

    monkeypatch.setattr(Path, "replace", full)
    assert script.main() == 2
    assert (tmp_path / ".env").read_text() == "MODEL=mine\n"
    assert {path.name for path in tmp_path.iterdir()} == {".env", ".env.example", "secrets"}


@pytest.mark.parametrize("name", ["grafana_admin_password", "vllm_api_key"])
def test_an_empty_secret_is_refused(
    script: ModuleType, tmp_path: Path, capsys: pytest.CaptureFixture[str], name: str
) -> None:
    script.main()
    (tmp_path / "secrets" / name).write_text("")
    assert script.main() == 2
    assert f"{name} is empty: remove it and run this again" in capsys.readouterr().err
