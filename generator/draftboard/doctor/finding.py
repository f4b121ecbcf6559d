"""Findings: what is wrong, where, and what to do; `findings.toml` has the words."""

import tomllib
from collections import Counter, defaultdict
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from enum import Enum
from importlib.resources import files

from pydantic import computed_field

from draftboard.durations import Duration
from draftboard.output import (
    Block,
    Bullets,
    Described,
    Document,
    Heading,
    Sentence,
    Table,
    Text,
    Verbatim,
    columns,
    shortened,
)
from draftboard.status import Status


class Severity(Enum):
    """How bad a finding is. Notes do not change the exit code."""

    PROBLEM = "problem"
    WARNING = "warning"
    NOTE = "note"


_WORDS = tomllib.loads((files("draftboard.doctor") / "findings.toml").read_text())
_MOST_DELAYS = 10
_STATUS = {Severity.PROBLEM: Status.BAD, Severity.WARNING: Status.WARN, Severity.NOTE: Status.QUIET}


@dataclass(frozen=True)
class Empty(Described):
    """Names of what has no sample; a panel's is its dashboard and title."""

    panels: tuple[str, ...] = ()
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
    """Because of it, where that is known."""
    paste: str = ""
    """To copy; `fix` refers to it as "below"."""

    @classmethod
    def of(cls, kind: str, where: str, empty: Empty = Empty(), /, **values: object) -> "Finding":
        """A finding of `findings.toml`, with values for the names in its words."""
        words = {key: text.format_map(values) for key, text in _WORDS[kind].items()}
        return cls(Severity(words["severity"]), where, words["what"], words["fix"], empty, words.get("paste", ""))


@dataclass(frozen=True)
class AlertDelay(Described):
    """How late an alert can be."""

    alert: str
    pending_seconds: int
    at_most_seconds: int
    """From a fault that one scrape shows to the firing alert; a condition on a window may take longer."""


@dataclass(frozen=True)
class Examination(Described):
    """What was examined, and what was found."""

    looked_at: str
    findings: tuple[Finding, ...]
    write_instead: str = ""
    """Without dead flags and keys, and without credentials; empty where nothing changes."""
    examined: bool = True
    """Whether there was anything to examine."""
    delays: tuple[AlertDelay, ...] = ()
    """Of each alert that a ruler evaluates, the longest first."""

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


def shown(value: object) -> str:
    """A user's value, quoted in a message: short and printable."""
    text = repr(value)
    return text if len(text) <= 60 else text[:60] + "..."  # noqa: PLR2004


def document(diagnosis: Diagnosis) -> Document:
    """For each examination a table of findings, then what stays empty and what to copy."""
    blocks: list[Block] = []
    for examination in diagnosis.examinations:
        ordered = [finding for severity in Severity for finding in examination.findings if finding.severity is severity]
        bad = Counter(finding.severity for finding in ordered if finding.severity is not Severity.NOTE)
        says = ", ".join(f"{count} {severity.value}{'s' * (count > 1)}" for severity, count in bad.items())
        well = "all well" if examination.examined else "nothing to examine"
        worst = _STATUS[next(iter(bad))] if bad else Status.GOOD if examination.examined else Status.QUIET
        rows = ((Text(f.severity.value, _STATUS[f.severity]), f.where, f.what, f.fix) for f in ordered)
        table = Table(columns("", "Where", "What", "What to do"), tuple(rows))
        blocks += [Heading(examination.looked_at, Text(says or well, worst)), table]
        blocks += _stays_empty(examination.findings)
        for paste in dict.fromkeys(finding.paste for finding in examination.findings if finding.paste):
            blocks += [Sentence("To copy:"), Verbatim(paste)]
        if examination.delays:
            blocks += [Sentence("From a fault in the samples to the firing alert it takes at most:")]
            blocks += [_late(examination.delays)]
        if examination.write_instead:
            blocks += [Sentence("Write instead:"), Verbatim(examination.write_instead)]
    return Document.of(blocks)


def _late(delays: Sequence[AlertDelay]) -> Bullets:
    lines = [
        f"{one.alert}: {Duration(one.at_most_seconds)}, pending for {Duration(one.pending_seconds)} of that"
        for one in delays[:_MOST_DELAYS]
    ]
    more = len(delays) - len(lines)
    return Bullets((*lines, *([f"{more} alerts take less (--json has all)"] if more > 0 else [])))


def _stays_empty(findings: Sequence[Finding]) -> Iterator[Block]:
    """What each finding keeps empty; what several do stands under the first."""
    told = defaultdict[str, set[str]](set)
    for finding in findings:
        kinds = {
            kind: [name for name in names if name not in told[kind]] for kind, names in vars(finding.empty).items()
        }
        lines = [
            f"{len(names)} {kind}: {shortened(names, 6, ' (--json has all)')}" for kind, names in kinds.items() if names
        ]
        if lines:
            yield Sentence(f"Stays empty ({finding.where}: {finding.what}):")
            yield Bullets(tuple(lines))
        for kind, names in kinds.items():
            told[kind].update(names)
