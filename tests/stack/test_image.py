"""The image of the command line: built, and run as nobody on a read-only root."""

from dataclasses import replace
from pathlib import Path

import pytest

from conftest import DEMO_SETTINGS, ROOT
from draftboard import __version__
from draftboard.lab.replay import Replay
from stack.engine import Engine
from stack.stand_ins import images
from support import charts

pytestmark = pytest.mark.stack
IMAGE = "draftboard/draftboard:test"
HARDENED = ("run", "--rm", "--read-only", "--cap-drop=ALL", "--security-opt=no-new-privileges", "--network=none")
SCHEDULES = {"doctor": {"schedule": "@daily"}, "summary": {"schedule": "@weekly"}}


@pytest.fixture(scope="module")
def image(docker: Engine) -> str:
    classic = (
        replace(docker, environment={**docker.environment, "DOCKER_BUILDKIT": "0"}) if docker.is_private else docker
    )
    arguments = ["--build-arg", f"PYTHON_IMAGE={images()['python']}", "--build-arg", "EXTRAS=mcp"]
    arguments += ["--network=host"] * docker.is_private
    file = ROOT / "deploy/simulator/Dockerfile"
    classic.docker("build", "--quiet", "--file", file, "--target", "cli", *arguments, "--tag", IMAGE, ROOT)
    return IMAGE


def test_it_runs_as_nobody_and_writes_nothing(docker: Engine, image: str) -> None:
    assert docker.docker(*HARDENED, image, "--version").endswith(__version__)
    assert docker.docker("image", "inspect", image, "--format", "{{.Config.User}}") == "65534:65534"


def test_it_examines_files_that_are_mounted(docker: Engine, image: str, tmp_path: Path) -> None:
    tmp_path.chmod(0o755)
    compose = tmp_path / "compose.yaml"
    compose.write_text("services:\n  v:\n    image: vllm/vllm-openai\n    command: --model M --speculative-model=x\n")
    done = docker.tried(*HARDENED, f"--volume={tmp_path}:/work:ro", image, "doctor", "compose.yaml")
    assert done.returncode == 1
    assert "services.v" in done.stdout


def test_modules_in_the_mounted_folder_are_not_imported(docker: Engine, image: str, tmp_path: Path) -> None:
    tmp_path.chmod(0o755)
    (tmp_path / "click.py").write_text("raise SystemExit('imported')\n")
    assert docker.docker(*HARDENED, f"--volume={tmp_path}:/work:ro", image, "--version").endswith(__version__)


def test_the_charts_jobs_run_in_it(docker: Engine, image: str, demo_run: Replay) -> None:
    jobs = {"prometheus": demo_run.client.url, "settings": DEMO_SETTINGS.read_text(), **SCHEDULES}
    settings = f"--volume={DEMO_SETTINGS}:/etc/draftboard/settings/draftboard.toml:ro"
    off = {"dashboards": {"kind": "none"}, "scrape": {"kind": "none"}, "rules": {"recording": False, "alerting": False}}
    of_jobs = charts.arguments_of_jobs(charts.rendered({**off, "jobs": jobs}))
    of_jobs["summary"] += ["--at", f"{demo_run.end:.0f}"]  # The recording is of a day that the last week leaves.
    doctor, summary = (
        docker.tried(*HARDENED[:-1], "--network=host", settings, image, *arguments) for arguments in of_jobs.values()
    )
    assert doctor.returncode == 1, "a replay scrapes nothing"
    assert "no vLLM server is scraped" in doctor.stdout + doctor.stderr
    assert summary.returncode == 0, summary.stderr
    assert "tiny" in summary.stdout


def test_it_adds_little_to_its_base(docker: Engine, image: str) -> None:
    sizes = [
        int(docker.docker("image", "inspect", name, "--format", "{{.Size}}")) for name in (image, images()["python"])
    ]
    assert sizes[0] - sizes[1] < 80_000_000
