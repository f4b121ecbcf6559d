"""A summary as a document: hours and tokens in words that need no formula."""

from collections.abc import Iterator

from draftboard.durations import minute
from draftboard.history import named
from draftboard.output import Block, Bullets, Document, Note, Sentence, Table, Text, columns
from draftboard.report.outcomes import Outcome
from draftboard.report.summary import Amount, ModelSummary, Summary, Totals
from draftboard.signals.signal import NOTHING
from draftboard.status import Status

_WORDS = {
    Outcome.HELPED: ("Helped: tokens came sooner", "Helped", Status.GOOD),
    Outcome.SLOWER: ("Made users wait longer", "Longer", Status.DUE),
    Outcome.EVEN: ("About even", "Even", Status.WARN),
    Outcome.UNCLEAR: ("Unclear", "Unclear", Status.ODD),
    Outcome.WITHOUT: ("Without drafts", "Without", Status.OFF),
}
_MILLION = 1e6
_READ = (
    "Hours are those in which a model generated tokens; of several models each counts. Speculation helped or made "
    "users wait where a server of the model without speculation measured that, by its users' times or by steps in "
    "batches of the same size, or where costs are calibrated; all other hours with drafts are unclear. Sooner answers "
    "save GPUs only where requests wait for them: `draftboard plan cost` gives the saving from a measured throughput."
)


def summarised(summary: Summary) -> Document:
    """The summary as a document."""
    return Document.of(_blocks(summary))


def _blocks(summary: Summary) -> Iterator[Block]:
    totals = summary.totals
    span = f"{minute(summary.since)} to {minute(summary.until)}"
    yield Sentence(f"{summary.source}, {span}; recorded: {totals.coverage:.0%} of that time", Status.QUIET)
    yield Sentence(_headline(totals))
    tokens = _tokens_of(totals)
    rows = (
        (Text(words, status), _hours(amount.hours), _millions(amount.tokens), _share(amount.tokens, tokens))
        for outcome, (words, _, status) in _WORDS.items()
        for amount in (_amount(totals, outcome),)
    )
    yield Table(columns("Speculation", numbers=("Hours", "Million tokens", "Of tokens")), tuple(rows))
    numbers = ("M tokens", *(short for _, short, _ in _WORDS.values()), "Recorded")
    yield Table(columns("Hours of each model", numbers=numbers), tuple(map(_row, summary.models)))
    reasons = (f"Unclear for {_hours(hours)} h: {why}" for why, hours in totals.unclear_hours.items())
    yield Bullets(tuple(reasons), Status.WARN)
    yield Sentence(_gpus(summary))
    yield Note(_READ)


def _headline(totals: Totals) -> str:
    drafted = sum(_amount(totals, outcome).hours for outcome in Outcome if outcome is not Outcome.WITHOUT)
    if not drafted:
        return "Nothing was drafted."
    return (
        f"Speculation helped in {_hours(totals.helped.hours)} of {_hours(drafted)} hours with drafts, made users wait "
        f"longer in {_hours(totals.slower.hours)}, and is unclear in {_hours(totals.unclear.hours)}."
    )


def _row(entry: ModelSummary) -> tuple[str, ...]:
    amounts = (_amount(entry.totals, outcome).hours for outcome in Outcome)
    hours = (_hours(amount) if amount else NOTHING for amount in amounts)
    millions = _millions(_tokens_of(entry.totals))
    return named(entry.model, entry.labels), millions, *hours, f"{entry.totals.coverage:.0%}"


def _gpus(summary: Summary) -> str:
    if summary.gpu_hours is None:
        return "GPU hours are not known: no series of a GPU exporter has the host of a server."
    known = f"known for {summary.gpu_coverage:.0%} of the time"
    return f"GPU hours of the machines that serve: {_hours(summary.gpu_hours)} ({known})."


def _amount(totals: Totals, outcome: Outcome) -> Amount:
    amount: Amount = getattr(totals, outcome)
    return amount


def _tokens_of(totals: Totals) -> float:
    return sum(_amount(totals, outcome).tokens for outcome in Outcome)


def _hours(hours: float) -> str:
    return f"{hours:,.1f}" if hours >= 1 or not hours else f"{hours:.2g}"


def _millions(tokens: float) -> str:
    return f"{tokens / _MILLION:,.3g}" if tokens < _MILLION else f"{tokens / _MILLION:,.1f}"


def _share(part: float, whole: float) -> str:
    return f"{part / whole:.0%}" if whole else NOTHING
