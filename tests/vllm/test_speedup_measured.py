"""The n-gram server against the one that does not speculate, under the same load."""

from pathlib import Path

import pytest

from draftboard.settings import Settings
from support.measured import measured
from support.vllm_interval import assert_counts, assert_possible
from support.vllm_server import K, Vllm

pytestmark = pytest.mark.vllm


def test_measured_and_expected_are_told_with_their_noise(
    vllm: Vllm, plain_vllm: Vllm, stack_settings: Settings, told_at_the_end: list[str], tmp_path: Path
) -> None:
    speedup = measured(vllm, plain_vllm, tmp_path, stack_settings, "ngram")
    told_at_the_end.append(f"ngram, K = {K}: {speedup}")
    for run in speedup.drafting:
        assert_counts(run.sample, run.told)
        assert_possible(run.report)
