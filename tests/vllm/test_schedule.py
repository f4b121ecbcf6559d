"""A schedule of K by batch in a real vLLM: the report has the lengths of its steps, and says that they follow it."""

from concurrent.futures import ThreadPoolExecutor
from itertools import count
from pathlib import Path

import pytest

from conftest import Tell
from draftboard.output import Document, as_markdown
from draftboard.reading import growth, in_parts, read
from draftboard.report import Reading
from draftboard.report.choices import choices
from draftboard.settings import Settings
from support.lensed import METHOD, TOKENS, client_of, drafting, plugged
from support.vllm_server import MODEL, Start, Vllm

pytestmark = pytest.mark.vllm

SCHEDULE = [[1, 2, 4], [3, 4, 2], [5, 8, 1]]
"""Batches from, to, and their K."""
ROUNDS = {1: 12, 8: 8}
"""Requests that are served at a time, and how often."""


def serve(server: Vllm, together: int) -> None:
    request = {"model": MODEL, "max_tokens": 2 * TOKENS, "temperature": 0, "ignore_eos": True}
    numbers = count(1000 * together)
    with client_of(server) as client, ThreadPoolExecutor(together) as several:
        for _ in range(ROUNDS[together]):
            prompts = [f"{next(numbers)} one two three" for _ in range(together)]
            bodies = ({**request, "prompt": prompt} for prompt in prompts)
            answers = several.map(lambda body: client.post("/v1/completions", json=body), bodies)
            assert all(answer.is_success for answer in answers)


def test_the_report_says_that_drafts_follow_the_schedule(
    start: Start, models: Path, tmp_path: Path, tell: Tell
) -> None:
    speculation = drafting(models, num_speculative_tokens_per_batch_size=SCHEDULE)
    with start("schedule", speculation, variables=plugged(tmp_path)) as server:
        pages = [server.page()]
        for together in ROUNDS:
            serve(server, together)
            pages.append(server.page())
    read_at = [read(page, "vllm", 60.0 * number) for number, page in enumerate(pages)]
    whole = growth(read_at[0], read_at[-1])
    (model,) = Reading([], whole, Settings(), METHOD, in_parts(read_at)).report().models
    told = as_markdown(Document.of(tuple(choices(model.chosen))))
    means = {one.batch: one.mean for one in model.chosen}
    assert means[1] == pytest.approx(4, abs=0.1)
    assert means[8] == pytest.approx(1, abs=0.1)
    assert "Drafts shorten as batches grow: a mean of " in told
    tell("a schedule of K by batch in a real vLLM", told)
