"""The files of a release: made again of a clone, checked, unpacked elsewhere, installed and loaded."""

import hashlib
import json
import os
import re
import shutil
import subprocess
import sys
import tarfile
from pathlib import Path

import pytest

from conftest import ROOT, program
from draftboard import REVISION, __version__
from scripts.needs import needs
from support.wheels import PIP, tracked

pytestmark = pytest.mark.dist
TAG = f"v{__version__}"
ARCHIVE = f"draftboard-monitoring-{__version__}.tar.gz"


@pytest.fixture
def clone(tmp_path: Path) -> Path:
    folder = tmp_path / "clone"
    subprocess.run(["git", "clone", "--quiet", ROOT, folder], check=True)
    return folder


def made(clone: Path, *options: str) -> subprocess.CompletedProcess[str]:
    """What the clone's script says that makes a release in `out` beside it, for a user far away with private files."""
    command: tuple[str | Path, ...] = (sys.executable, "-m", "scripts.dist", clone.parent / "out", *options)
    variables = {"PYTHONPATH": f"{clone / 'tests'}:{clone / 'generator'}", "TZ": "Asia/Tokyo"}
    return subprocess.run(
        command, cwd=clone, env=os.environ | variables, umask=0o077, capture_output=True, text=True, check=False
    )


def said(*command: str | Path, cwd: Path) -> str:
    """What a program prints that ends well, where no variable leads it to the checkout."""
    clean = {name: value for name, value in os.environ.items() if name not in {"PYTHONPATH", "VIRTUAL_ENV"}}
    done = subprocess.run(command, cwd=cwd, env=clean, capture_output=True, text=True, timeout=300, check=False)
    assert done.returncode == 0, done.stdout + done.stderr
    return done.stdout


def test_they_are_those_of_this_commit_made_again_to_the_byte(dist: Path, clone: Path) -> None:
    done = made(clone)
    assert done.returncode == 0, done.stderr
    again = clone.parent / "out/SHA256SUMS"
    assert (dist / "SHA256SUMS").read_text() == again.read_text(), "build/dist is of another commit: run make dist"


def test_each_checksum_verifies(dist: Path) -> None:
    names = {path.name for path in dist.iterdir()}
    assert names == {
        f"draftboard-{__version__}-py3-none-any.whl",
        f"draftboard-{__version__}.tar.gz",
        f"draftboard-{__version__}.cdx.json",
        ARCHIVE,
        "SHA256SUMS",
    }
    pairs = (line.split("  ") for line in (dist / "SHA256SUMS").read_text().splitlines())
    lines = {name: checksum for checksum, name in pairs}
    assert lines == {name: hashlib.sha256((dist / name).read_bytes()).hexdigest() for name in names - {"SHA256SUMS"}}
    said("sha256sum", "--check", "--strict", "SHA256SUMS", cwd=dist)


def test_the_archive_is_sorted_and_of_nobody(dist: Path) -> None:
    with tarfile.open(dist / ARCHIVE) as archive:
        members = archive.getmembers()
    assert {(one.uname, one.gname, one.uid, one.gid) for one in members} == {("root", "root", 0, 0)}
    assert {one.mode for one in members} == {0o755, 0o644}
    assert [one.name.split("/") for one in members] == sorted(one.name.split("/") for one in members)
    assert {one.type for one in members} == {tarfile.REGTYPE, tarfile.DIRTYPE}


def test_it_holds_what_is_committed_and_nothing_of_the_user(unpacked: Path) -> None:
    for path in tracked("alerts") + tracked("dashboards") + tracked("mixin") + tracked("deploy"):
        if not path.startswith(("deploy/demo/", "deploy/.compose-lint")):
            assert (unpacked / path).read_bytes() == (ROOT / path).read_bytes(), path
    assert (unpacked / "mixin.libsonnet").read_bytes() == (ROOT / "mixin.libsonnet").read_bytes()
    there = {path.relative_to(unpacked).as_posix() for path in unpacked.rglob("*") if path.is_file()}
    assert there <= {*tracked()} | {"Makefile", "README.md"}


def test_promtool_takes_its_rules_and_its_configuration(unpacked: Path, tmp_path: Path) -> None:
    rules = sorted((unpacked / "alerts").glob("*.rules.yaml"))
    found = re.findall(r"SUCCESS: (\d+) rules", said(program("promtool"), "check", "rules", *rules, cwd=unpacked))
    assert len(found) == 2
    # As the container mounts them.
    shutil.copytree(unpacked / "deploy/prometheus", tmp_path / "config")
    shutil.copytree(unpacked / "alerts", tmp_path / "rules")
    checked = said(program("promtool"), "check", "config", "config/prometheus.yml", cwd=tmp_path)
    assert all(f"SUCCESS: {number} rules" in checked for number in found)


def test_its_readme_and_runbooks_link_to_pages_that_are_there(unpacked: Path) -> None:
    for page in (unpacked / "README.md", *(unpacked / "alerts").rglob("*.md")):
        for link in re.findall(r"\]\(([\w./-]+\.md)", page.read_text()):
            assert (page.parent / link).exists(), f"{page.name}: {link}"


def test_the_wheel_works_in_an_empty_environment_and_builds_the_same_files(
    dist: Path, unpacked: Path, tmp_path: Path
) -> None:
    (wheel,) = dist.glob("*.whl")
    said(sys.executable, "-m", "venv", "--without-pip", tmp_path / "environment", cwd=tmp_path)
    draftboard = tmp_path / "environment/bin/draftboard"
    install = (*PIP, f"--python={draftboard.parent / 'python'}", "install", "--no-compile")
    said(*install, "--constraint", ROOT / "constraints.txt", *needs(), cwd=tmp_path)
    said(*install, "--no-deps", wheel, cwd=tmp_path)
    assert said(draftboard, "--version", cwd=tmp_path).strip().endswith(f" {__version__}")
    said(draftboard, "check", "--out", unpacked, cwd=tmp_path)
    assert "Draft acceptance" in said(draftboard, "report", ROOT / "tests/data/v0.32.0-ngram-load.prom", cwd=tmp_path)


def test_the_sbom_lists_what_the_wheel_needs_and_nothing_of_this_machine(dist: Path) -> None:
    text = (dist / f"draftboard-{__version__}.cdx.json").read_text()
    bom = json.loads(text)
    assert bom["bomFormat"] == "CycloneDX"
    made_of = bom["metadata"]["component"]
    assert (made_of["name"], made_of["version"]) == ("draftboard", __version__)
    listed = {component["name"].lower().replace("_", "-") for component in bom["components"]}
    assert {"click", "grafanalib", "httpx", "jinja2", "prometheus-client", "pydantic", "pyyaml", "rich"} <= listed
    assert not {"pytest", "mypy", "hatchling", "pip", "draftboard"} & listed
    assert {"numpy", "scipy", "statsmodels", "matplotlib"} <= listed, "its extras too"
    assert {"prom/prometheus", "vllm/vllm-openai", "grafana/grafana"} <= listed, "and the images of the stack"
    packages = [component for component in bom["components"] if component["type"] == "library"]
    assert [component["name"] for component in packages if not component["hashes"]] == []
    assert "/tmp/" not in text
    assert str(ROOT) not in text


def refused(clone: Path, *options: str) -> str:
    """What is said where no release is made."""
    there = sorted(clone.parent.rglob("out/*"))
    done = made(clone, *options)
    assert done.returncode in {1, 2}
    assert sorted(clone.parent.rglob("out/*")) == there
    assert "Traceback" not in done.stderr
    return done.stderr


def test_the_tag_of_another_version_is_refused(clone: Path) -> None:
    assert f"tag v9.9.9 is not v{__version__}: change __version__" in refused(clone, "--tag=v9.9.9")


@pytest.mark.skipif(TAG == REVISION, reason="these are the files of a release")
def test_the_tag_of_files_that_link_elsewhere_is_refused(clone: Path) -> None:
    assert f"links name {REVISION}: make REVISION of draftboard {TAG}" in refused(clone, f"--tag={TAG}")


def test_files_that_are_not_as_committed_are_refused(clone: Path) -> None:
    (clone / "untracked").touch()
    (clone / "docs/migrate.md").unlink()
    assert "docs/migrate.md is not as committed" in refused(clone)


def test_a_folder_that_is_there_is_left_as_it_is(clone: Path) -> None:
    (clone.parent / "out").mkdir()
    (clone.parent / "out/other.whl").touch()
    assert "out exists: choose another folder" in refused(clone)


def test_without_the_history_of_git_nothing_is_made(clone: Path) -> None:
    shutil.rmtree(clone / ".git")
    assert "not a git repository" in refused(clone)
