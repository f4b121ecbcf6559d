"""An EAGLE head that was never trained: the doctor and the report say that it does not fit."""

import json
from pathlib import Path

import pytest

from conftest import ROOT
from draftboard.settings import Settings
from draftboard.signals.advice import ADVICE
from support.vllm_commands import draftboard
from support.vllm_interval import Interval, assert_counts, assert_possible, interval
from support.vllm_server import PER_REQUEST, Start

pytestmark = pytest.mark.vllm

METHOD, K = "eagle", 5


@pytest.fixture(scope="module")
def run(start: Start, models: Path, stack_settings: Settings, tmp_path_factory: pytest.TempPathFactory) -> Interval:
    speculation = f'{{"method": "{METHOD}", "model": "{models / "head"}", "num_speculative_tokens": {K}}}'
    with start("eagle", speculation, PER_REQUEST) as server:
        return interval(server, tmp_path_factory.mktemp("pages"), stack_settings, METHOD)


def test_the_counts_are_those_of_the_answers(run: Interval) -> None:
    assert_counts(run.sample, run.told)
    assert run.told.draft_tokens >= 2000


def test_the_doctor_calls_it_a_problem(run: Interval) -> None:
    done = draftboard("doctor", run.after, "--config", ROOT / "deploy/draftboard.toml", "--json")
    assert done.returncode == 1, done.stderr
    (examined,) = json.loads(done.stdout)["examinations"]
    (problem,) = [one for one in examined["findings"] if one["severity"] == "problem"]
    assert "the drafter does not fit the model" in problem["what"]


def test_the_report_advises_no_k(run: Interval) -> None:
    assert run.report.verdict.advice == ADVICE["unfit"].says
    assert_possible(run.report)
