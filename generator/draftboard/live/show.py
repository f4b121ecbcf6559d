"""A report on a terminal: the verdict and its reasons first, then the numbers, then what must be known to read them."""

from collections.abc import Iterable, Sequence
from datetime import UTC, datetime
from itertools import zip_longest

from rich.bar import Bar
from rich.box import SIMPLE_HEAD
from rich.console import Console, RenderableType
from rich.table import Table
from rich.text import Text

from draftboard.live.objects import EngineReport, Judged, Latency, ModelReport, Report, Speculation
from draftboard.live.totals import LATENCIES
from draftboard.settings import Settings
from draftboard.signals import Signal
from draftboard.signals.acceptance import (
    acceptance,
    acceptance_length,
    coverage,
    draft_length,
    share_from_drafts,
    tokens_per_step,
)
from draftboard.signals.capacity import kv_cache_usage, prefix_cache_hits
from draftboard.signals.comparison import acceptance_change, length_to_others
from draftboard.signals.depth import accepted_length_share, conditional_acceptance, survival
from draftboard.signals.economics import best_k, best_speedup, break_even, expected_speedup, speedup_at, verdict
from draftboard.signals.requests import request_rate, requests_running, requests_waiting
from draftboard.signals.signal import Status, within
from draftboard.signals.state import state
from draftboard.signals.traffic import drafts, generation_tokens, wasted_tokens
from draftboard.signals.users import measured_speedup
from draftboard.signals.wording import NOTHING, worded

STYLES = {
    Status.BAD: "bold red",
    Status.WARN: "bold yellow",
    Status.GOOD: "bold green",
    Status.BEST: "bold green",
    Status.ODD: "bold magenta",
    Status.QUIET: "dim",
    Status.NEUTRAL: "bold",
}
NUMBERS = (
    *(acceptance, acceptance_length, break_even, draft_length, coverage, share_from_drafts, wasted_tokens),
    *(expected_speedup, best_k, best_speedup),
)
OF_ENGINES = (acceptance, acceptance_length, expected_speedup)
TO_OTHERS = "To others"
OF_MODELS = (acceptance_change, measured_speedup)
_APART = 4
_BAR = 16
_HEADING = 12
_REST = (
    "Expected speedup is of speculative steps alone and rests on c and v, which the settings assume; only a baseline "
    "under the same load measures the real one. Bands and advice are rules of thumb."
)


def show(report: Report, settings: Settings, console: Console, *, engines: bool) -> None:
    """Print every model; its engines too, where they are asked for."""
    console.print(Text(heading(report), style="dim"))
    for model in report.models:
        console.print()
        _show_model(model, settings, console)
        if engines and model.engines:
            console.print(_engines(model.engines, settings))
    bullets(report.notes, console, "yellow")
    if any(model.speculation for model in report.models):
        console.print(Text(_REST, style="dim"))


def numbers_of(model: ModelReport) -> list[tuple[Signal, float | None]]:
    """The numbers of speculation in order, each with the signal that says what it is."""
    if model.speculation is None:
        return []
    found: list[tuple[Signal, float | None]] = [(signal, getattr(model.speculation, signal.name)) for signal in NUMBERS]
    found.insert(len(found) - 3, (tokens_per_step, model.traffic.tokens_per_step))
    remembered = [(signal, getattr(model, signal.name)) for signal in OF_MODELS]
    return found + [(signal, value) for signal, value in remembered if value is not None]


def named(model: ModelReport) -> str:
    """What a model is called, with what tells it from others."""
    further = [model.method or "", *(f"{name}={text}" for name, text in sorted(model.labels.items()))]
    told = ", ".join(part for part in further if part)
    return (model.model or "a server that names no model") + (f" ({told})" if told else "")


def verdict_of(entry: Judged) -> str:
    """Verdict and advice in words, or the state where there is none."""
    if entry.verdict.says is None:
        return entry.state
    return f"{entry.verdict.says}: {entry.verdict.advice}"


def speculation_rows(model: ModelReport, settings: Settings) -> list[tuple[str, str, str, Status]]:
    """Title, value, unit and meaning of every number, and what it means for colours; too few drafts mean nothing."""
    rows = []
    for signal, value in numbers_of(model):
        step = None if value is None or model.verdict.says is None else signal.step_of(value, settings)
        means = ", ".join(part for part in (signal.unit.words, step.says if step else "") if part)
        rows.append((signal.title, worded(signal, value), means, step.status if step else Status.NEUTRAL))
    if model.sample:
        rows.insert(0, (drafts.title, f"{model.sample.drafts:,.0f}", "", Status.NEUTRAL))
    if model.acceptance_by_request is not None:
        # In the other weighting, beside which the pooled one stands.
        weighted = worded(acceptance, model.acceptance_by_request)
        rows.insert(2, (f"{acceptance.title} by request", weighted, "engines weighted by requests", Status.NEUTRAL))
    return rows


def traffic_in_words(entry: Judged) -> str:
    """The load in a line."""
    told = [
        f"{worded(signal, getattr(entry.traffic, signal.name))} {signal.unit.words}"
        for signal in (generation_tokens, request_rate)
        if getattr(entry.traffic, signal.name) is not None
    ]
    gauges = [
        f"{within(signal.title)} {worded(signal, getattr(entry.traffic, signal.name))}"
        for signal in (requests_running, requests_waiting, kv_cache_usage, prefix_cache_hits)
        if getattr(entry.traffic, signal.name) is not None
    ]
    return ", ".join(told + gauges)


def rows_by_length(found: Speculation) -> list[tuple[int, float, float, float | None, float | None]]:
    """For j = 0..K accepted tokens: exactly so many, at least so many, given one less, speedup with k = j."""
    at_least = (1.0, *found.survival)
    rows = zip_longest(found.accepted_length_share, at_least, (None, *found.conditional_acceptance))
    speedups = (None, *found.speedup_at)
    return [(j, exactly, least, given, speedups[j]) for j, (exactly, least, given) in enumerate(rows)]


def heading(report: Report) -> str:
    """Where the numbers are from, and of what time."""
    span = f"over {report.seconds:,.0f} s" if report.seconds else ""
    at = datetime.fromtimestamp(report.taken_at, UTC).strftime("until %Y-%m-%d %H:%M:%S UTC") if report.taken_at else ""
    return ", ".join(part for part in (f"{report.origin}: {', '.join(report.sources)}", span, at) if part)


def _show_model(model: ModelReport, settings: Settings, console: Console) -> None:
    headline = Text.assemble((named(model), "bold"), "  ", (verdict_of(model), _style(model, settings)))
    console.print(headline)
    broken = [f"Do not trust these numbers: {one.says} ({one.engine}, by {one.error:.1%})" for one in model.broken]
    bullets(broken, console, "bold red")
    bullets(model.verdict.reasons, console)
    bullets(model.notes, console, "yellow")
    console.print()
    found = model.speculation
    tables: list[RenderableType] = []
    if found:
        tables = [_numbers(model, settings), _by_length(found, settings, judged=model.verdict.says is not None)]
    needed = sum(console.measure(table).maximum + _APART for table in tables)
    if tables and needed <= console.width:
        side = Table.grid(padding=(0, _APART))
        side.add_row(*tables)
        tables = [side]
    for table in tables:
        console.print(table)
    times = [(name, getattr(model.latency, name)) for name in LATENCIES]
    if any(time for _, time in times):
        console.print(_times(times))
    traffic = traffic_in_words(model)
    if traffic:
        console.print(Text(f"Load: {traffic}."))


def bullets(lines: Iterable[str], console: Console, style: str = "") -> None:
    """Print sentences as a list."""
    for line in lines:
        grid = Table.grid(padding=(0, 1, 0, 0))
        grid.add_row(Text("  -", style=style), Text(line, style=style))
        console.print(grid)


def _style(entry: Judged, settings: Settings) -> str:
    if entry.verdict.says is not None and entry.speculation:
        return STYLES[verdict.step_of(entry.speculation.expected_speedup, settings).status]
    return next((STYLES[code.status] for code in state.codes if code.says == entry.state), "bold yellow")


def _numbers(model: ModelReport, settings: Settings) -> Table:
    table = _table("Speculation", ("", "", ""))
    table.show_header = False
    table.columns[1].justify = "right"
    for title, value, means, status in speculation_rows(model, settings):
        table.add_row(title, value, Text(means, style="" if status is Status.NEUTRAL else STYLES[status]))
    return table


def _by_length(found: Speculation, settings: Settings, *, judged: bool) -> Table:
    table = _table("How deep drafts are accepted", ("Tokens",))
    for heading in ("Exactly", "At least", "", "If reached", "Speedup at k"):
        table.add_column(heading, justify="right", no_wrap=True)
    for j, exactly, least, given, gain in rows_by_length(found):
        best = j == found.best_k
        style = STYLES[speedup_at.step_of(gain, settings).status] if judged and gain is not None else ""
        table.add_row(
            str(j),
            worded(accepted_length_share, exactly),
            worded(survival, least),
            Bar(1, 0, least, width=_BAR) if j else "",
            worded(conditional_acceptance, given) if j else "",
            Text(worded(speedup_at, gain) + (" best" if best else "     "), style=style) if j else "",
        )
    return table


def _times(times: Sequence[tuple[str, Latency | None]]) -> Table:
    table = _table("What users wait for", ("",))
    for heading in ("Mean", "P50", "P95", "P99", "Samples"):
        table.add_column(heading, justify="right", no_wrap=True)
    for name, time in times:
        if time is None:
            table.add_row(LATENCIES[name][0].title, *[NOTHING] * 5, style="dim")
        else:
            table.add_row(LATENCIES[name][0].title, *cells_of(name, time))
    return table


def cells_of(name: str, time: Latency) -> tuple[str, ...]:
    """Mean, percentiles and number of samples in words; below resolution it is said where that ends."""
    said, _ = LATENCIES[name]
    under = f"< {worded(said.mean, time.resolution)}"
    percentiles = ((said.p50, time.p50), (said.p95, time.p95), (said.p99, time.p99))
    told = (worded(signal, value) if value else under for signal, value in percentiles)
    return (worded(said.mean, time.mean), *told, f"{time.count:,.0f}")


def _engines(entries: Sequence[EngineReport], settings: Settings) -> Table:
    table = _table("Engines", ("Engine", verdict.title))
    for heading in (*(signal.title for signal in OF_ENGINES), TO_OTHERS, drafts.title):
        table.add_column(heading, justify="right", min_width=max(map(len, heading.split())), max_width=_HEADING)
    several = len({entry.server for entry in entries}) > 1
    if several:
        table.add_column("Server", overflow="fold")
    for entry in entries:
        told = (Text(entry.engine or NOTHING), Text(verdict_of(entry), style=_style(entry, settings)))
        table.add_row(*told, *cells_of_engine(entry), *([Text(entry.server)] if several else []))
    return table


def cells_of_engine(entry: EngineReport) -> tuple[str, ...]:
    """An engine's numbers and its drafts, in words."""
    found, sample = entry.speculation, entry.sample
    numbers = (worded(signal, getattr(found, signal.name) if found else None) for signal in OF_ENGINES)
    return (*numbers, worded(length_to_others, entry.length_to_others), f"{sample.drafts:,.0f}" if sample else NOTHING)


def _table(title: str, headings: Sequence[str]) -> Table:
    table = Table(title=title, title_justify="left", title_style="bold", box=SIMPLE_HEAD, pad_edge=False)
    for heading in headings:
        table.add_column(heading)
    return table
