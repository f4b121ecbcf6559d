"""Write a release to a folder: wheel, sdist, archive of what needs no Python, SBOM and checksums; of what is committed.

The same commit gives the same bytes: times are the commit's, names are sorted, and owners are root.
"""

import argparse
import gzip
import hashlib
import io
import json
import os
import re
import shutil
import subprocess
import sys
import tarfile
import tempfile
from pathlib import Path

import yaml

from draftboard import REVISION, __version__
from scripts.needs import needs

ROOT = Path(__file__).parent.parent.parent
ARCHIVE = f"draftboard-monitoring-{__version__}"
SUMS = "SHA256SUMS"
EXTRAS = ("calibrate", "lab", "plots")


def main() -> None:
    parser = argparse.ArgumentParser(prog="dist", description=__doc__)
    parser.add_argument("folder", type=Path, help="it is made")
    parser.add_argument("--tag", help="the release's tag, which must be that of the version")
    given = parser.parse_args()
    if given.tag and given.tag != f"v{__version__}":
        parser.error(f"tag {given.tag} is not v{__version__}: change __version__ of draftboard, or the tag")
    if given.tag and given.tag != REVISION:
        parser.error(f"links name {REVISION}: make REVISION of draftboard {given.tag}, and run make build")
    if given.folder.exists():
        parser.error(f"{given.folder} exists: choose another folder")
    try:
        if changed := _git("status", "--porcelain", "--untracked-files=no").decode():
            (first, *_) = changed.splitlines()
            parser.error(f"{first[3:]} is not as committed, and a release holds what is: commit or restore it")
        with tempfile.TemporaryDirectory() as temporary:
            shutil.move(_made(Path(temporary)), given.folder)
    except (FileNotFoundError, subprocess.CalledProcessError) as error:
        sys.exit(f"dist: {error}")


def _made(temporary: Path) -> Path:
    """A folder with the files of a release."""
    out, source, environment = (temporary / name for name in ("out", "source", "environment"))
    epoch = int(_git("log", "-1", "--format=%ct"))
    with tarfile.open(fileobj=io.BytesIO(_git("archive", "--format=tar", "HEAD"))) as committed:
        committed.extractall(source, filter="data")
    _run("build", "--no-isolation", "--outdir", out, source, SOURCE_DATE_EPOCH=str(epoch))
    (wheel,) = out.glob("*.whl")
    _installed(wheel, environment)
    stack = temporary / ARCHIVE
    subprocess.run(
        [environment / "bin/python", "-I", "-m", "draftboard", "stack", "init", stack],
        check=True,
        stdout=subprocess.DEVNULL,
    )
    (out / f"{ARCHIVE}.tar.gz").write_bytes(_packed(stack, epoch))
    _list(environment, source, out / f"draftboard-{__version__}.cdx.json")
    sums = [f"{hashlib.sha256(path.read_bytes()).hexdigest()}  {path.name}\n" for path in sorted(out.iterdir())]
    (out / SUMS).write_text("".join(sums))
    return out


def _git(*words: str) -> bytes:
    """What Git says of this clone, and of no other that it may lie in."""
    alone = os.environ | {"GIT_CEILING_DIRECTORIES": str(ROOT.parent)}
    return subprocess.run(["git", *words], cwd=ROOT, env=alone, check=True, stdout=subprocess.PIPE).stdout


def _run(module: str, *words: str | Path, **variables: str) -> None:
    command = (sys.executable, "-m", module, *words)
    subprocess.run(command, env=os.environ | variables, check=True, stdout=subprocess.DEVNULL)


def _installed(wheel: Path, environment: Path) -> None:
    """An environment of the wheel and what it needs, in the tested versions."""
    _run("venv", "--without-pip", environment)
    options = ("--quiet", "--disable-pip-version-check", f"--python={environment / 'bin/python'}")
    install = (*options, "install", "--no-compile")
    _run("pip", *install, "--constraint", ROOT / "constraints.txt", *needs(*EXTRAS))
    _run("pip", *install, "--no-deps", wheel)


def _list(environment: Path, source: Path, into: Path) -> None:
    """The SBOM (CycloneDX) of an environment, under the release's name and version."""
    described = f"--pyproject={source / 'pyproject.toml'}"
    options = ("--output-reproducible", "--output-format=JSON", f"--output-file={into}", described)
    _run("cyclonedx_py", "environment", *options, environment / "bin/python")
    found = json.loads(into.read_text())
    hashes = _hashes()
    for one in found["components"]:
        name = f"{one['name'].lower().replace('_', '-').replace('.', '-')}=={one['version']}"
        one["hashes"] = [{"alg": "SHA-256", "content": content} for content in hashes.get(name, ())]
    found["components"] += _images(source)
    # pyproject.toml has no version of its own.
    found["metadata"]["component"] |= {"version": __version__, "purl": f"pkg:pypi/draftboard@{__version__}"}
    into.write_text(json.dumps(found, indent=2) + "\n")


def _hashes() -> dict[str, list[str]]:
    """SHA-256 of the files of each package in the tested version."""
    text = (ROOT / "constraints.txt").read_text()
    blocks = re.findall(r"(?m)^([\w.-]+==[^\s;]+)(.*(?:\n .*)*)", text)
    return {name.lower(): re.findall("sha256:([0-9a-f]{64})", hashes) for name, hashes in blocks}


def _images(source: Path) -> list[dict[str, object]]:
    """The images of the stack, by digest where they are pinned by it."""
    found: list[dict[str, object]] = []
    for image in yaml.safe_load((source / "deploy/docker-compose.yml").read_text())["x-images"].values():
        name, _, digest = re.sub(r"^\$\{\w+:-|\}$", "", image).partition("@")
        path, _, tag = name.rpartition(":")
        content = [{"alg": "SHA-256", "content": digest.removeprefix("sha256:")}] if digest else []
        purl = f"pkg:docker/{path}@{tag}"
        found.append(
            {"type": "container", "bom-ref": purl, "name": path, "version": tag, "purl": purl, "hashes": content}
        )
    return found


def _packed(folder: Path, epoch: int) -> bytes:
    """A tar of a folder: files in the order of their names, of nobody in particular, with the time of the commit."""

    def plain(member: tarfile.TarInfo) -> tarfile.TarInfo:
        member.uid = member.gid = 0
        member.uname = member.gname = "root"
        member.mode = 0o755 if member.isdir() else 0o644
        member.mtime = epoch
        return member

    packed = io.BytesIO()
    with tarfile.open(fileobj=packed, mode="w") as archive:
        archive.add(folder, folder.name, filter=plain)  # recursive, by name
    return gzip.compress(packed.getvalue(), mtime=epoch)


if __name__ == "__main__":
    main()
