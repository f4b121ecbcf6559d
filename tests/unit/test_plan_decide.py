"""The checks before speculation is tried: what each finds, and what they add up to."""

import json
import math
from dataclasses import replace
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import pytest
from hypothesis import given
from hypothesis import settings as hypothesis_settings
from hypothesis import strategies as st

from draftboard.errors import DraftboardError
from draftboard.plan import (
    Check,
    DecidePlan,
    Decision,
    Dtype,
    Gpus,
    Model,
    Outcome,
    Situation,
    Slo,
    Vocabulary,
    decide,
    read_vocabulary,
)
from draftboard.settings import Settings

UNTIMED = hypothesis_settings(deadline=None)
PASS, WARN, FAIL, UNKNOWN, SKIPPED = Outcome
SAME = Vocabulary(128_256, "0" * 64)
GOOD = Situation(
    method="draft_model",
    target=Model(70, Dtype.INT8),
    draft=Model(8, Dtype.BF16),
    gpus=Gpus(2, 80),
    same_family=True,
    target_vocabulary=SAME,
    draft_vocabulary=SAME,
    target_vocab_size=128_256,
    draft_vocab_size=128_256,
    cost_ratio=0.12,
    temperature=0.2,
    temperature_varies=False,
    validated_temperature=0.2,
    consistent_batch=True,
    long_context_tight=False,
    slo=Slo.TPOT,
    monitored=True,
)


def decided(settings: Settings | None = None, **changes: Any) -> DecidePlan:
    return decide(settings or Settings(), replace(GOOD, **changes))


def check(name: str, settings: Settings | None = None, **changes: Any) -> Check:
    (found,) = (found for found in decided(settings, **changes).checks if found.name == name)
    return found


@pytest.mark.requirement("R197")
def test_all_that_is_asked_for_is_a_use() -> None:
    plan = decided()
    assert {found.outcome for found in plan.checks} == {PASS}
    assert plan.decision is Decision.USE


@pytest.mark.requirement("R197")
@pytest.mark.parametrize(
    ("name", "changes", "outcome"),
    [
        ("temperature", {"temperature": 0.9, "validated_temperature": 0.9}, FAIL),
        ("temperature", {"temperature": None}, UNKNOWN),
        ("draft headroom", {"gpus": Gpus(1, 80), "target": Model(70, Dtype.INT4)}, FAIL),
        ("draft headroom", {"gpus": None}, UNKNOWN),
        ("batch size", {"consistent_batch": False}, FAIL),
        ("batch size", {"consistent_batch": None}, UNKNOWN),
        ("validation", {"validated_temperature": 0.0}, FAIL),
        ("validation", {"validated_temperature": None}, UNKNOWN),
        ("objective", {"slo": Slo.TTFT}, FAIL),
        ("objective", {"slo": None}, UNKNOWN),
        ("objective", {"slo": Slo.THROUGHPUT}, PASS),
    ],
)
def test_each_of_the_five_reasons_to_use_passes_fails_or_is_unknown(
    name: str, changes: dict[str, Any], outcome: Outcome
) -> None:
    assert check(name, **changes).outcome is outcome
    assert check(name).outcome is PASS


@pytest.mark.requirement("R198")
@pytest.mark.parametrize(
    ("changes", "reason"),
    [
        ({"temperature": 0.71, "validated_temperature": 0.71}, "temperature (median 0.71"),
        ({"temperature_varies": True}, "temperature (varies widely"),
        ({"long_context_tight": True}, "long contexts (the KV cache is full of them"),
        ({"slo": Slo.TTFT}, "objective (time to first token"),
        ({"monitored": False}, "monitoring (nobody would see"),
    ],
)
def test_any_one_reason_leaves_it_off_and_is_named(changes: dict[str, Any], reason: str) -> None:
    plan = decided(**changes)
    assert plan.decision is Decision.LEAVE_OFF
    assert plan.verdict.startswith(f"Leave off: {reason}")


def test_what_is_not_known_is_to_be_measured_first() -> None:
    plan = decide(Settings(), Situation("draft_model"))
    assert plan.decision is Decision.MEASURE
    assert {found.outcome for found in plan.checks} == {UNKNOWN}
    assert decided(validated_temperature=None).verdict == "Measure first: validation."


@pytest.mark.requirement("R131")
@pytest.mark.parametrize(
    ("temperature", "outcome"), [(0.0, PASS), (0.5, PASS), (0.51, WARN), (0.7, WARN), (0.71, FAIL), (1.0, FAIL)]
)
def test_between_the_two_temperatures_that_are_named_one_must_measure(temperature: float, outcome: Outcome) -> None:
    found = check("temperature", temperature=temperature, validated_temperature=temperature)
    assert found.outcome is outcome
    assert ("measure" in found.reason) is (outcome is WARN)


@pytest.mark.requirement("R131")
def test_a_low_median_is_no_pass_until_it_is_known_to_be_steady() -> None:
    assert check("temperature", temperature_varies=None).outcome is UNKNOWN
    assert check("temperature", temperature_varies=True).outcome is FAIL


@pytest.mark.requirement("R148")
@pytest.mark.parametrize(
    ("ratio", "outcome"),
    [(4.99, FAIL), (5, WARN), (7.99, WARN), (8, PASS), (12, PASS), (12.01, WARN), (15, WARN), (15.01, FAIL)],
)
def test_the_size_ratio_passes_where_both_sources_agree(ratio: float, outcome: Outcome) -> None:
    assert check("size ratio", target=Model(ratio), draft=Model(1)).outcome is outcome


@pytest.mark.requirement("R148")
def test_the_bounds_of_the_size_ratio_are_settings() -> None:
    wider = Settings.model_validate({"planning": {"size_ratio_to": 80.0}})
    assert check("size ratio", draft=Model(1)).outcome is FAIL
    assert check("size ratio", wider, draft=Model(1)).outcome is WARN


@pytest.mark.requirement("R149", "R150", "R151")
def test_the_pairs_that_the_sources_judge_have_these_ratios_and_outcomes() -> None:
    pairs = {(pair.draft, pair.target): pair for pair in decided().examples}
    found = {names: (round(pair.ratio, 2), pair.outcome) for names, pair in pairs.items()}
    assert found == {
        ("8B", "70B"): (8.75, PASS),
        ("7B", "72B"): (10.29, PASS),
        ("13B", "70B"): (5.38, WARN),
        ("1B", "70B"): (70, FAIL),
        ("0.5B", "70B"): (140, FAIL),
        ("8B", "405B"): (50.62, FAIL),
    }


@pytest.mark.requirement("R151")
def test_a_failed_ratio_alone_never_leaves_it_off() -> None:
    assert decided(draft=Model(1)).decision is Decision.MEASURE


@pytest.mark.requirement("R152", "R156")
def test_another_family_fails_and_the_way_out_is_a_quantised_draft() -> None:
    found = check("model family", same_family=False)
    assert found.outcome is FAIL
    assert "quantise the draft of the same family instead" in found.reason
    assert decided(same_family=False).decision is Decision.MEASURE


@pytest.mark.requirement("R156")
def test_the_checklist_of_a_draft_model_asks_for_family_ratio_and_tokenizer() -> None:
    asked = {found.name for found in decide(Settings(), Situation("draft_model")).checks}
    assert {"model family", "size ratio", "tokenizer"} <= asked


@pytest.mark.requirement("R152")
def test_unequal_vocabulary_sizes_are_what_vllm_refuses() -> None:
    found = check("tokenizer", draft_vocab_size=151_936)
    assert (found.outcome, found.rule_of_thumb) == (FAIL, False)
    assert "use_heterogeneous_vocab" in found.reason
    assert decided(draft_vocab_size=151_936).decision is Decision.LEAVE_OFF


@pytest.mark.requirement("R153")
def test_equal_size_alone_is_not_the_same_tokenizer() -> None:
    assert check("tokenizer", target_vocabulary=None, draft_vocabulary=None).outcome is WARN
    other = Vocabulary(SAME.size, "1" * 64)
    assert check("tokenizer", draft_vocabulary=other).outcome is FAIL
    unknown = check("tokenizer", draft_vocabulary=None, draft_vocab_size=None)
    assert unknown.outcome is UNKNOWN


def bpe(*tokens: str, added: tuple[tuple[str, int], ...] = ()) -> dict[str, Any]:
    """A tokenizer.json with these tokens in this order."""
    model = {"type": "BPE", "vocab": {token: index for index, token in enumerate(tokens)}, "merges": []}
    return {"version": "1.0", "added_tokens": [{"content": text, "id": at} for text, at in added], "model": model}


def vocabulary(folder: Path, document: object) -> Vocabulary:
    path = folder / "tokenizer.json"
    path.write_text(json.dumps(document))
    return read_vocabulary(path)


def _with_permutation(tokens: list[str]) -> st.SearchStrategy[tuple[list[str], list[str]]]:
    return st.tuples(st.just(tokens), st.permutations(tokens))


@pytest.mark.requirement("R153")
def test_vocabularies_are_compared_entry_by_entry(tmp_path: Path) -> None:
    one = vocabulary(tmp_path, bpe("a", "b", "c"))
    assert one.size == 3
    shuffled = bpe("a", "b", "c")
    shuffled["model"]["vocab"] = {"c": 2, "a": 0, "b": 1}
    assert vocabulary(tmp_path, shuffled) == one
    swapped = vocabulary(tmp_path, bpe("b", "a", "c"))
    assert (swapped.size, swapped.sha256 == one.sha256) == (3, False)
    assert vocabulary(tmp_path, bpe("a", "b", "d")) != one
    assert vocabulary(tmp_path, bpe("a", "b", added=(("c", 2),))) == one
    unigram = {"model": {"type": "Unigram", "vocab": [["a", 0.0], ["b", -1.5], ["c", -2.5]]}}
    assert vocabulary(tmp_path, unigram) == one


@UNTIMED
@given(st.lists(st.text(max_size=4), min_size=2, max_size=8, unique=True).flatmap(_with_permutation))
def test_a_vocabulary_is_the_same_exactly_when_every_id_is(orders: tuple[list[str], list[str]]) -> None:
    one, other = orders
    with TemporaryDirectory() as folder:
        same = vocabulary(Path(folder), bpe(*one)) == vocabulary(Path(folder), bpe(*other))
    assert same == (one == other)


@pytest.mark.parametrize(
    "text",
    [
        b"",
        b"no json",
        b"[]",
        b"3",
        b"{}",
        b'{"model": {}}',
        b'{"model": {"vocab": {}}}',
        b'{"model": {"vocab": 3}}',
        b'{"model": {"vocab": [[]]}}',
        b'{"model": {"vocab": {"a": "x"}}}',
        b'{"model": {"vocab": {"a": NaN}}}',
        b'{"model": {"vocab": {"a": 1e999}}}',
        b'{"model": {"vocab": {"a": 1}}, "added_tokens": [3]}',
        b"\xff\xfe\x00",
        b"[" * 100_000,
    ],
)
def test_a_file_that_is_no_tokenizer_is_one_line(text: bytes, tmp_path: Path) -> None:
    path = tmp_path / "tokenizer.json"
    path.write_bytes(text)
    with pytest.raises(DraftboardError, match=r"no vocabulary at model.vocab; name a Hugging Face tokenizer.json$"):
        read_vocabulary(path)


def test_a_tokenizer_that_cannot_be_read_or_never_ends_is_one_line(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    with pytest.raises(DraftboardError, match="cannot read the tokenizer: No such file"):
        read_vocabulary(tmp_path / "none.json")
    monkeypatch.setattr("draftboard.plan.tokenizer.MAX_BYTES", 10)
    (tmp_path / "long.json").write_text(" " * 11)
    with pytest.raises(DraftboardError, match="larger than 10 bytes"):
        read_vocabulary(tmp_path / "long.json")


@pytest.mark.requirement("R154", "R200")
@pytest.mark.parametrize(("cost", "outcome"), [(None, UNKNOWN), (0.1, PASS), (0.2, PASS), (0.21, FAIL)])
def test_a_draft_must_be_measured_to_be_five_times_faster(cost: float | None, outcome: Outcome) -> None:
    assert check("draft speed", cost_ratio=cost).outcome is outcome


@pytest.mark.requirement("R157")
@pytest.mark.parametrize("method", ["eagle3", "mtp", "ngram", "suffix"])
def test_methods_without_a_draft_model_are_not_asked_for_one(method: str) -> None:
    plan = decided(method=method, draft=Model(0), same_family=None, target_vocabulary=None, cost_ratio=None)
    skipped = {found.name for found in plan.checks if found.outcome is SKIPPED}
    assert skipped == {"size ratio", "model family", "tokenizer", "draft speed"}
    assert plan.decision is Decision.USE


@pytest.mark.requirement("R175")
def test_a_draft_without_weights_has_headroom_whatever_the_gpus() -> None:
    assert check("draft headroom", method="ngram", draft=Model(0), gpus=None).outcome is PASS


@pytest.mark.requirement("R164")
def test_a_target_that_fills_the_gpus_is_a_warning_to_measure() -> None:
    full = {"target": Model(70, Dtype.BF16)}
    assert check("target share", **full).outcome is WARN
    assert check("target share").outcome is PASS
    assert decided(**full).decision is Decision.MEASURE


def test_a_mistyped_method_would_skip_checks_so_it_is_a_mistake() -> None:
    with pytest.raises(DraftboardError, match="method 'draftmodel' is unknown"):
        decided(method="draftmodel")


@pytest.mark.parametrize(
    "wrong",
    [{"temperature": math.nan}, {"validated_temperature": -1.0}, {"cost_ratio": math.inf}, {"target_vocab_size": 0}],
)
def test_numbers_that_nobody_measured_are_mistakes(wrong: dict[str, Any]) -> None:
    with pytest.raises(DraftboardError, match="is out of range"):
        decided(**wrong)
