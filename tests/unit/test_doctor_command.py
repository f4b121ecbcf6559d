"""`draftboard doctor` as a user types it: exit codes, tables and JSON."""

import json
import re
from pathlib import Path

import pytest
from rich.console import Console

from draftboard.cli import main
from draftboard.doctor import Diagnosis, document
from draftboard.doctor.finding import Empty, Examination, Finding, Severity
from draftboard.output import show
from support.loopback import answering, page

DATA = Path(__file__).parent.parent / "data"
LOAD = DATA / "v0.32.0-ngram-load.prom"
GOOD = '{"method": "mtp", "num_speculative_tokens": 1}'
HIDDEN = "s3cr3t-t0k3n"


def doctor(*arguments: str | Path, capsys: pytest.CaptureFixture[str]) -> tuple[int, str, str]:
    """Exit code, standard output and standard error."""
    with pytest.raises(SystemExit) as ended:
        main(["doctor", *map(str, arguments)])
    out, err = capsys.readouterr()
    return int(ended.value.code or 0), out, err


def test_no_problem_ends_with_0(capsys: pytest.CaptureFixture[str]) -> None:
    code, out, err = doctor("--speculative-config", GOOD, capsys=capsys)
    assert (code, err) == (0, "")
    assert out.splitlines()[0] == "speculative configuration  all well"


def test_a_saved_page_is_examined(capsys: pytest.CaptureFixture[str]) -> None:
    code, out, _ = doctor(LOAD, capsys=capsys)
    assert code == 0
    assert out.startswith(f"{LOAD}  all well")


def test_a_server_is_read_twice(capsys: pytest.CaptureFixture[str]) -> None:
    with answering(page(LOAD.read_text())) as place:
        code, out, _ = doctor(place, "--window", "1s", capsys=capsys)
    assert code == 0
    assert re.search(r"idle: nothing was generated within \d+ s", out)  # A busy machine reads later.


def test_problems_end_with_1_and_the_command_to_write_instead(capsys: pytest.CaptureFixture[str]) -> None:
    old = "vllm serve M --speculative-model [ngram] --num-speculative-tokens 3"
    code, out, _ = doctor("--command", old, capsys=capsys)
    assert code == 1
    assert "command line  2 problems\n" in out
    instead = """vllm serve M --speculative-config '{"method": "ngram", "num_speculative_tokens": 3}'"""
    assert f"Write instead:\n{instead}\n" in out


def test_several_subjects_are_examined_in_one_run(capsys: pytest.CaptureFixture[str]) -> None:
    code, out, _ = doctor(
        LOAD, "--speculative-config", GOOD, "--command", "vllm serve M --disable-log-stats", capsys=capsys
    )
    assert code == 1
    assert [line.partition("  ")[0] for line in out.splitlines() if line.endswith(("  all well", "  1 problem"))] == [
        "speculative configuration",
        "command line",
        str(LOAD),
    ]
    assert "panels: draftboard-overview: " in out
    assert "more (--json has all)" in out


def test_json_names_everything(capsys: pytest.CaptureFixture[str]) -> None:
    code, out, _ = doctor("--json", "--command", "vllm serve M --disable-log-stats", capsys=capsys)
    document = json.loads(out)
    assert code == 1
    assert (document["schema_version"], document["content"]) == (1, False)
    (examination,) = document["examinations"]
    assert set(examination) == {"looked_at", "content", "findings", "write_instead", "examined", "delays"}
    (found,) = (f for f in examination["findings"] if f["severity"] == "problem")
    assert set(found) == {"severity", "where", "what", "fix", "empty", "paste"}
    assert len(found["empty"]["panels"]) > 50


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        ((), "nothing to examine"),
        (("--speculative-config", "{"), "not JSON"),
        (("--command", "ls"), "does not start a vLLM server"),
        (("--config", "/nowhere.toml", "--speculative-config", GOOD), "/nowhere.toml"),
        (("--prometheus", "ftp://x"), "not valid"),
        (("/nowhere.prom",), "no such file, and not an address"),
        (("--window", "0s", "x"), "longer than 0s"),
        (("--window", "2d", "x"), "at most 1d"),
        (("--window", "2s", "--speculative-config", GOOD), "--window requires a SOURCE"),
        (("--at", "now-6h", "--speculative-config", GOOD), "--at requires --prometheus"),
        (("--ruler", "x:1", "--speculative-config", GOOD), "--ruler requires --prometheus"),
        (("--at", "soon", "--prometheus", "x:1"), "is not a time"),
        (("--ca-file", "/nowhere", "--speculative-config", GOOD), "require a SOURCE or --prometheus"),
        (("x:1", "--token-file", "/nowhere"), "/nowhere"),
    ],
)
def test_what_cannot_be_examined_ends_with_2(
    arguments: tuple[str, ...], words: str, capsys: pytest.CaptureFixture[str]
) -> None:
    code, out, err = doctor(*arguments, capsys=capsys)
    assert (code, out) == (2, "")
    assert words in err
    assert "Traceback" not in err


def test_no_credential_is_printed(capsys: pytest.CaptureFixture[str]) -> None:
    command = f"HF_TOKEN={HIDDEN} vllm serve M --api-key {HIDDEN} --use-v2-block-manager"
    for arguments in (
        ("--command", command),
        ("--json", "--command", command),
        (f"http://u:{HIDDEN}@127.0.0.1:9/?k={HIDDEN}",),
        ("--prometheus", f"http://u:{HIDDEN}@127.0.0.1:9"),
        (f"u:{HIDDEN}@",),
    ):
        code, out, err = doctor(*arguments, capsys=capsys)
        assert code in {1, 2}
        assert HIDDEN not in out + err


def test_text_that_looks_like_markup_is_printed_as_it_is(capsys: pytest.CaptureFixture[str]) -> None:
    _, out, _ = doctor("--speculative-config", '{"method": "[red]x[/red]", "num_speculative_tokens": 1}', capsys=capsys)
    assert "'[red]x[/red]' is unknown" in out


def test_text_of_servers_cannot_control_a_terminal(capsys: pytest.CaptureFixture[str]) -> None:
    finding = Finding(Severity.PROBLEM, "a\x1b[31m", "b\x9b", "c\u202e")
    show(document(Diagnosis((Examination("d\x07", (finding,), "e\x1b"),))), Console(width=100))
    out = capsys.readouterr().out
    assert all(character.isprintable() or character == "\n" for character in out)


def test_a_panel_that_two_findings_keep_empty_is_listed_once(capsys: pytest.CaptureFixture[str]) -> None:
    both = Empty(panels=("Overview: Health", "Depth: Best k"))
    first = Finding(Severity.PROBLEM, "a", "no rules", "load them", both)
    other = Finding(
        Severity.PROBLEM, "b", "no counters", "expose them", Empty(panels=("Depth: Best k", "Fleet: Servers"))
    )
    show(document(Diagnosis((Examination("it", (first, other)),))), Console(width=200))
    out = capsys.readouterr().out
    assert "2 panels: Overview: Health, Depth: Best k" in out
    assert "1 panels: Fleet: Servers" in out
