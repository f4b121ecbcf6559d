"""Put real tools into a private folder, installing nothing on the system.

Usage: python3 deploy/tools/fetch.py prometheus alertmanager docker-compose --into .tools
Afterwards .tools/bin holds the named binaries; a second run finds them there and does nothing.

The official release is tried first, then Debian unstable through an apt configuration of its own.
Exit status: 0 the binaries are there and run, 2 they could not be had (one line on stderr).
"""

import argparse
import platform
import re
import shutil
import sys
import tempfile
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

from attempt import FetchError, UnavailableError, run, say
from debian import unpacked
from release import download, extract


@dataclass(frozen=True)
class Release:
    """An official archive that holds all the binaries."""

    version: str
    url: str  # with {version} and {platform}
    sha256: Mapping[str, str]  # platform -> sum of the archive; no entry: not downloaded


@dataclass(frozen=True)
class ToolSet:
    """What one name on the command line stands for."""

    minimum: tuple[int, int]  # oldest (major, minor) accepted, wherever it comes from
    release: Release | None  # None: no sum of an official download is known well enough
    packages: tuple[str, ...]  # Debian packages that hold the binaries
    binaries: Mapping[str, str]  # name in the archive and in bin/ -> path in the packages
    reads: str = ""  # folder below usr/share without which the packages' binaries do not run


# A sum goes in here only when independent public sources quote the same one: a sum downloaded
# beside the archive would only say that the two were changed together.
TOOLS: dict[str, ToolSet] = {
    "alertmanager": ToolSet(
        minimum=(0, 28),
        release=Release(
            version="0.33.1",
            url="https://github.com/prometheus/alertmanager/releases/download/"
            "v{version}/alertmanager-{version}.{platform}.tar.gz",
            sha256={
                "linux-amd64": "93d802cba6a8d27239d747ce117df7648d326ab67394e32247540b030e9842ba",
                "linux-arm64": "50b32a346c3c29da411643dfa84990440e8fd03800380d7e664f22a863b7a0cf",
            },
        ),
        packages=("prometheus-alertmanager",),
        binaries={"alertmanager": "usr/bin/prometheus-alertmanager", "amtool": "usr/bin/amtool"},
        reads="prometheus",  # Debian takes the default templates out of the binary
    ),
    "docker-compose": ToolSet(
        minimum=(2, 24),
        release=None,
        packages=("docker-compose",),
        binaries={"docker-compose": "usr/libexec/docker/cli-plugins/docker-compose"},
    ),
    "prometheus": ToolSet(
        minimum=(3, 5),
        release=Release(
            version="3.13.2",
            url="https://github.com/prometheus/prometheus/releases/download/"
            "v{version}/prometheus-{version}.{platform}.tar.gz",
            sha256={
                "linux-amd64": "0e8c4d46101bd025ea8265e377d2caabc57f488fc1be1c367f37db69ea41be6f",
                "linux-arm64": "7cecb17a6f41d59814e1a0581a1f81f79051ad5973d1ecf39e23a9f747d6572a",
                "darwin-amd64": "e57095aed0b69e10edaee28b92718d4a65f46d466bf93aeda54075e901d15c2a",
                "darwin-arm64": "f68ca4f1dbedd6366bbfdd8ac5d2c0b7ba1f273474acc8d38eb33202fbeec7a4",
            },
        ),
        packages=("prometheus", "promtool"),
        binaries={"prometheus": "usr/bin/prometheus", "promtool": "usr/bin/promtool"},
    ),
}

ARCHITECTURES = {"x86_64": "amd64", "amd64": "amd64", "aarch64": "arm64", "arm64": "arm64"}
# Shows one process a folder of ours as if it stood in /usr/share, and changes nothing there: the kernel lays one over
# the other in a name space of the process' own. The process keeps its id.
LAUNCHER = """#!/bin/sh
home=$(dirname "$(dirname "$(readlink -f "$0")")")
exec unshare --mount --map-root-user sh -c \\
  'mount -t overlay overlay -o "lowerdir=$0/share:/usr/share" /usr/share && exec "$@"' "$home" "$home/lib/{name}" "$@"
"""


def check(tools: ToolSet, folder: Path) -> str:
    """Run every binary, because a file being there does not say that it works here."""
    versions = []
    for name in tools.binaries:
        found = re.search(r"(\d+)\.(\d+)\.\d+", run([str(folder / name), "--version"], folder))
        if not found:
            raise UnavailableError(f"{name} does not say its version")
        if (int(found[1]), int(found[2])) < tools.minimum:
            raise UnavailableError(f"{name} is only {found[0]}")
        versions.append(found[0])
    return versions[0]


def from_release(tools: ToolSet, work: Path, staged: Path) -> None:
    """Stage the binaries of the official release archive, if its sum is the pinned one."""
    release = tools.release
    if release is None:
        raise UnavailableError("no sum of it is known well enough to trust a download")
    machine = platform.machine().lower()
    system = f"{platform.system().lower()}-{ARCHITECTURES.get(machine, machine)}"
    pinned = release.sha256.get(system)
    if pinned is None:
        raise UnavailableError(f"no pinned sum is known for {system}")
    url = release.url.format(version=release.version, platform=system)
    archive = work / "archive"
    actual = download(url, archive)
    if actual != pinned:
        raise FetchError(f"sha256 of {url} is {actual}, pinned is {pinned}: not used")
    extract(archive, tools.binaries, staged / "bin")


def from_debian(tools: ToolSet, work: Path, staged: Path) -> None:
    """Stage the binaries of Debian unstable's packages without touching the machine's apt."""
    packages = unpacked(tools.packages, work)
    for name, path in tools.binaries.items():
        binary = packages / path
        if binary.is_symlink() or not binary.is_file():
            raise UnavailableError(f"the packages hold no {path}")
        shutil.copyfile(binary, staged / "bin" / name)
    if tools.reads:
        launched(tools, packages / "usr" / "share" / tools.reads, staged)


def launched(tools: ToolSet, share: Path, staged: Path) -> None:
    """Put the binaries aside, what they read beside them, and in their place what shows them the one in the other."""
    shutil.copytree(share, staged / "share" / tools.reads)
    (staged / "lib").mkdir()
    for name in tools.binaries:
        (staged / "bin" / name).rename(staged / "lib" / name)
        (staged / "lib" / name).chmod(0o755)
        (staged / "bin" / name).write_text(LAUNCHER.format(name=name))


def install(tools: ToolSet, staged: Path, into: Path) -> str:
    """Move checked binaries into place, each in one step: nobody sees a half-written one."""
    for name in tools.binaries:
        (staged / "bin" / name).chmod(0o755)
    version = check(tools, staged / "bin")
    for folder in filter(lambda name: (staged / name).is_dir(), ("share", "lib", "bin")):  # what is read comes first
        (into / folder).mkdir(exist_ok=True)
        for entry in (staged / folder).glob("*"):
            if (into / folder / entry.name).is_dir():
                shutil.rmtree(into / folder / entry.name)
            entry.replace(into / folder / entry.name)
    return version


def provide(name: str, into: Path) -> str:
    """Make sure the tools are there, by the first way that works; return the line to print."""
    tools, target = TOOLS[name], into / "bin"
    try:
        return f"{name} {check(tools, target)} is already in {target}"
    except UnavailableError:
        into.mkdir(parents=True, exist_ok=True)
    official = f"the official release {tools.release.version if tools.release else ''}".strip()
    ways = ((official, from_release), ("Debian unstable", from_debian))
    failures = []
    for label, way in ways:
        say(f"trying {label} ...")
        # Below `into`, so that the move into place stays within one file system.
        with tempfile.TemporaryDirectory(prefix=".fetch-", dir=into) as temporary:
            work, staged = Path(temporary), Path(temporary, "staged")
            (staged / "bin").mkdir(parents=True)
            try:
                way(tools, work, staged)
                return f"{name} {install(tools, staged, into)} from {label} is now in {target}"
            except UnavailableError as error:
                say(f"{label}: {error}")
                failures.append(f"{label} ({error})")
    variables = " and ".join(binary.upper().replace("-", "_") for binary in tools.binaries)
    minimum = ".".join(map(str, tools.minimum))
    raise FetchError(
        f"{name} could not be had; tried {', '.join(failures)}. "
        f"Set {variables} to existing binaries of {minimum} or newer."
    )


def main() -> int:
    """Parse the command line and turn every foreseeable failure into one line."""
    parser = argparse.ArgumentParser(description="Put real tools into a private folder.")
    parser.add_argument("tools", choices=sorted(TOOLS), nargs="+", metavar="tool", help=", ".join(sorted(TOOLS)))
    parser.add_argument("--into", type=Path, required=True, help="folder; binaries go to its bin/")
    arguments = parser.parse_args()
    try:
        for name in arguments.tools:
            print(provide(name, arguments.into.resolve()), flush=True)
    except (FetchError, OSError) as error:
        say(" ".join(str(error).split()))
        return 2
    except KeyboardInterrupt:
        say("stopped")
        return 130
    return 0


if __name__ == "__main__":
    sys.exit(main())
