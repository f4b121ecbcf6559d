"""What it costs to open a dashboard, by the number of engines: samples, which do not depend on load."""

import math
from collections.abc import Iterator, Mapping

import httpx
import pytest

from conftest import program
from draftboard.settings import Settings
from support import grafana
from support.fleets import Fleet
from support.priced import DAY, HOURS, evaluated, of_vllm, raw, samples

pytestmark = [pytest.mark.prometheus, pytest.mark.long]

FEW, MANY = Fleet("few", 10), Fleet("many", 40)
"""In one Prometheus, of which a page shows the one or the other."""
FLAT, LINEAR = 0.1, 1.0
BY_ENGINE = {"draftboard-fleet"}
CHEAPER = 300
"""As many times as often the overview could be opened in place of vLLM's own."""


@pytest.fixture(scope="module")
def pages(files: Mapping[str, str]) -> Mapping[str, grafana.Json]:
    return grafana.dashboards(files)


@pytest.fixture(scope="module")
def prometheus(
    files: Mapping[str, str], settings: Settings, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[httpx.Client]:
    with evaluated(files, settings, [FEW, MANY], tmp_path_factory.mktemp("fleets"), program("prometheus")) as http:
        yield http


def test_what_a_page_of_records_reads_grows_with_models_and_not_with_engines(
    prometheus: httpx.Client, pages: Mapping[str, grafana.Json], settings: Settings
) -> None:
    growth = {}
    for page in (page for path, page in pages.items() if path not in raw(pages)):
        few, many = (samples(prometheus, page, settings, fleet, HOURS) for fleet in (FEW, MANY))
        assert few > 1000, page["uid"]
        growth[page["uid"]] = math.log(many / few) / math.log(MANY.engines / FEW.engines)
    assert {uid: f"{one:.2f}" for uid, one in growth.items() if one > (LINEAR if uid in BY_ENGINE else FLAT)} == {}


@pytest.mark.parametrize("fleet", [FEW, MANY], ids=str)
def test_no_page_costs_more_over_a_day_than_vllm_s_own_overview(
    fleet: Fleet, prometheus: httpx.Client, pages: Mapping[str, grafana.Json], settings: Settings
) -> None:
    most = of_vllm(prometheus, settings, fleet, DAY)
    read = {page["uid"]: samples(prometheus, page, settings, fleet, DAY) for page in pages.values()}
    assert all(one > 1000 for one in read.values()), read
    assert {uid: f"{one / most:.2f}" for uid, one in read.items() if one > most} == {}


@pytest.mark.parametrize("fleet", [FEW, MANY], ids=str)
def test_the_overview_with_its_annotations_reads_a_fraction_of_vllm_s_own(
    fleet: Fleet, prometheus: httpx.Client, pages: Mapping[str, grafana.Json], settings: Settings
) -> None:
    overview, theirs = pages["dashboards/draftboard-overview.json"], of_vllm(prometheus, settings, fleet, HOURS)
    assert samples(prometheus, overview, settings, fleet, HOURS) * CHEAPER < theirs
