"""Configurations and command lines for a named release of vLLM, for one that a server tells, and for any."""

import json
import re
import shlex
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import settings as hypothesis_settings
from hypothesis import strategies as st

from draftboard.access import Access
from draftboard.cli import main
from draftboard.doctor import examine_command, examine_config, release_of, releases
from draftboard.doctor.finding import Examination, Finding, Severity
from draftboard.doctor.names import CHOICES, DEAD_KEYS, FLAGS, KEYS, METHODS
from draftboard.doctor.releases import NEWEST, OLDEST, RELEASES, UNKNOWN, Release
from draftboard.errors import DraftboardError
from draftboard.settings import Settings
from support.loopback import Answer, answering, page

DATA = Path(__file__).parent.parent / "data"
EXAMPLES = json.loads((DATA / "vllm-0.33.0-examples.json").read_text())
EAGLE = {"method": "eagle3", "model": "HEAD", "num_speculative_tokens": 3}
DRAFTED = {"method": "draft_model", "model": "SMALL", "num_speculative_tokens": 5}
SOME = ["", OLDEST, "0.20.2", "0.32.0", NEWEST, "0.34.0"]


def examined(config: dict[str, Any], version: str = "") -> Examination:
    return examine_config(json.dumps(config), Settings(max_draft_tokens=32), Release(version))


def on(examination: Examination, where: str) -> Finding:
    (found,) = (one for one in examination.findings if where in one.where)
    return found


@pytest.mark.parametrize("version", ["", "0.33.0"])
@pytest.mark.parametrize("example", EXAMPLES, ids=[f"{n} {one['page']}" for n, one in enumerate(EXAMPLES)])
def test_every_example_of_vllms_documentation_passes(example: dict[str, Any], version: str) -> None:
    examination = examined(example["config"], version)
    assert examination.content, examination.findings
    assert examination.write_instead == ""


@pytest.mark.parametrize(
    ("config", "last_without", "first"),
    [
        (DRAFTED | {"rejection_sample_method": "fly"}, "0.32.0", "0.33.0"),
        (DRAFTED | {"rejection_sample_method": "fly", "fly_window_size": 3}, "0.32.0", "0.33.0"),
        (EAGLE | {"draft_lm_head_quantization": "fp8"}, "0.32.0", "0.33.0"),
        (EAGLE | {"num_speculative_tokens_per_batch_size": [[1, 8, 3]]}, "0.23.0", "0.24.0"),
        (EAGLE | {"draft_sample_method": "probabilistic"}, "0.21.0", "0.22.0"),
        ({"method": "suffix"}, "0.11.0", "0.11.1"),
        (DRAFTED, "0.14.1", "0.15.0"),
    ],
    ids=str,
)
def test_what_came_later_is_a_problem_before_and_none_from_then_on(
    config: dict[str, Any], last_without: str, first: str
) -> None:
    before = examined(config, last_without)
    late = [f for f in before.findings if f"vLLM {first} or newer has it" in f.what]
    assert {f.severity for f in late} == {Severity.PROBLEM}
    assert f"is not in vLLM {last_without}" in late[0].what
    assert examined(config, first).content, examined(config, first).findings


@pytest.mark.parametrize(
    ("config", "last", "gone"),
    [
        ({"method": "medusa", "model": "M", "num_speculative_tokens": 3}, "0.32.0", "0.33.0"),
        (EAGLE | {"disable_by_batch_size": 8}, "0.16.0", "0.17.0"),
        (EAGLE | {"speculative_token_tree": "[(0,)]"}, "0.20.2", "0.21.0"),
    ],
    ids=str,
)
def test_what_went_is_no_problem_before_and_one_afterwards(config: dict[str, Any], last: str, gone: str) -> None:
    assert examined(config, last).content, examined(config, last).findings
    after = [f for f in examined(config, gone).findings if f"vLLM {last} or older has it" in f.what]
    assert {f.severity for f in after} == {Severity.PROBLEM}


def test_what_lived_between_two_releases_names_both() -> None:
    found = on(examined(DRAFTED | {"rejection_sample_method": "strict"}, "0.33.0"), "rejection_sample_method")
    assert "only vLLM 0.18.0 to 0.20.2 has it" in found.what
    assert found.fix.startswith("write one of standard, block")


def test_a_family_of_mtp_is_deprecated_only_where_mtp_exists() -> None:
    config = {"method": "deepseek_mtp", "num_speculative_tokens": 1}
    assert examined(config, "0.10.2").content
    assert "deprecated" in on(examined(config, "0.33.0"), "method").what


@pytest.mark.parametrize("version", SOME)
def test_an_unknown_key_is_a_warning_that_refuses_nothing(version: str) -> None:
    examination = examined(EAGLE | {"colour_of_drafts": "blue"}, version)
    found = on(examination, "colour_of_drafts")
    assert found.severity is Severity.WARNING
    assert f"no vLLM from {OLDEST} to {NEWEST} has this key" in found.what
    assert "refuse" not in found.what + found.fix


def test_a_key_that_only_a_newer_release_can_know_is_not_left_out_of_what_is_proposed() -> None:
    config = EAGLE | {"colour_of_drafts": "blue", "use_v2_block_manager": True}
    assert examined(config, "0.34.0").write_instead == ""
    assert "colour_of_drafts" not in examined(config, "0.33.0").write_instead


def test_keys_with_hyphens_are_read_by_newer_releases() -> None:
    config = {"method": "mtp", "num-speculative-tokens": 1}
    assert examined(config, "0.26.0").content
    old = examined(config, "0.25.1")
    assert "vLLM 0.26.0 or newer has it" in on(old, "'num-speculative-tokens'").what
    assert json.loads(old.write_instead) == {"method": "mtp", "num_speculative_tokens": 1}


def test_without_a_release_the_checks_are_for_any_and_say_which() -> None:
    found = on(examined(EAGLE | {"kv_cache_dtype": "fp8"}), "vLLM")
    assert found.severity is Severity.NOTE
    assert f"names are checked against all of vLLM {OLDEST} to {NEWEST}" in found.what
    assert "this needs vLLM 0.26.0 or newer (kv_cache_dtype)" in found.what
    assert "--vllm-version" in found.fix


@pytest.mark.parametrize("version", ["0.34", "0.34.1", "1.0.0", "0.9.2", "0.8.5.post1"])
def test_a_release_that_was_not_read_is_a_note_with_the_one_it_is_taken_for(version: str) -> None:
    found = on(examined(EAGLE, version), "vLLM")
    assert found.severity is Severity.NOTE
    assert f"vLLM {version} is not one of the known releases" in found.what
    assert found.what.endswith(OLDEST if version.startswith(("0.8.", "0.9.")) else NEWEST)


@pytest.mark.parametrize(
    ("version", "read_as"),
    [
        ("0.33", "0.33.0"),
        ("0.27", "0.27.1"),
        ("v0.33.0", "0.33.0"),
        ("0.33.0+cu129", "0.33.0"),
        ("0.32.0+cpu", "0.32.0"),
        ("0.33.0rc1", "0.33.0"),
        ("0.33.1.dev5+g0123abc.d20260101", "0.33.0"),
        ("0.19.7", "0.19.1"),
        ("0.10.1.1", "0.10.1.1"),
        ("0.10.1", "0.10.1"),
    ],
)
def test_a_version_is_read_as_its_release(version: str, read_as: str) -> None:
    release = release_of(version, (), Access())
    assert release.read_as == read_as
    assert release.is_certain


@pytest.mark.parametrize(
    "version",
    ["dev", "", " ", "latest", "0", "0.33.0 ; rm", "0.33.x\n", "0.1.dev1+g0", "1.2.3" * 99, "0.12345.0", "\u0660.1.1"],
)
def test_what_is_no_release_is_a_one_line_error(version: str) -> None:
    with pytest.raises(DraftboardError, match=r"^--vllm-version: .* is not a release: write one such as") as error:
        release_of(version, (), Access())
    assert "\n" not in str(error.value)
    assert len(str(error.value)) < 200


BAD: list[dict[str, Any]] = [
    *(EAGLE | {dead: "awq" if "quantization" in dead else 3} for dead in DEAD_KEYS),
    {"speculative_model": "[ngram]", "num_speculative_tokens": 4, "ngram_prompt_lookup_max": 3},
    {"speculative_model": "some-medusa", "num_speculative_tokens": 4},
    {"speculative_model": "small", "num_speculative_tokens": 4, "speculative_draft_tensor_parallel_size": 1},
    {"method": "eagle-3", "model": "M", "num_speculative_tokens": 3},
    {"method": "nothing", "model": "M", "num_speculative_tokens": 3, "use_v2_block_manager": True},
    {"method": "glm5_next_mtp", "num_speculative_tokens": 1},
    {"method": "deepseek_mtp", "num_speculative_tokens": 1},
    {"method": "mlp_speculator", "model": "M", "num_speculative_tokens": 3},
    {"method": "medusa", "model": "M", "num_speculative_tokens": 3, "acceptance_method": "x"},
    DRAFTED | {"rejection_sample_method": "synthetic", "synthetic_acceptance_rate": 0.7},
    DRAFTED | {"rejection_sample_method": "flly", "fly_windowsize": 3},
    DRAFTED | {"draft_tensor_parallel_size": 8, "draft_sample_methods": "gumbel"},
]


@pytest.mark.parametrize("version", SOME)
@pytest.mark.parametrize("config", BAD, ids=json.dumps)
def test_what_the_doctor_proposes_the_doctor_accepts(config: dict[str, Any], version: str) -> None:
    release, settings = Release(version), Settings()
    proposals = [examine_config(json.dumps(config), settings, release).write_instead]
    command = shlex.join(["vllm", "serve", "M", "-tp", "2", "-sc", json.dumps(config)])
    whole = examine_command(command, settings, release).write_instead
    for proposal in filter(None, proposals):
        again = examine_config(proposal, settings, release)
        assert again.content, again.findings
        assert again.write_instead == ""
    if whole:
        again = examine_command(whole, settings, release)
        assert again.content, again.findings
        assert again.write_instead == ""


@pytest.mark.parametrize("version", SOME)
@pytest.mark.parametrize("config", BAD, ids=json.dumps)
def test_words_that_a_fix_quotes_exist_in_the_release(config: dict[str, Any], version: str) -> None:
    release = Release(version)
    there = {name for table in CHOICES.values() for name in release.among(table)}
    there |= {key for key in KEYS if not [f for f in examined({key: None}, version).findings if "has it" in f.what]}
    for found in examined(config, version).findings:
        quoted = re.findall(r'"(\w+)"', found.fix)
        assert set(quoted) <= there, found


VALUES = {"speculative_model_quantization": "awq", "custom_histogram_buckets": "{}", "spec_method": "ngram"}


@pytest.mark.parametrize("flag", sorted({*FLAGS, *releases.FLAGS}))
@pytest.mark.parametrize("version", SOME)
def test_the_command_without_a_dead_flag_is_accepted(flag: str, version: str) -> None:
    value = VALUES.get(flag, "4")
    command = f"vllm serve M -sc '{json.dumps(EAGLE)}' --{flag.replace('_', '-')} {value}"
    instead = examine_command(command, Settings(), Release(version)).write_instead
    if instead:
        again = examine_command(instead, Settings(), Release(version))
        assert again.content, again.findings


@pytest.mark.parametrize("version", SOME)
@pytest.mark.parametrize("method", METHODS)
def test_every_proposed_method_is_accepted(method: str, version: str) -> None:
    found = on(examined({"model": "M", "num_speculative_tokens": 3}, version), "method")
    if method in found.fix.removeprefix("write one of ").split(", "):
        config = {"method": method, "model": "M", "num_speculative_tokens": 3}
        assert examined(config, version).content, examined(config, version).findings


def test_flags_of_newer_releases_are_a_problem_for_an_older_one() -> None:
    command = "vllm serve M --spec-method ngram --spec-tokens 3"
    assert examine_command(command, Settings(), Release("0.22.0")).content
    old = examine_command(command, Settings(), Release("0.20.2"))
    assert "the flag is not in vLLM 0.20.2: vLLM 0.22.0 or newer has it" in on(old, "--spec-method").what
    config = '{"method": "ngram", "num_speculative_tokens": 3}'
    assert old.write_instead == f"vllm serve M --speculative-config '{config}'"
    assert examine_command(old.write_instead, Settings(), Release("0.20.2")).content


def test_what_a_proposal_needs_of_vllm_is_told() -> None:
    examination = examine_command("vllm serve M --speculative-model small --num-speculative-tokens 3", Settings())
    assert "this needs vLLM 0.15.0 or newer (draft_model)" in on(examination, "vLLM").what


def test_a_dead_flag_proposes_no_shorthand_to_a_release_without_it() -> None:
    command = "vllm serve M --speculative-model small --num-speculative-tokens 3"
    assert "--spec-model" in on(examine_command(command, Settings()), "--speculative-model").fix
    old = examine_command(command, Settings(), Release("0.20.2"))
    assert "--spec-model" not in on(old, "--speculative-model").fix


def test_bash_quoting_of_the_configuration_is_read() -> None:
    assert examine_command('vllm serve M -sc $\'{"method": "ngram", "num_speculative_tokens": 5}\'', Settings()).content


@hypothesis_settings(deadline=None)
@given(
    st.dictionaries(st.sampled_from([*KEYS, *DEAD_KEYS, "x"]), st.sampled_from(["x", 3, *METHODS, None]), max_size=5),
    st.sampled_from([*RELEASES, "", "9.9.9"]),
)
def test_no_proposal_for_any_release_has_a_problem(config: dict[str, Any], version: str) -> None:
    if instead := examined(config, version).write_instead:
        again = examine_config(instead, Settings(), Release(version))
        assert Severity.PROBLEM not in {found.severity for found in again.findings}
        assert again.write_instead == ""


@pytest.mark.parametrize(
    "answer",
    [
        page("<html>welcome</html>"),
        page('{"version": ""}'),
        page('{"version": null}'),
        page('{"version": "dev"}'),
        page('{"version": "\\u001b[31m0.33.0"}'),
        page('["0.33.0"]'),
        page("{}", 404),
        page("{}", 401),
        page("", 302, Location="http://127.0.0.1:9/"),
        page(b"\xff\xfe"),
        page('{"version": "0.33.0"}' + " " * 20_000),
        page("[" * 5_000),
    ],
    ids=map(str, range(12)),
)
def test_a_server_that_tells_no_release_leaves_it_unknown(answer: Answer) -> None:
    with answering(answer) as place:
        release = release_of(None, (place,), Access())
    assert release == Release(unknown_because="a server names none at /version")
    assert "a server names none at /version" in on(examine_config(json.dumps(EAGLE), Settings(), release), "vLLM").what


def test_no_server_leaves_the_release_unknown() -> None:
    assert release_of(None, (), Access()) == UNKNOWN
    assert release_of(None, (str(DATA / "v0.32.0-baseline.prom"),), Access()) == UNKNOWN


def told(version: str) -> Answer:
    return page(json.dumps({"version": version}))


def test_servers_of_different_releases_leave_it_unknown_and_are_named() -> None:
    with answering(told("0.32.0")) as one, answering(told("0.33.0")) as two:
        assert release_of(None, (one, two), Access()).unknown_because == "the servers run 0.32.0, 0.33.0"
        assert release_of(None, (one, one), Access()).version == "0.32.0"
        assert release_of("0.20.0", (one, two), Access()).version == "0.20.0"


def test_the_release_of_a_server_is_used_for_the_configuration(capsys: pytest.CaptureFixture[str]) -> None:
    metrics = page((DATA / "v0.32.0-ngram-load.prom").read_text())
    asked: list[str] = []

    def server(request: Any) -> None:
        asked.append(request.path)
        (told("0.32.0+cpu") if request.path == "/prefix/version" else metrics)(request)

    config = json.dumps(DRAFTED | {"rejection_sample_method": "fly"})
    with answering(server) as place, pytest.raises(SystemExit) as ended:
        main(["doctor", f"{place}/prefix/metrics", "--window", "1s", "--json", "--speculative-config", config])
    first, _ = json.loads(capsys.readouterr().out)["examinations"]
    assert ended.value.code == 1
    assert first["looked_at"] == "speculative configuration for vLLM 0.32.0+cpu"
    assert any('"fly" is not in vLLM 0.32.0+cpu' in found["what"] for found in first["findings"])
    assert asked.count("/prefix/version") == 1


def test_the_option_needs_a_release_and_something_to_examine(capsys: pytest.CaptureFixture[str]) -> None:
    for arguments, words in (
        (["--vllm-version", "0.33.0"], "nothing to examine"),
        (["--vllm-version", "dev", "--speculative-config", "{}"], "'dev' is not a release"),
    ):
        with pytest.raises(SystemExit) as ended:
            main(["doctor", *arguments])
        assert ended.value.code == 2
        assert words in capsys.readouterr().err


def test_the_release_of_a_saved_page_is_the_option_s(capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    path = tmp_path / "page.prom"
    lines = (DATA / "v0.32.0-ngram-load.prom").read_text().splitlines(keepends=True)
    path.write_text("".join(line for line in lines if "vllm:admission_rejections" not in line))
    for release, words in (
        ("0.31.0", "vLLM 0.31.0, older than vLLM 0.32.0: no vllm:admission_rejections_total"),
        ("0.32.0", "no vllm:admission_rejections_total: relabelling, a collector or a proxy drops them"),
    ):
        with pytest.raises(SystemExit) as ended:
            main(["doctor", str(path), "--vllm-version", release, "--json"])
        (found,) = (f for f in json.loads(capsys.readouterr().out)["examinations"][0]["findings"] if words in f["what"])
        assert (ended.value.code, found["severity"]) == (1, "warning")
