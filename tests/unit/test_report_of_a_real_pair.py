"""Two pages of a real vLLM, and what the same server said of the time between them: in its log, and in its answers."""

import json
from typing import Any

import pytest

from conftest import ROOT
from draftboard.reading import Pages
from draftboard.report import Sample, Speculation, report
from support.vllm_log import Line, lines

PAIR = "tests/data/v0.32.0-ngram-pair"


@pytest.fixture(scope="module")
def said() -> tuple[Sample, Speculation]:
    (model,) = report(Pages(before=ROOT / f"{PAIR}-before.prom", after=ROOT / f"{PAIR}-after.prom")).models
    assert model.sample
    assert model.speculation
    return model.sample, model.speculation


@pytest.fixture(scope="module")
def logged() -> Line:
    (line,) = lines((ROOT / f"{PAIR}.specdecoding.log").read_text())
    return line


@pytest.fixture(scope="module")
def answers() -> Any:
    return json.loads((ROOT / f"{PAIR}.answers.json").read_text())


def test_the_report_is_the_log_line_to_its_last_digit(said: tuple[Sample, Speculation], logged: Line) -> None:
    sample, speculation = said
    assert (sample.accepted_tokens, sample.draft_tokens) == (logged.accepted, logged.drafted)
    assert f"{speculation.acceptance_length:.2f}" == f"{logged.length:.2f}"
    assert f"{speculation.acceptance:.1%}" == f"{logged.acceptance:.1%}"
    assert [f"{share:.3f}" for share in speculation.survival] == [f"{rate:.3f}" for rate in logged.rates]


def test_the_report_counts_what_the_answers_tell(said: tuple[Sample, Speculation], answers: Any) -> None:
    sample, speculation = said
    assert (sample.drafts, sample.draft_tokens) == (answers["drafts"], answers["draft_tokens"])
    assert sample.accepted_tokens == answers["accepted_tokens"]
    shares = [count / answers["drafts"] for count in answers["lengths"]]
    assert speculation.accepted_length_share == pytest.approx(shares)


def test_the_number_of_drafts_is_told_within_the_digits_that_the_log_prints(
    said: tuple[Sample, Speculation], logged: Line
) -> None:
    sample, _ = said
    assert sample.drafts in logged.drafts
    assert all(
        sample.accepted_per_position[position] in logged.accepted_at(position) for position in range(len(logged.rates))
    )
