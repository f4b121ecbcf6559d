"""vLLM in a real Ray Serve: fresh, hung before a first token, loaded, idle, hung under load, beside its clients."""

import re
import time
from collections.abc import Iterator

import pytest

from draftboard.catalogue import Metric, serving
from draftboard.doctor import examine_prometheus
from draftboard.doctor.finding import Severity
from draftboard.doctor.pages import examine_pages
from draftboard.expr.to_promql import promql_of
from draftboard.reading import Recorded, lifetime, read
from draftboard.report import report
from draftboard.settings import Settings
from draftboard.signals import Scope
from draftboard.signals.events import firing_alerts
from support.ray_server import K, Ray, ray_serving
from support.scraped import Scraper, scraping
from support.waiting import until

pytestmark = pytest.mark.prometheus
REPLICAS, FEW, MANY = 2, 6, 60
PATIENCE = 300  # Seconds: a page is of up to 10 s ago.
SETTINGS = Settings.model_validate(
    {
        "series": {"dialect": "ray"},
        "rules": {"scrape_interval": "2s", "evaluation_interval": "2s", "window": "1m", "down_after": "20s"},
        "alerts": {"VLLMEngineStuck": {"for": "5s"}},
    }
)


@pytest.fixture(scope="module")
def ray(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Ray]:
    with ray_serving(tmp_path_factory.mktemp("ray"), REPLICAS) as serving:
        yield serving


@pytest.fixture(scope="module")
def fresh(ray: Ray) -> str:
    """Its page before the first request."""
    return ray.page()


@pytest.fixture(scope="module")
def scraped(ray: Ray, fresh: str, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Scraper]:
    assert "ray_vllm_" not in re.sub("(?m)^#.*", "", fresh)
    with scraping(tmp_path_factory.mktemp("prometheus"), SETTINGS, ray.port, "ngram") as scraper:
        yield scraper


def problems(page: str) -> list[str]:
    found = examine_pages([read(page, "page")], (), SETTINGS).findings
    return [one.what for one in found if one.severity is not Severity.NOTE]


def firing(scraped: Scraper) -> set[tuple[str, str]]:
    """Alert and replica."""
    found = scraped.client.query(promql_of(firing_alerts, Scope(SETTINGS)), time.time())
    labels = [one.labels for one in found if not one.labels["alertname"].startswith("Draftboard")]
    return {(one["alertname"], one.get("ReplicaId", "")) for one in labels}


def test_a_fresh_node_is_all_well(fresh: str) -> None:
    assert problems(fresh) == []


def test_an_engine_that_hangs_before_its_first_token_fires_and_resolves(ray: Ray, scraped: Scraper) -> None:
    hanging, *_ = ray.engines
    with ray.hung(hanging):
        asked = ray.send(FEW)
        until(lambda: firing(scraped), "it fires", PATIENCE)
        ((alert, replica),) = firing(scraped)
        assert alert == "VLLMEngineStuck"
        waiting = [one for one in asked if not one.done()]
        assert waiting
    assert {one.result() for one in waiting} == {replica}
    until(lambda: not firing(scraped), "it resolves", PATIENCE)


def test_totals_state_and_k_are_those_of_the_clients(ray: Ray, scraped: Scraper) -> None:
    assert len([one.result() for one in ray.send(MANY)]) == MANY

    def counted(metric: Metric) -> dict[str, float | None]:
        tallies = lifetime(read(ray.page(), "page")).tallies
        return {one.engine.rpartition(" ")[2]: one.total(metric) for one in tallies}

    until(lambda: counted(serving.GENERATION_TOKENS) == ray.tokens, "all tokens are counted", PATIENCE)
    assert counted(serving.REQUESTS_FINISHED) == ray.requests
    (model,) = report(Recorded(scraped.client.url, SETTINGS.rules.rate_window, at=time.time()), SETTINGS).models
    assert (model.model, model.method, model.state) == ("tiny", "ngram", "drafting")
    assert model.speculation
    assert model.speculation.configured_k == K
    assert problems(ray.page()) == []


def test_an_idle_node_is_all_well_though_its_gauges_are_gone(ray: Ray, scraped: Scraper) -> None:
    until(lambda: "ray_vllm_num_requests_running{" not in ray.page(), "gauges are forgotten", PATIENCE)
    assert problems(ray.page()) == []
    found = examine_prometheus(scraped.client, SETTINGS, time.time()).findings
    bad = [one for one in found if one.severity is not Severity.NOTE and "GPU exporter" not in one.what]
    assert [one.what for one in bad] == []
    assert firing(scraped) == set()


def test_an_engine_that_hangs_under_load_fires_though_its_gauges_are_gone(ray: Ray, scraped: Scraper) -> None:
    hanging, *_ = ray.engines
    asked = ray.send(MANY)
    with ray.hung(hanging):
        until(lambda: firing(scraped), "it fires", PATIENCE)
        ((alert, replica),) = firing(scraped)
        assert alert == "VLLMEngineStuck"
        waiting = [one for one in asked if not one.done()]
    assert replica in {one.result() for one in waiting}
    until(lambda: not firing(scraped), "it resolves", PATIENCE)
