"""`doctor` has nothing to say against a real server that speculates, nor against the words that started it."""

import shlex

import pytest

from conftest import ROOT
from support.vllm_commands import draftboard, ended, running, succeeded
from support.vllm_server import SPECULATION, Vllm
from support.vllm_traffic import send

pytestmark = pytest.mark.vllm

SETTINGS = ("--config", ROOT / "deploy/draftboard.toml")


def test_of_a_server_that_speculates(vllm: Vllm) -> None:
    before = vllm.readings
    with running("doctor", vllm.url, *SETTINGS) as command:
        vllm.wait_until_read_by(command, before)
        send(vllm)
        succeeded(ended(command))


def test_of_the_words_that_started_it(vllm: Vllm) -> None:
    words = ("--command", shlex.join(vllm.command), "--speculative-config", SPECULATION)
    succeeded(draftboard("doctor", *words, *SETTINGS))
