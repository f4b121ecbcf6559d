"""A sweep on a terminal: the verdict first, then a table for each question, then what must be known to read them."""

from collections.abc import Callable, Iterable, Sequence

from pydantic import TypeAdapter
from rich.box import SIMPLE_HEAD
from rich.console import Console
from rich.table import Table
from rich.text import Text

from draftboard.report import verdict_of
from draftboard.report.show import STYLES, bullets
from draftboard.settings import Settings
from draftboard.signals import Signal
from draftboard.signals.acceptance import acceptance, acceptance_length
from draftboard.signals.decisions import verdict
from draftboard.signals.economics import expected_speedup
from draftboard.signals.latency import per_token
from draftboard.signals.traffic import drafts
from draftboard.signals.wording import NOTHING, worded
from draftboard.sweep.objects import Row, Sweep, Tagged
from draftboard.sweep.spread import Spread
from draftboard.tables import print_whole

_SWEEP = TypeAdapter(Sweep)
_NUMBERS = (acceptance, acceptance_length, expected_speedup)
_HEADING = 15
_WORD = len("break-even")
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
    print_whole(_by_temperature(sweep.rows, settings), console)
    print_whole(_seen_by_client(sweep.rows), console)
    _by_request(sweep.rows, console)
    _by_tag(sweep.rows, console)
    notes = [f"at {row.temperature:g}: {note}" for row in sweep.rows for note in row.notes]
    bullets((*notes, *_notes_of_all(sweep.rows), *sweep.notes), console, "yellow")
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
    none = f"no verdict: {found.verdict.withheld}" if found.verdict.withheld else "no verdict"
    says = f"{found.verdict.says}: {found.verdict.advice}" if found.verdict.says else none
    console.print()
    console.print(Text.assemble((f"At production's {found.temperature:g}  ", "bold"), (says + thumb, "bold")))
    bullets(found.verdict.reasons, console)
    bullets(found.warnings, console, "yellow")


def _by_temperature(rows: Sequence[Row], settings: Settings) -> Table:
    table = _table("Speculation by temperature", ("Verdict", "Rule of thumb"), (s.title for s in (*_NUMBERS, drafts)))
    for row in rows:
        found, sample = row.server.speculation, row.server.sample
        style = ""
        if found and row.server.verdict.says is not None:
            style = STYLES[verdict.step_of(found.expected_speedup, settings).status]
        table.add_row(
            _named(row),
            Text(row.server.verdict.withheld or verdict_of(row.server), style=style),
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
    told = [(row, row.by_request) for row in rows if row.by_request]
    if any(found.acceptance for _, found in told):
        headings = ("Requests", "Mean", "Std", "CV", "Min", "P10", "P50", "P90", "Max")
        table = _table("Acceptance of single requests (CV: std / mean)", (), headings)
        for row, found in told:
            table.add_row(_named(row), *_of_requests(found.acceptance))
        print_whole(table, console)
    if any(found.step_acceptance for _, found in told):
        table = _table("Acceptance of single drafts", (), ("Drafts", "Mean", "Std", "Min", "P50", "P95", "Max"))
        for row, found in told:
            table.add_row(_named(row), *_of_drafts(found.step_acceptance))
        print_whole(table, console)


def _of_requests(found: Spread | None) -> tuple[str, ...]:
    if found is None:
        return ("0",)
    variation = NOTHING if found.variation is None else f"{found.variation:.2f}"
    percentiles = _cells(acceptance, (found.minimum, found.p10, found.p50, found.p90, found.maximum))
    return (f"{found.count:,}", *_cells(acceptance, (found.mean, found.std)), variation, *percentiles)


def _of_drafts(found: Spread | None) -> tuple[str, ...]:
    if found is None:
        return ("0",)
    values = (found.mean, found.std, found.minimum, found.p50, found.p95, found.maximum)
    return (f"{found.count:,}", *_cells(acceptance, values))


def _by_tag(rows: Sequence[Row], console: Console) -> None:
    """A line for each tag, a column for each temperature."""
    tags = sorted({tagged.tag for row in rows for tagged in row.by_tag})
    if not tags:
        return
    if any(row.by_request for row in rows):
        print_whole(_of_tags("Acceptance and verdict by tag", tags, rows, _drafted), console)
    print_whole(_of_tags(f"{per_token.title} by tag, mean", tags, rows, _waited), console)


def _of_tags(title: str, tags: Sequence[str], rows: Sequence[Row], told: Callable[[Tagged], str]) -> Table:
    table = _table(title, (), (_named(row) for row in rows), first="Tag")
    by_tag = [{tagged.tag: told(tagged) for tagged in row.by_tag} for row in rows]
    for tag in tags:
        table.add_row(tag or NOTHING, *(cells.get(tag, NOTHING) for cells in by_tag))
    return table


def _drafted(tagged: Tagged) -> str:
    """Acceptance, and the verdict or why there is none."""
    if tagged.drafts is None or tagged.verdict is None:
        return NOTHING
    sample = tagged.drafts.sample
    if sample is None:
        return "nothing drafted"
    share = worded(acceptance, sample.accepted_tokens / sample.draft_tokens)
    return f"{share} {tagged.verdict.says or tagged.verdict.withheld or NOTHING}"


def _waited(tagged: Tagged) -> str:
    return worded(per_token.mean, tagged.time_per_token.mean if tagged.time_per_token else None)


def _notes_of_all(rows: Sequence[Row]) -> list[str]:
    """What the report says at every temperature, once."""
    return list(dict.fromkeys(note for row in rows for note in row.server.notes))


def _named(row: Row) -> str:
    done = row.answered + sum(row.failures.values())
    return f"{row.temperature:g}" + ("" if done == row.requests else f" ({done:,} of {row.requests:,})")


def _cells(signal: Signal, values: Iterable[float | None]) -> list[str]:
    return [worded(signal, value) for value in values]


def _table(title: str, words: Iterable[str], numbers: Iterable[str], first: str = "Temp.") -> Table:
    table = Table(title=title, title_justify="left", title_style="bold", box=SIMPLE_HEAD)
    table.pad_edge, table.collapse_padding = False, True
    table.add_column(first, no_wrap=True)
    for heading in words:
        table.add_column(heading, min_width=_WORD)
    for heading in numbers:
        table.add_column(heading, justify="right", min_width=max(map(len, heading.split())), max_width=_HEADING)
    return table
