"""Real llama.cpp in router mode: a server of several models, each scraped by a job of its own."""

import time
from pathlib import Path

import pytest

from draftboard.doctor import examine_prometheus
from draftboard.doctor.finding import Severity
from draftboard.errors import DraftboardError
from draftboard.history.finding import of_past
from draftboard.reading import Recorded
from draftboard.reading.fetch import scrape
from draftboard.report import report
from draftboard.settings import Settings
from support.llama import Llama, model, scraping, serving, target
from support.waiting import until

pytestmark = pytest.mark.prometheus
PRESET = """[drafts]
model = {target}
model-draft = {draft}
spec-type = draft-simple
spec-draft-n-max = 4
spec-draft-n-min = 0

[plain]
model = {target}
"""
METHODS = {"drafts": "draft_model", "plain": "none"}
SETTINGS = Settings.model_validate(
    {
        "series": {"dialect": "llama.cpp"},
        "rules": {"scrape_interval": "1s", "evaluation_interval": "1s", "window": "5m", "down_after": "5s"},
    }
)


def test_each_model_of_a_router_is_a_server_of_its_own(tmp_path: Path) -> None:
    preset = tmp_path / "models.ini"
    preset.write_text(PRESET.format(target=model(tmp_path, 0), draft=model(tmp_path, 0.03)))
    with serving(tmp_path, "--models-preset", preset) as router:
        with pytest.raises(DraftboardError, match=r"/metrics\?model=NAME"):
            scrape([router.url])
        jobs = [
            {"job_name": f"llama-{name}", "params": {"model": [name]}, "static_configs": [target(router, name, method)]}
            for name, method in METHODS.items()
        ]
        with scraping(tmp_path, SETTINGS, jobs) as scraper:
            until(lambda: len(scraper.client.query("up == 1", time.time())) == len(jobs), "each model is loaded")
            scraper.settled()
            clients = {name: Llama(router.url, router.process) for name in METHODS}
            for name, client in clients.items():
                client.send(24, model=name)
            at = scraper.settled()
            found = {one.model: one for one in report(Recorded(scraper.client.url, at=at), SETTINGS).models}
            assert {name: one.state for name, one in found.items()} == {
                "drafts": "drafting",
                "plain": "speculation off",
            }
            for name, client in clients.items():
                steps = client.truth["predicted_n"] - client.truth.get("draft_n_accepted", 0)
                yielded = client.truth["predicted_n"] / steps
                assert found[name].traffic.tokens_per_step == pytest.approx(yielded, rel=0.02), name
            past = of_past(Recorded(scraper.client.url, SETTINGS.rules.rate_window), SETTINGS, at=at)
            assert {one.model: (one.now.method, one.now.k) for one in past.models if one.now} == {
                "drafts": ("draft_model", 4),
                "plain": ("none", 0),
            }
            assert [change for one in past.models for change in one.changes] == []
            problems = examine_prometheus(scraper.client, SETTINGS, at).findings
            bad = [one.what for one in problems if one.severity is not Severity.NOTE]
            assert [what for what in bad if "GPU exporter" not in what] == []
            assert {name for name in scraper.firing if not name.startswith("Draftboard")} == set()
