"""What a drill of the stack finds, as data and as a document."""

from dataclasses import dataclass

from draftboard.durations import Duration
from draftboard.output import Bullets, Described, Document, Heading, Note, Table, Text, columns
from draftboard.status import Status


@dataclass(frozen=True)
class Moment(Described):
    """Something that happened in a drill."""

    after_seconds: float
    """Since the first outage began."""
    who: str
    """`drill`, or the receiver and the channel that was sent a message."""
    what: str
    """What the drill did, or the status and the title of the message."""


@dataclass(frozen=True)
class StackDrill(Described):
    """The outcome of a drill on a running stack."""

    project: str
    """Of Compose."""
    killed: str
    """`alertmanager`: killed after the first page, back when the second outage has begun. `prometheus`: killed after
    the second page."""
    away_seconds: int
    """For how long it was away at least."""
    receiver: str
    """Of the page of an outage."""
    channels: tuple[str, ...]
    """Of that receiver: what the page must reach."""
    moments: tuple[Moment, ...]
    """In order of time."""
    failures: tuple[str, ...]
    """What did not arrive in time, or arrived without reason."""
    passed: bool
    """Whether nothing failed."""
    schema_version: int = 1
    """Grows whenever a key is removed or its meaning changes."""


_LIMITS = (
    "The outage is one of the drill's own server, and each channel a stand-in on this machine: what the services make "
    "of a message, and the way to them, is not tried. --real-receivers sends them the messages too."
)


def document(found: StackDrill) -> Document:
    """A line for each moment, and what failed."""
    verdict = Text("passed", Status.GOOD) if found.passed else Text("failed", Status.BAD)
    rows = tuple((_clock(one.after_seconds), one.who, one.what) for one in found.moments)
    return Document.of(
        (
            Heading(f"What reached each receiver of {found.project}", verdict),
            Table(columns("After", "Who", "What"), rows),
            Bullets(found.failures, Status.BAD),
            Note(_LIMITS),
        )
    )


def _clock(seconds: float) -> str:
    return str(Duration(round(seconds)))
