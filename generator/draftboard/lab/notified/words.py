"""The notifications of a past as a document, with what it cannot know."""

from collections import Counter
from collections.abc import Iterator
from datetime import UTC, datetime

from draftboard.lab.notified.result import Basis, Detection, Kind, Notification, Outcome, Outlook
from draftboard.output import Block, Bullets, Document, Heading, Note, Sentence, Table, Text, columns
from draftboard.status import Status

_DAY = 86_400
_MOST = 100
_BASIS: dict[Basis, str] = {
    "alerts": "From the series ALERTS: alerts as the rules that were loaded then fired them, whatever their settings.",
    "records": "From the alerts of these settings, evaluated over the records in Prometheus.",
    "samples": "From all rules of these settings, evaluated over a copy of the samples in a private Prometheus.",
}
_UNKNOWN = (
    "What it cannot know: silences, routes and receivers of your own Alertmanager (grouping, intervals and inhibition "
    "are those of these settings), messages that a receiver lost, and users who failed without a trace in the stored "
    "series. Times may be one evaluation and one scrape off, and an alert that fired before the beginning counts from "
    "there. What Prometheus did not store cannot fire: without its own metrics, the alerts on its health stay silent."
)
_KINDS: tuple[Kind, ...] = ("new", "changed", "repeated", "resolved")
_OUTCOMES: dict[Outcome, Status] = {
    "in time": Status.GOOD,
    "early": Status.GOOD,
    "late": Status.WARN,
    "missed": Status.BAD,
}


def document(outlook: Outlook) -> Document:
    """Messages by severity and alert, each new one, and the incidents."""
    return Document.of(_blocks(outlook))


def _blocks(outlook: Outlook) -> Iterator[Block]:
    days = (outlook.end - outlook.start) / _DAY
    span = f"{outlook.source}, {_when(outlook.start)} to {_when(outlook.end)}"
    yield Sentence(f"{span} ({days:.3g} days). {_BASIS[outlook.basis]}", Status.QUIET)
    if outlook.scraped < 1:
        yield Sentence(f"Targets were scraped in {outlook.scraped:.1%} of that time.", Status.WARN)
    messages = outlook.notifications
    counts = Counter((message.severity, message.kind) for message in messages)
    pages = counts["critical", "new"]
    yield Heading(
        "The notifications you would have had",
        Text(f"{_pages(pages)}{f', {pages / days * 7:.1f} a week' if days >= 1 else ''}" if messages else "none"),
    )
    severities = dict.fromkeys(message.severity for message in messages)
    rows = tuple((one, *(f"{counts[one, kind]:,}" for kind in _KINDS)) for one in severities)
    yield Table(columns("Severity", numbers=[kind.capitalize() for kind in _KINDS]), rows)
    begun = [message for message in messages if message.kind == "new"]
    yield Table(columns("At (UTC)", "Severity", "Alerts", "Of"), tuple(map(_row, begun[:_MOST])))
    if len(begun) > _MOST:
        yield Sentence(f"The first {_MOST} of {len(begun)} new messages; --json has all.", Status.QUIET)
    if outlook.false_pages is not None:
        yield from _incidents(outlook)
    yield Sentence(f"{outlook.fired:,} alerts fired, by series and time, before inhibition and grouping.", Status.QUIET)
    yield Note(_UNKNOWN)


def _incidents(outlook: Outlook) -> Iterator[Block]:
    false = outlook.false_pages or ()
    counts = Counter(one.outcome for one in outlook.incidents)
    found = ", ".join(f"{counts[outcome]} {outcome}" for outcome in _OUTCOMES if counts[outcome])
    yield Heading("Against your incidents", Text(f"{found or 'none in this time'}; {len(false)} false"))
    yield Table(
        columns("Start (UTC)", "Incident", "Notified", "By", numbers=["After"]),
        tuple(map(_detection, outlook.incidents)),
    )
    new = Counter(name for one in outlook.notifications if one.is_page for name in one.alerts)
    wrong = Counter(name for one in false for name in one.alerts)
    yield Table(
        columns("Alert", numbers=["Pages", "False"]),
        tuple((name, f"{count:,}", f"{wrong[name]:,}") for name, count in new.most_common()),
    )
    yield Bullets(tuple(f"No incident: {' '.join(_row(page))}" for page in false[:_MOST]), Status.WARN)


def _pages(count: int) -> str:
    return f"{count} page{'' if count == 1 else 's'}"


def _detection(one: Detection) -> tuple[str | Text, ...]:
    after = "-" if one.after_seconds is None else f"{one.after_seconds / 60:+.1f} min"
    outcome = Text(one.outcome, _OUTCOMES[one.outcome])
    return _when(one.start), one.incident, outcome, ", ".join(one.alerts) or "-", after


def _row(message: Notification) -> tuple[str, ...]:
    return _when(message.at), message.severity, ", ".join(message.alerts), " ".join(message.group.values())


def _when(at: float) -> str:
    return datetime.fromtimestamp(at, UTC).strftime("%Y-%m-%d %H:%M")
