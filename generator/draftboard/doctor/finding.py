"""Findings: what is wrong, where, and what to do; printed through `draftboard.output`."""

from collections.abc import Sequence
from dataclasses import dataclass
from enum import Enum
from functools import partial

from pydantic import computed_field

from draftboard.output import Block, Bullets, Described, Document, Heading, Sentence, Table, Text, Verbatim, columns
from draftboard.status import Status


class Severity(Enum):
    """How bad a finding is. Notes do not change the exit code."""

    PROBLEM = "problem"  # vLLM refuses to start, or something stays empty or wrong
    WARNING = "warning"  # it works, but not as it seems
    NOTE = "note"


@dataclass(frozen=True)
class Empty(Described):
    """Names of what has no sample."""

    panels: tuple[str, ...] = ()
    """Dashboard and title of each."""
    alerts: tuple[str, ...] = ()
    records: tuple[str, ...] = ()


@dataclass(frozen=True)
class Finding(Described):
    """A fault, or a fact to know."""

    severity: Severity
    where: str
    what: str
    fix: str
    empty: Empty = Empty()
    """What stays empty because of it, where that is known."""
    paste: str = ""
    """Text to copy, which `fix` refers to as "below"."""


@dataclass(frozen=True)
class Examination(Described):
    """What was examined, and what was found."""

    looked_at: str
    findings: tuple[Finding, ...]
    write_instead: str = ""
    """The command or JSON without dead flags and keys; empty where nothing changes. Contains no credential."""

    @computed_field  # type: ignore[prop-decorator]
    @property
    def content(self) -> bool:
        """Whether all findings are notes."""
        return all(finding.severity is Severity.NOTE for finding in self.findings)


@dataclass(frozen=True)
class Diagnosis(Described):
    """All examinations of one command."""

    examinations: tuple[Examination, ...]
    schema_version: int = 1
    """Raised when a key changes its meaning or is removed."""

    @computed_field  # type: ignore[prop-decorator]
    @property
    def content(self) -> bool:
        """Whether all examinations found nothing but notes."""
        return all(examination.content for examination in self.examinations)


problem = partial(Finding, Severity.PROBLEM)
warning = partial(Finding, Severity.WARNING)
note = partial(Finding, Severity.NOTE)


def few(names: Sequence[str], most: int = 4, where: str = "") -> str:
    """The first names, how many more there are, and `where` they are."""
    more = len(names) - most
    return ", ".join(names[:most]) + (f" and {more} more{where}" if more > 0 else "")


def shown(value: object) -> str:
    """A user's value, quoted in a message: short and printable."""
    text = repr(value)
    return text if len(text) <= 60 else text[:60] + "..."  # noqa: PLR2004


def document(diagnosis: Diagnosis) -> Document:
    """For each examination a table of findings, then what stays empty and what to copy."""
    statuses = {Severity.PROBLEM: Status.BAD, Severity.WARNING: Status.WARN, Severity.NOTE: Status.QUIET}
    blocks: list[Block] = []
    for examination in diagnosis.examinations:
        found = {severity: [f for f in examination.findings if f.severity is severity] for severity in statuses}
        counts = {
            severity: len(found[severity]) for severity in (Severity.PROBLEM, Severity.WARNING) if found[severity]
        }
        says = ", ".join(f"{count} {severity.value}{'s' * (count > 1)}" for severity, count in counts.items())
        worst = statuses[next(iter(counts))] if counts else Status.GOOD
        rows = ((Text(s.value, statuses[s]), f.where, f.what, f.fix) for s, findings in found.items() for f in findings)
        table = Table(columns("", "Where", "What", "What to do"), tuple(rows))
        blocks += [Heading(examination.looked_at, Text(says or "all well", worst)), table]
        for one in examination.findings:
            if kinds := {kind: names for kind, names in vars(one.empty).items() if names}:
                lines = (f"{len(names)} {kind}: {few(names, 6, ' (--json has all)')}" for kind, names in kinds.items())
                blocks += [Sentence(f"Stays empty ({one.where}: {one.what}):"), Bullets(tuple(lines))]
        for paste in dict.fromkeys(one.paste for one in examination.findings if one.paste):
            blocks += [Sentence("To copy:"), Verbatim(paste)]
        if examination.write_instead:
            blocks += [Sentence("Write instead:"), Verbatim(examination.write_instead)]
    return Document.of(blocks)
