"""Real llama.cpp: with a draft model, with n-gram drafts and without speculation, beside what its clients were told."""

import signal
import time
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import pytest

from draftboard.compare import compare
from draftboard.compare.sides import recorded
from draftboard.doctor import examine_prometheus
from draftboard.doctor.finding import Severity
from draftboard.doctor.pages import examine_pages
from draftboard.durations import Duration
from draftboard.reading import Recorded, Servers, scrape
from draftboard.report import ModelReport, report
from draftboard.settings import Settings
from support.llama import Llama, model, scraping, serving
from support.scraped import Scraper
from support.waiting import until

pytestmark = pytest.mark.prometheus
DRAFT, NGRAM, PLAIN = "draft_model", "ngram", "none"
SETTINGS = Settings.model_validate(
    {
        "series": {"dialect": "llama.cpp"},
        "max_draft_tokens": 48,
        "rules": {"scrape_interval": "1s", "evaluation_interval": "1s", "window": "5m", "down_after": "5s"},
        "traffic": {"drafts_to_judge": 20},
        "alerts": {"VLLMModelDown": {"for": "1s"}, "VLLMTargetDown": {"for": "1s"}},
    }
)


@pytest.fixture(scope="module")
def servers(tmp_path_factory: pytest.TempPathFactory) -> Iterator[dict[str, Llama]]:
    folder = tmp_path_factory.mktemp("llama")
    target, draft = model(folder, 0), model(folder, 0.03)
    drafting = ("-md", draft, "--spec-type", "draft-simple", "--spec-draft-n-max", "4", "--spec-draft-n-min", "0")
    with (
        serving(folder, target, *drafting) as one,
        serving(folder, target, "--spec-type", "ngram-simple") as two,
        serving(folder, target) as three,
    ):
        yield {DRAFT: one, NGRAM: two, PLAIN: three}


@dataclass(frozen=True)
class Driven(Scraper):
    """A Prometheus, and when the traffic had ended."""

    at: float

    @property
    def source(self) -> Recorded:
        return Recorded(self.client.url, SETTINGS.rules.rate_window, at=self.at)


@pytest.fixture(scope="module")
def scraped(servers: dict[str, Llama], tmp_path_factory: pytest.TempPathFactory) -> Iterator[Driven]:
    """After every server was seen idle, and then answered as many requests."""
    fresh = [scrape([one.url])[0] for one in servers.values()]
    found = examine_pages(fresh, (), SETTINGS).findings
    assert [one.what for one in found if one.severity is not Severity.NOTE] == [], "fresh servers are all well"
    with scraping(tmp_path_factory.mktemp("prometheus"), SETTINGS, servers) as scraper:
        until(lambda: len(scraper.client.query("up == 1", time.time())) == len(servers), "scraped")
        scraper.settled()
        for one in servers.values():
            one.send(24)
        yield Driven(scraper.client, SETTINGS, scraper.settled())


def models(scraped: Driven) -> dict[str, ModelReport]:
    whole = report(scraped.source, SETTINGS)
    return {str(one.method): one for one in whole.models}


def test_totals_are_what_the_clients_were_told(scraped: Driven, servers: dict[str, Llama]) -> None:
    assert scraped
    for name, server in servers.items():
        (page,) = scrape([server.url])
        text = {metric: sum(series.values()) for metric, series in page.by_name.items()}
        assert text["vllm:generation_tokens_total"] == server.truth["predicted_n"], name
        assert text["vllm:spec_decode_num_draft_tokens_total"] == server.truth.get("draft_n", 0), name
        assert text["vllm:spec_decode_num_accepted_tokens_total"] == server.truth.get("draft_n_accepted", 0), name
        steps = server.truth["predicted_n"] - server.truth.get("draft_n_accepted", 0)
        assert text["vllm:inter_token_latency_seconds_count"] == steps, name
        seconds = server.truth["predicted_ms"] / 1000
        assert text["vllm:request_time_per_output_token_seconds_sum"] == pytest.approx(seconds, rel=0.05), name


def test_a_prometheus_tells_states_k_and_yield(scraped: Driven, servers: dict[str, Llama]) -> None:
    found = models(scraped)
    expected = "drafting" if servers[NGRAM].truth.get("draft_n") else "serving without drafting"
    assert {name: one.state for name, one in found.items()} == {
        DRAFT: "drafting",
        NGRAM: expected,
        PLAIN: "speculation off",
    }
    drafting, truth = found[DRAFT], servers[DRAFT].truth
    assert drafting.speculation
    assert drafting.speculation.configured_k == 4
    # The drafter is as large as its target: whatever the evidence allows to say, it is no gain.
    assert drafting.verdict.says or drafting.verdict.withheld
    assert not any(word in str(drafting.verdict.says) for word in ("pays", "wait less"))
    yielded = truth["predicted_n"] / (truth["predicted_n"] - truth["draft_n_accepted"])
    assert drafting.traffic.tokens_per_step == pytest.approx(yielded, rel=0.02)
    assert drafting.speculation.acceptance == pytest.approx(truth["draft_n_accepted"] / truth["draft_n"], rel=0.02)
    assert drafting.speculation.coverage
    assert 0.8 < drafting.speculation.coverage <= 1
    assert found[PLAIN].traffic.tokens_per_step == pytest.approx(1, rel=0.02)


def test_compare_finds_the_speedup_that_the_clients_had(scraped: Driven, servers: dict[str, Llama]) -> None:
    times = {name: one.truth["predicted_ms"] / one.truth["predicted_n"] for name, one in servers.items()}
    sides = recorded(scraped.source, (f"spec_method={PLAIN}", f"spec_method={DRAFT}"), SETTINGS)
    found = compare(*sides, SETTINGS, force=True)
    assert found.measured.speedup == pytest.approx(times[PLAIN] / times[DRAFT], rel=0.1)
    assert found.verdict.says == ("users wait longer" if times[DRAFT] > times[PLAIN] else "users wait less")
    assert [note for note in found.notes if "judged by tokens" in note]


def test_doctor_and_alerts_leave_healthy_servers_alone(scraped: Driven) -> None:
    found = examine_prometheus(scraped.client, SETTINGS, time.time()).findings
    bad = [one for one in found if one.severity is not Severity.NOTE and "GPU exporter" not in one.what]
    assert [one.what for one in bad] == []
    assert {name for name in scraped.firing if not name.startswith("Draftboard")} == set()


def test_live_servers_are_reported_under_load(scraped: Driven, servers: dict[str, Llama]) -> None:
    assert scraped
    server = servers[DRAFT]

    def working(_: float) -> None:
        server.send(1, tokens=32)

    (one,) = report(Servers((server.url,), window=Duration(1)), SETTINGS, method=DRAFT, sleep=working).models
    assert one.state == "drafting"
    assert one.speculation
    assert one.speculation.configured_k == 4


def test_a_stopped_engine_fires(scraped: Driven, servers: dict[str, Llama], tmp_path: Path) -> None:
    assert tmp_path
    servers[PLAIN].process.send_signal(signal.SIGSTOP)
    try:
        until(lambda: scraped.firing & {"VLLMModelDown", "VLLMTargetDown"}, "an alert of the stopped server")
    finally:
        servers[PLAIN].process.send_signal(signal.SIGCONT)
    until(lambda: not scraped.firing & {"VLLMModelDown", "VLLMTargetDown"}, "it resolves")
