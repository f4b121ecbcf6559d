"""The packages of Grafana's front end are for a check: exact versions, none committed, none shipped."""

import json
import re
import subprocess
import tomllib
from operator import attrgetter
from pathlib import Path

import pytest

from conftest import ROOT

FOLDER = ROOT / "tests/grafana"


@pytest.mark.parametrize("folder", [FOLDER, *(FOLDER / "versions").iterdir()], ids=attrgetter("name"))
def test_versions_are_exact_and_locked_without_an_address(folder: Path) -> None:
    wanted = json.loads((folder / "package.json").read_text())["dependencies"]
    locked = json.loads((folder / "package-lock.json").read_text())["packages"]
    assert all(re.fullmatch(r"\d+\.\d+\.\d+(-\d+)?", version) for version in wanted.values())
    assert wanted == locked[""]["dependencies"]
    assert [name for name, package in locked.items() if "resolved" in package] == []
    assert [name for name, package in locked.items() if name and "integrity" not in package] == []


def test_neither_packages_nor_their_bundle_are_committed() -> None:
    packages = ["tests/grafana/node_modules/react/index.js", "tests/grafana/versions/12.0/node_modules/react/index.js"]
    ignored = [*packages, "tests/grafana/dist/page.js", "build/grafana/views/a.png"]
    done = subprocess.run(["git", "check-ignore", *ignored], cwd=ROOT, capture_output=True, text=True, check=False)
    assert done.stdout.splitlines() == ignored


def test_what_is_shipped_holds_none_of_them() -> None:
    wheel = tomllib.loads((ROOT / "pyproject.toml").read_text())["tool"]["hatch"]["build"]["targets"]["wheel"]
    assert wheel["only-include"] == ["generator/draftboard", "deploy", "docs"]
    assert not re.search(r"\.(m?js|tsx?|css)\b|node_modules|tests", str(wheel))
