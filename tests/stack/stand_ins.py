"""Stand-ins for the images of the compose file, built where no registry of images is reached."""

import os
import shutil
import subprocess
import tempfile
import zlib
from dataclasses import replace
from pathlib import Path

import yaml

from conftest import ROOT, program
from stack.engine import Engine

HERE = Path(__file__).parent / "images"
PACKAGES = (
    *("busybox-static", "ca-certificates", "prometheus-node-exporter", "python3", "python3-pip"),
    *("libgomp1", "libnuma1", "libtcmalloc-minimal4t64"),  # of vLLM on a CPU
)
ROOT_ARCHIVE = ROOT / f"build/stack/trixie-{zlib.crc32(','.join(PACKAGES).encode()):08x}.tar"
CERTIFICATES = Path("/etc/ssl/certs/ca-certificates.crt")  # of this machine, which may be behind a proxy
STAND_INS = (
    *("python", "busybox", "prometheus", "alertmanager", "victoria-metrics", "node-exporter"),
    *("grafana", "dcgm-exporter", "vllm"),
)


def images() -> dict[str, str]:
    """The name of each image of the compose file, without the digest that `pin.py` adds."""
    declared = yaml.safe_load((ROOT / "deploy/docker-compose.yml").read_text())["x-images"]
    names = {key: name.partition("@")[0] for key, name in declared.items()}
    return names | {"vllm": names["vllm"].partition(":-")[2].rstrip("}")}  # the user may set another one


def build_stand_ins(private: Engine, folder: Path) -> None:
    """Build all of them in an engine of our own, in a folder of no further use."""
    private.docker("import", debian_root(), "stand-in/trixie")
    context = folder / "context"
    shutil.copytree(HERE, context)
    shutil.copy(CERTIFICATES, context)
    (context / "bin").mkdir()
    (context / "share").mkdir()
    for name in ("prometheus", "promtool", "alertmanager", "amtool", "victoria-metrics"):
        shutil.copy(genuine(program(name)), context / "bin" / name)
    templates = program("alertmanager").parents[1] / "usr/share/prometheus"
    if templates.is_dir():
        shutil.copytree(templates, context / "share", dirs_exist_ok=True)
    names = images() | {"busybox": "busybox"}  # which docs/operate/scale.md names
    # BuildKit's client is a package of its own.
    classic = replace(private, environment={**private.environment, "DOCKER_BUILDKIT": "0"})
    for target in STAND_INS:
        classic.docker("build", "--quiet", "--target", target, "--tag", names[target], context)


def genuine(path: Path) -> Path:
    """The program itself, where the fetched one is a launcher that the containers do not need."""
    behind = path.parents[1] / "lib" / path.name
    return behind if behind.is_file() else path


def debian_root() -> Path:
    """The archive of a small Debian system, kept for the next run."""
    if not ROOT_ARCHIVE.exists():
        assert shutil.which("debootstrap"), "debootstrap is missing. Run: apt-get install debootstrap"
        ROOT_ARCHIVE.parent.mkdir(parents=True, exist_ok=True)
        with tempfile.TemporaryDirectory(dir=ROOT_ARCHIVE.parent) as work:
            root, archive = Path(work, "root"), Path(work, "archive")
            run("debootstrap", "--variant=minbase", f"--include={','.join(PACKAGES)}", "trixie", root)
            excluded = (f"--exclude=./var/{path}/*" for path in ("cache/apt", "lib/apt/lists"))
            run("tar", "-C", root, *excluded, "-cf", archive, ".")
            archive.rename(ROOT_ARCHIVE)
    return ROOT_ARCHIVE


def run(*command: str | os.PathLike[str]) -> None:
    """Run a command; what it printed last, where it fails, fails the test."""
    done = subprocess.run(command, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, check=False)
    assert done.returncode == 0, f"{command[0]}: {done.stdout[-500:]}"
