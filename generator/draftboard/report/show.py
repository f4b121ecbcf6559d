"""A report on a terminal: the verdict and its reasons first, then the numbers, then what must be known to read them."""

from collections.abc import Iterable, Sequence

from rich.bar import Bar
from rich.box import SIMPLE_HEAD
from rich.console import Console
from rich.table import Table
from rich.text import Text

from draftboard.report.lines import (
    OF_ENGINES,
    OF_TIMES,
    TO_OTHERS,
    cells_of,
    cells_of_engine,
    named,
    origin_in_words,
    rows_by_length,
    speculation_rows,
    traffic_in_words,
    verdict_of,
    verdict_of_engine,
    warnings,
)
from draftboard.report.objects import Judged, Latency, ModelReport, Report, Speculation
from draftboard.report.totals import LATENCIES
from draftboard.settings import Settings
from draftboard.signals.decisions import state, verdict
from draftboard.signals.depth import accepted_length_share, conditional_acceptance, survival
from draftboard.signals.economics import speedup_at
from draftboard.signals.traffic import drafts
from draftboard.signals.wording import NOTHING, worded
from draftboard.status import Status
from draftboard.tables import print_whole

STYLES = {
    Status.BAD: "bold red",
    Status.WARN: "bold yellow",
    Status.GOOD: "bold green",
    Status.BEST: "bold green",
    Status.ODD: "bold magenta",
    Status.QUIET: "dim",
    Status.NEUTRAL: "bold",
}
_APART = 4
_BAR = 16
_HEADING = 12
_REST = (
    "Expected speedup is of speculative steps alone and rests on c and v, which the settings assume; only a baseline "
    "under the same load measures the real one. Bands and advice are rules of thumb."
)


def show(report: Report, settings: Settings, console: Console, *, engines: bool) -> None:
    """Print every model; its engines too, where they are asked for."""
    console.print(Text(origin_in_words(report), style="dim"))
    for model in report.models:
        console.print()
        _show_model(model, settings, console)
        if engines and model.engines:
            print_whole(_engines(model, settings), console)
    bullets(report.notes, console, "yellow")
    if any(model.speculation for model in report.models):
        console.print(Text(_REST, style="dim"))


def _show_model(model: ModelReport, settings: Settings, console: Console) -> None:
    headline = Text.assemble((named(model), "bold"), "  ", (verdict_of(model), _style(model, settings)))
    console.print(headline)
    bullets(warnings(model), console, "bold red")
    bullets(model.verdict.reasons, console)
    bullets(model.notes, console, "yellow")
    console.print()
    found = model.speculation
    tables: list[Table] = []
    if found:
        tables = [_numbers(model, settings), _by_length(found, settings, judged=model.verdict.says is not None)]
    needed = sum(console.measure(table).maximum + _APART for table in tables)
    if tables and needed <= console.width:
        side = Table.grid(padding=(0, _APART))
        side.add_row(*tables)
        tables = [side]
    for table in tables:
        print_whole(table, console)
    times = [(name, getattr(model.latency, name)) for name in LATENCIES]
    if any(time for _, time in times):
        print_whole(_times(times), console)
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
    if entry.verdict.measured:
        return STYLES[Status.BAD]
    if entry.verdict.withheld:
        return STYLES[Status.WARN]
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
    for heading in OF_TIMES:
        table.add_column(heading, justify="right", no_wrap=True)
    for name, time in times:
        if time is None:
            table.add_row(LATENCIES[name][0].title, *[NOTHING] * len(OF_TIMES), style="dim")
        else:
            table.add_row(LATENCIES[name][0].title, *cells_of(name, time))
    return table


def _engines(model: ModelReport, settings: Settings) -> Table:
    table = _table("Engines", ("Engine", verdict.title))
    for heading in (*(signal.title for signal in OF_ENGINES), TO_OTHERS, drafts.title):
        table.add_column(heading, justify="right", min_width=max(map(len, heading.split())), max_width=_HEADING)
    several = len({entry.server for entry in model.engines}) > 1
    if several:
        table.add_column("Server", overflow="fold")
    for entry in model.engines:
        told = (Text(entry.engine or NOTHING), Text(verdict_of_engine(entry, model), style=_style(entry, settings)))
        table.add_row(*told, *cells_of_engine(entry), *([Text(entry.server)] if several else []))
    return table


def _table(title: str, headings: Sequence[str]) -> Table:
    table = Table(title=title, title_justify="left", title_style="bold", box=SIMPLE_HEAD, pad_edge=False)
    for heading in headings:
        table.add_column(heading)
    return table
