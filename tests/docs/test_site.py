"""The site as `make docs` builds it."""

import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

from conftest import ROOT

pytestmark = pytest.mark.docs


@pytest.fixture(scope="module")
def site(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Built strictly: a dead link or anchor, or a page outside the navigation, ends it."""
    folder = tmp_path_factory.mktemp("site")
    environment = {**os.environ, "PYTHONPATH": f"{ROOT}/generator:{ROOT}/tests", "NO_MKDOCS_2_WARNING": "1"}
    subprocess.run(
        [sys.executable, "-m", "mkdocs", "build", "--strict", "--site-dir", folder],
        cwd=ROOT,
        env=environment,
        check=True,
    )
    return folder


def test_every_alert_finds_its_runbook(site: Path) -> None:
    for runbook in (ROOT / "alerts/runbooks").glob("*.md"):
        assert f"url=../{runbook.stem}.html" in (site / "runbooks" / runbook.name / "index.html").read_text()
        assert runbook.stem in (site / f"runbooks/{runbook.stem}.html").read_text()


def test_no_page_loads_anything_from_elsewhere(site: Path) -> None:
    for page in site.rglob("*.html"):
        loaded = re.findall(r"<(?:script|img|link)[^>]+(?:src|href)=\"(https?:[^\"]+)", page.read_text())
        assert not loaded, page
