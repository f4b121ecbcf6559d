"""The value of --speculative-config, examined before a server runs with it."""

import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import settings as hypothesis_settings
from hypothesis import strategies as st

from draftboard.doctor import examine_config
from draftboard.doctor.finding import Examination, Severity
from draftboard.doctor.names import DEAD_KEYS, KEYS, METHODS
from draftboard.doctor.releases import Release
from draftboard.errors import DraftboardError
from draftboard.settings import Settings

NGRAM = {"method": "ngram", "num_speculative_tokens": 3, "prompt_lookup_max": 3, "prompt_lookup_min": 1}
GOOD = [
    NGRAM,
    {"method": "eagle3", "model": "HEAD", "num_speculative_tokens": 3},
    {"method": "mtp", "num_speculative_tokens": 1},
    {"method": "draft_model", "model": "SMALL", "num_speculative_tokens": 5},
    {"method": "suffix", "num_speculative_tokens": 8},
    {"model": "ngram", "num_speculative_tokens": 3},
]
DRAFT_MODEL = GOOD[3]


def examined(config: dict[str, Any], settings: Settings | None = None) -> Examination:
    return examine_config(json.dumps(config), settings or Settings())


def words_on(examination: Examination, where: str) -> str:
    return "\n".join(f"{found.what}; {found.fix}" for found in examination.findings if where in found.where)


@pytest.mark.parametrize("config", GOOD, ids=lambda config: str(config.get("method")))
def test_a_valid_configuration_has_no_problem(config: dict[str, Any]) -> None:
    examination = examined(config)
    assert examination.content, examination.findings
    assert examination.write_instead == ""


@pytest.mark.parametrize(
    ("old", "new"),
    [
        ("speculative_model", "model"),
        ("speculative_draft_tensor_parallel_size", "draft_tensor_parallel_size"),
        ("speculative_model_quantization", "quantization"),
        ("speculative_max_model_len", "max_model_len"),
        ("ngram_prompt_lookup_max", "prompt_lookup_max"),
        ("speculative_disable_by_batch_size", "num_speculative_tokens_per_batch_size"),
        ("disable_by_batch_size", "num_speculative_tokens_per_batch_size"),
        ("spec_decoding_acceptance_method", "rejection_sample_method"),
        ("acceptance_method", "rejection_sample_method"),
        ("posterior_threshold", "rejection_sample_method"),
        ("typical_acceptance_sampler_posterior_alpha", "rejection_sample_method"),
        ("synthetic_acceptance_rate", "synthetic_acceptance_rates"),
        ("enable_adaptive_k", "num_speculative_tokens_per_batch_size"),
    ],
)
def test_a_dead_key_is_a_problem_with_its_replacement(old: str, new: str) -> None:
    examination = examined(NGRAM | {old: 1})
    assert not examination.content
    assert "removed: " in words_on(examination, old)
    assert f'"{new}"' in words_on(examination, old)


def test_keyword_arguments_of_old_articles_are_rewritten_as_todays_configuration() -> None:
    old = {"speculative_model": "small-7b", "num_speculative_tokens": 4, "use_v2_block_manager": True}
    examination = examined(old)
    assert {f.where.split()[-1] for f in examination.findings if f.severity is Severity.PROBLEM} == {
        "'speculative_model'",
        "'use_v2_block_manager'",
    }
    assert json.loads(examination.write_instead) == {
        "method": "draft_model",
        "model": "small-7b",
        "num_speculative_tokens": 4,
    }
    assert "draft_model is guessed from the drafter's name" in words_on(examination, "method")


def test_the_ngram_of_old_articles_is_a_method_today() -> None:
    old = {"speculative_model": "[ngram]", "num_speculative_tokens": 5, "ngram_prompt_lookup_max": 4}
    assert json.loads(examined(old).write_instead) == {
        "method": "ngram",
        "num_speculative_tokens": 5,
        "prompt_lookup_max": 4,
    }


@pytest.mark.parametrize("dead", DEAD_KEYS)
def test_the_rewritten_configuration_has_no_refused_key(dead: str) -> None:
    instead = examined(GOOD[1] | {dead: "awq" if "quantization" in dead else 3}).write_instead
    assert set(json.loads(instead)) <= set(KEYS)
    again = examine_config(instead, Settings())
    assert again.content
    assert again.write_instead == ""


def test_a_mistyped_key_is_a_warning_with_the_nearest_key() -> None:
    examination = examined({"method": "ngram", "num_speculative_token": 3})
    assert 'write "num_speculative_tokens"' in words_on(examination, "num_speculative_token")
    assert json.loads(examination.write_instead)["num_speculative_tokens"] == 3
    assert 'write "enable_adaptive_verification"' in words_on(
        examined(NGRAM | {"adaptive_verification": 1}), "adaptive"
    )


def test_a_key_that_resembles_none_is_a_warning_that_refuses_nothing() -> None:
    examination = examined(NGRAM | {"colour": "blue"})
    (found,) = (f for f in examination.findings if "colour" in f.where)
    assert found.severity is Severity.WARNING
    assert "unknown: no vLLM from 0.10.0 to" in found.what
    assert "refuse" not in found.what + found.fix


@pytest.mark.parametrize("method", METHODS)
def test_every_method_of_vllm_is_known(method: str) -> None:
    assert "is unknown" not in words_on(
        examined({"method": method, "model": "M", "num_speculative_tokens": 3}), "method"
    )


def test_an_unknown_method_is_a_warning_with_the_nearest_one() -> None:
    examination = examined({"method": "eagle-3", "model": "M", "num_speculative_tokens": 3})
    assert "'eagle-3' is unknown: no vLLM from 0.10.0 to" in words_on(examination, "method")
    assert 'write "eagle3"' in words_on(examination, "method")
    assert json.loads(examination.write_instead)["method"] == "eagle3"
    assert {f.severity for f in examination.findings} <= {Severity.WARNING, Severity.NOTE}


def test_a_deprecated_method_is_a_warning_with_its_new_name() -> None:
    examination = examined({"method": "deepseek_mtp", "num_speculative_tokens": 1})
    assert [f.severity for f in examination.findings if "deprecated" in f.what] == [Severity.WARNING]
    assert json.loads(examination.write_instead)["method"] == "mtp"


def test_a_method_without_a_drafter_in_vllm_is_a_problem() -> None:
    config = {"method": "mlp_speculator", "model": "M", "num_speculative_tokens": 3}
    examination = examine_config(json.dumps(config), Settings(), Release("0.32.0"))
    assert "V1 engine has no such drafter" in words_on(examination, "method")
    assert not examination.content


@pytest.mark.parametrize("method", ["ngram", "suffix", "medusa", "custom_class"])
def test_methods_that_disable_asynchronous_scheduling_have_a_note(method: str) -> None:
    config = {"method": method, "model": "M", "num_speculative_tokens": 3}
    examination = examine_config(json.dumps(config), Settings(), Release("0.32.0"))
    assert "disables asynchronous scheduling" in words_on(examination, "method")
    assert examination.content


def test_a_method_that_drafts_with_a_model_needs_one() -> None:
    assert "missing: eagle3 requires a drafter" in words_on(
        examined({"method": "eagle3", "num_speculative_tokens": 3}), "model"
    )


def test_neither_method_nor_model_is_a_problem() -> None:
    assert not examined({"num_speculative_tokens": 3}).content


def test_no_draft_length_is_a_warning_except_for_suffix() -> None:
    assert "missing" in words_on(examined({"method": "eagle3", "model": "m"}), "num_speculative_tokens")
    assert examined({"method": "suffix"}).content


@pytest.mark.parametrize("config", [{"method": "ngram"}, {"method": "ngram_gpu"}, {"model": "ngram"}])
def test_without_a_drafter_no_draft_length_is_a_problem(config: dict[str, str]) -> None:
    (found,) = (f for f in examined(config).findings if "num_speculative_tokens" in f.where)
    assert found.severity is Severity.PROBLEM
    assert "has no drafter that defines it" in found.what


def test_drafts_longer_than_dashboards_cover_are_a_warning_with_the_setting() -> None:
    examination = examined({"method": "suffix", "suffix_decoding_max_tree_depth": 32})
    assert "max_draft_tokens = 32" in words_on(examination, "num_speculative_tokens")
    assert examined({"method": "suffix"}, Settings(max_draft_tokens=24)).content
    assert not examined({"method": "suffix"}, Settings(max_draft_tokens=23)).content


def test_a_draft_model_has_a_note_that_equal_sizes_are_not_the_same_tokenizer() -> None:
    words = words_on(examined(DRAFT_MODEL), "method")
    assert "equal size is not the same tokenizer" in words
    assert "compare the tokenizer files" in words


def test_synthetic_rejection_is_a_warning_that_figures_are_not_measured() -> None:
    examination = examined(NGRAM | {"rejection_sample_method": "synthetic", "synthetic_acceptance_rates": [0.8, 0.5]})
    assert not examination.content
    assert "are not measured" in words_on(examination, "rejection_sample_method")


@pytest.mark.parametrize(
    ("key", "value"),
    [
        ("num_speculative_tokens", 0),
        ("num_speculative_tokens", True),
        ("num_speculative_tokens", "3"),
        ("prompt_lookup_max", -1),
        ("rejection_sample_method", 3),
        ("draft_sample_method", ["greedy"]),
        ("synthetic_acceptance_rates", [0.5, 0.8]),
        ("synthetic_acceptance_rates", [1.5]),
        ("num_speculative_tokens_per_batch_size", [[1, 8]]),
        ("num_speculative_tokens_per_batch_size", [[8, 1, 3]]),
        ("num_speculative_tokens_per_batch_size", []),
        ("enforce_eager", "yes"),
        ("method", ["ngram"]),
        ("model", {}),
        ("suffix_decoding_min_token_prob", 10**400),
    ],
)
def test_a_refused_value_is_a_problem_with_what_is_allowed(key: str, value: object) -> None:
    found = words_on(examined(NGRAM | {key: value}), f"--speculative-config {key}")
    assert "is not allowed; write " in found


def test_lookup_bounds_the_wrong_way_round_are_a_problem() -> None:
    assert "exceeds prompt_lookup_max" in words_on(examined(NGRAM | {"prompt_lookup_min": 4}), "prompt_lookup_min")


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ('{"method": "mtp"', "not JSON: EOF while parsing an object at line 1 column 16"),
        ("", "not JSON: EOF while parsing a value at line 1 column 0"),
        ("[1]", "JSON, but not an object"),
        ("null", "JSON, but not an object"),
        ("3", "JSON, but not an object"),
        ('{"a": NaN}', "not JSON: expected value at line 1 column 7"),
        ("{method: ngram}", "in single quotes"),
        ("$SPEC", "give vLLM's JSON in single quotes, such as"),
        ("--speculative-model x", "--command takes a command line"),
        ("[" * 50_000, "recursion limit exceeded"),
        ('{"a": "' + "x" * 1_000_000 + '"}', "longer than 100,000 characters"),
        ('{"a": "\0"}', r"contains the character '\x00', which is not text"),
        ('{"a": "\udcff"}', r"contains the character '\udcff', which is not text"),
        ('{"a": "\x1b[31m"}', r"contains the character '\x1b', which is not text"),
    ],
)
def test_what_is_not_a_json_object_is_a_one_line_error(text: str, words: str) -> None:
    with pytest.raises(DraftboardError) as error:
        examine_config(text, Settings())
    line = str(error.value)
    assert line.startswith("--speculative-config: ")
    assert words in line
    assert "\n" not in line
    assert len(line) < 300


JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False, allow_infinity=False) | st.text(),
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(st.text(), inner, max_size=4),
    max_leaves=10,
)


@hypothesis_settings(deadline=None)
@given(st.dictionaries(st.sampled_from([*KEYS, *DEAD_KEYS]) | st.text(), JSON, max_size=6))
def test_any_object_is_examined_and_rewritten_with_known_keys_only(config: dict[str, Any]) -> None:
    text = json.dumps(config)
    try:
        examination = examine_config(text, Settings())
    except DraftboardError:
        return  # not text that a shell passes on
    for found in examination.findings:
        assert all((found.where, found.what, found.fix))
        assert "\n" not in found.where + found.what + found.fix
        assert (found.where + found.what + found.fix).isprintable()
    if examination.write_instead:
        assert set(json.loads(examination.write_instead)) <= set(KEYS)
