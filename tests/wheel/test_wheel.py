"""What is installed from a wheel works in an empty folder, without a checkout."""

import re
import shutil
import zipfile
from pathlib import Path

import pytest

from conftest import ROOT, program
from support.wheels import IGNORED, Run, built, tracked

pytestmark = pytest.mark.wheel
LARGEST = 1_520_000
"""Bytes: 1,462,303 on 2026-11-28, of which 218,940 are the demo's recording and 36,451 hashes of packages, with which
`make up-demo` builds the simulator's image from what `stack init` wrote.

Of what came since the bound of 1,502,173, code is 130,000 (signals, attribution and drills most), docs are 30,000."""
BUILT = tracked("deploy/kubernetes/chart/files")
"""What `draftboard stack init` builds, and no wheel carries."""
PAGE = ROOT / "tests/data/v0.32.0-ngram-load.prom"


def test_it_carries_the_stack_as_git_has_it_and_nothing_of_the_user(wheel: Path) -> None:
    carried = {name.partition("/project/")[2] for name in zipfile.ZipFile(wheel).namelist() if "/project/" in name}
    assert carried >= {*tracked("deploy")} - {"deploy/.compose-lint.yml", *BUILT}
    assert carried <= {*tracked()}
    assert not carried & {*IGNORED}


def test_it_is_small(wheel: Path) -> None:
    assert wheel.stat().st_size < LARGEST


def test_init_and_build_write_what_the_repository_has(run: Run, tmp_path: Path) -> None:
    assert run("draftboard", "init").stderr == ""
    done = run("draftboard", "build", "--config", "draftboard.toml", "--out", "monitoring")
    assert (done.returncode, done.stderr) == (0, "")
    for path in tracked("alerts") + tracked("dashboards"):
        assert (tmp_path / "monitoring" / path).read_text() == (ROOT / path).read_text(), path


def test_report_and_doctor_read_a_page(run: Run) -> None:
    assert "tokens per decode step" in run("draftboard", "report", PAGE).stdout.lower()
    assert run("draftboard", "doctor", PAGE).returncode in {0, 1}


def test_simulate_writes_history(run: Run, tmp_path: Path) -> None:
    assert "drafter-broken" in run("draftboard", "simulate", "--list").stdout
    options = ("--scenario", "idle", "--backfill", "2m", "--out", "past.om")
    assert run("draftboard", "simulate", *options).returncode == 0
    assert (tmp_path / "past.om").read_text().endswith("# EOF\n")


def test_the_demo_replays_its_recording_and_drills(run: Run) -> None:
    programs = {name.upper(): str(program(name)) for name in ("prometheus", "promtool", "alertmanager")}
    done = run("draftboard", "demo", **programs)
    assert done.returncode == 0, done.stderr
    assert "takes about 30s at --speed 60" in done.stderr
    assert "users wait less (measured)" in done.stdout
    assert re.search(r"SpecDecodeAcceptanceDrop +receiver warning", done.stdout)


def test_a_program_that_is_missing_is_named_with_its_version(run: Run) -> None:
    done = run("draftboard", "demo", PROMETHEUS="/absent", PROMTOOL="/absent", ALERTMANAGER="/absent")
    assert done.returncode == 2
    assert "install Prometheus 3.5 or newer" in done.stderr
    assert "make tools" not in done.stderr


def test_stack_init_writes_a_stack_that_is_configured_built_and_upgraded(run: Run, tmp_path: Path) -> None:
    stack = tmp_path / "stack"
    done = run("draftboard", "stack", "init", stack)
    assert (done.returncode, done.stderr) == (0, "")
    assert "make up-demo" in run("make", "help", cwd=stack).stdout
    for path in BUILT:
        assert (stack / path).read_text() == (ROOT / path).read_text(), path
    assert run("make", "secrets", cwd=stack).returncode == 0
    secret = (stack / "deploy/secrets/vllm_api_key").read_text()
    assert secret
    compose = (program("docker-compose"), "--project-directory", stack / "deploy", "config", "--quiet")
    assert run(*compose).stderr == ""
    assert run("make", "check", cwd=stack).returncode == 0

    (stack / "deploy/my.toml").write_text('[links]\ngrafana = "https://grafana.example.com"\n')
    assert run("make", "build", cwd=stack).returncode == 0
    assert "https://grafana.example.com" in (stack / "deploy/built/alerts/alerting.rules.yaml").read_text()

    (stack / "deploy/docker-compose.yml").write_text("of an earlier release")
    again = run("draftboard", "stack", "init", stack)
    assert again.returncode == 2
    assert "--upgrade" in again.stderr
    assert (stack / "deploy/docker-compose.yml").read_text() == "of an earlier release"
    assert run("draftboard", "stack", "init", "--upgrade", stack).returncode == 0
    assert (stack / "deploy/docker-compose.yml").read_text() == (ROOT / "deploy/docker-compose.yml").read_text()
    assert (stack / "deploy/secrets/vllm_api_key").read_text() == secret
    assert (stack / "deploy/my.toml").exists()


def test_the_simulators_image_is_built_from_what_stack_init_wrote(run: Run, tmp_path: Path) -> None:
    stack, context = tmp_path / "stack", tmp_path / "context"
    assert run("draftboard", "stack", "init", stack).returncode == 0
    context.mkdir()
    for name in re.findall(r"(?m)^!(.+)$", (stack / "deploy/simulator/Dockerfile.dockerignore").read_text()):
        (context / name).parent.mkdir(parents=True, exist_ok=True)
        copy = shutil.copytree if (stack / name).is_dir() else shutil.copy
        copy(stack / name, context / name)
    names = zipfile.ZipFile(built(context, tmp_path)).namelist()
    assert "draftboard/lab/simulator/scenarios/baseline-vs-spec.toml" in names
