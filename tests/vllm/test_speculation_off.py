"""A server that does not speculate: that is said, and never called bad."""

import pytest

from conftest import ROOT
from draftboard import reading
from draftboard import report as report_room
from draftboard.signals.states import STATES
from support.vllm_commands import draftboard
from support.vllm_server import Vllm

pytestmark = pytest.mark.vllm


def test_the_report_says_that_it_is_off(plain_vllm: Vllm) -> None:
    found = report_room.report(reading.Servers((plain_vllm.url,)), sleep=lambda _: None)
    (model,) = found.models
    assert model.state == STATES["off"].says
    assert model.sample is None
    assert model.speculation is None
    assert model.verdict.says is None


def test_the_command_says_so_to_people(plain_vllm: Vllm) -> None:
    done = draftboard("report", plain_vllm.url, "--window", "1s")
    assert done.returncode == 0, done.stderr
    assert STATES["off"].says in done.stdout


def test_the_doctor_names_it_and_what_stays_empty(plain_vllm: Vllm) -> None:
    done = draftboard("doctor", plain_vllm.url, "--window", "1s", "--config", ROOT / "deploy/draftboard.toml")
    assert done.returncode == 1, done.stdout + done.stderr
    assert "speculation is off" in done.stdout
    assert "Stays empty" in done.stdout
    assert "SpecDecodeNotPaying" in done.stdout
