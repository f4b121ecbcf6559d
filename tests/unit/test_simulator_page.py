"""The simulator's pages against those that real vLLM 0.32 servers served: which families, types, help, labels, bounds.

What differs, and why:
- Families come in the catalogue's order, within a page of several processes too; Prometheus does not mind.
- Labels of the cache's configuration are as on the real page; their values are the scenario's.
- `model_name`, counts and times are the scenario's; `python_info` names another Python.
- The HTTP handler is the chat endpoint; a scenario with a limit of the queue also answers 5xx.
"""

from collections.abc import Iterator
from pathlib import Path

import pytest
from prometheus_client import Metric as Family
from prometheus_client.parser import text_string_to_metric_families

from draftboard.lab.simulator.fleet import targets
from draftboard.lab.simulator.instance import Clock
from draftboard.lab.simulator.page import page
from draftboard.lab.simulator.scenario import Scenario

REAL = Path(__file__).parent.parent / "data"
HANDLER = {"/v1/completions": "/v1/chat/completions"}
NAMED = {"engine", "reason", "source", "position", "sleep_state", "finished_reason", "le", "generation", "handler"}
"""Labels whose values are the same on every server: not those of answers, which are the scenario's."""
SERVERS = {
    "baseline": {"load": {"rate": 2}},
    "ngram-idle": {"method": "ngram", "k": 4},
    "ngram-load": {"method": "ngram", "k": 4, "load": {"rate": 2}},
    "ngram-dp2": {"method": "ngram", "k": 2, "engines": 2, "load": {"rate": 2}},
}
LONGEST = {"ngram-dp2": 512}


def simulated(name: str) -> str:
    longest = LONGEST.get(name, 1024)
    requests = [{"alpha": 0.5, "prompt_tokens": 50, "output_tokens": 20, "max_tokens": 100}]
    server = {"model": "tiny", "max_model_len": longest, "requests": requests} | SERVERS[name]
    story = {"story": "A server like the one that the page is from.", "duration": "1h", "server": [server]}
    instance = targets(Scenario.model_validate(story), seed=1)[0].start(Clock(1_795_246_847.0))
    instance.advance(300)
    return page(instance).decode()


@pytest.fixture(scope="module", params=sorted(SERVERS))
def pages(request: pytest.FixtureRequest) -> tuple[str, str]:
    """A real page and the simulated one."""
    return (REAL / f"v0.32.0-{request.param}.prom").read_text(), simulated(request.param)


def comments(text: str) -> list[str]:
    return sorted(line for line in text.splitlines() if line.startswith("#"))


def families(text: str) -> dict[str, Family]:
    return {family.name: family for family in text_string_to_metric_families(text)}


def test_families_types_and_help_are_letter_for_letter_the_same(pages: tuple[str, str]) -> None:
    real, made = pages
    assert comments(made) == comments(real)


def test_every_series_has_the_same_name_and_label_names(pages: tuple[str, str]) -> None:
    real, made = (
        {(sample.name, frozenset(sample.labels)) for family in families(text).values() for sample in family.samples}
        for text in pages
    )
    assert made == real


def series(text: str) -> Iterator[tuple[str, frozenset[tuple[str, str]]]]:
    for family in families(text).values():
        for sample in family.samples:
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
