"""Tables on terminals of any width: no number is cut, whatever has to give."""

import io

import pytest
from rich.console import Console
from rich.table import Table

from draftboard.tables import print_whole


def told(table: Table, width: int) -> list[str]:
    console = Console(width=width, record=True, force_terminal=True, file=io.StringIO())
    print_whole(table, console)
    return [line.rstrip() for line in console.export_text().splitlines()]


def of_numbers(columns: int) -> Table:
    table = Table(title="Numbers")
    for column in range(columns):
        table.add_column(f"Heading {column}", justify="right")
    for row in range(2):
        table.add_row(*(f"{row}{column}345.678" for column in range(columns)), style="red")
    return table


def test_a_table_that_fits_is_one() -> None:
    assert sum("00345.678" in line and "03345.678" in line for line in told(of_numbers(4), 60)) == 1


@pytest.mark.parametrize("width", [20, 40, 60])
def test_where_numbers_would_be_cut_each_has_a_line_of_its_own(width: int) -> None:
    lines = told(of_numbers(8), width)
    assert lines[0] == "Numbers"
    assert max(map(len, lines)) <= width
    for row in range(2):
        for column in range(8):
            line = f"Heading {column}: {row}{column}345.678"
            assert line in lines if len(line) <= width else f"{row}{column}345.678" in lines
