"""The conversation in docs/commands/transcript.md is what the client gets now."""

import pytest

from draftboard.lab.replay import Replay
from scripts.transcript import PAGE, page

pytestmark = [pytest.mark.docs, pytest.mark.prometheus]


def test_the_committed_conversation_is_what_the_tools_answer(demo_run: Replay) -> None:
    assert PAGE.read_text() == page(demo_run), "run: make recording"
