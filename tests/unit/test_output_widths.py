"""Tables on terminals of any width: no word and no number is cut or broken."""

import io

import pytest
from rich.console import Console

from draftboard.cli.screen import console as console_of_command
from draftboard.output import Bar, Bullets, Document, Table, Text, columns, show

ALERTS = Table(
    columns("From", "To", "Severity", "Alert", numbers=["Value"]) + columns("What"),
    (
        ("01:25", "02:55", "warning", "SpecDecodeAcceptanceDrop", "0.411", "Draft acceptance has dropped."),
        ("05:00", "05:10", "critical", "VLLMTargetDown", "0", Text("127.0.0.1:8123 does not answer.")),
    ),
    "Alerts that would have fired",
)
NUMBERS = Table(
    columns("Until", numbers=["Mean time per output token", "Mean end-to-end latency", "Measured speedup"]),
    (("01:00", "3.2 ms", "190.5 ms", "0.82 slower"), ("02:00", "-", "-", "-")),
)
MIXED = Table(
    columns("Until", numbers=["Draft acceptance", "Mean draft length", "Tokens per decode step"]) + columns("Survival"),
    (("01:00", "52.6%", "3.23", "1.76", "0.68 0.47 0.31 0.24"),),
)
BARS = Table(columns("Depth", "Share") + columns(numbers=["Drafts"]), (("0", Bar(0.5), "1,234"), ("1", Bar(0.1), "5")))


def printed(table: Table, width: int) -> list[str]:
    console = Console(width=width, file=io.StringIO(), record=True)
    show(Document((table,)), console)
    return console.export_text().splitlines()


@pytest.mark.parametrize("table", [ALERTS, NUMBERS, MIXED, BARS], ids=["words", "numbers", "mixed", "bars"])
@pytest.mark.parametrize("width", [30, 40, 48, 60, 72, 80, 100, 200])
def test_every_word_is_whole_and_within_the_width(table: Table, width: int) -> None:
    lines = printed(table, width)
    assert max(map(len, lines)) <= width
    shown = " ".join(lines).replace(":", " : ").split()
    for words in (cell.words if isinstance(cell, Text) else cell for row in table.rows for cell in row):
        if isinstance(words, str):
            for word in words.replace(":", " : ").split():
                assert word in shown


def test_a_number_stays_on_one_line_and_its_heading_wraps_where_the_table_would_be_too_wide() -> None:
    wide, narrow = printed(NUMBERS, 100), printed(NUMBERS, 48)
    assert " ".join(wide[1].split()) == "Until Mean time per output token Mean end-to-end latency Measured speedup"
    assert narrow[1].split() != wide[1].split()
    assert any(line.split() == ["01:00", "3.2", "ms", "190.5", "ms", "0.82", "slower"] for line in narrow)


def test_a_table_of_numbers_without_room_is_parted_each_part_with_the_first_column() -> None:
    lines = [line.split() for line in printed(NUMBERS, 36)]
    assert ["01:00", "3.2", "ms", "190.5", "ms"] in lines
    assert ["01:00", "0.82", "slower"] in lines
    assert sum(line[:1] == ["Until"] for line in lines) == 2
    mixed = [line.split() for line in printed(MIXED, 30)]
    assert ["01:00", "52.6%", "3.23"] in mixed
    assert ["01:00", "1.76", "0.68", "0.47"] in mixed


def test_the_parts_of_a_table_have_about_as_many_columns() -> None:
    numbers = [f"measured{index}" for index in range(7)]
    table = Table(columns("Until", numbers=numbers), (("01:00", *"0123456"),))
    heads = [line.split() for line in printed(table, 80) if "Until" in line]
    assert heads == [["Until", *numbers[:4]], ["Until", *numbers[4:]]]


def test_a_table_of_words_without_room_becomes_lines() -> None:
    assert "Alert: SpecDecodeAcceptanceDrop" in printed(ALERTS, 48)


def test_bars_are_as_long_as_their_share_where_the_terminal_knows_ascii_only() -> None:
    paper = io.TextIOWrapper(io.BytesIO(), encoding="ascii")
    show(Document((BARS,)), Console(width=60, file=paper))
    paper.seek(0)
    (row,) = (line for line in paper.read().splitlines() if "1,234" in line)
    assert row.count("#") == 8


def test_in_a_pipe_tables_have_100_columns_and_a_sentence_is_one_line(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.delenv("COLUMNS")
    long = "word " * 40 + "end"
    wide = Table(columns("", "What"), (("a", long),))
    show(Document((Bullets((long,)), wide)), console_of_command())
    bullet, *table = capsys.readouterr().out.splitlines()
    assert bullet == f"  - {long}"
    assert 90 < max(map(len, table)) <= 100
