"""A finding: what is wrong, where, what to do, and what stays empty until then."""

from collections.abc import Sequence
from dataclasses import dataclass
from enum import Enum

_SHOWN = 60


class Severity(Enum):
    """How bad it is. Notes tell; they do not change the exit code."""

    PROBLEM = "problem"
    """vLLM refuses to start, or something stays empty or wrong."""
    WARNING = "warning"
    """It works, but not as it looks."""
    NOTE = "note"


@dataclass(frozen=True)
class Empty:
    """What has no sample, by name: panels (dashboard and title), alerts, records."""

    panels: tuple[str, ...] = ()
    alerts: tuple[str, ...] = ()
    records: tuple[str, ...] = ()


@dataclass(frozen=True)
class Finding:
    """One thing that is not as it should be, or that one should know."""

    severity: Severity
    where: str
    what: str
    fix: str
    empty: Empty = Empty()
    """What stays empty because of it, where that is known."""
    paste: str = ""
    """What to copy as it is, where `fix` speaks of it as standing below."""


@dataclass(frozen=True)
class Examination:
    """What was looked at, and what was found."""

    looked_at: str
    findings: tuple[Finding, ...]
    write_instead: str = ""
    """The command or JSON without what is dead; empty where nothing needs to change. Holds no secret."""

    @property
    def content(self) -> bool:
        """Whether there is nothing but notes."""
        return all(finding.severity is Severity.NOTE for finding in self.findings)


def problem(where: str, what: str, fix: str, paste: str = "") -> Finding:
    """A finding that must be mended."""
    return Finding(Severity.PROBLEM, where, what, fix, paste=paste)


def warning(where: str, what: str, fix: str, paste: str = "") -> Finding:
    """A finding that ought to be mended."""
    return Finding(Severity.WARNING, where, what, fix, paste=paste)


def note(where: str, what: str, fix: str) -> Finding:
    """A finding to know of."""
    return Finding(Severity.NOTE, where, what, fix)


def few(names: Sequence[str], most: int = 4) -> str:
    """Some of the names, and how many more there are."""
    more = len(names) - most
    return ", ".join(names[:most]) + (f" and {more} more" if more > 0 else "")


def shown(value: object) -> str:
    """What a user wrote, as it may stand in a message: short, and without anything that a terminal obeys."""
    text = repr(value)
    return text if len(text) <= _SHOWN else text[:_SHOWN] + "..."
