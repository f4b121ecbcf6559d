"""An examination as people read it, and as JSON."""

import json
from collections.abc import Sequence
from dataclasses import asdict
from typing import Any

from rich.console import Console
from rich.table import Column, Table
from rich.text import Text

from draftboard.doctor.finding import Empty, Examination, Finding, Severity, few

SCHEMA_VERSION = 1
"""Of the JSON: raised when a key changes its meaning or goes."""
_STYLES = {Severity.PROBLEM: "red", Severity.WARNING: "yellow", Severity.NOTE: "dim"}
_NAMED = 6
"""Names in a line; JSON has all."""


def as_json(examinations: Sequence[Examination]) -> str:
    """All of it."""
    document = {"schema_version": SCHEMA_VERSION, "content": all(each.content for each in examinations)}
    return json.dumps(document | {"examinations": [_plain(each) for each in examinations]}, indent=2)


def _plain(examination: Examination) -> dict[str, Any]:
    findings = [asdict(finding) | {"severity": finding.severity.value} for finding in examination.findings]
    return {
        "looked_at": examination.looked_at,
        "content": examination.content,
        "findings": findings,
        "write_instead": examination.write_instead,
    }


def show(examinations: Sequence[Examination], console: Console) -> None:
    """A table for each, then what is too long for one: what stays empty, what to copy."""

    def line(words: str, style: str = "") -> None:
        console.print(_text(words, style), soft_wrap=True)

    for examination in examinations:
        line(_heading(examination), "bold")
        if examination.findings:
            console.print(_table(examination.findings))
        for finding in examination.findings:
            if empty := _empty(finding.empty):
                line(f"Stays empty ({finding.where}: {finding.what}):\n{empty}")
        for paste in dict.fromkeys(finding.paste for finding in examination.findings if finding.paste):
            line(f"To copy:\n{paste}")
        if examination.write_instead:
            line(f"Write instead:\n{examination.write_instead}")


def _heading(examination: Examination) -> str:
    if examination.content:
        return f"{examination.looked_at}: all well"
    counts = [
        (sum(finding.severity is severity for finding in examination.findings), severity.value)
        for severity in (Severity.PROBLEM, Severity.WARNING)
    ]
    return f"{examination.looked_at}: " + ", ".join(f"{n} {what}{'s' * (n > 1)}" for n, what in counts if n)


def _table(findings: Sequence[Finding]) -> Table:
    table = Table(*(Column(title, overflow="fold") for title in ("", "Where", "What", "What to do")), box=None)
    for finding in sorted(findings, key=lambda finding: list(Severity).index(finding.severity)):
        style = _STYLES[finding.severity]
        cells = (finding.severity.value, finding.where, finding.what, finding.fix)
        table.add_row(*(_text(cell, style=style if column == 0 else "") for column, cell in enumerate(cells)))
    return table


def _empty(empty: Empty) -> str:
    kinds = (("panels", empty.panels), ("alerts", empty.alerts), ("records", empty.records))
    return "\n".join(f"  {len(names)} {kind}: {_named(names)}" for kind, names in kinds if names)


def _text(words: str, style: str = "") -> Text:
    """Words of servers and users among ours: without markup, and without anything that a terminal obeys."""
    return Text("".join(c if c.isprintable() or c == "\n" else "\N{REPLACEMENT CHARACTER}" for c in words), style=style)


def _named(names: Sequence[str]) -> str:
    return few(names, _NAMED) + (" (--json names all)" if len(names) > _NAMED else "")
