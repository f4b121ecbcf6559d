"""Programs are the machine's own, the pinned release or Debian's; a failure is one line. All stays on loopback."""

import hashlib
import io
import re
import stat
import subprocess
import tarfile
from collections.abc import Callable
from pathlib import Path
from types import ModuleType

import pytest

from support.loopback import answering, page
from support.scripts import loaded

OLD = {"prometheus": "3.4.9", "promtool": "3.4.9"}
NEW = {"prometheus": "3.5.0", "promtool": "3.5.0", "alertmanager": "0.33.1", "amtool": "0.33.1"}
ARCHIVE = "prometheus-9.9.9.linux-amd64.tar.gz"
DOCKER = """#!/bin/sh
# As Docker answers, with and without the plugin.
[ "$*" = "compose --version" ] && echo "Docker version 28.2.2, build e6534b4" && exit 0
[ "$1" = compose ] && {plugin}
[ "$2" = version ] && echo "Docker Compose version {version}" || echo "$@"
"""
UNKNOWN = "echo 'docker: unknown command: docker compose' >&2 && exit 1"
OF_DOCKER = "https://download.docker.com/linux/debian"
# What a machine lists, and where Debian is then read.
MIRRORS = {
    "http://archive.ubuntu.com/ubuntu": "http://deb.debian.org/debian",
    f"{OF_DOCKER} http://mirror.example/debian": "http://mirror.example/debian",
    OF_DOCKER: "http://deb.debian.org/debian",
}
# Lists what the machine reads; updates from those mirrors that SERVED names; notes each source with its key.
APT = """#!/bin/sh
[ "$*" = "update --print-uris" ] && for mirror in $LISTED; do echo "'$mirror/dists/noble/InRelease' noble 0"; done
[ "$1" = -c ] || exit 0
file=$(dirname "$2")/sources.list
case "$3" in
    update) [ ! -e "$file" ] || { cat "$file" >>"$NOTED"; grep -Eq "] ($SERVED) " "$file"; } ;;
    download) shift 3; touch "$1.deb" ;;
esac
"""
# Unpacks the program, or the key.
DPKG = """#!/bin/sh
case "$2" in
    *keyring.deb) mkdir -p "$3${KEYS%/*}" && touch "$3$KEYS" ;;
    *)
        mkdir -p "$3/usr/libexec/docker/cli-plugins"
        printf '#!/bin/sh\\necho Docker Compose version 2.40.3-3\\n' >"$3/usr/libexec/docker/cli-plugins/docker-compose"
        chmod +x "$3/usr/libexec/docker/cli-plugins/docker-compose"
        ;;
esac
"""


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


def on_path(monkeypatch: pytest.MonkeyPatch, folder: Path, **commands: str) -> None:
    """A PATH that begins with these commands."""
    folder.mkdir()
    for name, text in commands.items():
        (folder / name.replace("_", "-")).write_text(text)
        (folder / name.replace("_", "-")).chmod(0o755)
    monkeypatch.setenv("PATH", f"{folder}:/usr/bin:/bin")


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


def provided_by(source: Callable[[str, Path], None], script: ModuleType, folder: Path) -> str:
    """The version of Docker Compose that this source stages."""
    (folder / "work/staged/bin").mkdir(parents=True)
    source("docker-compose", folder / "work")
    return str(script.version(script.TOOLS["docker-compose"], folder / "work/staged/bin"))


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
    assert fetch(script, monkeypatch, tmp_path, "prometheus") == 3
    *_, line = capsys.readouterr().err.splitlines()
    assert "is not reachable" in line
    assert "apt-get does not run" in line
    assert line.endswith("Set PROMETHEUS and PROMTOOL to programs of version 3.5 or newer.")


def test_a_platform_without_a_pinned_sum_downloads_nothing(
    script: ModuleType, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(script.platform, "machine", lambda: "riscv64")
    assert fetch(script, monkeypatch, tmp_path, "prometheus") == 3
    assert "no pinned sum for linux riscv64" in capsys.readouterr().err


def test_a_program_that_cannot_be_had_keeps_none_of_the_others_away(
    script: ModuleType, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    present(tmp_path, {"docker-compose": "2.40.3"})
    assert fetch(script, monkeypatch, tmp_path, "alertmanager", "docker-compose") == 3
    said = capsys.readouterr()
    assert "alertmanager is not available" in said.err
    assert "docker-compose 2.40.3 is already in" in said.out


def test_the_compose_of_the_machine_is_used_and_nothing_is_downloaded(
    script: ModuleType, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    on_path(monkeypatch, tmp_path / "path", docker=DOCKER.format(plugin=":", version="v2.24.0"))
    assert fetch(script, monkeypatch, tmp_path, "docker-compose") == 0
    said = capsys.readouterr()
    assert "official release" not in said.err
    assert "docker-compose 2.24.0 from installed command" in said.out
    launched: list[str | Path] = [tmp_path / "bin/docker-compose", "--file", "a b", "config"]
    monkeypatch.setenv("PATH", "/usr/bin:/bin")  # a test may change it
    assert subprocess.run(launched, capture_output=True, text=True, check=True).stdout == "compose --file a b config\n"


def test_programs_that_tell_no_version_are_kept_if_they_run(
    script: ModuleType, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    present(tmp_path, dict.fromkeys(script.TOOLS["victoria-metrics"].programs, ""))
    assert fetch(script, monkeypatch, tmp_path, "victoria-metrics") == 0
    assert "victoria-metrics of an unknown version is already in" in capsys.readouterr().out


def test_a_tool_without_known_sums_is_never_downloaded_from_its_release(
    script: ModuleType, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    assert fetch(script, monkeypatch, tmp_path, "victoria-metrics") == 3
    *tried, line = capsys.readouterr().err.splitlines()
    assert tried == ["fetch.py: victoria-metrics: trying debian unstable ..."]
    assert line.endswith("Set VICTORIA_METRICS and VMAGENT and VMALERT to programs.")


@pytest.mark.parametrize(
    ("docker", "says"),
    [
        (DOCKER.format(plugin=UNKNOWN, version=""), "docker: unknown command: docker compose"),
        (DOCKER.format(plugin=":", version="v2.23.3"), "docker-compose is only 2.23.3"),
    ],
)
def test_docker_without_compose_or_with_an_old_one_is_not_used(
    script: ModuleType, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, docker: str, says: str
) -> None:
    on_path(monkeypatch, tmp_path / "path", docker=docker)
    with pytest.raises(script.UnavailableError, match=says):
        provided_by(script.installed_command, script, tmp_path)


@pytest.fixture(params=["installed", "of the distribution"])
def keys(script: ModuleType, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, request: pytest.FixtureRequest) -> str:
    """A machine with apt and Debian's keys, or one whose distribution has a package of them; gives where they lie."""
    on_path(monkeypatch, tmp_path / "path", apt_get=APT, dpkg_deb=DPKG)
    file = tmp_path / "debian-archive-keyring.gpg"
    monkeypatch.setattr(script, "DEBIAN_KEYS", file)
    monkeypatch.setenv("KEYS", str(file))
    if request.param == "installed":
        file.touch()
        return str(file)
    return f"{tmp_path}/work/keys{file}"


@pytest.mark.parametrize("listed", MIRRORS)
def test_debian_is_read_from_a_mirror_that_has_it_with_its_own_keys(
    script: ModuleType, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, keys: str, listed: str
) -> None:
    served = MIRRORS[listed]
    for name, value in {"LISTED": listed, "SERVED": served, "NOTED": str(tmp_path / "noted")}.items():
        monkeypatch.setenv(name, value)
    assert provided_by(script.debian_unstable, script, tmp_path) == "2.40.3"
    *_, last = (tmp_path / "noted").read_text().splitlines()
    assert last == f"deb [signed-by={keys} target=Packages] {served} unstable main"


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
    assert released(script, monkeypatch, tmp_path, content, pinned=content) == 3
    assert "prometheus failed: exit status 1" in capsys.readouterr().err
    assert not list(tmp_path.iterdir())


def test_every_tool_has_whole_and_different_sums_for_all_machines(script: ModuleType) -> None:
    pins = [line.split() for line in script.SHA256.split("\n") if line]
    sums = [found for found, _ in pins]
    assert len(sums) == len(set(sums))
    assert all(re.fullmatch("[0-9a-f]{64}", found) for found in sums)
    for name in (name for name, tool in script.TOOLS.items() if tool.release):
        files = " ".join(file for _, file in pins if file.startswith(name))
        for system in ("linux", "darwin"):
            assert re.search(f"{system}-(amd64|x86_64)", files)
            assert re.search(f"{system}-(arm64|aarch64)", files)
