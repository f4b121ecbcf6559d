"""What runs on GitHub is pinned, and a release is published only of files that were built and tested under its tag."""

import json
import re
from pathlib import Path
from typing import Any

import helm_python as helm
import pytest

from conftest import ROOT
from draftboard import __version__
from scripts import listing
from support import charts
from support.rulefiles import loaded

WORKFLOWS = sorted((ROOT / ".github/workflows").glob("*.yml"))


@pytest.fixture(scope="module")
def jobs() -> dict[str, Any]:
    return dict(loaded((ROOT / ".github/workflows/release.yml").read_text())["jobs"])


def commands_of(job: dict[str, Any]) -> list[str]:
    return [step["run"] for step in job["steps"] if "run" in step]


@pytest.mark.parametrize("path", WORKFLOWS, ids=lambda path: path.stem)
def test_every_action_is_pinned_to_a_commit_and_names_its_release(path: Any) -> None:
    used = re.findall(r"(?m)^ *- uses: (.+)$", path.read_text())
    assert used
    assert [one for one in used if not re.fullmatch(r"[\w-]+/[\w-]+@[0-9a-f]{40} # v\d+\.\d+\.\d+", one)] == []


def test_each_step_to_a_release_waits_for_the_one_before(jobs: dict[str, Any]) -> None:
    assert {name: job.get("needs") for name, job in jobs.items()} == {
        "test": None,
        "build": "test",
        "attest": "build",
        "pypi": "attest",
        "files": "pypi",
        "chart": "files",
        "image": "files",
    }
    assert "make test" in [step.get("run") for step in jobs["test"]["steps"]]
    commands = commands_of(jobs["build"])
    assert commands[0] == 'make dist "TAG=$GITHUB_REF_NAME"'
    assert commands[-1] == "make test-dist"


def test_every_target_that_a_workflow_makes_is_one_of_the_makefile() -> None:
    targets = set(re.findall(r"(?m)^([a-z-]+):", (ROOT / "Makefile").read_text()))
    made = {name for path in WORKFLOWS for name in re.findall(r"run: make ([a-z-]+)", path.read_text())}
    assert {"dist", "listing", "push-image", "test"} <= made <= targets


def test_only_jobs_that_push_may_write_packages_and_their_token_is_no_argument(jobs: dict[str, Any]) -> None:
    writing = {name for name, job in jobs.items() if job["permissions"].get("packages") == "write"}
    assert writing == {"chart", "image"}
    for name in writing:
        logins = [command for command in commands_of(jobs[name]) if " login " in command]
        assert logins
        assert all(
            command.startswith("printf '%s' \"$TOKEN\" | ") and "--password-stdin" in command for command in logins
        )


def test_the_chart_that_is_pushed_is_this_version_under_the_name_that_artifact_hub_reads(
    jobs: dict[str, Any], tmp_path: Path
) -> None:
    package, push, *_ = [command for command in commands_of(jobs["chart"]) if re.match("helm (package|push)", command)]
    folder = package.split()[2]
    assert ROOT / folder == charts.FOLDER
    archive = helm.package(charts.FOLDER, destination=tmp_path)
    assert Path(archive).name == f"draftboard-{__version__}.tgz"
    assert push.endswith('"oci://ghcr.io/$OWNER/charts"')
    (described,) = (command for command in commands_of(jobs["chart"]) if command.startswith("oras push"))
    assert '"ghcr.io/$OWNER/charts/draftboard:artifacthub.io"' in described
    assert (ROOT / ".github" / described.split()[-1].partition(":")[0]).is_file()


def test_artifact_hubs_file_and_the_owners_of_the_code_name_somebody() -> None:
    listed = loaded((ROOT / ".github/artifacthub-repo.yml").read_text())
    assert listed.keys() <= {"repositoryID", "owners", "ignore"}
    assert all(owner.keys() == {"name", "email"} for owner in listed["owners"])
    lines = [line for line in (ROOT / ".github/CODEOWNERS").read_text().splitlines() if line[0] != "#"]
    assert all(re.fullmatch(r"\S+( @[\w/-]+)+", line) for line in lines)
    assert lines


def test_each_dashboard_for_import_is_listed_with_text_picture_and_logo(tmp_path: Path) -> None:
    listing.main(tmp_path / "listing")
    folders = sorted((tmp_path / "listing").iterdir())
    assert [one.name for one in folders] == sorted(path.stem for path in (ROOT / "dashboards/grafana-com").iterdir())
    for folder in folders:
        page, text = json.loads((folder / "dashboard.json").read_text()), (folder / "README.md").read_text()
        assert text.startswith(page["description"])
        assert ("No rules" in text) == ("raw" in page["tags"])
        assert (folder / "logo.svg").is_file()
        assert (folder / "picture.png").is_file()
