"""The catalogue against pages that real vLLM 0.32 servers served."""

from pathlib import Path

import pytest
from prometheus_client import Metric as Family
from prometheus_client.parser import text_string_to_metric_families

from draftboard.metrics import CATALOGUE, Kind, Metric, Owner, Presence

PAGES = Path(__file__).parent.parent / "data"
OF_VLLM = [metric for metric in CATALOGUE if metric.presence is not Presence.PROMETHEUS]


def page(name: str) -> dict[str, Family]:
    """The families of a page, by the name of their samples' family."""
    text = (PAGES / f"v0.32.0-{name}.prom").read_text()
    return {family.name: family for family in text_string_to_metric_families(text)}


def samples(families: dict[str, Family], metric: Metric) -> list[dict[str, str]]:
    """Labels of every sample that has the metric's name."""
    return [sample.labels for family in families.values() for sample in family.samples if sample.name == metric.name]


@pytest.mark.parametrize("metric", OF_VLLM, ids=lambda metric: metric.name)
@pytest.mark.parametrize("name", ["ngram-idle", "ngram-load", "ngram-dp2"])
def test_a_speculating_server_exposes_every_metric_with_the_labels_of_the_catalogue(metric: Metric, name: str) -> None:
    found = samples(page(name), metric)
    assert found
    assert metric.owner is Owner.ENGINE
    assert all(labels.keys() == {"model_name", "engine", *metric.own_labels} for labels in found)


@pytest.mark.parametrize("metric", OF_VLLM, ids=lambda metric: metric.name)
def test_a_server_without_speculation_exposes_all_but_the_speculative_ones(metric: Metric) -> None:
    assert bool(samples(page("baseline"), metric)) == (metric.presence is Presence.ALWAYS)


@pytest.mark.parametrize("metric", OF_VLLM, ids=lambda metric: metric.name)
def test_kinds_are_those_of_the_page(metric: Metric) -> None:
    kinds = {family.type for family in page("ngram-load").values() for s in family.samples if s.name == metric.name}
    assert kinds == {metric.kind.value}


def test_two_engines_are_told_apart_by_their_label() -> None:
    positions = next(metric for metric in CATALOGUE if metric.own_labels == ("position",))
    found = {(labels["engine"], labels["position"]) for labels in samples(page("ngram-dp2"), positions)}
    assert found == {("0", "0"), ("0", "1"), ("1", "0"), ("1", "1")}


def test_only_counters_and_histograms_are_named_as_such() -> None:
    for metric in CATALOGUE:
        suffix = {Kind.COUNTER: "_total", Kind.HISTOGRAM: "_count", Kind.GAUGE: ""}[metric.kind]
        assert metric.name.endswith(suffix)
