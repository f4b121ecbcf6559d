"""What a report says in words, on a terminal as in Markdown."""

from datetime import UTC, datetime
from itertools import zip_longest

from draftboard.report.objects import EngineReport, Judged, Latency, ModelReport, Report, Speculation
from draftboard.report.totals import LATENCIES
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
from draftboard.signals.decisions import ADVICE, STATES
from draftboard.signals.economics import BREAK_EVEN, best_k, best_speedup, break_even, expected_speedup
from draftboard.signals.requests import request_rate, requests_running, requests_waiting
from draftboard.signals.signal import within
from draftboard.signals.traffic import drafts, generation_tokens, wasted_tokens
from draftboard.signals.users import measured_speedup
from draftboard.signals.wording import NOTHING, worded
from draftboard.status import Status

NUMBERS = (
    *(acceptance, acceptance_length, break_even, draft_length, coverage, share_from_drafts, wasted_tokens),
    *(expected_speedup, best_k, best_speedup),
)
OF_MODELS = (acceptance_change, measured_speedup)
OF_ENGINES = (acceptance, acceptance_length, expected_speedup)
TO_OTHERS = "To others"
OF_TIMES = ("Mean", "P50", "P95", "P99", "Samples")
"""Headings of `cells_of`."""
_NO_CHANGE = (ADVICE["keep"].says, ADVICE["longer"].says)
"""Advice that would draft as much as now, or more."""


def origin_in_words(report: Report) -> str:
    """Where the numbers are from, and of what time."""
    return ", ".join((f"{report.origin}: {', '.join(report.sources)}", *time_in_words(report.seconds, report.taken_at)))


def time_in_words(seconds: float | None, until: float | None) -> tuple[str, ...]:
    """How long, and until when, as far as it is known."""
    span = f"over {seconds:,.0f} s" if seconds else ""
    at = datetime.fromtimestamp(until, UTC).strftime("until %Y-%m-%d %H:%M:%S UTC") if until else ""
    return tuple(part for part in (span, at) if part)


def named(model: ModelReport) -> str:
    """What a model is called, with what tells it from others."""
    further = [model.method or "", *(f"{name}={text}" for name, text in sorted(model.labels.items()))]
    told = ", ".join(part for part in further if part)
    return (model.model or "a server that names no model") + (f" ({told})" if told else "")


def verdict_of(entry: Judged) -> str:
    """Verdict and advice in words, or why there is none, or the state where nothing was drafted."""
    found = entry.verdict
    told = _expected(entry) if found.says else f"no verdict: {found.withheld}" if found.withheld else ""
    if found.measured and not found.says:
        told = ", ".join(part for part in (told, found.measured) if part)
    # A server that is down now may have drafted within the time.
    return told if told and entry.state == STATES["drafting"].says else ", ".join(filter(None, (entry.state, told)))


def _expected(entry: Judged) -> str:
    """What is expected and advised, and what is measured against it: then to keep it would be no advice."""
    found = entry.verdict
    if not found.measured:
        return f"{found.says}: {found.advice}"
    pays = entry.speculation is not None and entry.speculation.expected_speedup >= BREAK_EVEN
    told = f"expected: {found.says}, {'but' if pays else 'and'} {found.measured}"
    return told if found.advice in _NO_CHANGE else f"{told}: {found.advice}"


def verdict_of_engine(engine: EngineReport, model: ModelReport) -> str:
    """The same of an engine; what is measured is measured of its model, and leaves engines what they are expected."""
    expected = model.verdict.measured and engine.verdict.says
    return f"expected: {expected}" if expected else verdict_of(engine)


def warnings(model: ModelReport) -> list[str]:
    """What speaks against all of its numbers."""
    return [f"Do not trust these numbers: {one.says} ({one.engine}, by {one.error:.1%})" for one in model.broken]


def numbers_of(model: ModelReport) -> list[tuple[Signal, float | None]]:
    """The numbers of speculation in order, each with the signal that says what it is."""
    if model.speculation is None:
        return []
    found: list[tuple[Signal, float | None]] = [(signal, getattr(model.speculation, signal.name)) for signal in NUMBERS]
    found.insert(len(found) - 3, (tokens_per_step, model.traffic.tokens_per_step))
    remembered = [(signal, getattr(model, signal.name)) for signal in OF_MODELS]
    return found + [(signal, value) for signal, value in remembered if value is not None]


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


def rows_by_length(found: Speculation) -> list[tuple[int, float, float, float | None, float | None]]:
    """For j = 0..K accepted tokens: exactly so many, at least so many, given one less, speedup with k = j."""
    at_least = (1.0, *found.survival)
    rows = zip_longest(found.accepted_length_share, at_least, (None, *found.conditional_acceptance))
    speedups = (None, *found.speedup_at)
    return [(j, exactly, least, given, speedups[j]) for j, (exactly, least, given) in enumerate(rows)]


def cells_of(name: str, time: Latency) -> tuple[str, ...]:
    """Mean, percentiles and number of samples in words; below resolution it is said where that ends."""
    said, _ = LATENCIES[name]
    under = f"< {worded(said.mean, time.resolution)}"
    percentiles = ((said.p50, time.p50), (said.p95, time.p95), (said.p99, time.p99))
    told = (worded(signal, value) if value else under for signal, value in percentiles)
    return (worded(said.mean, time.mean), *told, f"{time.count:,.0f}")


def cells_of_engine(entry: EngineReport) -> tuple[str, ...]:
    """An engine's numbers and its drafts, in words."""
    found, sample = entry.speculation, entry.sample
    numbers = (worded(signal, getattr(found, signal.name) if found else None) for signal in OF_ENGINES)
    return (*numbers, worded(length_to_others, entry.length_to_others), f"{sample.drafts:,.0f}" if sample else NOTHING)


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
