"""A comparison on a terminal: what is not alike first, then verdicts and gates, then the numbers side by side."""

from rich.box import SIMPLE_HEAD
from rich.console import Console
from rich.table import Table
from rich.text import Text

from draftboard.compare.objects import Comparison
from draftboard.compare.words import (
    REST,
    arm_in_words,
    cells,
    change_status,
    figures,
    headline,
    samples,
    tail_headline,
    tail_reasons,
)
from draftboard.report.show import STYLES, bullets
from draftboard.settings import Settings
from draftboard.status import Status
from draftboard.tables import print_whole


def show(comparison: Comparison, settings: Settings, console: Console) -> None:
    """Print it."""
    console.print(Text(f"Baseline   {arm_in_words(comparison.baseline)}", style="dim"))
    console.print(Text(f"Candidate  {arm_in_words(comparison.candidate)}", style="dim"))
    if comparison.unlike:
        console.print(Text("Not alike, compared because of --force:", style=STYLES[Status.BAD]))
        bullets(comparison.unlike, console, STYLES[Status.BAD])
    console.print()
    _headline("Verdict", *headline(comparison, settings), console)
    bullets(comparison.verdict.reasons, console)
    _headline("Tail", *tail_headline(comparison), console)
    bullets(tail_reasons(comparison), console)
    for gate in comparison.gates:
        status = Status.GOOD if gate.met else Status.BAD
        _headline(f"Gate {gate.option} {gate.limit:g}", gate.says, status, console)
    bullets(comparison.notes, console, STYLES[Status.WARN])
    print_whole(_against(comparison), console)
    print_whole(_side_by_side(comparison, settings), console)
    console.print(Text(REST, style="dim"))


def _headline(what: str, says: str, status: Status, console: Console) -> None:
    console.print(Text.assemble((f"{what}  ", "bold"), (says, STYLES[status])))


def _table(title: str, *, header: bool) -> Table:
    return Table(
        title=title, title_justify="left", title_style="bold", box=SIMPLE_HEAD, pad_edge=False, show_header=header
    )


def _against(comparison: Comparison) -> Table:
    table = _table("Against each other", header=False)
    table.add_column(no_wrap=True)
    table.add_column(justify="right", no_wrap=True)
    table.add_column()
    for title, value, means in figures(comparison):
        table.add_row(title, value, Text(means, style="dim"))
    return table


def _side_by_side(comparison: Comparison, settings: Settings) -> Table:
    table = _table("Side by side", header=True)
    table.add_column()
    for heading in ("Baseline", "Candidate", "Change"):
        table.add_column(heading, justify="right")
    for group in comparison.groups:
        table.add_row(Text(group.title, style="bold"), *(Text(told, style="dim") for told in samples(group)), "")
        for row in group.rows:
            title, before, after, change = cells(row)
            status = change_status(row, settings)
            table.add_row(f"  {title}", before, after, Text(change, style=_style(status)))
        table.add_section()
    return table


def _style(status: Status) -> str:
    return "" if status is Status.NEUTRAL else STYLES[status]
