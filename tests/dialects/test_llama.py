"""Real llama.cpp: with a draft model, with n-gram drafts and without speculation, beside what its clients were told."""

import time
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import AbstractContextManager
from dataclasses import dataclass
from pathlib import Path

import pytest

from conftest import ROOT
from draftboard.alerts import of_settings
from draftboard.compare import compare
from draftboard.compare.sides import recorded
from draftboard.doctor import examine_prometheus
from draftboard.doctor.finding import Severity
from draftboard.doctor.pages import examine_pages
from draftboard.durations import Duration
from draftboard.expr.to_promql import promql_of
from draftboard.reading import Lifetime, Recorded, Servers
from draftboard.reading.fetch import scrape
from draftboard.report import ModelReport, report
from draftboard.settings import Settings
from draftboard.signals import Scope
from support.llama import Llama, hung, model, scraping, serving, stopped, target
from support.scraped import Scraper
from support.waiting import until

pytestmark = pytest.mark.prometheus
DRAFT, NGRAM, PLAIN = "draft_model", "ngram", "none"
NAMES = {PLAIN: "no speculation", NGRAM: "`ngram-simple`, K 48", DRAFT: "draft model, K 4"}
ROUNDS = 15
PAGE = ROOT / "docs/operate/dialects.md"
JUDGED = ("SpecDecodeAcceptanceDrop", "SpecDecodeEngineOutlier", "SpecDecodeSuspiciouslyHigh")
DOWN = "VLLMTargetDown"  # Other servers of the model are up.
SETTINGS = Settings.model_validate(
    {
        "series": {"dialect": "llama.cpp"},
        "max_draft_tokens": 48,
        "rules": {
            "scrape_interval": "1s",
            "evaluation_interval": "1s",
            "window": "5m",
            "down_after": "5s",
            "compare_with": "10s",
        },
        "traffic": {"drafts_to_judge": 20},
        "alerts": {"VLLMModelDown": {"for": "1s"}, "VLLMTargetDown": {"for": "1s"}},
    }
)


@pytest.fixture(scope="module")
def servers(tmp_path_factory: pytest.TempPathFactory) -> Iterator[dict[str, Llama]]:
    folder = tmp_path_factory.mktemp("llama")
    served, draft = model(folder, 0), model(folder, 0.03)
    drafting = ("-md", draft, "--spec-type", "draft-simple", "--spec-draft-n-max", "4", "--spec-draft-n-min", "0")
    with (
        serving(folder, "-m", served, *drafting) as one,
        serving(folder, "-m", served, "--spec-type", "ngram-simple") as two,
        serving(folder, "-m", served) as three,
    ):
        yield {DRAFT: one, NGRAM: two, PLAIN: three}


@dataclass(frozen=True)
class Driven(Scraper):
    """A Prometheus, and when the traffic had ended."""

    at: float
    fresh: str
    """The page of the server with the draft model before its first request."""

    @property
    def source(self) -> Recorded:
        return Recorded(self.client.url, SETTINGS.rules.rate_window, at=self.at)


@pytest.fixture(scope="module")
def scraped(servers: dict[str, Llama], tmp_path_factory: pytest.TempPathFactory) -> Iterator[Driven]:
    """After every server was seen idle, and then answered as many requests."""
    fresh = [scrape([one.url])[0] for one in servers.values()]
    found = examine_pages(fresh, (), SETTINGS).findings
    assert [one.what for one in found if one.severity is not Severity.NOTE] == [], "fresh servers are all well"
    static = [target(server, "tiny", method) for method, server in servers.items()]
    job = {"job_name": "llama", "static_configs": static}
    with scraping(tmp_path_factory.mktemp("prometheus"), SETTINGS, [job]) as scraper:
        until(lambda: len(scraper.client.query("up == 1", time.time())) == len(servers), "scraped")
        scraper.settled()
        page = servers[DRAFT].page()
        for _ in range(ROUNDS):  # In turn, so that all meet the machine as it is.
            for one in servers.values():
                one.send(8)
        yield Driven(scraper.client, SETTINGS, scraper.settled(), page)


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


def alone(page: str, method: str, folder: Path) -> ModelReport:
    """What a report says of one page."""
    (path := folder / f"{method}.txt").write_text(page)
    (model,) = report(Lifetime(path), SETTINGS, method=method).models
    return model


def row(method: str, scraped: Driven, servers: dict[str, Llama], folder: Path) -> tuple[str, ...]:
    """A server in the table of the documentation: what Draftboard says, and after a slash its clients."""
    found, truth = models(scraped)[method], servers[method].truth
    own = alone(servers[method].page(), method, folder)
    steps = truth["predicted_n"] - truth.get("draft_n_accepted", 0)
    times = [one.truth["predicted_ms"] / one.truth["predicted_n"] for one in (servers[PLAIN], servers[method])]
    coverage = found.speculation.coverage if found.speculation else 0
    assert found.latency.per_token
    said = [own.verdict.says or own.state, "-", "-"]
    if method != PLAIN:
        sides = recorded(scraped.source, (f"spec_method={PLAIN}", f"spec_method={method}"), SETTINGS)
        compared = compare(*sides, SETTINGS, force=True)
        said[1:] = f"{compared.measured.speedup:.2f} / {times[0] / times[1]:.2f}", str(compared.verdict.says)
    numbers = (
        f"{found.traffic.tokens_per_step:.2f} / {truth['predicted_n'] / steps:.2f}",
        f"{coverage:.1%}",
        f"{found.latency.per_token.mean * 1000:.2f} / {times[1]:.2f}",
    )
    return NAMES[method], *numbers, said[1], said[0], said[2]


def test_verdicts_of_all_servers_are_what_the_clients_felt(
    scraped: Driven, servers: dict[str, Llama], tmp_path: Path
) -> None:
    """Write the table of the documentation to build/llama.cpp.md, too."""
    just_started = alone(scraped.fresh, DRAFT, tmp_path)
    rows = [row(method, scraped, servers, tmp_path) for method in NAMES]
    rows.append(("draft model, just started", *4 * ("-",), just_started.verdict.says or just_started.state, "-"))
    (ROOT / "build").mkdir(exist_ok=True)
    (ROOT / "build/llama.cpp.md").write_text("".join(f"| {' | '.join(cells)} |\n" for cells in rows))
    documented = [line.strip("| ").split(" | ") for line in PAGE.read_text().splitlines() if line.count(" | ") == 6]
    assert {cells[0] for cells in rows} <= {cells[0] for cells in documented}
    for _, *numbers, _, verdict in rows:
        for number in numbers:
            ours, _, of_clients = number.partition(" / ")
            assert not of_clients or float(ours) == pytest.approx(float(of_clients), rel=0.1)
        felt = float(numbers[-1].rpartition(" / ")[2]) if verdict != "-" else 1
        assert not (felt < 0.8 and verdict != "users wait longer")
        assert not (felt > 1.2 and verdict != "users wait less")


def test_doctor_and_alerts_leave_healthy_servers_alone(scraped: Driven) -> None:
    found = examine_prometheus(scraped.client, SETTINGS, time.time()).findings
    bad = [one for one in found if one.severity is not Severity.NOTE and "GPU exporter" not in one.what]
    assert [one.what for one in bad] == []
    assert {name for name in scraped.firing if not name.startswith("Draftboard")} == set()


@pytest.mark.parametrize("name", JUDGED)
def test_alerts_that_counted_requests_judge_by_drafts_and_tokens(name: str, scraped: Driven) -> None:
    (rule,) = [one for one in scraped.client.rules() if one.name == name]
    assert rule.error == ""
    (alert,) = [one for one in of_settings(SETTINGS) if one.name == name]
    assert alert.guard
    judged = scraped.client.query(promql_of(alert.guard, Scope(SETTINGS, alert.level)), scraped.at)
    assert DRAFT in {one.labels["spec_method"] for one in judged}
    assert PLAIN not in {one.labels["spec_method"] for one in judged}


def test_live_servers_are_reported_under_load(scraped: Driven, servers: dict[str, Llama]) -> None:
    assert scraped
    server = servers[DRAFT]

    def working(_: float) -> None:
        server.send(1, tokens=32)

    (one,) = report(Servers((server.url,), window=Duration(1)), SETTINGS, method=DRAFT, sleep=working).models
    assert one.state == "drafting"
    assert one.speculation
    assert one.speculation.configured_k == 4


@pytest.mark.parametrize("standing", [stopped, hung], ids=["stopped", "hung, though its health check passes"])
def test_a_server_that_stands_still_fires_and_resolves(
    standing: Callable[[Llama], AbstractContextManager[None]], scraped: Driven, servers: dict[str, Llama]
) -> None:
    server = servers[PLAIN]
    with ThreadPoolExecutor() as clients, standing(server):
        asked = clients.submit(server.send, 1)
        assert server.healthy == (standing is hung)
        until(lambda: DOWN in scraped.firing, "its alert fires")
        now = report(Recorded(scraped.client.url, SETTINGS.rules.rate_window, at=time.time()), SETTINGS)
        assert {str(one.method): one.state for one in now.models}[PLAIN] == "down"
        assert not asked.done()
    until(lambda: DOWN not in scraped.firing, "it resolves")
