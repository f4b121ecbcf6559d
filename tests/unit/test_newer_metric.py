"""A metric of a release after the recorded pages is one declaration: simulator and doctor need no other place."""

import dataclasses
from collections.abc import Iterator
from pathlib import Path

import pytest
from prometheus_client.parser import text_string_to_metric_families

from draftboard.catalogue import CATALOGUE, RECORDED, Kind, Metric, Presence
from draftboard.doctor import pages, series
from draftboard.doctor.finding import Finding, Severity
from draftboard.doctor.releases import UNKNOWN, Release
from draftboard.lab.simulator import books
from draftboard.reading import read
from draftboard.settings import Settings
from unit.test_simulator_page import simulated

PAGE = (Path(__file__).parent.parent / f"data/v{RECORDED}-ngram-load.prom").read_text()
NEWER = Metric(
    name="vllm:spec_decode_num_imagined_total",
    unit="drafts",
    meaning="Steps in which the drafter was skipped, by reason.",
    help="Number of skipped drafts.",
    presence=Presence.SPECULATING,
    since="0.99.0",
    own_labels=("reason",),
    values={"reason": ("load", "length")},
)


@pytest.fixture
def declared(monkeypatch: pytest.MonkeyPatch, request: pytest.FixtureRequest) -> Metric:
    """The metric as a part of the catalogue."""
    metric: Metric = getattr(request, "param", NEWER)
    monkeypatch.setattr(books, "PAGE", (*books.PAGE, metric))
    monkeypatch.setattr(series, "CATALOGUE", (*CATALOGUE, metric))
    names = series.NAMES | {metric.presence: (*series.NAMES[metric.presence], metric.name)}
    monkeypatch.setattr(series, "NAMES", names)
    return metric


def about(metric: Metric, text: str = PAGE, release: Release = UNKNOWN) -> list[Finding]:
    examination = pages.examine_pages([read(text, "a:8000")], (), Settings(), release)
    return [found for found in examination.findings if metric.name in found.what]


def values(text: str, name: str, label: str) -> Iterator[str]:
    for family in text_string_to_metric_families(text):
        yield from (sample.labels[label] for sample in family.samples if sample.name == name)


def test_the_simulator_exposes_it_with_the_declared_values(declared: Metric) -> None:
    assert [*values(simulated("ngram-load"), declared.name, "reason")] == ["load", "length"]
    assert declared.name not in simulated("baseline")


@pytest.mark.parametrize("declared", [dataclasses.replace(NEWER, values={})], indirect=True)
def test_the_simulator_exposes_one_series_where_no_value_is_declared(declared: Metric) -> None:
    assert len([*values(simulated("ngram-load"), declared.name, "reason")]) == 1


@pytest.mark.parametrize(
    "declared",
    [NEWER, dataclasses.replace(NEWER, presence=Presence.ALWAYS, kind=Kind.GAUGE, name="vllm:imagined")],
    indirect=True,
    ids=["with speculation", "always"],
)
@pytest.mark.parametrize(
    ("release", "what"),
    [(UNKNOWN, "older than vLLM 0.99.0: no "), (Release(RECORDED), f"vLLM {RECORDED}, older than vLLM 0.99.0: no ")],
    ids=["unknown", "known"],
)
def test_the_doctor_only_notes_that_an_older_server_lacks_it(declared: Metric, release: Release, what: str) -> None:
    (found,) = about(declared, release=release)
    assert found.severity is Severity.NOTE
    assert found.what.startswith(what)


def test_the_doctor_finds_what_a_server_of_its_release_lacks(declared: Metric) -> None:
    (found,) = about(declared, release=Release("0.99.1"))
    assert (found.severity, "a proxy drops it" in found.what) == (Severity.PROBLEM, True)


def test_the_doctor_has_nothing_to_say_where_it_is_exposed(declared: Metric) -> None:
    exposed = f'{PAGE}{declared.name}{{engine="0",model_name="m",reason="load"}} 1\n'
    assert [about(declared, exposed, release) for release in (UNKNOWN, Release("0.99.0"))] == [[], []]


@pytest.mark.parametrize("declared", [dataclasses.replace(NEWER, since="0.8.5", until="0.20.0")], indirect=True)
def test_the_doctor_expects_a_removed_metric_of_old_releases_only(declared: Metric) -> None:
    assert [about(declared, release=release) for release in (UNKNOWN, Release("0.32.0"))] == [[], []]
    assert about(declared, release=Release("0.20.0"))
