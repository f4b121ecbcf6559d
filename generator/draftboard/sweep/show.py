"""A sweep on a terminal: the verdict first, then a table for each question, then what must be known to read them."""

from collections.abc import Iterable, Sequence

from pydantic import TypeAdapter
from rich.box import SIMPLE_HEAD
from rich.console import Console
from rich.table import Table
from rich.text import Text

from draftboard.live.show import STYLES, verdict_of
from draftboard.settings import Settings
from draftboard.signals import Signal
from draftboard.signals.acceptance import acceptance, acceptance_length
from draftboard.signals.economics import break_even, expected_speedup, verdict
from draftboard.signals.latency import per_token
from draftboard.signals.traffic import drafts
from draftboard.signals.wording import NOTHING, worded
from draftboard.sweep.objects import Row, Sweep, Tagged
from draftboard.sweep.spread import Spread

_SWEEP = TypeAdapter(Sweep)
_NUMBERS = (acceptance, acceptance_length, break_even, expected_speedup)
_TEMPERATURE = "Temperature"
_HEADING = 12
_REST = (
    "Verdicts are by length against break-even, which rests on c and v that the settings assume. The rule of thumb "
    "looks at acceptance alone, knows neither draft length nor cost, and nobody has measured it."
)
_MEASURED = (
    f"{per_token.title} here is the client's: a request's whole time over its tokens, queue and prompt included; "
    "tokens/s are of all requests together."
)


def as_json(sweep: Sweep) -> str:
    """The sweep as JSON."""
    return _SWEEP.dump_json(sweep, indent=2).decode()


def show(sweep: Sweep, settings: Settings, console: Console) -> None:
    """Print what is done."""
    console.print(Text(_heading(sweep), style="dim"))
    _production(sweep, console)
    if not sweep.rows:
        console.print(Text("interrupted before a request was answered: there is nothing to show"))
        return
    console.print(_by_temperature(sweep.rows, settings))
    console.print(_seen_by_client(sweep.rows))
    _by_request(sweep.rows, console)
    if any(row.by_tag for row in sweep.rows):
        console.print(_by_tag(sweep.rows))
    notes = [f"at {row.temperature:g}: {note}" for row in sweep.rows for note in row.notes]
    _bullets((*notes, *_notes_of_all(sweep.rows), *sweep.notes), console, "yellow")
    if sweep.interrupted:
        console.print(Text("Interrupted: this is what was done so far.", style="bold yellow"))
    console.print(Text(f"{_REST} {_MEASURED}", style="dim"))


def _heading(sweep: Sweep) -> str:
    return (
        f"{sweep.model} at {sweep.server}: {sweep.prompts:,} prompts ({sweep.prompts_source}), up to "
        f"{sweep.max_tokens:,} tokens each, {sweep.concurrency} at a time, warmed up with {sweep.warm_up} requests "
        "before each temperature"
    )


def _production(sweep: Sweep, console: Console) -> None:
    found = sweep.production
    if found is None:
        return
    thumb = f" (rule of thumb: {found.rule_of_thumb})" if found.rule_of_thumb else ""
    says = f"{found.verdict.says}: {found.verdict.advice}" if found.verdict.says else "no verdict"
    console.print()
    console.print(Text.assemble((f"At production's {found.temperature:g}  ", "bold"), (says + thumb, "bold")))
    _bullets(found.verdict.reasons, console)
    _bullets(found.warnings, console, "yellow")


def _by_temperature(rows: Sequence[Row], settings: Settings) -> Table:
    table = _table("Speculation by temperature", ("Verdict", "Rule of thumb"), (s.title for s in (*_NUMBERS, drafts)))
    for row in rows:
        found, sample = row.server.speculation, row.server.sample
        style = ""
        if found and row.server.verdict.says is not None:
            style = STYLES[verdict.step_of(found.expected_speedup, settings).status]
        table.add_row(
            _named(row),
            Text(verdict_of(row.server) if row.server.verdict.says or not sample else "too few drafts", style=style),
            row.rule_of_thumb or NOTHING,
            *(worded(signal, getattr(found, signal.name) if found else None) for signal in _NUMBERS),
            f"{sample.drafts:,.0f}" if sample else NOTHING,
        )
    return table


def _seen_by_client(rows: Sequence[Row]) -> Table:
    table = _table("What the client saw", (), ("Answered", f"{per_token.title}, mean", "P50", "P95", "Tokens/s"))
    for row in rows:
        time = row.time_per_token
        table.add_row(
            _named(row),
            f"{row.answered:,} of {row.requests:,}",
            *_cells(per_token.mean, (time.mean, time.p50, time.p95) if time else (None, None, None)),
            NOTHING if row.tokens_per_second is None else f"{row.tokens_per_second:,.1f}",
        )
    return table


def _by_request(rows: Sequence[Row], console: Console) -> None:
    requests = [(row, row.by_request.acceptance) for row in rows if row.by_request]
    steps = [(row, row.by_request.step_acceptance) for row in rows if row.by_request]
    for title, counted, spreads in (
        ("Acceptance of single requests", "Requests", requests),
        ("Acceptance of single drafts", "Drafts", steps),
    ):
        if any(found for _, found in spreads):
            console.print(_spreads(title, counted, spreads))


def _spreads(title: str, counted: str, spreads: Sequence[tuple[Row, Spread | None]]) -> Table:
    headings = ("Mean", "Std", "Std/mean", "Min", "P10", "P50", "P90", "P95", "Max")
    table = _table(title, (), (counted, *headings))
    for row, found in spreads:
        if found is None:
            table.add_row(_named(row), "0", *[NOTHING] * len(headings))
            continue
        percentiles = (found.minimum, found.p10, found.p50, found.p90, found.p95, found.maximum)
        variation = NOTHING if found.variation is None else f"{found.variation:.2f}"
        moments = (*_cells(acceptance, (found.mean, found.std)), variation)
        table.add_row(_named(row), f"{found.count:,}", *moments, *_cells(acceptance, percentiles))
    return table


def _by_tag(rows: Sequence[Row]) -> Table:
    numbers = ("Answered", per_token.title, "Acceptance", "P10", "P50", "P90", "Drafts")
    table = _table("By tag", ("Tag", "Verdict"), numbers)
    for row in rows:
        for index, tagged in enumerate(row.by_tag):
            table.add_row(_named(row) if index == 0 else "", tagged.tag or NOTHING, *_of_tag(tagged))
    return table


def _of_tag(tagged: Tagged) -> tuple[str, ...]:
    time, found = tagged.time_per_token, tagged.drafts
    sample = found.sample if found else None
    by_request = found.acceptance if found else None
    says = NOTHING
    if tagged.verdict:
        says = tagged.verdict.says or ("too few drafts" if sample else "nothing drafted")
    return (
        says,
        f"{tagged.answered:,} of {tagged.requests:,}",
        worded(per_token.mean, time.mean if time else None),
        worded(acceptance, sample.accepted_tokens / sample.draft_tokens if sample else None),
        *_cells(acceptance, (by_request.p10, by_request.p50, by_request.p90) if by_request else (None, None, None)),
        f"{sample.drafts:,.0f}" if sample else NOTHING,
    )


def _notes_of_all(rows: Sequence[Row]) -> list[str]:
    """What the report says at every temperature, once."""
    return list(dict.fromkeys(note for row in rows for note in row.server.notes))


def _named(row: Row) -> str:
    done = row.answered + sum(row.failures.values())
    return f"{row.temperature:g}" + ("" if done == row.requests else f" ({done:,} of {row.requests:,})")


def _cells(signal: Signal, values: Iterable[float | None]) -> list[str]:
    return [worded(signal, value) for value in values]


def _bullets(lines: Iterable[str], console: Console, style: str = "") -> None:
    for line in lines:
        grid = Table.grid(padding=(0, 1, 0, 0))
        grid.add_row(Text("  -", style=style), Text(line, style=style))
        console.print(grid)


def _table(title: str, words: Iterable[str], numbers: Iterable[str]) -> Table:
    table = Table(title=title, title_justify="left", title_style="bold", box=SIMPLE_HEAD, pad_edge=False)
    table.add_column(_TEMPERATURE, no_wrap=True)
    for heading in words:
        table.add_column(heading)
    for heading in numbers:
        table.add_column(heading, justify="right", min_width=max(map(len, heading.split())), max_width=_HEADING)
    return table
