"""What the stack's Prometheus is told to scrape: a real one reads it, and a server that does not run counts as down."""

import os
import subprocess
import time
from pathlib import Path
from typing import Any

import httpx
import pytest

from conftest import ROOT, program

pytestmark = pytest.mark.prometheus

POLLS, POLL_SECONDS = 600, 0.1
CONFIGURATION = 'scrape_config_files: ["scrape/*.yaml"]\n'
SCRIPT = ROOT / "deploy/prometheus/start.sh"


def written(folder: Path, profiles: str, target: str = "") -> Path:
    """The configuration that Prometheus is started with, and the part of it that the stack's script writes."""
    (folder / "scrape").mkdir()
    file = folder / "prometheus.yml"
    file.write_text(CONFIGURATION)
    environment = {
        "PATH": os.environ["PATH"],
        "SCRAPE_FOLDER": str(folder / "scrape"),
        "PROFILES": profiles,
        "SPEC_METHOD": "eagle3",
        "HOST_LABEL": "gpu-1",
        "VLLM_TARGET": target,
    }
    subprocess.run(["/bin/sh", str(SCRIPT), "true"], env=environment, check=True, timeout=30)
    return file


@pytest.mark.parametrize(
    ("profiles", "target"),
    [
        ("gpu", ""),
        ("demo", ""),
        ("gpu,baseline,load", ""),
        ("monitoring", "10.0.0.5:8000"),
        ("monitoring,exporters", "a:1"),
    ],
)
def test_promtool_accepts_it_for_every_profile(tmp_path: Path, promtool: Path, profiles: str, target: str) -> None:
    file = written(tmp_path, profiles, target)
    done = subprocess.run(
        [str(promtool), "check", "config", str(file)], capture_output=True, text=True, timeout=60, check=False
    )
    assert done.returncode == 0, done.stderr


def up(url: str) -> list[dict[str, Any]]:
    answer = httpx.get(f"{url}/api/v1/query", params={"query": "up"}, trust_env=False).json()
    found: list[dict[str, Any]] = answer["data"]["result"]
    return found


def test_a_server_that_does_not_run_is_a_target_that_is_down(tmp_path: Path) -> None:
    # A port of this machine's that nobody listens on stands for the server.
    file = written(tmp_path, "monitoring", "127.0.0.1:1")
    log = tmp_path / "log"
    command = [str(program("prometheus")), f"--config.file={file}", f"--storage.tsdb.path={tmp_path / 'data'}"]
    with log.open("wb") as output:
        process = subprocess.Popen(
            [*command, "--web.listen-address=127.0.0.1:0"], stdout=output, stderr=output, cwd=tmp_path
        )
    try:
        for _ in range(POLLS):
            address = [line for line in log.read_text().splitlines() if 'msg="Listening on"' in line]
            found = up(f"http://{address[0].partition('address=')[2].split()[0]}") if address else []
            if found:
                break
            time.sleep(POLL_SECONDS)
    finally:
        process.terminate()
        process.wait(30)
    assert [(series["metric"], series["value"][1]) for series in found] == [
        (
            {"__name__": "up", "job": "vllm", "instance": "127.0.0.1:1", "host": "gpu-1", "spec_method": "eagle3"},
            "0",
        )
    ]
