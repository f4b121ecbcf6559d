"""The command line of a vLLM server, examined before it runs."""

import json
import shlex
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import settings as hypothesis_settings
from hypothesis import strategies as st

from draftboard.doctor import examine_command
from draftboard.doctor.buckets import FINER
from draftboard.doctor.command import parse
from draftboard.doctor.finding import Examination, Severity
from draftboard.doctor.names import DEAD_KEYS, FLAGS, KEYS
from draftboard.errors import DraftboardError
from draftboard.settings import Settings

SETTINGS_PAGE = Path(__file__).parent.parent.parent / "docs/operate/settings.md"
SPEC = """--speculative-config '{"method":"ngram","num_speculative_tokens":3,"prompt_lookup_max":3}'"""
HIDDEN = "s3cr3t-t0k3n"


def examined(command: str, settings: Settings | None = None) -> Examination:
    return examine_command(command, settings or Settings())


def words_on(examination: Examination, where: str) -> str:
    return "\n".join(f"{found.what}; {found.fix}" for found in examination.findings if where in found.where)


@pytest.mark.parametrize(
    "command",
    [
        f"vllm serve M {SPEC}",
        f"vllm serve M --tensor-parallel-size 2 {SPEC} --per-request-spec-decode-metrics summary",
        f"nohup /opt/venv/bin/vllm serve M {SPEC} > vllm.log 2>&1 &",
        f"docker run --gpus all -p 8000:8000 vllm/vllm-openai:v0.33.0 --model M {SPEC}",
        f"python -m vllm.entrypoints.openai.api_server --model M {SPEC}",
        "vllm serve M --spec-method eagle3 --spec-model HEAD --spec-tokens 3",
        "vllm serve M --speculative-config.method ngram --speculative_config.num_speculative_tokens=3",
        'vllm serve M -sc \'{"method":"mtp","num_speculative_tokens":1}\'',
        f"vllm serve M \\\n  {SPEC}",
        "vllm serve M",
    ],
)
def test_a_valid_command_has_no_problem(command: str) -> None:
    examination = examined(command)
    assert examination.content, examination.findings


@pytest.mark.parametrize(
    "flags",
    [
        "--speculative-config.method ngram --speculative-config.num_speculative_tokens 3",
        "--speculative_config.method=ngram --speculative_config.num_speculative_tokens=3",
        """-sc '{"method": "ngram", "num_speculative_tokens": 3}'""",
        """--speculative-config='{"method": "ngram", "num_speculative_tokens": 3}'""",
        "--spec-method ngram --spec-tokens 3",
        "--spec_method=ngram --spec_tokens=3",
    ],
)
def test_every_spelling_of_the_configuration_is_read(flags: str) -> None:
    config, mistakes = parse(f"vllm serve M {flags}").configured()
    assert config == {"method": "ngram", "num_speculative_tokens": 3}
    assert mistakes == []


@pytest.mark.parametrize("flag", FLAGS)
@pytest.mark.parametrize("spelling", ["--{} 4", "--{}=4"])
def test_every_dead_flag_is_a_problem_with_its_replacement(flag: str, spelling: str) -> None:
    written = spelling.format(flag.replace("_", "-"))
    examination = examined(f"vllm serve M {SPEC} {written}")
    (found,) = (f for f in examination.findings if "removed flag" in f.what)
    assert found.severity is Severity.PROBLEM
    assert found.where == shlex.split(written)[0].partition("=")[0]
    assert found.fix.startswith(FLAGS[flag])


def test_the_command_of_an_old_article_is_rewritten_for_today() -> None:
    examination = examined(
        "python -m vllm.entrypoints.openai.api_server --model llama-70b --speculative-model llama-7b "
        "--num-speculative-tokens 4 --tensor-parallel-size 4 --speculative-draft-tensor-parallel-size 1 "
        "--gpu-memory-utilization 0.9 --speculative-disable-by-batch-size 32 --use-v2-block-manager"
    )
    assert examination.write_instead == (
        "vllm serve llama-70b --tensor-parallel-size 4 --gpu-memory-utilization 0.9 --speculative-config "
        """'{"method": "draft_model", "model": "llama-7b", "num_speculative_tokens": 4}'"""
    )
    assert examined(examination.write_instead).content


def test_the_old_entrypoint_is_a_note_with_the_new_one() -> None:
    examination = examined(f"python3 -u -m vllm.entrypoints.openai.api_server --model M --port 9 {SPEC}")
    assert "`vllm serve MODEL`" in words_on(examination, "python -m")
    assert examination.write_instead.startswith("vllm serve M --port 9 --speculative-config ")


@pytest.mark.parametrize(
    ("starter", "today"),
    [("uv run python3.11 -u -m ", "uv run vllm serve M"), ("uv run -m ", "uv run vllm serve M"), ("", "vllm serve M")],
)
def test_whatever_starts_the_old_entrypoint_starts_the_new_one(starter: str, today: str) -> None:
    assert examined(f"{starter}vllm.entrypoints.openai.api_server --model M").write_instead == today


def test_the_value_of_a_dead_flag_is_left_out_with_it() -> None:
    examination = examined("vllm serve M --disable-logprobs-during-spec-decoding False --port 9")
    assert examination.write_instead == "vllm serve M --port 9"


def test_a_draft_model_of_another_tensor_parallel_size_is_a_problem() -> None:
    config = '{"method":"draft_model","model":"S","num_speculative_tokens":5,"draft_tensor_parallel_size":1}'
    examination = examined(f"vllm serve M -tp 2 -sc '{config}'")
    assert "1 against 2; write 2, or leave it out" in words_on(examination, "draft_tensor_parallel_size")
    assert examined(f"vllm serve M -sc '{config}'").content
    assert examined(f"vllm serve M -tp 2 -sc '{config.replace('draft_model', 'eagle3')}'").content


def test_the_shorthand_and_the_key_exclude_each_other() -> None:
    examination = examined(f"vllm serve M {SPEC} --spec-tokens 5")
    assert 'sets "num_speculative_tokens"' in words_on(examination, "--spec-tokens")
    assert not examination.content


def test_a_configuration_given_twice_is_a_warning_and_the_last_counts() -> None:
    examination = examined(f'vllm serve M --speculative-config \'{{"method": "nothing"}}\' {SPEC}')
    assert "the last one counts" in words_on(examination, "--speculative-config")
    assert "is not a method" not in words_on(examination, "method")


def test_draft_lengths_by_batch_size_are_off_under_data_parallelism() -> None:
    config = '{"method":"mtp","num_speculative_tokens":3,"num_speculative_tokens_per_batch_size":[[1,8,3],[9,64,1]]}'
    examination = examined(f"vllm serve M --data-parallel-size 2 -sc '{config}'")
    assert "disables it under data parallelism" in words_on(examination, "num_speculative_tokens_per_batch_size")
    assert examined(f"vllm serve M -sc '{config}'").content


def test_disabled_statistics_are_a_problem_that_lists_what_stays_empty() -> None:
    examination = examined(f"vllm serve M --disable-log-stats {SPEC}")
    (found,) = (f for f in examination.findings if f.where == "--disable-log-stats")
    assert found.severity is Severity.PROBLEM
    assert "draftboard-overview: Draft acceptance" in found.empty.panels
    assert "SpecDecodeNotPaying" in found.empty.alerts
    assert "model:vllm_spec_decode_acceptance:ratio_rate5m" in found.empty.records


def test_per_request_metrics_without_speculation_keep_the_server_from_starting() -> None:
    examination = examined("vllm serve M --per-request-spec-decode-metrics summary")
    assert "refuses to start" in words_on(examination, "--per-request")
    assert examined("vllm serve M --per-request-spec-decode-metrics none").content
    assert "write one of none, summary, detailed" in words_on(
        examined(f"vllm serve M {SPEC} --per-request-spec-decode-metrics all"), "--per-request"
    )


def test_several_api_servers_are_a_note_on_what_they_do_not_expose() -> None:
    assert "process_start_time_seconds" in words_on(examined(f"vllm serve M -dp 2 {SPEC}"), "--data-parallel-size 2")
    assert words_on(examined(f"vllm serve M -dp 2 --api-server-count 1 {SPEC}"), "server") == ""


def test_a_server_without_speculation_is_a_note_with_the_label_of_a_baseline() -> None:
    assert 'spec_method="none"' in words_on(examined("vllm serve M"), "--speculative-config")


def test_a_mistyped_flag_is_a_problem_with_the_nearest_flag() -> None:
    examination = examined("vllm serve M --speculative-confg '{}'")
    assert "write --speculative-config" in words_on(examination, "--speculative-confg")


@pytest.mark.parametrize("flag", ["--data-parallel-size-local 1", "--max-model-len 9", "--enable-log-requests", "-O3"])
def test_other_flags_of_vllm_have_no_finding(flag: str) -> None:
    assert examined(f"vllm serve M {flag} {SPEC}").content


def test_invalid_json_is_a_problem_with_its_position_and_the_other_flags_are_examined() -> None:
    examination = examined("vllm serve M --speculative-config '{\"method\": }' --disable-log-stats")
    assert "not JSON: expected value at line 1 column 12" in words_on(examination, "--speculative-config")
    assert words_on(examination, "--disable-log-stats")
    assert examination.write_instead == ""


def test_shell_variables_and_lost_quotes_are_named_as_a_cause_of_invalid_json() -> None:
    for value in ('"$SPEC_CONFIG"', '{"method":"ngram"}'):
        words = words_on(examined(f"vllm serve M -sc {value}"), "-sc")
        assert words.endswith(
            "give one JSON object in single quotes, with double quotes inside, and no shell variable for it"
        )


def test_the_v0_engine_and_a_lasting_counter_directory_are_found() -> None:
    examination = examined(f"VLLM_USE_V1=0 PROMETHEUS_MULTIPROC_DIR=/tmp/x vllm serve M {SPEC}")
    assert examination.write_instead.startswith("PROMETHEUS_MULTIPROC_DIR=/tmp/x vllm serve M ")
    assert "the V0 engine was removed" in words_on(examination, "VLLM_USE_V1=0")
    assert "counters continue after a restart" in words_on(examination, "PROMETHEUS_MULTIPROC_DIR")


@pytest.mark.parametrize(
    "command",
    [
        f"vllm serve M --api-key {HIDDEN} {SPEC}",
        f"vllm serve M --api-key={HIDDEN} --use-v2-block-manager {SPEC}",
        f"vllm serve M --hf-token {HIDDEN} {SPEC}",
        f"vllm serve M --api-key {HIDDEN}-1 {HIDDEN}-2 --use-v2-block-manager {SPEC}",
        f"HF_TOKEN={HIDDEN} vllm serve M --use-v2-block-manager {SPEC}",
        f"HUGGING_FACE_HUB_TOKEN={HIDDEN} python -m vllm.entrypoints.openai.api_server --model M",
        f"docker run -e HF_TOKEN={HIDDEN} --env VLLM_API_KEY={HIDDEN} vllm/vllm-openai:v0.33.0 --model M {SPEC}",
        f"docker run --env=HF_TOKEN={HIDDEN} vllm/vllm-openai:v0.33.0 --model M --use-v2-block-manager",
    ],
)
def test_a_credential_is_a_warning_and_never_repeated(command: str) -> None:
    examination = examined(command)
    assert "credential" in "".join(f.what for f in examination.findings if f.severity is Severity.WARNING)
    assert HIDDEN not in repr(examination)
    assert "-e vllm" not in examination.write_instead
    assert not [f for f in examined(examination.write_instead).findings if "credential" in f.what]


def test_a_password_in_an_address_is_not_repeated() -> None:
    examination = examined(f"vllm serve M --otlp-traces-endpoint http://u:{HIDDEN}@h:1 --use-v2-block-manager {SPEC}")
    assert "http://h:1" in examination.write_instead
    assert HIDDEN not in repr(examination)


def test_a_shell_variable_stays_a_variable() -> None:
    examination = examined(f"HF_TOKEN=$HF_TOKEN vllm serve $MODEL --use-v2-block-manager {SPEC}")
    assert examination.write_instead.startswith('"HF_TOKEN=$HF_TOKEN" vllm serve "$MODEL" --spec')


@pytest.mark.parametrize(
    ("command", "words"),
    [
        ("vllm serve M --api-key 'x", "no closing quotation"),
        ("ollama serve", "does not start a vLLM server"),
        ("", "does not start a vLLM server"),
        ("vllm serve \0", "is not text"),
        ("vllm serve M --api-key \udcff", "is not text"),
        ("vllm serve M " + "x" * 1_000_000, "longer than 100,000 characters"),
    ],
)
def test_what_starts_no_vllm_server_is_a_one_line_error(command: str, words: str) -> None:
    with pytest.raises(DraftboardError) as error:
        examined(command)
    line = str(error.value)
    assert words in line
    assert "\n" not in line
    assert len(line) < 200


VALUES: st.SearchStrategy[object] = st.sampled_from(
    [None, True, 0, 3, 0.5, "ngram", "draft_model", "deepseek_mtp", "[ngram]", [1], [[1, 8, 3]], {}]
)
WORDS = st.sampled_from(
    ["--speculative-config", "-sc", "--spec-tokens", "--api-key", "-tp", "--custom-histogram-buckets", "--", "-", "="]
    + [f"--{flag}" for flag in FLAGS]
) | st.text(max_size=12)


@hypothesis_settings(deadline=None)
@given(st.lists(WORDS, max_size=8))
def test_any_arguments_are_examined_without_repeating_a_credential(words: list[str]) -> None:
    try:
        examination = examined(shlex.join(["vllm", "serve", "M", *words, "--api-key", HIDDEN]))
    except DraftboardError:
        return  # not text that a shell passes on
    assert HIDDEN not in repr(examination)
    for found in examination.findings:
        assert all((found.where, found.what, found.fix))
        assert (found.where + found.what + found.fix).isprintable()


@hypothesis_settings(deadline=None)
@given(st.dictionaries(st.sampled_from([*KEYS, *DEAD_KEYS]), VALUES, max_size=6))
def test_any_configuration_in_a_command_is_examined_and_rewritten_without_dead_keys(config: dict[str, object]) -> None:
    examination = examined(shlex.join(["vllm", "serve", "M", "-tp", "2", "-sc", json.dumps(config)]))
    if examination.write_instead:
        again, _ = parse(examination.write_instead).configured()
        assert set(again or {}) <= set(KEYS)


def bucketed(given: str, settings: Settings | None = None) -> Examination:
    return examined(f"vllm serve M {SPEC} --custom-histogram-buckets {shlex.quote(given)}", settings)


def test_buckets_of_an_unknown_family_are_a_problem_with_the_known_ones() -> None:
    found = words_on(bucketed('{"ttft": [1]}'), "--custom-histogram-buckets")
    assert "'ttft' is not a histogram family" in found
    assert "time_to_first_token" in found


@pytest.mark.parametrize("bounds", ["[]", "[2, 1]", "[0]", '["1"]', "[true]", "1", "[1e999]", "[1, 1]"])
def test_buckets_that_do_not_rise_are_a_problem(bounds: str) -> None:
    assert "increasing numbers above 0" in words_on(bucketed(f'{{"request_latency": {bounds}}}'), "--custom-histogram")


def test_buckets_other_than_the_settings_declare_are_a_warning_that_names_the_missing_ones() -> None:
    examination = bucketed('{"inter_token_latency": [0.005, 0.1, 1]}')
    (found,) = (f for f in examination.findings if f.severity is Severity.WARNING)
    assert "inter_token_latency has other bounds than the settings declare: the server lacks 0.01, 0.025" in found.what
    assert "the settings lack 0.005" in found.what
    assert found.paste == "[buckets]\ninter_token_latency = [0.005, 0.1, 1]"


def test_buckets_without_a_bound_at_an_slo_are_a_problem() -> None:
    declared = Settings.model_validate(
        {"slo": {"time_per_output_token": {"objective": 0.99, "threshold_seconds": 0.1}}}
    )
    examination = bucketed('{"inter_token_latency": [0.005, 1]}', declared)
    assert "no bound at an SLO: time_per_output_token (0.1 s)" in words_on(examination, "buckets")
    assert not examination.content


def test_buckets_that_the_settings_declare_must_be_given_to_the_server() -> None:
    declared = Settings.model_validate({"buckets": {"inter_token_latency": [0.005, 0.1, 1]}})
    flag = """--custom-histogram-buckets '{"inter_token_latency": [0.005, 0.1, 1]}'"""
    (found,) = (f for f in examined(f"vllm serve M {SPEC}", declared).findings if f.severity is Severity.WARNING)
    assert "start the server (vLLM 0.32.0 or newer) with the flag below" in found.fix
    assert found.paste == flag
    assert examined(f"vllm serve M {SPEC} {flag}", declared).content


def test_the_settings_page_recommends_the_finer_buckets() -> None:
    text = SETTINGS_PAGE.read_text()
    start = text.index("--custom-histogram-buckets '") + len("--custom-histogram-buckets '")
    recommended = json.loads(text[start : text.index("'", start)])
    assert recommended == {family: list(bounds) for family, bounds in FINER.items()}


def test_an_empty_configuration_means_no_speculation() -> None:
    found = examined("vllm serve M --speculative-config ''")
    assert found.content
    assert [(one.severity, one.what) for one in found.findings] == [
        (Severity.NOTE, "empty: vLLM starts without speculation")
    ]
    per_request = "--per-request-spec-decode-metrics summary"
    assert not examined(f"vllm serve M --speculative-config '' {per_request}").content
