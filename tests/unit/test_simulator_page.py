"""The simulator's pages against those that real vLLM servers served: all of vLLM's own families, and what is read.

What differs, and why:
- Metrics of releases after the recorded one are on the simulated page only.
- Families come in the catalogue's order, within a page of several processes too; Prometheus does not mind.
- Of the labels of the cache's configuration only those that are read are there; their values are the scenario's.
- `model_name`, counts and times are the scenario's.
- The HTTP handler is the chat endpoint; a scenario with a limit of the queue also answers 5xx.
"""

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from prometheus_client.parser import text_string_to_metric_families
from prometheus_client.samples import Sample

from draftboard.catalogue import CATALOGUE, RECORDED, around, serving, unread
from draftboard.lab.simulator.fleet import Instance, targets
from draftboard.lab.simulator.scenario import Scenario
from draftboard.lab.simulator.serve import page

REAL = Path(__file__).parent.parent / "data"
HANDLER = {"/v1/completions": "/v1/chat/completions"}
NAMED = {"engine", "reason", "source", "position", "finished_reason", "le", "generation", "handler"}
"""Labels whose values are the same on every server: not those of answers, which are the scenario's."""
SERVERS: dict[str, dict[str, Any]] = {
    "baseline": {"load": {"rate": 2}},
    "ngram-idle": {"method": "ngram", "k": 4},
    "ngram-load": {"method": "ngram", "k": 4, "load": {"rate": 2}},
    "ngram-dp2": {"method": "ngram", "k": 2, "engines": 2, "load": {"rate": 2}},
}
LONGEST = {"ngram-dp2": 512}
READ = (*CATALOGUE, *around.LASTING, *unread.UNREAD)
NEWER = tuple(name for metric in READ if not metric.exists_in(RECORDED) for name in (metric.name, metric.family))
CREATED = {f"{metric.family}_created" for metric in READ}
FAMILIES = CREATED | {name for metric in READ for name in (metric.name, metric.family)}
SERIES = CREATED | {part.name for metric in READ for part in metric.parts}


def simulated(name: str) -> str:
    longest = LONGEST.get(name, 1024)
    requests = [{"alpha": 0.5, "prompt_tokens": 50, "output_tokens": 20, "max_tokens": 100}]
    server = {"model": "tiny", "max_model_len": longest, "requests": requests, **SERVERS[name]}
    story = {"story": "A server like the one that the page is from.", "duration": "1h", "server": [server]}
    instance = Instance(targets(Scenario.model_validate(story), seed=1)[0], 1_795_246_847.0)
    instance.advance(300)
    return page(instance).decode()


@pytest.fixture(scope="module", params=sorted(SERVERS))
def pages(request: pytest.FixtureRequest) -> tuple[str, str]:
    """A real page and the simulated one."""
    real, made = (REAL / f"v{RECORDED}-{request.param}.prom").read_text(), simulated(request.param)
    lines = made.splitlines(keepends=True)
    recorded = (line for line in lines if not line.removeprefix("# HELP ").removeprefix("# TYPE ").startswith(NEWER))
    return real, "".join(recorded)


def comments(text: str) -> list[str]:
    """Types and help of what is read."""
    return sorted(line for line in text.splitlines() if line.startswith("#") and line.split()[2] in FAMILIES)


def samples(text: str) -> Iterator[Sample]:
    """Those that are read, with the labels that are read."""
    for family in text_string_to_metric_families(text):
        for sample in family.samples:
            if sample.name == serving.CACHE_CONFIG.name:
                labels = {label: sample.labels[label] for label in (*serving.CACHE_CONFIG.own_labels, "engine")}
                yield sample._replace(labels=labels)
            elif sample.name in SERIES:
                yield sample


def test_a_page_holds_only_what_the_catalogue_lists_and_a_real_page_holds_it_too(pages: tuple[str, str]) -> None:
    real, made = ({line for line in text.splitlines() if line.startswith("#")} for text in pages)
    assert made <= real
    assert {line.split()[2] for line in made} <= FAMILIES
    assert {sample.name for family in text_string_to_metric_families(pages[1]) for sample in family.samples} <= SERIES


def test_every_family_of_vllm_on_a_real_page_is_on_the_simulated_one(pages: tuple[str, str]) -> None:
    real, made = ({line.split()[2] for line in text.splitlines() if line.startswith("# TYPE vllm:")} for text in pages)
    assert real == made


def test_every_family_that_is_read_is_there_with_its_type_and_help(pages: tuple[str, str]) -> None:
    real, made = (comments(text) for text in pages)
    assert made == real


def test_every_series_that_is_read_is_there_with_its_label_names(pages: tuple[str, str]) -> None:
    real, made = ({(sample.name, frozenset(sample.labels)) for sample in samples(text)} for text in pages)
    assert made == real


def series(text: str) -> Iterator[tuple[str, frozenset[tuple[str, str]]]]:
    for sample in samples(text):
        labels = {(name, HANDLER.get(value, value)) for name, value in sample.labels.items() if name in NAMED}
        yield sample.name, frozenset(labels)


def test_label_values_bounds_and_positions_are_the_same(pages: tuple[str, str]) -> None:
    real, made = (set(series(text)) for text in pages)
    assert made == real


def test_bounds_are_written_as_floats_and_in_order(pages: tuple[str, str]) -> None:
    real, made = (
        [
            line.split('le="')[1].split('"')[0]
            for line in text.splitlines()
            if line.startswith("vllm:time_to_first_token_seconds_bucket")
        ]
        for text in pages
    )
    assert made == real
    assert made[-1] == "+Inf"


def test_sample_lines_have_their_labels_in_the_same_order(pages: tuple[str, str]) -> None:
    def shape(text: str) -> set[tuple[str, ...]]:
        lines = (line.rpartition(" ")[0] for line in text.splitlines() if line.startswith("vllm:request_success"))
        return {
            tuple(part.partition("=")[0] for part in line.rstrip("}").partition("{")[2].split(",")) for line in lines
        }

    real, made = (shape(text) for text in pages)
    assert made == real
