"""A sweep as a document: the verdict first, then a table for each question, then what limits the numbers."""

from collections.abc import Callable, Sequence
from dataclasses import astuple

from draftboard.intervals import Estimate
from draftboard.output import Block, Bullets, Cell, Document, Heading, Note, Sentence, Table, Text, columns
from draftboard.report import Speculation, status_of, verdict_of
from draftboard.signals.acceptance import acceptance, acceptance_length
from draftboard.signals.economics import expected_speedup
from draftboard.signals.latency import per_token
from draftboard.signals.signal import NOTHING, Signal, worded
from draftboard.signals.traffic import drafts
from draftboard.status import Status
from draftboard.sweep.result import Production, Row, Spread, Sweep, Tagged

_SPREAD = columns("Temp.", numbers=("Count", "Mean", "Std", "Min", "P10", "P50", "P90", "P95", "Max", "CV"))
"""In the order of the fields."""
_NOTE = (
    "Expected speedups rest on what a step costs: as a range where that is assumed from published measurements. The "
    "rule of thumb uses acceptance alone, without draft length and cost; it is not based on measurements. "
    f"{per_token.title} is measured by the client: the whole time of a request / its tokens, including queue and "
    "prefill; tokens/s are of all requests together. 95 % intervals stand in brackets: by the scatter "
    "between parts of the time, and of the client's times between requests."
)


def document(sweep: Sweep) -> Document:
    """The sweep as a document."""
    rows = sweep.rows
    sent = (
        f"{sweep.model} at {sweep.server}: {sweep.prompts:,} prompts ({sweep.prompts_source}), up to "
        f"{sweep.max_tokens:,} tokens each, {sweep.concurrency} at a time, {sweep.warm_up} warm-up requests "
        "before each temperature"
    )
    opening = (Sentence(sent, Status.QUIET), *_at_production(sweep.production))
    if not rows:
        return Document.of((*opening, Sentence("interrupted before the first response: no results")))
    reporting = [(_named(row), row.by_request) for row in rows if row.by_request]
    notes = [f"at {row.temperature:g}: {note}" for row in rows for note in row.notes]
    notes += dict.fromkeys(note for row in rows for note in row.server.notes)
    return Document.of(
        (
            *opening,
            _by_temperature(rows),
            _by_client(rows),
            _spreads("requests", [(name, drafts.acceptance) for name, drafts in reporting]),
            _spreads("drafts", [(name, drafts.step_acceptance) for name, drafts in reporting]),
            _by_tag("Acceptance and verdict by tag", _drafted, rows if reporting else ()),
            _by_tag(f"{per_token.title} by tag, mean", _waited, rows),
            Bullets((*notes, *sweep.notes), Status.WARN),
            Sentence("Interrupted: these are the results so far." if sweep.interrupted else "", Status.WARN),
            Note(_NOTE),
        )
    )


def _at_production(production: Production | None) -> tuple[Block, ...]:
    if not production:
        return ()
    says = ": ".join(filter(None, (production.verdict.says or "no verdict", production.verdict.advice)))
    withheld = f": {production.verdict.withheld}" if production.verdict.withheld else ""
    thumb = f" (rule of thumb: {production.rule_of_thumb})" if production.rule_of_thumb else ""
    title = Heading(f"At production's {production.temperature:g}", Text(says + withheld + thumb))
    return title, Bullets(production.verdict.reasons), Bullets(production.warnings, Status.WARN)


def _by_temperature(rows: Sequence[Row]) -> Table:
    lines: list[tuple[Cell, ...]] = []
    for row in rows:
        speculation, sample = row.server.speculation, row.server.sample
        verdict = Text(row.server.verdict.withheld or verdict_of(row.server), status_of(row.server))
        numbers = [
            _bounded(signal, getattr(speculation, signal.name, None), getattr(row.intervals, signal.name, None))
            for signal in (acceptance, acceptance_length)
        ]
        numbers += _speedup(speculation), f"{sample.drafts:,.0f}" if sample else NOTHING
        lines.append((_named(row), verdict, row.rule_of_thumb or NOTHING, *numbers))
    words = (*(signal.title for signal in (acceptance, acceptance_length, expected_speedup)), drafts.title)
    return Table(
        columns("Temp.", "Verdict", "Rule of thumb", numbers=words), tuple(lines), "Speculation by temperature"
    )


def _speedup(speculation: Speculation | None) -> str:
    """A range where the cost of a step is assumed."""
    if speculation and speculation.assumed:
        return str(speculation.assumed.speedup or NOTHING)
    return worded(expected_speedup, speculation.expected_speedup if speculation else None)


def _bounded(signal: Signal, value: float | None, bounds: Estimate | None) -> str:
    interval = f" ({worded(signal, bounds.low)} to {worded(signal, bounds.high)})" if bounds else ""
    return worded(signal, value) + interval


def _by_client(rows: Sequence[Row]) -> Table:
    lines = []
    for row in rows:
        mean, *others = (getattr(row.time_per_token, part, None) for part in ("mean", "p50", "p95"))
        bounds = row.intervals.time_per_token
        times = (_bounded(per_token.mean, mean, bounds), *(worded(per_token.mean, value) for value in others))
        rate = NOTHING if row.tokens_per_second is None else f"{row.tokens_per_second:,.1f}"
        lines.append((_named(row), f"{row.answered:,} of {row.requests:,}", *times, rate))
    words = ("Answered", f"{per_token.title}, mean", "P50", "P95", "Tokens/s")
    return Table(columns("Temp.", numbers=words), tuple(lines), "Measured by the client")


def _spreads(what: str, spreads: Sequence[tuple[str, Spread | None]]) -> Table:
    lines = []
    for name, spread in spreads if any(spread for _, spread in spreads) else ():
        count, *shares, variation = astuple(spread) if spread else (0, *[None] * 9)
        numbers = (worded(acceptance, share) for share in shares)
        lines.append((name, f"{count:,}", *numbers, NOTHING if variation is None else f"{variation:.2f}"))
    return Table(_SPREAD, tuple(lines), f"Acceptance of single {what} (CV: std / mean)")


def _by_tag(title: str, cell: Callable[[Tagged], str], rows: Sequence[Row]) -> Table:
    cells = [{tagged.tag: cell(tagged) for tagged in row.by_tag} for row in rows]
    tags = sorted({tag for of_row in cells for tag in of_row})
    lines = ((tag or NOTHING, *(of_row.get(tag, NOTHING) for of_row in cells)) for tag in tags)
    return Table(columns("Tag", numbers=map(_named, rows)), tuple(lines), title)


def _drafted(tagged: Tagged) -> str:
    if tagged.drafts is None or tagged.verdict is None:
        return NOTHING
    sample = tagged.drafts.sample
    share = worded(acceptance, sample.acceptance) if sample else "no drafts"
    return f"{share} {tagged.verdict.says or tagged.verdict.withheld or (NOTHING if sample else '')}".rstrip()


def _waited(tagged: Tagged) -> str:
    return worded(per_token.mean, tagged.time_per_token.mean if tagged.time_per_token else None)


def _named(row: Row) -> str:
    done = row.answered + sum(row.failures.values())
    return f"{row.temperature:g}" + ("" if done == row.requests else f" ({done:,} of {row.requests:,})")
