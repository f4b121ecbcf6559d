"""vmagent adds up buckets as docs/operate/scale.md says: rules and alerts read what they read without it."""

import re
from collections.abc import Iterator, Mapping
from contextlib import ExitStack
from functools import partial

import httpx
import pytest
import yaml

from conftest import ROOT
from draftboard.build.files import ALERTING, RECORDING
from draftboard.prometheus import stop
from draftboard.settings import Settings
from support import victoria
from support.many import serving
from support.rulefiles import groups, series_in
from support.waiting import until

pytestmark = pytest.mark.victoria

CONFIGURATION = re.search(r"```yaml\n(- match:.*?)```", (ROOT / "docs/operate/scale.md").read_text(), re.DOTALL)
SERVERS, MODELS = 6, 2
LABELS = {"cluster": "eu", "namespace": "serving", "spec_method": "ngram"}
WINDOW = "30s"
BUCKETS, OTHERS = '__name__=~"vllm:.+_bucket"', '__name__=~"vllm:.+",__name__!~".+_bucket"'
Series = Mapping[frozenset[tuple[str, str]], float]


def configuration() -> str:
    assert CONFIGURATION
    return CONFIGURATION[1]


@pytest.fixture(scope="module")
def stores(tmp_path_factory: pytest.TempPathFactory) -> Iterator[tuple[str, str]]:
    """Addresses of two stores of one fleet: as it is scraped, and with buckets that are added up."""
    folder = tmp_path_factory.mktemp("aggregated")
    (folder / "aggregation.yml").write_text(re.sub("interval: 15s", "interval: 2s", configuration()))
    with ExitStack() as stack:
        targets = [{"targets": [place], "labels": LABELS} for place in stack.enter_context(serving(SERVERS, MODELS))]
        jobs = [{"job_name": "vllm", "scrape_interval": "1s", "static_configs": targets}]
        (folder / "scrape.yml").write_text(yaml.safe_dump({"scrape_configs": jobs}))
        found = []
        for name, flags in {
            "plain": (),
            "aggregated": (f"-remoteWrite.streamAggr.config={folder / 'aggregation.yml'}",),
        }.items():
            kept = f"-storageDataPath={folder / name}"
            process, store = victoria.start(folder, "victoria-metrics", kept, victoria.KEPT, *victoria.FRESH)
            stack.callback(stop, process)
            sent = f"-remoteWrite.url={store}/api/v1/write", f"-remoteWrite.tmpDataPath={folder / name}-queue"
            scraped = f"-promscrape.config={folder / 'scrape.yml'}"
            process, _ = victoria.start(folder, "vmagent", scraped, *sent, "-remoteWrite.flushInterval=1s", *flags)
            stack.callback(stop, process)
            found.append(store)
        for store in found:
            full = "min(count_over_time(vllm:generation_tokens_total[1h])) > 45"
            until(partial(asked, store, full), "a window is full", 120)
        yield found[0], found[1]


def asked(store: str, query: str) -> Series:
    answer = httpx.get(f"{store}/api/v1/query", params={"query": query, "nocache": "1"}, timeout=60, trust_env=False)
    rows = answer.raise_for_status().json()["data"]["result"]
    return {frozenset(row["metric"].items()): float(row["value"][1]) for row in rows}


def labelled(store: str, matchers: str) -> set[frozenset[tuple[str, str]]]:
    return {*asked(store, f"group by (__name__, {', '.join(by())}, instance, engine) ({{{matchers}}})")}


def by() -> list[str]:
    (rule,) = yaml.safe_load(configuration())
    labels: list[str] = rule["by"]
    return labels


def test_rules_read_buckets_by_no_other_label(files: Mapping[str, str], settings: Settings) -> None:
    read = [
        str(rule.get("record") or rule.get("alert"))
        for group in groups({path: files[path] for path in (RECORDING, ALERTING)})
        for rule in group["rules"]
        if any(name.endswith("_bucket") and name.startswith("vllm:") for name in series_in(rule["expr"]))
    ]
    assert len(read) > 3
    assert {*settings.labels.model_level} <= {*by()}
    assert {name.partition(":")[0] for name in read} == {"model", "service"}  # Which are made of no fewer engines.


def test_buckets_have_the_labels_of_models_and_rise_as_fast(stores: tuple[str, str]) -> None:
    plain, aggregated = stores
    (before,), (after,) = (asked(store, f"count({{{BUCKETS}}})").values() for store in stores)
    assert after == before / SERVERS * MODELS
    rates = f"sum by (__name__, {', '.join(by())}) (rate({{{BUCKETS}}}[{WINDOW}]) keep_metric_names)"
    expected = asked(plain, rates)
    assert len(expected) == after
    assert max(expected.values()) > 1
    assert asked(aggregated, rates) == {key: pytest.approx(value, rel=0.1) for key, value in expected.items()}


def test_all_other_series_stay(stores: tuple[str, str]) -> None:
    plain, aggregated = (labelled(store, OTHERS) for store in stores)
    assert plain == aggregated
    assert len(plain) > 90 * SERVERS
