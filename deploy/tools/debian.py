"""Debian packages, unpacked into a folder without touching the machine's own apt."""

import re
import shutil
from collections.abc import Iterator
from pathlib import Path

from attempt import STALL_SECONDS, UnavailableError, run

APT_FOLDER = Path("/etc/apt")
# A machine's hooks on `apt-get update` clean and refresh the system's own caches: not for us.
HOOKS = ("Pre-Invoke", "Post-Invoke", "Post-Invoke-Success")
NO_HOOKS = "".join(f"#clear APT::Update::{hook};\n" for hook in HOOKS)
# Signed by Debian whatever the mirror; `Targets` leaves out translations and desktop metadata.
UNSTABLE = (
    "Types: deb\nURIs: {mirror}\nSuites: unstable\nComponents: main\nTargets: Packages\n"
    "Signed-By: /usr/share/keyrings/debian-archive-keyring.gpg\n"
)


def unpacked(packages: tuple[str, ...], work: Path) -> Path:
    """Return a folder that holds the files of packages of Debian unstable."""
    if not (shutil.which("apt-get") and shutil.which("dpkg-deb")):
        raise UnavailableError("no apt-get or no dpkg-deb on PATH")
    apt = isolated_apt(debian_mirror(APT_FOLDER), work)
    run([*apt, "update"], work)
    run([*apt, "download", *packages], work)
    for package in sorted(work.glob("*.deb")):
        run(["dpkg-deb", "-x", str(package), "unpacked"], work)
    return work / "unpacked"


def isolated_apt(mirror: str, work: Path) -> list[str]:
    """Return an apt-get command that reads one source and writes below one folder only.

    The rest of the machine's apt configuration still counts: it holds the way out (proxies).
    """
    for folder in ("sources", "lists/partial", "cache/archives/partial"):
        (work / folder).mkdir(parents=True)
    (work / "no-hooks.conf").write_text(NO_HOOKS)
    (work / "sources" / "unstable.sources").write_text(UNSTABLE.format(mirror=mirror))
    settings = {
        "Dir::Etc::SourceList": "/dev/null",
        "Dir::Etc::SourceParts": work / "sources",
        "Dir::Etc::Preferences": "/dev/null",
        "Dir::Etc::PreferencesParts": "/dev/null",
        "Dir::State::Lists": work / "lists",
        "Dir::State::Status": "/dev/null",
        "Dir::Cache": work / "cache",
        "APT::Default-Release": "unstable",
        "APT::Sandbox::User": "root",  # as root, apt would drop to a user who cannot read `work`
        "APT::Update::Error-Mode": "any",
        "Acquire::AllowInsecureRepositories": "false",
        "Acquire::Retries": "1",
        "Acquire::http::Timeout": STALL_SECONDS,
    }
    options = [word for key, value in settings.items() for word in ("-o", f"{key}={value}")]
    return ["apt-get", "-c", str(work / "no-hooks.conf"), *options]


def debian_mirror(folder: Path) -> str:
    """Return the first Debian main archive of the machine's own sources: one it can reach."""
    parts = folder / "sources.list.d"
    listed = sorted([*parts.glob("*.list"), *parts.glob("*.sources")])
    for file in filter(Path.is_file, (folder / "sources.list", *listed)):
        text = re.sub(r"(?m)^#.*\n?", "", file.read_text(errors="replace"))
        sources = deb822_sources(text) if file.suffix == ".sources" else one_line_sources(text)
        for uri, suites, components in sources:
            usable = "debian" in uri and "main" in components.split()
            if usable and not uri.startswith("cdrom:") and "security" not in uri + suites:
                return uri
    raise UnavailableError(f"no Debian main archive in the sources of {folder}")


def one_line_sources(text: str) -> list[tuple[str, ...]]:
    """Return (URI, suite, components) of a `*.list` file's binary sources."""
    pattern = r"(?m)^[ \t]*deb[ \t]+(?:\[[^\]\n]*\][ \t]*)?(\S+)[ \t]+(\S+)[ \t]+([^#\n]+)"
    return [found.groups() for found in re.finditer(pattern, text)]


def deb822_sources(text: str) -> Iterator[tuple[str, ...]]:
    """Yield (URI, suites, components) of a `*.sources` file's enabled binary sources."""
    for stanza in re.split(r"\n\s*\n", text):
        lines = re.sub(r"\n[ \t]+", " ", stanza).splitlines()
        pairs = (line.partition(":") for line in lines)
        fields = {key.strip().lower(): value.strip() for key, _, value in pairs}
        enabled = fields.get("enabled", "yes").lower() not in ("no", "false", "off", "0")
        if enabled and "deb" in fields.get("types", "").split():
            suites, components = fields.get("suites", ""), fields.get("components", "")
            for uri in fields.get("uris", "").split():
                yield uri, suites, components
