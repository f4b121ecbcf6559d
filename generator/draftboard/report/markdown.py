"""A report as Markdown, for a pull request or a chat."""

from collections.abc import Iterable, Sequence

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
from draftboard.report.objects import ModelReport, Report, Speculation
from draftboard.report.totals import LATENCIES
from draftboard.settings import Settings
from draftboard.signals.decisions import verdict
from draftboard.signals.depth import accepted_length_share, conditional_acceptance, survival
from draftboard.signals.economics import speedup_at
from draftboard.signals.traffic import drafts
from draftboard.signals.wording import NOTHING, worded


def as_markdown(report: Report, settings: Settings, *, engines: bool) -> str:
    """The report's headings, tables and lists; engines where they are asked for."""
    lines = [f"# {plain(origin_in_words(report))}", ""]
    for model in report.models:
        lines += _of_model(model, settings, engines=engines)
    lines += bullets(report.notes)
    return "\n".join(lines).rstrip() + "\n"


def _of_model(model: ModelReport, settings: Settings, *, engines: bool) -> list[str]:
    lines = [f"## {plain(named(model))}: {verdict_of(model)}", ""]
    lines += bullets([*warnings(model), *model.verdict.reasons, *model.notes])
    if model.sample and model.speculation:
        rows = [(title, value, means) for title, value, means, _ in speculation_rows(model, settings)]
        lines += table(("Speculation", "Value", "Meaning"), rows)
        lines += table(("Tokens", "Exactly", "At least", "If reached", "Speedup at k"), _lengths(model.speculation))
    measured = [(name, time) for name in LATENCIES if (time := getattr(model.latency, name))]
    times = [(LATENCIES[name][0].title, *cells_of(name, time)) for name, time in measured]
    if times:
        lines += table(("Time", *OF_TIMES), times)
    if traffic := traffic_in_words(model):
        lines += [f"Load: {traffic}.", ""]
    if engines and model.engines:
        lines += table(
            ("Engine", "Server", verdict.title, *(signal.title for signal in OF_ENGINES), TO_OTHERS, drafts.title),
            [
                (one.engine or NOTHING, one.server, verdict_of_engine(one, model), *cells_of_engine(one))
                for one in model.engines
            ],
        )
    return lines


def _lengths(found: Speculation) -> list[tuple[str, ...]]:
    return [
        (
            str(j),
            worded(accepted_length_share, exactly),
            worded(survival, least),
            worded(conditional_acceptance, given),
            worded(speedup_at, gain) + (" (best)" if j == found.best_k else ""),
        )
        for j, exactly, least, given, gain in rows_by_length(found)
    ]


def bullets(lines: Iterable[str]) -> list[str]:
    """A list, and a blank line behind it; nothing of nothing."""
    bullets = [f"- {plain(line)}" for line in lines]
    return [*bullets, ""] if bullets else []


def table(headings: Sequence[str], rows: Sequence[Sequence[str]]) -> list[str]:
    """A first column of words, and others of numbers."""
    rule = ["---", *["---:"] * (len(headings) - 1)]
    return [*(_row(cells) for cells in (headings, rule, *rows)), ""]


def _row(cells: Sequence[str]) -> str:
    return f"| {' | '.join(plain(cell) for cell in cells)} |"


def plain(text: str) -> str:
    """Names come from servers: they must not become markup."""
    return "".join(f"\\{character}" if character in "\\`*_[]<>|#" else character for character in text)
