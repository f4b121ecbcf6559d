"""A replay of what `promtool tsdb dump-openmetrics` writes of a Prometheus whose server was away for a while."""

import math
import os
import subprocess
import sys
import threading
import time
from http.server import BaseHTTPRequestHandler
from pathlib import Path

import pytest

from conftest import program, replayed
from draftboard.durations import Duration
from draftboard.lab.replay import story_of, summary
from draftboard.prometheus import Server
from draftboard.settings import load
from support.loopback import answering, page

pytestmark = [pytest.mark.prometheus, pytest.mark.long, pytest.mark.xdist_group("replayed_dump")]

SETTINGS = """
[rules]
scrape_interval = "1s"
window = "4s"
down_after = "2s"
evaluation_interval = "1s"
compare_with = "4s"
"""
SCRAPES = """
global: {{scrape_interval: 1s, scrape_timeout: 1s, evaluation_interval: 1s}}
rule_files: [{rules}]
scrape_configs:
- job_name: vllm
  static_configs: [{{targets: ["{place}"], labels: {{spec_method: ngram}}}}]
"""
STEADY, GONE = 12, 7
"""Scrapes that are answered before and after those that are not."""


class Counting:
    """A server's page with so many drafts more at every scrape, and none at some of them."""

    def __init__(self) -> None:
        self.scrapes = 0
        self.done = threading.Event()

    def __call__(self, request: BaseHTTPRequestHandler) -> None:
        self.scrapes += 1
        if self.scrapes >= 2 * STEADY + GONE:
            self.done.set()
        if STEADY < self.scrapes <= STEADY + GONE:
            page("", 500)(request)
            return
        own, drafts = 'model_name="m",engine="0"', 100 * self.scrapes
        page(
            f"vllm:num_requests_running{{{own}}} 1\n"
            f"vllm:generation_tokens_total{{{own}}} {2 * drafts}\n"
            f"vllm:spec_decode_num_drafts_total{{{own}}} {drafts}\n"
            f"vllm:spec_decode_num_draft_tokens_total{{{own}}} {drafts}\n"
            f"vllm:spec_decode_num_accepted_tokens_total{{{own}}} {drafts // 2}\n"
            f'vllm:spec_decode_num_accepted_tokens_per_pos_total{{{own},position="0"}} {drafts // 2}\n',
            Content_Type="text/plain; version=0.0.4",
        )(request)


@pytest.fixture(scope="module")
def settings(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("settings") / "draftboard.toml"
    path.write_text(SETTINGS)
    return path


@pytest.fixture(scope="module")
def dump(settings: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A dump of a real Prometheus' data, with its records and alerts."""
    folder = tmp_path_factory.mktemp("dump")
    built = folder / "built"
    build = [sys.executable, "-m", "draftboard", "build", f"--config={settings}", f"--out={built}"]
    subprocess.run(build, check=True, capture_output=True)
    server = Counting()
    with answering(server) as place:
        scrapes = SCRAPES.format(place=place, rules=built / "alerts/*.rules.yaml")
        with Server(program("prometheus"), folder, Duration(60), scrapes).running():
            assert server.done.wait(60)
            time.sleep(2)
    path = folder / "dump.om"
    with path.open("wb") as text:
        subprocess.run([program("promtool"), "tsdb", "dump-openmetrics", folder / "data"], stdout=text, check=True)
    return path


def test_the_dump_has_stale_markers_records_and_alerts(dump: Path) -> None:
    text = dump.read_text()
    assert " NaN " in text
    assert "model:vllm_" in text
    assert "ALERTS{" in text


def test_a_dump_is_replayed_as_if_nothing_but_scrapes_were_in_it(dump: Path, settings: Path) -> None:
    loaded = load(settings)
    with replayed(dump, loaded) as replay:
        story = story_of(replay)
        scraped = replay.client.query_range("vllm:generation_tokens_total", replay.start, replay.end, 1)
    (chapter,) = story.chapters
    assert not any(math.isnan(value) for series in scraped for _, value in series.samples)
    judged = [moment for moment in chapter.moments if moment.verdict]
    assert len(judged) > 3
    assert all(moment.numbers["acceptance"] == pytest.approx(0.5, abs=0.02) for moment in judged)
    assert any(moment.state == "down" for moment in chapter.moments)
    assert "nan" not in str(summary(story)).lower()


def test_the_command_finds_the_project_s_programs_from_any_folder(dump: Path, settings: Path, tmp_path: Path) -> None:
    environment = {name: text for name, text in os.environ.items() if name not in {"PROMETHEUS", "PROMTOOL"}}
    command = [sys.executable, "-m", "draftboard", "replay", str(dump), f"--config={settings}", "--json"]
    done = subprocess.run(
        command, cwd=tmp_path, env=environment | {"PATH": "/nowhere"}, capture_output=True, text=True, check=False
    )
    assert (done.returncode, done.stderr) == (0, "")
