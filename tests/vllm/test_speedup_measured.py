"""The n-gram server against the one that does not speculate, under the same load."""

import pytest

from support.measured import Measure
from support.vllm_interval import assert_counts, assert_possible
from support.vllm_server import Vllm

pytestmark = pytest.mark.vllm


def test_measured_and_expected_are_told_with_their_noise(vllm: Vllm, measure: Measure) -> None:
    for run in measure(vllm, "ngram").drafting:
        assert_counts(run.sample, run.told)
        assert_possible(run.report)
