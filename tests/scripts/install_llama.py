"""Unpack llama.cpp's server of Debian unstable, with the libraries that it needs, into a folder; nothing is installed.

Usage: python3 tests/scripts/install_llama.py .llama
Afterwards .llama/bin/llama-server runs, and .llama/python has the package that writes its models. A second run does
nothing. Exit status: 0 success, 2 failure (one line on stderr).
"""

import argparse
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parent.parent.parent / "deploy/tools"))

import fetch

PACKAGES = (
    *("llama.cpp-tools", "libllama0", "libggml0", "libc6", "libstdc++6", "libgcc-s1", "libgomp1", "libssl3t64"),
    *("zlib1g", "libzstd1"),
)
GGUF = "gguf==0.19.0"
# The machine's own C library may be older than the one that the server was built with. The path of its loader is
# written into it, so that what the server starts in router mode, itself, is loaded as it was.
LOADER, RELATIVE = b"/lib64/ld-linux-x86-64.so.2", b"ld.so"
LAUNCHER = """#!/bin/sh
cd "$(dirname "$(dirname "$(readlink -f "$0")")")" || exit
GGML_BACKEND_PATH=$(ls "$PWD"/usr/lib/*/ggml/backends0/libggml-cpu-x64.so)
libraries=$(cat libraries)
export GGML_BACKEND_PATH
LD_LIBRARY_PATH=$libraries exec ./llama-server "$@"
"""


def install(into: Path) -> str:
    """Unpack unless done before; return the line to print."""
    server, binary = into / "bin/llama-server", into / "llama-server"  # The second one is made last.
    if not binary.exists():
        shutil.rmtree(into, ignore_errors=True)
        into.mkdir(parents=True, exist_ok=True)
        with tempfile.TemporaryDirectory(dir=into) as work:
            folder = Path(work)
            fetch.debian_mirror(folder)
            fetch.run("apt-get", "-c", folder / "apt.conf", "download", *PACKAGES, within=folder)
            for package in folder.glob("*.deb"):
                fetch.run("dpkg-deb", "-x", package, "unpacked", within=folder)
            shutil.copytree(folder / "unpacked", into, symlinks=True, dirs_exist_ok=True)
        folders = sorted({str(library.parent) for library in into.rglob("*.so*") if library.is_file()})
        (into / "libraries").write_text(":".join(folders))
        pip = (sys.executable, "-m", "pip", "install", "--quiet", "--target", into / "python", GGUF)
        fetch.run(*pip, within=into)
        (into / "ld.so").symlink_to("usr/lib64/ld-linux-x86-64.so.2")
        server.parent.mkdir(exist_ok=True)
        server.write_text(LAUNCHER)
        server.chmod(0o755)
        binary.write_bytes(
            (into / "usr/bin/llama-server").read_bytes().replace(LOADER, RELATIVE.ljust(len(LOADER), b"\0"))
        )
        binary.chmod(0o755)
    told = subprocess.run([server, "--version"], capture_output=True, text=True, check=True)
    return f"{(told.stdout + told.stderr).splitlines()[0]} in {into}"


def main() -> int:
    """Parse the command line; report every failure in one line."""
    parser = argparse.ArgumentParser(description="Unpack llama.cpp's server into a folder.")
    parser.add_argument("into", type=Path, help="folder")
    try:
        sys.stdout.write(install(parser.parse_args().into.absolute()) + "\n")
    except (fetch.FetchError, fetch.UnavailableError, OSError, subprocess.CalledProcessError) as error:
        sys.stderr.write(f"install_llama.py: {' '.join(str(error).split())}\n")
        return 2
    return 0


if __name__ == "__main__":
    sys.exit(main())
