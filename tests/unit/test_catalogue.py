"""The catalogue against pages that real vLLM servers served, as far as their release has its metrics."""

from functools import cache
from pathlib import Path

import pytest
from prometheus_client import Metric as Family
from prometheus_client.parser import text_string_to_metric_families

from draftboard.catalogue import (
    CATALOGUE,
    ELSEWHERE,
    RECORDED,
    Histogram,
    Kind,
    Metric,
    Owner,
    Presence,
    around,
    serving,
    unread,
)
from draftboard.catalogue.metric import release_numbers

PAGES = Path(__file__).parent.parent / "data"
EXPOSED = [
    metric
    for metric in (*CATALOGUE, *around.LASTING, *unread.UNREAD)
    if metric.presence not in ELSEWHERE and metric.exists_in(RECORDED)
]
HISTOGRAMS = [metric for metric in EXPOSED if isinstance(metric, Histogram)]
OF_OWNER = {
    Owner.ENGINE: {"model_name", "engine"},
    Owner.FRONTEND: {"model_name"},
    Owner.CONFIG: {"engine"},
    Owner.TARGET: set[str](),
}
MAX_MODEL_LEN = 1024
"""Of the servers whose pages were recorded; 512 where there are two engines."""
ONE_PROCESS = ("baseline", "ngram-idle", "ngram-load")
WITH_TRAFFIC = ("baseline", "ngram-load", "ngram-dp2")


@cache
def page(name: str) -> dict[str, Family]:
    """The families of a page, by the name of their samples' family."""
    text = (PAGES / f"v{RECORDED}-{name}.prom").read_text()
    return {family.name: family for family in text_string_to_metric_families(text)}


def samples(families: dict[str, Family], metric: Metric) -> list[dict[str, str]]:
    """Labels of every sample that has the metric's name."""
    return [sample.labels for family in families.values() for sample in family.samples if sample.name == metric.name]


def expected_on(name: str, metric: Metric) -> bool:
    return {
        Presence.ALWAYS: True,
        Presence.SPECULATING: name != "baseline",
        Presence.ONE_PROCESS: name in ONE_PROCESS,
        Presence.HTTP: name in WITH_TRAFFIC,
    }[metric.presence]


@pytest.mark.parametrize("metric", EXPOSED, ids=lambda metric: metric.name)
@pytest.mark.parametrize("name", ["baseline", "ngram-idle", "ngram-load", "ngram-dp2"])
def test_a_server_exposes_every_metric_when_the_catalogue_says_so_with_its_labels(metric: Metric, name: str) -> None:
    for part in metric.parts:
        found = samples(page(name), part)
        assert bool(found) == expected_on(name, metric)
        for labels in found:
            expected = OF_OWNER[metric.owner] | set(part.own_labels)
            # Of forty labels of the configuration only those that are read are listed.
            assert labels.keys() >= expected if metric is serving.CACHE_CONFIG else labels.keys() == expected


@pytest.mark.parametrize("metric", EXPOSED, ids=lambda metric: metric.name)
def test_kinds_and_help_are_those_of_the_page(metric: Metric) -> None:
    name = metric.parts[0].name
    found = {(f.type, f.documentation) for f in page("ngram-load").values() for s in f.samples if s.name == name}
    assert found == {(metric.kind.value, metric.help.rstrip())}


def test_the_recorded_release_is_that_of_the_newest_page() -> None:
    recorded = {path.name.removeprefix("v").partition("-")[0] for path in PAGES.glob("v*.prom")}
    assert max(recorded, key=release_numbers) == RECORDED


@pytest.mark.parametrize(
    ("release", "exists"), [("0.9.2", False), ("0.10.0", True), ("0.10.2", True), ("0.10.3", False), ("0.11.0", False)]
)
def test_a_metric_exists_from_its_first_release_to_its_last(release: str, exists: bool) -> None:
    metric = Metric(name="vllm:a", unit="tokens", meaning="A.", since="0.10.0", until="0.10.2")
    assert metric.exists_in(release) == exists


def test_no_family_is_listed_twice() -> None:
    names = [metric.name for metric in (*CATALOGUE, *around.LASTING, *unread.UNREAD)]
    assert len(names) == len(set(names))


@pytest.mark.parametrize("metric", [metric for metric in EXPOSED if metric.values], ids=lambda metric: metric.name)
def test_label_values_are_those_of_the_page(metric: Metric) -> None:
    for label, values in metric.values.items():
        assert [labels[label] for labels in samples(page("ngram-idle"), metric)] == list(values)


@pytest.mark.parametrize("metric", HISTOGRAMS, ids=lambda metric: metric.name)
def test_bounds_are_those_of_the_page(metric: Histogram) -> None:
    found = {float(labels["le"]) for labels in samples(page("ngram-load"), metric.bucket)}
    assert found == {*metric.bounds(MAX_MODEL_LEN), float("inf")}
    assert list(metric.buckets) == sorted(metric.buckets)


def test_two_engines_are_told_apart_by_their_label() -> None:
    positions = next(metric for metric in CATALOGUE if metric.own_labels == ("position",))
    found = {(labels["engine"], labels["position"]) for labels in samples(page("ngram-dp2"), positions)}
    assert found == {("0", "0"), ("0", "1"), ("1", "0"), ("1", "1")}


def test_counters_and_only_they_are_named_as_such() -> None:
    for metric in CATALOGUE:
        if not isinstance(metric, Histogram):
            assert metric.name.endswith("_total") == (metric.kind is Kind.COUNTER)
