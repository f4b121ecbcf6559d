"""A report as Markdown, for a pull request or a chat."""

from collections.abc import Iterable, Sequence

from draftboard.live.objects import Judged, Latency, ModelReport, Report, Speculation
from draftboard.live.show import heading, meaning, named, numbers_of, rows_by_length, traffic_in_words, verdict_of
from draftboard.live.totals import LATENCIES
from draftboard.settings import Settings
from draftboard.signals.acceptance import acceptance, acceptance_length
from draftboard.signals.depth import accepted_length_share, conditional_acceptance, survival
from draftboard.signals.economics import expected_speedup, speedup_at
from draftboard.signals.traffic import drafts
from draftboard.signals.wording import NOTHING, worded


def as_markdown(report: Report, settings: Settings, *, engines: bool) -> str:
    """The report's headings, tables and lists; engines where they are asked for."""
    lines = [f"# {_plain(heading(report))}", ""]
    for model in report.models:
        lines += _of_model(model, settings, engines=engines)
    lines += _bullets(report.notes)
    return "\n".join(lines).rstrip() + "\n"


def _of_model(model: ModelReport, settings: Settings, *, engines: bool) -> list[str]:
    lines = [f"## {_plain(named(model))}: {verdict_of(model)}", ""]
    broken = [f"Do not trust these numbers: {one.says} ({one.engine}, by {one.error:.1%})" for one in model.broken]
    lines += _bullets([*broken, *model.verdict.reasons, *model.notes])
    if model.sample and model.speculation:
        rows = [(drafts.title, f"{model.sample.drafts:,.0f}", "")]
        rows += [(s.title, worded(s, value), meaning(s, value, settings)) for s, value in numbers_of(model)]
        lines += _table(("Speculation", "Value", "Meaning"), rows)
        lines += _table(("Tokens", "Exactly", "At least", "If reached", "Speedup at k"), _lengths(model.speculation))
    times = [row for name in LATENCIES if (row := _time(name, getattr(model.latency, name)))]
    if times:
        lines += _table(("Time", "Mean", "P50", "P95", "P99", "Samples"), times)
    if traffic := traffic_in_words(model):
        lines += [f"Load: {traffic}.", ""]
    if engines and model.engines:
        lines += _table(
            ("Engine", "Server", "Verdict", *(signal.title for signal in _OF_ENGINES), drafts.title),
            [(one.engine or NOTHING, one.server, *_engine(one)) for one in model.engines],
        )
    return lines


def _time(name: str, time: Latency | None) -> tuple[str, ...]:
    """A row; none of what was not measured."""
    if time is None:
        return ()
    said, _ = LATENCIES[name]
    percentiles = (worded(said.p50, time.p50), worded(said.p95, time.p95), worded(said.p99, time.p99))
    return (said.title, worded(said.mean, time.mean), *percentiles, f"{time.count:,.0f}")


_OF_ENGINES = (acceptance, acceptance_length, expected_speedup)


def _engine(entry: Judged) -> tuple[str, ...]:
    found, sample = entry.speculation, entry.sample
    numbers = (worded(signal, getattr(found, signal.name) if found else None) for signal in _OF_ENGINES)
    return (verdict_of(entry), *numbers, f"{sample.drafts:,.0f}" if sample else NOTHING)


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


def _bullets(lines: Iterable[str]) -> list[str]:
    bullets = [f"- {_plain(line)}" for line in lines]
    return [*bullets, ""] if bullets else []


def _table(headings: Sequence[str], rows: Sequence[Sequence[str]]) -> list[str]:
    """A first column of words, and others of numbers."""
    rule = ["---", *["---:"] * (len(headings) - 1)]
    return [*(_row(cells) for cells in (headings, rule, *rows)), ""]


def _row(cells: Sequence[str]) -> str:
    return f"| {' | '.join(_plain(cell) for cell in cells)} |"


def _plain(text: str) -> str:
    """Names come from servers: they must not become markup."""
    return "".join(f"\\{character}" if character in "\\`*_[]<>|#" else character for character in text)
