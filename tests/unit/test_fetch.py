"""Programs are taken from the pinned release or from Debian; a failure is one line. Everything stays on loopback."""

import hashlib
import io
import re
import stat
import tarfile
from pathlib import Path
from types import ModuleType

import pytest

from support.loopback import answering, page
from support.scripts import loaded

OLD = {"prometheus": "3.4.9", "promtool": "3.4.9"}
NEW = {"prometheus": "3.5.0", "promtool": "3.5.0", "alertmanager": "0.33.1", "amtool": "0.33.1"}
ARCHIVE = "prometheus-9.9.9.linux-amd64.tar.gz"


@pytest.fixture
def script(monkeypatch: pytest.MonkeyPatch) -> ModuleType:
    """The script on a machine without apt-get."""
    module = loaded("deploy/tools/fetch.py", monkeypatch)
    monkeypatch.setattr(module.platform, "system", lambda: "Linux")
    monkeypatch.setattr(module.platform, "machine", lambda: "x86_64")
    monkeypatch.setattr(module, "GITHUB", "http://127.0.0.1:9/")
    monkeypatch.setenv("PATH", "/nowhere")
    monkeypatch.setenv("no_proxy", "127.0.0.1")
    return module


def program(name: str, version: str) -> bytes:
    return f"#!/bin/sh\necho {name}, version {version}\n".encode()


def present(folder: Path, versions: dict[str, str]) -> None:
    (folder / "bin").mkdir()
    for name, version in versions.items():
        path = folder / "bin" / name
        path.write_bytes(program(name, version))
        path.chmod(path.stat().st_mode | stat.S_IXUSR)


def archive(members: dict[str, bytes | tarfile.TarInfo]) -> bytes:
    """A release archive; a member is its content, or an entry without content."""
    written = io.BytesIO()
    with tarfile.open(fileobj=written, mode="w:gz") as file:
        for name, content in members.items():
            entry = content if isinstance(content, tarfile.TarInfo) else tarfile.TarInfo(name)
            data = b"" if isinstance(content, tarfile.TarInfo) else content
            entry.size = len(data)
            file.addfile(entry, io.BytesIO(data))
    return written.getvalue()


def fetch(script: ModuleType, monkeypatch: pytest.MonkeyPatch, folder: Path, *tools: str) -> int:
    monkeypatch.setattr("sys.argv", ["fetch.py", *tools, "--into", str(folder)])
    return int(script.main())


def released(script: ModuleType, monkeypatch: pytest.MonkeyPatch, folder: Path, content: bytes, pinned: bytes) -> int:
    """Fetch Prometheus where its release has this content and the sum of the pinned one is known."""
    monkeypatch.setattr(script, "SHA256", f"\n{hashlib.sha256(pinned).hexdigest()} {ARCHIVE}\n")
    with answering(page(content)) as host:
        monkeypatch.setattr(script, "GITHUB", f"http://{host}/")
        return fetch(script, monkeypatch, folder, "prometheus")


def test_programs_that_are_there_and_new_enough_are_kept(
    script: ModuleType, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    present(tmp_path, {**NEW, "docker-compose": "2.40.3"})
    assert fetch(script, monkeypatch, tmp_path, "prometheus", "alertmanager", "docker-compose") == 0
    assert re.findall(r"(?m)^(\S+) (\S+) is already in", capsys.readouterr().out) == [
        ("prometheus", "3.5.0"),
        ("alertmanager", "0.33.1"),
        ("docker-compose", "2.40.3"),
    ]


def test_a_failure_of_both_sources_is_one_line_that_names_the_variables_to_set(
    script: ModuleType, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    present(tmp_path, OLD)
    assert fetch(script, monkeypatch, tmp_path, "prometheus") == 2
    *_, line = capsys.readouterr().err.splitlines()
    assert "is not reachable" in line
    assert "apt-get does not run" in line
    assert line.endswith("Set PROMETHEUS and PROMTOOL to programs of version 3.5 or newer.")


def test_a_platform_without_a_pinned_sum_downloads_nothing(
    script: ModuleType, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(script.platform, "machine", lambda: "riscv64")
    assert fetch(script, monkeypatch, tmp_path, "prometheus") == 2
    assert "no pinned sum for linux riscv64" in capsys.readouterr().err


def test_of_the_pinned_archive_the_programs_alone_are_installed_wherever_they_lie_in_it(
    script: ModuleType, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    link = tarfile.TarInfo("prometheus")
    link.type, link.linkname = tarfile.SYMTYPE, "/etc/passwd"
    content = archive(
        {
            "prometheus": link,
            "../../prometheus": program("prometheus", "3.13.2"),
            "/p/promtool": program("promtool", "3.13.2"),
            "../evil": b"",
        }
    )
    assert released(script, monkeypatch, tmp_path / "into", content, pinned=content) == 0
    files = {path.relative_to(tmp_path) for path in tmp_path.rglob("*") if not path.is_dir()}
    assert files == {Path("into/bin/prometheus"), Path("into/bin/promtool")}
    assert not any((tmp_path / file).is_symlink() for file in files)


def test_an_archive_with_another_sum_is_not_opened_and_nothing_else_is_tried(
    script: ModuleType, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    content = archive({name: program(name, "3.13.2") for name in ("prometheus", "promtool")})
    assert released(script, monkeypatch, tmp_path, content, pinned=content + b"x") == 2
    *tried, line = capsys.readouterr().err.splitlines()
    assert tried == ["fetch.py: prometheus: trying official release ..."]
    assert line.endswith(": not used")
    assert not list(tmp_path.iterdir())


def test_a_release_program_that_does_not_run_is_not_installed(
    script: ModuleType, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    content = archive(dict.fromkeys(("prometheus", "promtool"), b"#!/bin/sh\nexit 1\n"))
    assert released(script, monkeypatch, tmp_path, content, pinned=content) == 2
    assert "prometheus failed: exit status 1" in capsys.readouterr().err
    assert not list(tmp_path.iterdir())


def test_every_tool_has_whole_and_different_sums_for_both_linux_machines(script: ModuleType) -> None:
    pins = [line.split() for line in script.SHA256.split("\n") if line]
    sums = [found for found, _ in pins]
    assert len(sums) == len(set(sums))
    assert all(re.fullmatch("[0-9a-f]{64}", found) for found in sums)
    for name in script.TOOLS:
        files = [file for _, file in pins if file.startswith(name)]
        assert any(re.search("linux-(amd64|x86_64)", file) for file in files)
        assert any(re.search("linux-(arm64|aarch64)", file) for file in files)
