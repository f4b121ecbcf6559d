"""The commands as a user types them: what they print, and how they end."""

import json
import os
import re
import signal
import subprocess
import sys
from collections.abc import Mapping
from pathlib import Path
from typing import IO

import pytest

from conftest import ROOT
from draftboard.build import render, write
from draftboard.settings import Settings
from support.command_line import run

PAGE = str(ROOT / "tests/data/v0.32.0-ngram-load.prom")


@pytest.fixture(autouse=True)
def built_once(monkeypatch: pytest.MonkeyPatch, committed: Mapping[str, str]) -> None:
    """The defaults are built once for all tests: the same settings give the same bytes."""
    monkeypatch.setattr("draftboard.build.render", lambda chosen: committed if chosen == Settings() else render(chosen))


@pytest.fixture
def written(tmp_path: Path, committed: dict[str, str]) -> Path:
    """A folder with all files as built."""
    write(committed, tmp_path)
    return tmp_path


def test_build_lists_what_it_wrote_and_what_is_left_over(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], committed: dict[str, str]
) -> None:
    (tmp_path / "alerts").mkdir()
    (tmp_path / "alerts/old.rules.yaml").write_text("")
    code, out, err = run("build", "--out", tmp_path, capsys=capsys)
    assert (code, err) == (0, "")
    assert "alerts/old.rules.yaml: left over" in out
    for path, text in committed.items():
        assert any(line.split() == [path, f"{len(text.encode()):,}"] for line in out.splitlines()), path
        assert (tmp_path / path).read_text() == text


def test_the_help_of_build_names_every_folder_that_it_writes(
    committed: dict[str, str], capsys: pytest.CaptureFixture[str]
) -> None:
    _, out, _ = run("build", "--help", capsys=capsys)
    assert {f"{path.partition('/')[0]}/" for path in committed if "/" in path} <= set(re.findall(r"\w+/", out))


def test_check_ends_with_0_when_all_is_as_built(written: Path, capsys: pytest.CaptureFixture[str]) -> None:
    code, out, err = run("check", "--out", written, capsys=capsys)
    assert (code, err) == (0, "")
    assert "are as built" in out


def test_check_ends_with_1_and_a_diff_after_an_edit(written: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path = written / "alerts/alerting.rules.yaml"
    path.write_text(path.read_text().replace("for: 30m", "for: 3m", 1))
    code, out, err = run("check", "--out", written, capsys=capsys)
    assert code == 1
    assert "-        for: 3m\n+        for: 30m\n" in out
    assert f"run `draftboard build --out {written}`" in err


def test_check_ends_with_1_in_an_empty_folder(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], committed: dict[str, str]
) -> None:
    code, out, _ = run("check", "--out", tmp_path, capsys=capsys)
    assert code == 1
    assert out.count(": missing") == len(committed)


def test_check_with_other_settings_finds_other_files(written: Path, capsys: pytest.CaptureFixture[str]) -> None:
    config = written / "draftboard.toml"
    config.write_text("[thresholds]\ndrop = 0.5")
    code, out, err = run("check", "--out", written, "--config", config, capsys=capsys)
    assert code == 1
    assert f"run `draftboard build --config {config} --out {written}`" in err
    assert re.search(r"^\+ +\(model:vllm_spec_decode_acceptance:change1h_ratio_rate5m < 0\.5\)$", out, re.MULTILINE)


@pytest.mark.parametrize("command", ["build", "check", "signals"])
def test_a_mistake_in_the_settings_is_one_line_and_exit_code_2(
    command: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    config = tmp_path / "draftboard.toml"
    config.write_text("nonsense = 1")
    code, out, err = run(command, "--config", config, capsys=capsys)
    assert (code, out) == (2, "")
    assert err.startswith(f"draftboard: {config}: unknown key 'nonsense'")
    assert err.count("\n") == 1


@pytest.mark.parametrize("command", [("build",), ("report", "host:1"), ("replay", "nowhere.om")], ids=" ".join)
def test_an_unknown_alert_in_the_settings_is_one_line_that_names_the_list_of_all(
    command: tuple[str, ...], tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    Path("nowhere.om").write_text("")
    Path("own.toml").write_text('[alerts.NoSuchAlert]\nseverity = "info"\n')
    code, out, err = run(*command, "--config", "own.toml", capsys=capsys)
    assert (code, out) == (2, "")
    assert err.startswith("draftboard: own.toml: unknown alert 'NoSuchAlert' in [alerts]: alerts/README.md lists all\n")
    assert err.count("\n") == 1


def test_an_output_that_cannot_be_written_is_one_line_and_exit_code_2(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / "dashboards").write_text("in the way")
    code, _, err = run("build", "--out", tmp_path, capsys=capsys)
    assert code == 2
    assert "dashboards" in err
    assert err.count("\n") == 1
    assert not (tmp_path / "alerts/alerting.rules.yaml").exists()


def test_build_replaces_its_own_files_and_no_others_unless_forced(
    written: Path, capsys: pytest.CaptureFixture[str], committed: dict[str, str]
) -> None:
    edited = written / "dashboards/draftboard-depth.json"
    edited.write_text(edited.read_text() + "\n")
    assert run("build", "--out", written, capsys=capsys)[0] == 0
    foreign = written / "alerts/README.md"
    foreign.write_text("# Our own alerts\n")
    edited.write_text(edited.read_text() + "\n")
    code, out, err = run("build", "--out", written, capsys=capsys)
    assert (code, out) == (2, "")
    assert err == f"draftboard: {foreign}: not made by `draftboard build`: choose another --out, or add --force\n"
    assert foreign.read_text() == "# Our own alerts\n"
    assert edited.read_text() != committed["dashboards/draftboard-depth.json"]
    assert run("build", "--out", written, "--force", capsys=capsys)[0] == 0
    assert foreign.read_text() == committed["alerts/README.md"]


@pytest.mark.parametrize("arguments", [("bild",), ("build", "--ot", "x"), ("replay",), ("replay", "/nowhere.om")])
def test_a_mistyped_command_ends_with_2(arguments: tuple[str, ...], capsys: pytest.CaptureFixture[str]) -> None:
    code, _, err = run(*arguments, capsys=capsys)
    assert code == 2
    assert "Traceback" not in err


def test_the_default_output_is_the_root_of_the_checkout_within_it(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / "deploy/tools").mkdir(parents=True)
    monkeypatch.setattr("draftboard.cli.files.CHECKOUT", tmp_path)
    monkeypatch.chdir(tmp_path / "deploy/tools")
    assert f"files below {tmp_path} are not as built" in run("check", capsys=capsys)[2]


def test_the_default_output_is_the_current_folder_even_in_the_repository_of_another_project(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / ".git").mkdir()
    (tmp_path / "monitoring").mkdir()
    monkeypatch.chdir(tmp_path / "monitoring")
    assert f"files below {tmp_path}/monitoring are not as built" in run("check", capsys=capsys)[2]


def test_signals_lists_each_with_question_record_panel_alert_and_promql(capsys: pytest.CaptureFixture[str]) -> None:
    code, out, _ = run("signals", "acceptance", capsys=capsys)
    assert code == 0
    (block,) = (block for block in out.split("\n\n") if block.startswith("acceptance "))
    heading, question, *_ = block.splitlines()
    assert (heading, question) == (
        "acceptance  Draft acceptance [ratio, better: higher]",
        "How many drafted tokens are accepted?",
    )
    told = " ".join(block.split())
    assert "Accepted / drafted tokens, without the bonus token" in told
    assert "If it fell at the same K, look at workload and drafter" in told
    assert "The bands are rules of thumb" in told
    assert "- metric: vllm:spec_decode_num_accepted_tokens_total" in block
    assert "- record: model:vllm_spec_decode_acceptance:ratio_rate5m" in block
    assert "- panel: draftboard-overview: Draft acceptance" in block
    assert "- alert: SpecDecodeSuspiciouslyHigh" in block
    assert "\nmodel:vllm_spec_decode_accepted_tokens:rate5m / (" in block


def test_signals_without_a_word_are_an_index_of_one_line_each(capsys: pytest.CaptureFixture[str]) -> None:
    _, out, _ = run("signals", capsys=capsys)
    listed = [line.split()[0] for line in out.splitlines() if re.match(r" [a-z_0-9]+ ", line)]
    _, described, _ = run("signals", "--json", capsys=capsys)
    assert listed == [entry["name"] for entry in json.loads(described)["signals"]]
    assert len(out.splitlines()) <= len(listed) + 5


def test_signals_as_json_hold_the_same(capsys: pytest.CaptureFixture[str]) -> None:
    _, out, _ = run("signals", "--json", capsys=capsys)
    document = json.loads(out)
    assert document["schema_version"] == 1
    entries = {entry["name"]: entry for entry in document["signals"]}
    assert entries["acceptance"]["alerts"] == ["SpecDecodeSuspiciouslyHigh"]
    told = {"title", "question", "description", "action", "note", "metrics", "unit", "expr", "records", "panels"}
    assert told <= set(entries["acceptance"])


def test_signals_are_found_by_words_of_their_names_metrics_records_and_alerts(
    capsys: pytest.CaptureFixture[str],
) -> None:
    def names(*words: str) -> list[str]:
        _, out, _ = run("signals", "--json", *words, capsys=capsys)
        return [entry["name"] for entry in json.loads(out)["signals"]]

    assert names("SpecDecodeNotPaying") == ["expected_speedup_high"]
    assert "acceptance" in names("draft", "ACCEPTANCE")
    assert set(names("vllm:kv_cache_usage_perc")) >= {"kv_cache_usage", "stuck"}
    assert {"best_k"} <= {*names("best", "k")} < {*names("k")} < {*names()}


def test_a_search_that_finds_nothing_is_one_line(capsys: pytest.CaptureFixture[str]) -> None:
    status, out, error = run("signals", "draft", "zebra", capsys=capsys)
    assert (status, out) == (2, "")
    assert error == "draftboard: no signal contains draft and zebra: `draftboard signals` lists all\n"


@pytest.mark.parametrize("options", [(), ("--json",)])
def test_a_full_disk_is_one_line_and_2(options: tuple[str, ...]) -> None:
    """Never 1, which means a missed gate."""
    if not Path("/dev/full").exists():
        pytest.skip("no /dev/full here")
    with Path("/dev/full").open("w") as full:
        done = piped(["plan", "k", "--alpha", "0.7", *options], full)
    assert (done.returncode, done.stderr) == (2, "draftboard: standard output: No space left on device\n")


def test_a_reader_that_has_enough_ends_the_command_as_in_shells() -> None:
    reading, writing = os.pipe()
    os.close(reading)
    try:
        done = piped(["plan", "k", "--alpha", "0.7"], writing)
    finally:
        os.close(writing)
    assert (done.returncode, done.stderr) == (128 + signal.SIGPIPE, "")


def piped(words: list[str], output: IO[str] | int) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, "-m", "draftboard", *words]
    return subprocess.run(command, stdout=output, stderr=subprocess.PIPE, text=True, timeout=300, check=False)


def test_python_m_draftboard_is_the_same_command() -> None:
    done = subprocess.run(
        [sys.executable, "-m", "draftboard", "--version"],
        capture_output=True,
        text=True,
        check=False,
        env={**os.environ, "PYTHONWARNINGS": "error"},
    )
    assert done.returncode == 0, done.stderr
    assert done.stdout.startswith("draftboard, version ")


@pytest.mark.parametrize("arguments", [("report", "host:1"), ("doctor", "host:1"), ("build",)], ids=" ".join)
def test_ctrl_c_is_one_line_and_130(
    arguments: tuple[str, ...], monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    def interrupted(*_: object) -> None:
        raise KeyboardInterrupt

    monkeypatch.setattr("draftboard.alerts.load", interrupted)
    assert run(*arguments, capsys=capsys) == (130, "", "draftboard: interrupted\n")


@pytest.mark.parametrize(
    "words",
    [
        ("report", PAGE),
        ("doctor", PAGE),
        ("plan", "k", "--alpha", "0.7"),
        ("signals", "best"),
        ("simulate", "--list"),
        ("report", "h\u00e9llo"),
    ],
    ids=" ".join,
)
def test_a_terminal_that_knows_ascii_only_gets_no_traceback(words: tuple[str, ...]) -> None:
    environment = os.environ | {"LC_ALL": "POSIX", "PYTHONIOENCODING": "ascii", "PYTHONUTF8": "0"}
    command = [sys.executable, "-m", "draftboard", *words]
    done = subprocess.run(command, capture_output=True, check=False, env=environment)
    assert done.returncode == (2 if words[1].startswith("h") else 0), done.stderr
    assert (done.stdout + done.stderr).isascii()
    assert b"Traceback" not in done.stderr


def test_json_stays_json_where_the_terminal_knows_ascii_only(tmp_path: Path) -> None:
    page = tmp_path / "page.prom"
    page.write_text(Path(PAGE).read_text().replace('model_name="tiny"', 'model_name="z\u00fcrich \U0001f600"'))
    environment = os.environ | {"LC_ALL": "POSIX", "PYTHONIOENCODING": "ascii", "PYTHONUTF8": "0"}
    command = [sys.executable, "-m", "draftboard", "report", str(page), "--json"]
    done = subprocess.run(command, capture_output=True, check=True, env=environment)
    assert json.loads(done.stdout)["models"][0]["model"] == "z\u00fcrich \U0001f600"
