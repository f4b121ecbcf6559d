"""What the stack's Prometheus is told to scrape: a real one reads it, and a server that does not run counts as down."""

import os
import shutil
import subprocess
from pathlib import Path

import pytest

from conftest import ROOT, program
from draftboard.durations import Duration
from draftboard.lab.simulator import find
from draftboard.lab.simulator.fleet import targets
from draftboard.lab.simulator.serve import serving
from draftboard.prometheus import Client, Server
from draftboard.prometheus.client import Series
from support.waiting import sampled

pytestmark = pytest.mark.prometheus

DEPLOY = ROOT / "deploy"
FREQUENT = 'global: {scrape_interval: 1s}\nscrape_config_files: ["scrape/*.yaml"]\n'


def written(folder: Path, profiles: str, target: str = "") -> None:
    """What the script of the stack tells Prometheus in its container."""
    (folder / "scrape").mkdir()
    environment = {
        "PATH": os.environ["PATH"],
        "SCRAPE_FOLDER": str(folder / "scrape"),
        "SCRAPE_OPTIONS": str(DEPLOY / "prometheus/scrape-options.yml"),
        "PROFILES": profiles,
        "SPEC_METHOD": "eagle3",
        "HOST_LABEL": "gpu-1",
        "VLLM_TARGET": target,
        "BYTES_PER_SERIES": "24000",
    }
    script = ["/bin/sh", str(DEPLOY / "prometheus/start.sh"), "true"]
    subprocess.run(script, env=environment, check=True, timeout=300)


@pytest.mark.parametrize(
    ("profiles", "target"),
    [("gpu", ""), ("demo", ""), ("gpu,baseline", ""), ("monitoring", "10.0.0.5:8000"), ("monitoring,exporters", "a:1")],
)
def test_the_whole_configuration_is_accepted_for_every_profile(
    tmp_path: Path, promtool: Path, profiles: str, target: str
) -> None:
    written(tmp_path, profiles, target)
    (tmp_path / "config").mkdir()
    shutil.copy(DEPLOY / "prometheus/prometheus.yml", tmp_path / "config")
    (tmp_path / "rules").symlink_to(ROOT / "alerts")
    done = subprocess.run(
        [str(promtool), "check", "config", str(tmp_path / "config/prometheus.yml")],
        capture_output=True,
        text=True,
        timeout=300,
        check=False,
    )
    assert done.returncode == 0, done.stdout + done.stderr


def seen(folder: Path, expected: str) -> list[Series]:
    """What a real Prometheus that reads the script's word has scraped, once an expression has a sample."""
    server = Server(program("prometheus"), folder, Duration(60), FREQUENT)
    with server.running() as url, Client(url) as client:
        return client.query("up", sampled(client, expected))


def test_a_server_that_does_not_run_is_a_target_that_is_down(tmp_path: Path) -> None:
    written(tmp_path, "monitoring", "127.0.0.1:1")  # where nobody listens
    [target] = seen(tmp_path, "up == 0")
    assert target.samples[0][1] == 0
    assert target.labels == {
        "__name__": "up",
        "job": "vllm",
        "instance": "127.0.0.1:1",
        "host": "gpu-1",
        "spec_method": "eagle3",
    }


def test_the_simulators_servers_are_found_with_their_labels_and_belong_to_the_job_of_vllm(tmp_path: Path) -> None:
    with serving(targets(find("baseline-vs-spec"), seed=1), "127.0.0.1", 0, speed=1) as places:
        written(tmp_path, "demo")
        file = tmp_path / "scrape/stack.yaml"
        file.write_text(file.read_text().replace("simulator:8000", places[0]))  # a name that only the stack knows
        found = seen(tmp_path, "count(up == 1) == 2")
    assert {(series.labels["job"], series.labels["spec_method"], series.samples[0][1]) for series in found} == {
        ("vllm", "eagle3", 1.0),
        ("vllm", "none", 1.0),
    }
