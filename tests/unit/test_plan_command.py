"""`draftboard plan` as a user types it: tables, JSON, formulas, and one line for a mistake."""

import json
import sys
from functools import partial
from pathlib import Path
from typing import Any

import pytest
from rich.console import Console

from support import command_line

run = partial(command_line.run, "plan")

VRAM = ("vram", "--target-params", "70", "--gpus", "2", "--gpu-gb", "80")
COMMANDS = {
    "k": ("k", "--survival", ".9,.85,.78,.70"),
    "vram": (*VRAM, "--draft-params", "8"),
    "cost": ("cost", "--speedup", "1.5"),
    "schedule": ("schedule", "--survival", ".9,.85,.78,.70", "--inflation", "1=1,8=1.2,64=5"),
    "decide": ("decide",),
}


def document(*arguments: str, capsys: pytest.CaptureFixture[str]) -> dict[str, Any]:
    """What the command prints as JSON."""
    code, out, err = run(*arguments, "--json", capsys=capsys)
    assert (code, err) == (0, "")
    found: dict[str, Any] = json.loads(out)
    return found


@pytest.mark.parametrize("name", COMMANDS)
def test_json_holds_what_is_printed_and_formulas_are_printed_when_asked(
    name: str, capsys: pytest.CaptureFixture[str]
) -> None:
    found = document(*COMMANDS[name], capsys=capsys)
    assert (found["plan"], found["schema_version"]) == (name, 1)
    _, out, _ = run(*COMMANDS[name], capsys=capsys)
    assert out.startswith(found["verdict"])
    assert "Formulas" not in out
    _, explained, _ = run(*COMMANDS[name], "--explain", capsys=capsys)
    assert explained.startswith(out)
    lines = [line.strip() for line in out.splitlines()]
    for note in found["notes"]:
        assert f"- {note}" in lines
    rows = [line.split("  ")[0].strip() for line in explained.splitlines()]
    for formula in found["formulas"]:
        assert formula["gives"] in rows
        assert formula["text"]
        assert formula["source"]


def test_the_schedule_can_be_pasted(capsys: pytest.CaptureFixture[str]) -> None:
    _, out, _ = run(*COMMANDS["schedule"], capsys=capsys)
    (line,) = (line for line in out.splitlines() if line.startswith("{"))
    assert json.loads(line) == document(*COMMANDS["schedule"], capsys=capsys)["speculative_config"]


def test_two_throughputs_are_a_speedup(capsys: pytest.CaptureFixture[str]) -> None:
    found = document(
        *("cost", "--tokens-per-second", "1000", "--speculative-tokens-per-second", "1500"),
        *("--gpu-hour-price", "3.6", "--gpus", "2"),
        capsys=capsys,
    )
    assert (found["speedup"], found["cost_without"]) == (1.5, pytest.approx(2.0))


def test_kv_of_a_token_is_worked_out_from_layers_or_taken_as_given(capsys: pytest.CaptureFixture[str]) -> None:
    shape = ("--target-layers", "80", "--target-kv-heads", "8", "--target-head-dim", "128")
    worked_out = document(*VRAM, *shape, capsys=capsys)
    as_given = document(*VRAM, "--target-kv-kib-per-token", "320", capsys=capsys)
    assert worked_out == as_given
    assert worked_out["target"]["kv_kib_per_token"] == 320
    half = document(*VRAM, *shape, "--kv-dtype", "fp8", capsys=capsys)
    assert half["target"]["kv_kib_per_token"] == 160


def test_settings_change_what_is_assumed_and_what_is_warned_of(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    config = tmp_path / "draftboard.toml"
    config.write_text("max_draft_tokens = 3\n[draft_cost]\ndefault = 0.3\n[planning]\ntarget_share = 0.95\n")
    found = document("k", "--alpha", ".7", "--config", str(config), capsys=capsys)
    assert (found["cost_ratio"]["value"], len(found["lengths"])) == (0.3, 3)
    broken = [hint["broken"] for hint in document(*COMMANDS["vram"], capsys=capsys)["hints"]]
    wider = [hint["broken"] for hint in document(*COMMANDS["vram"], "--config", str(config), capsys=capsys)["hints"]]
    assert (broken[0], wider[0]) == (True, False)


def test_tokenizers_are_read_from_files(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    one, other = tmp_path / "one.json", tmp_path / "other.json"
    one.write_text('{"model": {"vocab": {"a": 0, "b": 1}}}')
    other.write_text('{"model": {"vocab": {"a": 1, "b": 0}}}')

    def outcome(draft: Path) -> str:
        found = document("decide", "--target-tokenizer", str(one), "--draft-tokenizer", str(draft), capsys=capsys)
        (told,) = (str(check["outcome"]) for check in found["checks"] if check["name"] == "tokenizer")
        return told

    assert (outcome(one), outcome(other)) == ("pass", "fail")


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (("k", "--alpha", "1.2"), "alpha = 1.2 is out of range: a number from 0 to 1"),
        (("k", "--survival", ".5,.6"), "survival: give shares of drafts from 0 to 1 by position, each at most"),
        (("k", "--survival", "nan"), "survival: give shares"),
        (("k", "--survival", ".5,x"), "--survival: 'x' is not a number"),
        (("k", "--survival", ""), "--survival: '' is not a number"),
        (("k", "--survival", ",".join(["0"] * 100)), "survival has 100 positions"),
        (("k", "--survival", "0," * 100_000), "--survival: 200000 characters, at most 4000"),
        (("k",), "give either --alpha or --survival"),
        (("k", "--alpha", ".5", "--survival", ".5"), "give either --alpha or --survival"),
        (("k", "--alpha", ".5", "--cost-ratio", "inf"), "cost ratio = inf"),
        (("k", "--alpha", ".5", "--cost-ratio", "-1"), "cost ratio = -1"),
        (("k", "--alpha", ".5", "--verify-inflation", "0"), "verify inflation = 0"),
        (("k", "--alpha", ".5", "--max-k", "0"), "max k = 0"),
        (("k", "--survival", ".5,.4", "--max-k", "-1"), "max k = -1"),
        (("k", "--alpha", ".5", "--method", "eagle9"), "method 'eagle9' is unknown"),
        (("k", "--alpha", ".5", "--config", "/nowhere.toml"), "/nowhere.toml: cannot read the settings"),
        (("schedule", "--alpha", ".5", "--inflation", "1=1"), "--alpha requires --max-k"),
        (("schedule", "--survival", ".5", "--max-k", "0", "--inflation", "1=1"), "max k = 0"),
        (("schedule", "--survival", ".5"), "name --inflation, or in the settings draft_cost.verify_inflation by batch"),
        (("schedule", "--survival", ".5", "--inflation", "1"), "--inflation: '1' is not SIZE=V"),
        (("schedule", "--survival", ".5", "--inflation", "-1=1"), "--inflation: '-1=1' is not SIZE=V"),
        (("schedule", "--survival", ".5", "--inflation", "1=1,1=2"), "inflation: batch size 1 follows 1"),
        (("schedule", "--survival", ".5", "--inflation", f"{'9' * 3_000}=1"), "batch size = "),
        (("vram", "--gpus", "2", "--gpu-gb", "80"), "give --target-params, --gpus and --gpu-gb"),
        ((*VRAM[:3], "--gpus", "0", "--gpu-gb", "80"), "GPUs = 0 is out of range"),
        ((*VRAM, "--gpu-memory-utilization", "1.5"), "GPU memory utilization = 1.5"),
        ((*VRAM, "--context", "0"), "context = 0"),
        ((*VRAM, "--target-layers", "80"), "of the target, KV heads and head dim missing"),
        ((*VRAM, "--target-layers", "80", "--target-kv-kib-per-token", "320"), "name one or three"),
        ((*VRAM, "--draft-params", "8", "--draft-tp", "1"), "draft TP 1 with target TP 2: vLLM refuses"),
        ((*VRAM, "--target-tp", "3"), "target TP = 3"),
        (("cost",), "give what was measured"),
        (("cost", "--speedup", "0"), "speedup = 0"),
        (("cost", "--speedup", "2", "--gpus", "0"), "GPUs = 0"),
        (("cost", "--speedup", "2", "--gpu-hour-price", "3"), "needs the throughput without speculation"),
        (("cost", "--speculative-tokens-per-second", "2"), "requires --tokens-per-second"),
        (
            ("cost", "--tokens-per-second", "1", "--speculative-tokens-per-second", "2", "--lost-concurrency", ".1"),
            "measured throughput already includes the loss",
        ),
        (("decide", "--method", "drafted"), "method 'drafted' is unknown"),
        (("decide", "--alpha", ".5", "--survival", ".5"), "give either --alpha or --survival"),
        (("decide", "--target-tokenizer", "/nowhere.json"), "/nowhere.json: cannot read the tokenizer"),
    ],
)
def test_a_mistake_is_one_line_and_exit_code_2(
    arguments: tuple[str, ...], words: str, capsys: pytest.CaptureFixture[str]
) -> None:
    code, out, err = run(*arguments, capsys=capsys)
    assert (code, out) == (2, "")
    assert words in err
    assert err.startswith("draftboard: ")
    assert err.count("\n") == 1
    assert len(err) < 500


@pytest.mark.parametrize("arguments", [(), ("kk",), ("schedule", "--alpha", ".5"), (*VRAM, "--target-dtype", "fp3")])
def test_a_mistyped_command_ends_with_2(arguments: tuple[str, ...], capsys: pytest.CaptureFixture[str]) -> None:
    code, _, err = run(*arguments, capsys=capsys)
    assert code == 2
    assert "Traceback" not in err


@pytest.mark.parametrize("name", COMMANDS)
def test_on_a_terminal_of_80_columns_every_table_is_whole(
    name: str, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(sys.modules["draftboard.cli.screen"], "console", lambda: Console(width=80, highlight=False))
    kv = ("--target-kv-kib-per-token", "320", "--draft-kv-kib-per-token", "128") if name == "vram" else ()
    _, wide, _ = run(*COMMANDS[name], *kv, capsys=capsys)
    assert "\N{HORIZONTAL ELLIPSIS}" not in wide
    tables = {"k": 2, "vram": 2, "cost": 1, "schedule": 1, "decide": 1}
    assert sum(set(line.strip()) == {"\N{BOX DRAWINGS LIGHT HORIZONTAL}"} for line in wide.splitlines()) == tables[name]


@pytest.mark.parametrize("width", [24, 30])
def test_on_a_narrow_terminal_no_number_is_cut(
    width: int, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(sys.modules["draftboard.cli.screen"], "console", lambda: Console(width=width, highlight=False))
    _, out, _ = run(*COMMANDS["k"], capsys=capsys)
    assert "\N{HORIZONTAL ELLIPSIS}" not in out
    assert {"0.69", "1.74", "0.96", "2.52", "0.93", "3.24", "0.89", "3.88"} <= set(out.split())


def test_each_number_stands_under_its_heading(capsys: pytest.CaptureFixture[str]) -> None:
    kv = ("--target-kv-kib-per-token", "320", "--draft-kv-kib-per-token", "128")
    _, out, _ = run(*COMMANDS["vram"], "--target-dtype", "int8", *kv, capsys=capsys)
    lines = out.splitlines()[1:]
    headings = next(line for line in lines if line.rstrip().endswith("with draft")).rstrip()
    for name, value in (("Tokens", "133,405"), ("Requests", "16"), ("Starts", "yes")):
        row = next(line for line in lines if line.strip().startswith(name)).rstrip()
        assert row.endswith(value)
        assert len(row) == len(headings)
