"""The site as `make docs` builds it."""

import os
import re
import shutil
import subprocess
import sys
from pathlib import Path
from urllib.parse import urlencode

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


def shown(page: Path, **labels: str) -> str:
    """A page as a browser shows it where its address carries labels."""
    browser = os.environ.get("CHROMIUM", "chromium")
    if not shutil.which(browser):
        pytest.skip("Chromium is missing")
    address = f"{page.as_uri()}?{urlencode(labels)}"
    command = [browser, "--headless", "--no-sandbox", "--disable-gpu", "--virtual-time-budget=5000", "--dump-dom"]
    done = subprocess.run([*command, address], capture_output=True, text=True, check=True)
    return re.sub(r"<[^>]+>", "", done.stdout)


def test_a_link_from_an_alert_fills_in_the_commands_of_its_runbook(site: Path) -> None:
    page = site / "runbooks/VLLMServerOutlier.md/index.html"
    text = shown(page, MODEL="meta-llama/Llama-3.3-70B@fp8", HOST="gpu-1:8000")
    assert 'alertname=VLLMServerOutlier model_name="meta-llama/Llama-3.3-70B@fp8" instance="gpu-1:8000"' in text
    assert "MODEL" not in text
    assert "HOST:8000" not in text


def test_hostile_labels_do_not_reach_the_commands_of_a_runbook(site: Path) -> None:
    page = site / "runbooks/VLLMModelGone.html"
    as_written = shown(page)
    assert 'model_name="MODEL"' in as_written
    for name in ("'; id; '", '"} or x{a="', "$(id)", "a`id`", "<img src=x>", "m\nid", "{{user}}", "modèle", "$&"):
        assert shown(page, MODEL=name) == as_written, name


def test_no_page_loads_anything_from_elsewhere(site: Path) -> None:
    for page in site.rglob("*.html"):
        loaded = re.findall(r"<(?:script|img|link)[^>]+(?:src|href)=\"(https?:[^\"]+)", page.read_text())
        assert not loaded, page
