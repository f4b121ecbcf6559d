"""What single requests tell of their own drafts, together and by tag; and the prompts that are asked."""

from pathlib import Path
from typing import Any

import pytest

from draftboard.errors import DraftboardError
from draftboard.settings import Settings
from draftboard.sweep import BUILT_IN, Plan, Prompt, Prompts, read_prompts, sweep
from draftboard.sweep.client import Batch, Completion, Outcome
from draftboard.sweep.result import PerRequest, Spread
from draftboard.sweep.run import by_request
from support.fake_vllm import FakeVLLM, accepting, drafts_of
from support.known import known
from support.loopback import answering

HISTOGRAM = [39, 1, 0, 3]


def of(*histograms: list[int], detailed: bool = False) -> PerRequest | None:
    """What responses with these histograms say together."""
    return read(*(drafts_of(histogram, detailed=detailed) for histogram in histograms))


def read(*reported: dict[str, Any]) -> PerRequest | None:
    """What responses with these metrics say together."""
    bodies = [
        {"choices": [{}], "usage": {"completion_tokens": 10}, "metrics": {"speculative_decoding": drafts}}
        for drafts in reported
    ]
    outcomes = [Outcome("", 1.0, Completion.model_validate(body)) for body in bodies]
    return by_request(Batch(outcomes), "", Settings())[0]


def test_a_request_of_43_drafts_has_the_length_and_acceptance_that_vllm_tells() -> None:
    found = read(
        {
            "mean_acceptance_length": 1.2325581395348837,
            "draft_acceptance_rate": 0.07751937984496124,
            "acceptance_histogram": HISTOGRAM,
            "num_spec_steps": 43,
            "num_accepted_draft_tokens": 10,
            "num_draft_tokens": 129,
            "num_spec_tokens": 3,
        }
    )
    assert found
    assert found.acceptance
    assert found.acceptance.p50 == pytest.approx(0.07751937984496124, abs=1e-12)
    assert found.acceptance_length
    assert found.acceptance_length.p50 == pytest.approx(1.2325581395348837, abs=1e-12)


def test_percentiles_are_of_requests_while_the_sample_is_of_drafts() -> None:
    found = of(*[accepting(percent) for percent in range(0, 101, 10)])
    assert found
    assert found.acceptance
    assert (found.acceptance.p10, found.acceptance.p50, found.acceptance.p90) == pytest.approx((0.1, 0.5, 0.9))
    assert (found.requests, found.undrafted, found.histogram) == (11, 0, (550, 0, 0, 0, 550))
    assert found.sample
    assert found.sample.accepted_per_position == (550, 550, 550, 550)
    long_and_short = of(accepting(0, drafts=900), accepting(100, drafts=100))
    assert long_and_short
    assert long_and_short.acceptance
    assert long_and_short.acceptance.mean == 0.5
    sample = known(long_and_short.sample)
    assert known(sample.accepted_tokens) / known(sample.draft_tokens) == 0.1


def test_consistency_is_standard_deviation_over_mean() -> None:
    steady, varied, alone = of(accepting(50), accepting(50)), of(accepting(25), accepting(75)), of(accepting(50))
    assert steady
    assert steady.acceptance
    assert steady.acceptance.variation == 0
    assert varied
    assert varied.acceptance
    assert varied.acceptance.variation == pytest.approx(0.5)
    assert alone
    assert alone.acceptance == Spread.of([0.5])
    never = of(accepting(0))
    assert never
    assert never.acceptance
    assert never.acceptance.variation is None


def test_of_one_value_every_percentile_is_that_value() -> None:
    assert Spread.of([3.0]) == Spread(
        count=1, mean=3, std=0, minimum=3, p10=3, p50=3, p90=3, p95=3, maximum=3, variation=0
    )
    assert Spread.of([]) is None


def test_single_drafts_are_known_where_the_server_reports_details() -> None:
    found = of([5, 0, 0, 0, 15], detailed=True)
    assert found
    assert found.step_acceptance
    steps = found.step_acceptance
    assert (steps.count, steps.mean, steps.minimum, steps.maximum) == (20, 0.75, 0, 1)
    assert (steps.p50, steps.p95, steps.std) == (1, 1, pytest.approx(0.4330, abs=1e-4))
    plain = of([5, 0, 0, 0, 15])
    assert plain
    assert plain.step_acceptance is None


def test_a_mean_over_drafts_of_unlike_length_is_not_their_acceptance() -> None:
    found = read(
        drafts_of([1, 1, 0, 0]) | {"per_step_accepted": [0, 1], "per_step_drafted": [3, 1], "num_draft_tokens": 4}
    )
    assert found
    assert found.step_acceptance
    assert found.acceptance
    assert (found.step_acceptance.mean, found.acceptance.mean) == (0.5, 0.25)


def test_a_summary_says_null_where_details_would_list_single_drafts() -> None:
    found = read(drafts_of([5, 0, 0, 0, 15]) | {"per_step_accepted": None, "per_step_drafted": None})
    assert found
    assert found.acceptance
    assert (found.acceptance.mean, found.step_acceptance) == (0.75, None)


def test_requests_without_a_draft_have_no_acceptance_but_are_counted() -> None:
    found = of([0, 0, 0, 0, 0], accepting(50))
    assert found
    assert found.acceptance
    assert (found.requests, found.undrafted, found.acceptance.count) == (2, 1, 1)
    idle = of([0, 0])
    assert idle
    assert (idle.acceptance, idle.sample) == (None, None)


def test_responses_that_say_nothing_of_drafts_make_a_note_of_how_to_have_it() -> None:
    with answering(FakeVLLM({0.0: accepting(50)})) as place:
        found = sweep(Plan(server=place, temperatures=(0.0,)), sleep=lambda _: None)
    assert found.rows[0].by_request is None
    assert found.notes[-1].endswith("with --per-request-spec-decode-metrics summary")


def test_tags_show_who_gains_and_who_does_not() -> None:
    def drafted(prompt: str) -> list[int]:
        return {"a": accepting(90), "b": accepting(2), "c": [0, 0]}[prompt]

    prompts = Prompts((Prompt("a", "code"), Prompt("b", "poetry"), Prompt("c", "odd"), Prompt("c")), "a file")
    server = FakeVLLM(by_prompt=drafted, level="summary")
    with answering(server) as place:
        plan = Plan(server=place, prompts=prompts, temperatures=(0.0,), requests=12)
        (row,) = sweep(plan, Settings.model_validate({"draft_cost": {"default": 0.1}}), sleep=lambda _: None).rows
    told = {tagged.tag: (tagged.answered, tagged.verdict.says if tagged.verdict else "") for tagged in row.by_tag}
    pays, loses = "pays (assumed)", "costs more than it saves (assumed)"
    assert told == {"": (3, None), "code": (3, pays), "odd": (3, None), "poetry": (3, loses)}
    assert row.server.verdict.says == pays


def test_a_tag_that_was_not_sent_has_no_row() -> None:
    prompts = Prompts((Prompt("a", "code"), Prompt("b", "poetry")), "a file")
    with answering(FakeVLLM({0.0: accepting(50)})) as place:
        (row,) = sweep(Plan(server=place, prompts=prompts, temperatures=(0.0,), requests=1), sleep=lambda _: None).rows
    assert [tagged.tag for tagged in row.by_tag] == ["code"]


def test_a_file_of_plain_text_is_one_prompt_a_line(tmp_path: Path) -> None:
    (tmp_path / "p.txt").write_text("first\r\n\n  indented\n[3]\n")
    found = read_prompts(tmp_path / "p.txt")
    assert [prompt.text for prompt in found.all] == ["first", "  indented", "[3]"]


def test_a_file_of_json_lines_may_carry_tags(tmp_path: Path) -> None:
    (tmp_path / "p").write_text('{"prompt": "a\\nb", "tag": "code", "id": 7}\n{"prompt": "c"}\n')
    assert read_prompts(tmp_path / "p").all == (Prompt("a\nb", "code"), Prompt("c"))


@pytest.mark.parametrize(
    ("content", "reason"),
    [
        (b"", "contains no prompt"),
        (b" \n\n", "contains no prompt"),
        (b"\xff\xfe", "not UTF-8"),
        (b"x" * 16_000_001, "exceeds 16 MB"),
        (b"x\n" * 10_001, "10,001 prompts, at most 10,000"),
        (b'{"prompt": "a"}\nsecret', "line 2 is not JSON of the form"),
        (b'{"prompt": 7}', "line 1 is not JSON of the form"),
        (b'{"prompt": ""}', "line 1 is not JSON of the form"),
        (b'{"prompt": "\\ud800"}', "line 1 is not JSON of the form"),
        (b'{"prompt": "secret", "tag": "a\\nb"}', "line 1: the tag must be"),
        (b'{"prompt": "secret", "tag": 5}', "line 1: the tag must be"),
        (b'{"a":' * 50_000, "line 1 is not JSON of the form"),
    ],
    ids=range(12),
)
def test_a_file_that_holds_no_prompts_gets_one_line_that_quotes_nothing(
    content: bytes, reason: str, tmp_path: Path
) -> None:
    (tmp_path / "p").write_bytes(content)
    with pytest.raises(DraftboardError) as error:
        read_prompts(tmp_path / "p")
    assert reason in str(error.value)
    assert "secret" not in str(error.value)
    with pytest.raises(DraftboardError, match="absent: cannot read the prompts"):
        read_prompts(tmp_path / "absent")


def test_more_than_50_tags_are_refused(tmp_path: Path) -> None:
    (tmp_path / "p").write_text("".join(f'{{"prompt": "a", "tag": "{n}"}}\n' for n in range(51)))
    with pytest.raises(DraftboardError, match="51 tags, at most 50"):
        read_prompts(tmp_path / "p")


def test_built_in_prompts_differ_in_kind() -> None:
    assert len({prompt.tag for prompt in BUILT_IN.all}) >= 5
    assert "text" not in repr(BUILT_IN.all[0])
