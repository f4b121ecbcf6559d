"""Two engines behind one address: their counters together are what the answers tell."""

import pytest

from draftboard.settings import Settings
from support.vllm_interval import Interval, assert_counts, assert_possible, interval
from support.vllm_server import PER_REQUEST, SPECULATION, Start

pytestmark = pytest.mark.vllm


@pytest.fixture(scope="module")
def run(start: Start, stack_settings: Settings, tmp_path_factory: pytest.TempPathFactory) -> Interval:
    with start("data-parallel", SPECULATION, f"{PER_REQUEST} --data-parallel-size 2") as server:
        return interval(server, tmp_path_factory.mktemp("pages"), stack_settings, "ngram")


def test_the_counts_of_both_are_those_of_the_answers(run: Interval) -> None:
    assert_counts(run.sample, run.told)
    each = [engine.sample.drafts for engine in run.report.engines if engine.sample]
    assert len(each) == 2
    assert sum(each) == run.told.drafts


def test_steps_without_a_draft_count(run: Interval) -> None:
    found = run.speculation
    assert found.coverage
    assert found.expected_speedup
    assert found.step_speedup
    assert found.coverage < 1
    assert found.expected_speedup < found.step_speedup


def test_no_speedup_is_told_that_the_tokens_do_not_allow(run: Interval) -> None:
    assert_possible(run.report)
    for engine in run.report.engines:
        assert engine.speculation
        assert engine.speculation.expected_speedup
        assert engine.traffic.tokens_per_step
        assert engine.speculation.expected_speedup <= engine.traffic.tokens_per_step
