"""Put Prometheus, Alertmanager, VictoriaMetrics and Docker Compose into a private folder; the system is not changed.

Usage: python3 deploy/tools/fetch.py prometheus alertmanager docker-compose --into .tools
The programs go to .tools/bin. A program that is there, runs and is new enough is kept. Otherwise a launcher of the
machine's own `docker compose` is written, or the pinned official release is downloaded; where it is not reachable,
Debian unstable's packages are unpacked.
Exit status: 0 success; 3 a program cannot be had here; 2 other failures. One line on stderr for each.
"""

import argparse
import hashlib
import http.client
import io
import os
import platform
import re
import shlex
import shutil
import subprocess
import sys
import tarfile
import tempfile
import urllib.request
from pathlib import Path, PurePosixPath
from typing import NamedTuple

from printing import warn

STALL_SECONDS = 10  # to connect, and between two reads
COMMAND_SECONDS = 900  # for one command; apt is the slow one
MAX_BYTES = 256 * 1024 * 1024  # of a download; the largest has 120 MB


class Tool(NamedTuple):
    """Programs that come together."""

    minimum: tuple[int, int] | None  # oldest version accepted; Debian's VictoriaMetrics tells none
    release: str | None  # address of the official release, below GITHUB, where its sums are known
    packages: tuple[str, ...]  # of Debian
    programs: dict[str, str]  # name: path in the packages
    asked: str = "--version"  # the word that makes them print their version
    command: tuple[str, ...] = ()  # with which users may have it


GITHUB = "https://github.com/"
TOOLS = {
    "alertmanager": Tool(
        minimum=(0, 28),
        release="prometheus/alertmanager/releases/download/v0.34.1/",
        packages=("prometheus-alertmanager",),
        programs={"alertmanager": "usr/bin/prometheus-alertmanager", "amtool": "usr/bin/amtool"},
    ),
    "docker-compose": Tool(
        minimum=(2, 24),
        release="docker/compose/releases/download/v2.40.3/",
        packages=("docker-compose",),
        programs={"docker-compose": "usr/libexec/docker/cli-plugins/docker-compose"},
        asked="version",  # without the plugin, `docker compose --version` prints the version of Docker
        command=("docker", "compose"),
    ),
    "prometheus": Tool(
        minimum=(3, 5),
        release="prometheus/prometheus/releases/download/v3.13.2/",
        packages=("prometheus", "promtool"),
        programs={"prometheus": "usr/bin/prometheus", "promtool": "usr/bin/promtool"},
    ),
    "victoria-metrics": Tool(
        minimum=None,
        release=None,
        packages=("victoria-metrics",),
        programs={name: f"usr/bin/{name}" for name in ("victoria-metrics", "vmagent", "vmalert")},
    ),
}
# Each sum stands in independent repositories. That of Alertmanager for darwin-amd64 stands in one, which has the same
# sums as others for the rest of that release. A file without such evidence is left out.
SHA256 = """
265b9d1e55ef0d5306a436018af6d2b686c2ce051f03d968f7464ecb1372a7e8 alertmanager-0.34.1.linux-amd64.tar.gz
d98d6cbaf52151c7e76e24355fec88b11cebcb9875d4cdd8b76ddce7a7e5535c alertmanager-0.34.1.linux-arm64.tar.gz
9f3a3806c81a2ef3546fea9bae3dd39abcf2206edd112c9433133a9355875fce alertmanager-0.34.1.darwin-amd64.tar.gz
a3941879f340ef12a4cc1a479c82bd8520611265ea8d1ee25c88bd5f944d8293 alertmanager-0.34.1.darwin-arm64.tar.gz
dba9d98e1ba5bfe11d88c99b9bd32fc4a0624a30fafe68eea34d61a3e42fd372 docker-compose-linux-x86_64
d26373b19e89160546d15407516cc59f453030d9bc5b43ba7faf16f7b4980137 docker-compose-linux-aarch64
53528ecff0182546d92d7cc3f50dc78f9b387c3da68b4a3fd0cf2c48dab77133 docker-compose-darwin-x86_64
8cd7eb5f95bacb536cc407111662e2c205d67d9abfea5dcb8400be8418db60d1 docker-compose-darwin-aarch64
0e8c4d46101bd025ea8265e377d2caabc57f488fc1be1c367f37db69ea41be6f prometheus-3.13.2.linux-amd64.tar.gz
7cecb17a6f41d59814e1a0581a1f81f79051ad5973d1ecf39e23a9f747d6572a prometheus-3.13.2.linux-arm64.tar.gz
e57095aed0b69e10edaee28b92718d4a65f46d466bf93aeda54075e901d15c2a prometheus-3.13.2.darwin-amd64.tar.gz
f68ca4f1dbedd6366bbfdd8ac5d2c0b7ba1f273474acc8d38eb33202fbeec7a4 prometheus-3.13.2.darwin-arm64.tar.gz
"""
MACHINES = {"x86_64": "amd64|x86_64", "amd64": "amd64|x86_64", "aarch64": "arm64|aarch64", "arm64": "arm64|aarch64"}

# Writes below one folder. The machine's own proxies still count; its hooks do not run.
APT_CONFIGURATION = """
#clear APT::Update;
Dir {{ State "{folder}"; State::Status "/dev/null"; Cache "{folder}"; }};
APT::Sandbox::User "root";
Acquire {{ AllowInsecureRepositories "false"; Retries "1"; http::Timeout "10"; }};
"""
# Reads one source.
APT_UNSTABLE = """
Dir::Etc {{ SourceList "{folder}/sources.list"; SourceParts "/dev/null"; Preferences "/dev/null"; }};
Dir::Etc::PreferencesParts "/dev/null";
APT {{ Default-Release "unstable"; Update::Error-Mode "any"; }};
"""
APT_SOURCE = "deb [signed-by={keys} target=Packages] {mirror} unstable main\n"
DEBIAN = "http://deb.debian.org/debian"
DEBIAN_KEYS = Path("/usr/share/keyrings/debian-archive-keyring.gpg")
# Debian's Alertmanager reads its default templates from /usr/share: the launcher lays ours over it for one process.
# Root needs no user namespace for that, and can have none in a chroot.
SHARED = "usr/share/prometheus/alertmanager"
LAUNCHER = """#!/bin/sh
home=$(dirname "$(dirname "$(readlink -f "$0")")")
[ "$(id -u)" = 0 ] && map= || map=--map-root-user
exec unshare --mount $map sh -c \\
  'mount -t overlay overlay -o "lowerdir=$0/usr/share:/usr/share" /usr/share && exec "$0/lib/{name}" "$@"' "$home" "$@"
"""


class FetchError(Exception):
    """Nothing else may be tried."""


class UnavailableError(Exception):
    """This source does not work here; the next one may. At last: none does."""


def run(*command: str | Path, within: Path) -> str:
    """Run a command and return its output; its first error line is the reason of a failure."""
    name, environment = Path(command[0]).name, os.environ | {"LC_ALL": "C"}
    try:
        done = subprocess.run(
            command,
            cwd=within,
            env=environment,
            timeout=COMMAND_SECONDS,
            check=False,
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
            errors="replace",
        )
    except (OSError, subprocess.TimeoutExpired) as error:
        raise UnavailableError(f"{name} does not run: {error}") from error
    if done.returncode:
        lines = done.stdout.splitlines() or [f"exit status {done.returncode}"]
        raise UnavailableError(f"{name} failed: {next((line for line in lines if line.startswith('E:')), lines[-1])}")
    return done.stdout


def version(tool: Tool, folder: Path) -> str:
    """Run every program and return the version of the last."""
    for name in tool.programs:
        output = run(folder / name, tool.asked, within=folder)
        found = re.search(r"(\d+)\.(\d+)\.\d+", output)
        told = found[0] if found else "of an unknown version"
        if tool.minimum and not (found and (int(found[1]), int(found[2])) >= tool.minimum):
            raise UnavailableError(f"{name} is only {told}")
    return told


def stage(staged: Path, program: str, content: bytes) -> None:
    """Write a program."""
    (staged / "bin" / program).write_bytes(content)
    (staged / "bin" / program).chmod(0o755)


def installed_command(name: str, work: Path) -> None:
    """Stage a launcher of the command that the machine has."""
    command, *words = TOOLS[name].command
    if not (found := shutil.which(command)):
        raise UnavailableError(f"{command} is not on PATH")
    stage(work / "staged", name, f'#!/bin/sh\nexec {shlex.join([found, *words])} "$@"\n'.encode())


def official_release(name: str, work: Path) -> None:
    """Download the pinned release and stage its programs; paths in the archive never become paths here."""
    system, machine = platform.system().lower(), platform.machine().lower()
    pin = re.search(rf"(\w+) ({name}\S*{system}-(?:{MACHINES.get(machine, machine)})\b\S*)", SHA256)
    release = TOOLS[name].release
    if not pin or not release:
        raise UnavailableError(f"no pinned sum for {system} {machine}")
    url = GITHUB + release + pin[2]
    try:
        with urllib.request.urlopen(url, timeout=STALL_SECONDS) as answer:
            content = answer.read(MAX_BYTES)
            if answer.length:
                raise UnavailableError(f"{url} ended after {len(content)} bytes")
    except (OSError, http.client.HTTPException) as error:
        raise UnavailableError(f"{url} is not reachable: {error}") from error
    actual = hashlib.sha256(content).hexdigest()
    if actual != pin[1]:
        raise FetchError(f"{url} has the sha256 {actual}, not the pinned {pin[1]}: not used")
    if not url.endswith(".tar.gz"):
        stage(work / "staged", name, content)
        return
    with tarfile.open(fileobj=io.BytesIO(content)) as members:
        for member in members:
            program = PurePosixPath(member.name).name
            if program in TOOLS[name].programs and member.isfile() and (file := members.extractfile(member)):
                stage(work / "staged", program, file.read())


def debian_keys(work: Path) -> Path:
    """Return Debian's keys; a machine without them unpacks those that its own distribution signs and offers."""
    if DEBIAN_KEYS.exists():
        return DEBIAN_KEYS
    folder = work / "keys"
    folder.mkdir()
    (folder / "apt.conf").write_text(APT_CONFIGURATION.format(folder=folder))
    run("apt-get", "-c", folder / "apt.conf", "update", within=folder)
    run("apt-get", "-c", folder / "apt.conf", "download", "debian-archive-keyring", within=folder)
    run("dpkg-deb", "-x", *folder.glob("*.deb"), folder, within=folder)
    return folder / DEBIAN_KEYS.relative_to("/")


def debian_mirror(work: Path) -> None:
    """Read the packages of a mirror of Debian: of the machine's own, which are reachable, or of Debian's."""
    listed = run("apt-get", "update", "--print-uris", within=work)
    keys, failure = debian_keys(work), UnavailableError()
    (work / "apt.conf").write_text((APT_CONFIGURATION + APT_UNSTABLE).format(folder=work))
    for mirror in dict.fromkeys([*re.findall(r"'(https?://[^']*debian)/dists/", listed), DEBIAN]):
        (work / "sources.list").write_text(APT_SOURCE.format(keys=keys, mirror=mirror))
        try:
            run("apt-get", "-c", work / "apt.conf", "update", within=work)
        except UnavailableError as error:  # not of Debian itself, as download.docker.com/linux/debian
            failure = error
        else:
            return
    raise failure


def debian_unstable(name: str, work: Path) -> None:
    """Unpack Debian's packages and stage their programs; the machine's own apt is left alone."""
    debian_mirror(work)
    run("apt-get", "-c", work / "apt.conf", "download", *TOOLS[name].packages, within=work)
    for package in work.glob("*.deb"):
        run("dpkg-deb", "-x", package, "unpacked", within=work)
    shared, staged = work / "unpacked" / SHARED, work / "staged"
    if shared.is_dir():
        shutil.copytree(shared, staged / SHARED)
        (staged / "lib").mkdir()
    for program, path in TOOLS[name].programs.items():
        (work / "unpacked" / path).rename(staged / ("lib" if shared.is_dir() else "bin") / program)
        if shared.is_dir():
            stage(staged, program, LAUNCHER.format(name=program).encode())


def provide(name: str, into: Path) -> str:
    """Provide a tool from the first source that works; return the line to print."""
    tool, failures = TOOLS[name], []
    try:
        return f"{name} {version(tool, into / 'bin')} is already in {into / 'bin'}"
    except UnavailableError:
        into.mkdir(parents=True, exist_ok=True)
    sources = {installed_command: tool.command, official_release: tool.release, debian_unstable: tool.packages}
    for source in (source for source, offers in sources.items() if offers):
        label = source.__name__.replace("_", " ")
        warn("fetch.py", f"{name}: trying {label} ...")
        with tempfile.TemporaryDirectory(prefix=".fetch-", dir=into) as work:  # files then move within one file system
            staged = Path(work, "staged")
            (staged / "bin").mkdir(parents=True)
            try:
                source(name, Path(work))
                found = version(tool, staged / "bin")
            except UnavailableError as error:
                failures.append(f"{label} ({error})")
                continue
            for file in sorted(filter(Path.is_file, staged.rglob("*")), reverse=True):  # those of bin come last
                target = into / file.relative_to(staged)
                target.parent.mkdir(parents=True, exist_ok=True)
                file.replace(target)
            return f"{name} {found} from {label} is now in {into / 'bin'}"
    variables = " and ".join(program.upper().replace("-", "_") for program in tool.programs)
    oldest = f" of version {'.'.join(map(str, tool.minimum))} or newer" if tool.minimum else ""
    raise UnavailableError(f"{name} is not available: {'; '.join(failures)}. Set {variables} to programs{oldest}.")


def main() -> int:
    """Parse the command line; report every failure in one line."""
    parser = argparse.ArgumentParser(description="Put the programs of the tests into a folder.")
    parser.add_argument("tools", choices=sorted(TOOLS), nargs="+", metavar="tool", help=", ".join(sorted(TOOLS)))
    parser.add_argument("--into", type=Path, required=True, help="folder; programs go to its bin/")
    arguments = parser.parse_args()
    status = 0
    try:
        for name in arguments.tools:
            try:
                print(provide(name, arguments.into.resolve()), flush=True)
            except UnavailableError as error:
                warn("fetch.py", str(error))
                status = 3
    except (FetchError, OSError, tarfile.TarError) as error:
        warn("fetch.py", str(error))
        return 2
    except KeyboardInterrupt:
        warn("fetch.py", "stopped")
        return 130
    return status


if __name__ == "__main__":
    sys.exit(main())
