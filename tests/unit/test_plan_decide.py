"""The checks before speculation is tried: what each finds, and the decision that follows."""

import json
import math
from dataclasses import replace
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import pytest
from click.testing import CliRunner
from hypothesis import given
from hypothesis import settings as hypothesis_settings
from hypothesis import strategies as st

from draftboard.cli import draftboard
from draftboard.errors import DraftboardError
from draftboard.plan.basis import read_vocabulary
from draftboard.plan.decide import RULES, DecidePlan, Situation, decide

UNTIMED = hypothesis_settings(deadline=None)
SAME = {"a": 0, "b": 1}
GOOD = Situation(
    slo="tpot",
    vocab_sizes=(128_256, 128_256),
    vocabularies=(SAME, SAME),
    temperature=0.2,
    validated_temperature=0.2,
    starts=True,
    requests=16,
    tokens_lost=0.4,
    speedup=2.0,
    assumed=False,
    pays_clearly=1.1,
)
CHECKS = ("objective", "tokenizer", "memory", "acceptance", "speedup", "concurrency")


def decided(**changes: Any) -> DecidePlan:
    return decide(replace(GOOD, **changes))


def test_where_every_check_passes_speculation_is_used() -> None:
    plan = decided()
    assert {check.name: check.outcome for check in plan.checks} == dict.fromkeys(CHECKS, "pass")
    assert (plan.decision, plan.verdict[:5]) == ("use", "Use: ")


@pytest.mark.parametrize(
    ("name", "changes", "outcome"),
    [
        ("objective", {"slo": None}, "unknown"),
        ("objective", {"slo": "throughput"}, "pass"),
        ("objective", {"slo": "ttft"}, "fail"),
        ("tokenizer", {"vocabularies": (SAME, None)}, "unknown"),
        ("tokenizer", {"vocabularies": (None, None), "vocab_sizes": (None, None)}, "unknown"),
        ("tokenizer", {"vocab_sizes": (128_256, None)}, "pass"),
        ("tokenizer", {"vocab_sizes": (128_256, 151_936)}, "fail"),
        ("tokenizer", {"vocab_sizes": (128_256, 151_936), "vocabularies": (None, None)}, "fail"),
        ("tokenizer", {"vocabularies": (SAME, {"a": 1, "b": 0})}, "fail"),
        ("tokenizer", {"method": "eagle3", "vocabularies": (None, None)}, "skipped"),
        ("memory", {"starts": None}, "unknown"),
        ("memory", {"requests": None}, "unknown"),
        ("memory", {"starts": False, "requests": 0}, "fail"),
        ("memory", {"requests": 0}, "fail"),
        ("memory", {"requests": 1}, "pass"),
        ("acceptance", {"speedup": None}, "unknown"),
        ("acceptance", {"temperature": None}, "unknown"),
        ("acceptance", {"validated_temperature": None}, "unknown"),
        ("acceptance", {"validated_temperature": 0.0}, "warn"),
        ("speedup", {"speedup": None}, "unknown"),
        ("speedup", {"assumed": True}, "unknown"),
        ("speedup", {"speedup": 1.0}, "fail"),
        ("speedup", {"speedup": 1.09}, "warn"),
        ("speedup", {"speedup": 1.1}, "pass"),
        ("concurrency", {"tokens_lost": None}, "unknown"),
        ("concurrency", {"tokens_lost": 0.5}, "warn"),
        ("concurrency", {"tokens_lost": 0.49}, "pass"),
        ("concurrency", {"tokens_lost": 0.0}, "pass"),
    ],
)
def test_a_check_finds(name: str, changes: dict[str, Any], outcome: str) -> None:
    plan = decided(**changes)
    found = {check.name: check.outcome for check in plan.checks}
    assert tuple(found) == CHECKS
    assert found[name] == outcome
    if outcome == "fail":
        assert plan.decision == "leave off"
        assert f"{name} (" in plan.verdict
    elif outcome in {"warn", "unknown"}:
        assert name in plan.verdict
        assert plan.decision in {"measure first", "leave off"}
    else:
        assert name not in plan.verdict


def test_without_input_every_check_is_unknown_and_says_what_to_give() -> None:
    plan = decide(Situation())
    assert {check.outcome for check in plan.checks} == {"unknown"}
    assert plan.decision == "measure first"
    assert decided(slo=None).verdict == "Measure first: objective."


def test_every_check_has_a_rule_with_its_source() -> None:
    rules = {rule.gives: (rule.text, rule.source) for rule in decided().formulas}
    assert tuple(rules) == (*CHECKS, "decision")
    assert all(text and source for text, source in rules.values())


@pytest.mark.parametrize(
    "wrong", [{"temperature": math.nan}, {"validated_temperature": -1.0}, {"vocab_sizes": (0, None)}]
)
def test_numbers_out_of_range_are_errors(wrong: dict[str, Any]) -> None:
    with pytest.raises(DraftboardError, match="is out of range"):
        decided(**wrong)


MEMORY = ("--target-params", "70", "--target-dtype", "int8", "--gpus", "2", "--gpu-gb", "80")
KV = ("--target-kv-kib-per-token", "320", "--draft-kv-kib-per-token", "128")
COSTS = ("--cost-ratio", "0.1", "--verify-inflation", "1")


def outcomes(*arguments: str) -> dict[str, str]:
    found = CliRunner().invoke(draftboard, ["plan", "decide", *arguments, "--json"], catch_exceptions=False)
    return {check["name"]: check["outcome"] for check in json.loads(found.output)["checks"]}


@pytest.mark.parametrize(
    ("arguments", "expected"),
    [
        ((*MEMORY, "--draft-params", "8"), {"memory": "unknown", "concurrency": "unknown"}),
        ((*MEMORY, *KV, "--draft-params", "8"), {"memory": "pass", "concurrency": "unknown"}),
        ((*MEMORY, *KV, "--draft-params", "8", "--alpha", ".8", *COSTS), {"speedup": "pass", "concurrency": "pass"}),
        ((*MEMORY, *KV, "--draft-params", "8", "--alpha", ".3", *COSTS), {"concurrency": "warn"}),
        ((*MEMORY, *KV, "--draft-params", "80"), {"memory": "fail"}),
        ((*MEMORY, *KV, "--draft-params", "8", "--context", "1000000"), {"memory": "fail"}),
        ((*MEMORY, *KV[:2], "--method", "ngram"), {"memory": "pass", "tokenizer": "skipped"}),
        ((*MEMORY, *KV[:2], "--method", "eagle3"), {"memory": "unknown", "tokenizer": "skipped"}),
        (("--alpha", ".8", "--cost-ratio", "0.1"), {"speedup": "unknown"}),
        (("--alpha", ".05", *COSTS), {"speedup": "fail"}),
    ],
)
def test_memory_and_speedup_are_those_of_the_other_plans(arguments: tuple[str, ...], expected: dict[str, str]) -> None:
    assert expected.items() <= outcomes(*arguments).items()


def bpe(*tokens: str, added: tuple[tuple[str, int], ...] = ()) -> dict[str, Any]:
    """A tokenizer.json with these tokens in this order."""
    model = {"type": "BPE", "vocab": {token: index for index, token in enumerate(tokens)}, "merges": []}
    return {"version": "1.0", "added_tokens": [{"content": text, "id": at} for text, at in added], "model": model}


def vocabulary(folder: Path, document: object) -> dict[str, int]:
    path = folder / "tokenizer.json"
    path.write_text(json.dumps(document))
    return read_vocabulary(path)


def _with_permutation(tokens: list[str]) -> st.SearchStrategy[tuple[list[str], list[str]]]:
    return st.tuples(st.just(tokens), st.permutations(tokens))


def test_vocabularies_are_compared_entry_by_entry(tmp_path: Path) -> None:
    one = vocabulary(tmp_path, bpe("a", "b", "c"))
    assert one == {"a": 0, "b": 1, "c": 2}
    shuffled = bpe("a", "b", "c")
    shuffled["model"]["vocab"] = {"c": 2, "a": 0, "b": 1}
    assert vocabulary(tmp_path, shuffled) == one
    assert vocabulary(tmp_path, bpe("b", "a", "c")) != one
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
def test_a_file_without_a_vocabulary_is_an_error(text: bytes, tmp_path: Path) -> None:
    path = tmp_path / "tokenizer.json"
    path.write_bytes(text)
    with pytest.raises(DraftboardError, match=r"no vocabulary at model.vocab; give a Hugging Face tokenizer.json$"):
        read_vocabulary(path)


def test_a_tokenizer_that_cannot_be_read_or_is_too_large_is_an_error(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    with pytest.raises(DraftboardError, match="cannot read the tokenizer: No such file"):
        read_vocabulary(tmp_path / "none.json")
    monkeypatch.setattr("draftboard.plan.basis._LARGEST", 10_000)
    (tmp_path / "long.json").write_text(" " * 10_001)
    with pytest.raises(DraftboardError, match=r"exceeds 0.01 MB"):
        read_vocabulary(tmp_path / "long.json")


def test_every_rule_reads_a_field_of_the_situation_and_each_check_ends_with_one_that_always_applies() -> None:
    assert {rule.field for rule in RULES if not hasattr(Situation(), rule.field or "method")} == set()
    last = {rule.check: rule for rule in RULES}
    assert {rule.check for rule in last.values() if rule.field} == set()
    assert len(set(RULES)) == len(RULES)
