"""`report` says what vLLM says of the same time: in its log, and in its answers."""

import subprocess
from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import pytest

from draftboard import reading
from draftboard import report as report_room
from draftboard.report import ModelReport, Sample
from draftboard.settings import Settings
from support.known import known
from support.vllm_commands import draftboard, ended, running, succeeded
from support.vllm_interval import Interval, assert_counts
from support.vllm_log import Line, total
from support.vllm_server import MODEL, K, Vllm
from support.vllm_traffic import REQUESTS, TOKENS, send, told

pytestmark = pytest.mark.vllm

WINDOW = "20s"  # of the command, and long enough for all the traffic


@dataclass(frozen=True)
class Logged(Interval):
    """An interval of which vLLM speaks in its log, too."""

    log: list[Line]


@pytest.fixture(scope="module")
def interval(vllm: Vllm, stack_settings: Settings, tmp_path_factory: pytest.TempPathFactory) -> Logged:
    """The library reads the page twice; in between, in place of waiting, all is sent and logged."""
    folder = tmp_path_factory.mktemp("pages")
    vllm.wait_until_all_is_logged()
    (folder / "before.prom").write_text(vllm.page())
    logged, answers = len(vllm.spoken), list[dict[str, Any]]()

    def send_once(_seconds: float) -> None:
        if not answers:
            answers.extend(send(vllm))
            vllm.wait_until_all_is_logged()

    found = report_room.report(reading.Servers((vllm.url,)), stack_settings, method="ngram", sleep=send_once)
    (folder / "after.prom").write_text(vllm.page())
    (model,) = found.models
    return Logged(folder / "before.prom", folder / "after.prom", model, told(answers), vllm.spoken[logged:])


def only(report: report_room.Report) -> ModelReport:
    (model,) = report.models
    assert model.model == MODEL
    return model


def reported(done: subprocess.CompletedProcess[str], saved: Path) -> ModelReport:
    """What the command printed as JSON."""
    saved.write_text(succeeded(done).stdout)
    return only(report_room.load_report(saved))


def assert_logged(sample: Sample | None, log: Sequence[Line]) -> None:
    assert sample
    assert sample.accepted_tokens == sum(line.accepted for line in log)
    assert sample.draft_tokens == sum(line.drafted for line in log)
    assert sample.drafts in total([line.drafts for line in log])


def test_the_counts_are_those_of_the_log(interval: Logged) -> None:
    assert_logged(interval.sample, interval.log)


def test_mean_acceptance_length_is_the_log_s_to_its_last_digit(interval: Logged) -> None:
    drafts = total([line.drafts for line in interval.log])
    accepted = sum(line.accepted for line in interval.log)
    assert 1 + accepted / drafts.high <= known(interval.speculation.acceptance_length) <= 1 + accepted / drafts.low


@pytest.mark.parametrize("position", range(K))
def test_acceptance_by_position_is_the_log_s_to_its_last_digit(interval: Logged, position: int) -> None:
    logged = total([line.accepted_at(position) for line in interval.log])
    assert interval.sample.accepted_per_position[position] in logged


def test_the_counts_are_those_of_the_answers(interval: Logged) -> None:
    assert_counts(interval.sample, interval.told)


def test_accepted_lengths_are_distributed_as_in_the_answers(interval: Logged) -> None:
    shares = [count / interval.told.drafts for count in interval.told.lengths]
    assert interval.speculation.accepted_length_share == pytest.approx(shares)


def test_nothing_of_the_traffic_is_missing(interval: Logged) -> None:
    traffic = interval.report.traffic
    assert traffic.requests == REQUESTS
    assert traffic.generated == REQUESTS * TOKENS
    assert not interval.report.broken


def test_two_saved_pages_say_the_same_except_for_rates(interval: Logged, tmp_path: Path) -> None:
    pages = ("--before", interval.before, "--after", interval.after)
    model = reported(draftboard("report", *pages, "--method", "ngram", "--json"), tmp_path / "report.json")
    assert model.sample == interval.sample
    assert model.speculation == replace(interval.speculation, wasted_tokens=None)


def test_the_command_says_of_a_running_server_what_its_answers_say(vllm: Vllm, tmp_path: Path) -> None:
    before = vllm.readings
    with running("report", vllm.url, "--window", WINDOW, "--method", "ngram", "--json") as command:
        vllm.wait_until_read_by(command, before)
        answers = told(send(vllm))
        done = ended(command)
    assert_counts(reported(done, tmp_path / "report.json").sample, answers)


def test_a_page_s_totals_are_all_that_was_ever_logged(vllm: Vllm, tmp_path: Path) -> None:
    vllm.wait_until_all_is_logged()
    (tmp_path / "page.prom").write_text(vllm.page())
    assert_logged(only(report_room.report(reading.Lifetime(tmp_path / "page.prom"))).sample, vllm.spoken)
