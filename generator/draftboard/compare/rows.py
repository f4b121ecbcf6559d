"""Numbers side by side, each with the signal that says what it is."""

from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import partial

from draftboard.compare.objects import Group, Row, Value
from draftboard.compare.sides import Side, over
from draftboard.report import Latency
from draftboard.report.totals import LATENCIES
from draftboard.signals import Signal
from draftboard.signals.acceptance import acceptance, acceptance_length, coverage, draft_length, tokens_per_step
from draftboard.signals.capacity import kv_cache_usage, prefix_cache_hits
from draftboard.signals.economics import break_even, expected_speedup
from draftboard.signals.latency import step
from draftboard.signals.requests import request_rate, requests_running, requests_waiting
from draftboard.signals.signal import Better, Unit
from draftboard.signals.traffic import generation_tokens
from draftboard.signals.wording import worded

_SPECULATION = (acceptance, acceptance_length, break_even, draft_length, coverage, expected_speedup)
_TRAFFIC = (generation_tokens, request_rate, requests_running, requests_waiting, kv_cache_usage, prefix_cache_hits)


@dataclass(frozen=True)
class Figure:
    """What a row shows, where it is no signal, too."""

    name: str
    title: str
    unit: Unit
    better: Better
    words: Callable[[float], str]

    @classmethod
    def of(cls, signal: Signal) -> "Figure":
        """As a signal says it."""
        return cls(signal.name, signal.title, signal.unit, signal.better, partial(worded, signal))


def _plain(name: str, title: str, unit: Unit, digits: str) -> Figure:
    return Figure(name, title, unit, Better.NEITHER, lambda value: f"{value:{digits}}")


_BY_REQUEST = Figure(
    "acceptance_by_request",
    f"{acceptance.title} by request",
    acceptance.unit,
    acceptance.better,
    partial(worded, acceptance),
)
_IN_FLIGHT = _plain("requests_in_flight", "Requests in flight on average", Unit.REQUESTS, ".3g")
_PROMPT = _plain("prompt_length", "Mean prompt length", Unit.TOKENS, ",.0f")
_ANSWER = _plain("answer_length", "Mean answer length", Unit.TOKENS, ",.0f")
FIGURES = {
    figure.name: figure
    for figure in (
        *map(Figure.of, (*_SPECULATION, tokens_per_step, *_TRAFFIC)),
        *(_BY_REQUEST, _IN_FLIGHT, _PROMPT, _ANSWER),
        *(
            # A step that yields several tokens may well take longer.
            replace(Figure.of(said), better=Better.NEITHER) if each is step else Figure.of(said)
            for each, _ in LATENCIES.values()
            for said in (each.mean, each.p50, each.p95, each.p99)
        ),
    )
}
"""By name of the row."""


def groups(baseline: Side, candidate: Side) -> tuple[Group, ...]:
    """All that is known of at least one side."""
    found = (
        _speculation(baseline, candidate),
        *(_times(name, baseline, candidate) for name in LATENCIES),
        _traffic(baseline, candidate),
    )
    return tuple(group for group in found if group.rows)


def _speculation(baseline: Side, candidate: Side) -> Group:
    rows = [
        _row(
            signal.name, *(_known(getattr(side.model.speculation, signal.name, None)) for side in (baseline, candidate))
        )
        for signal in _SPECULATION
    ]
    by_request = (_known(side.model.acceptance_by_request) for side in (baseline, candidate))
    rows.insert(1, _row(_BY_REQUEST.name, *by_request))
    rows.append(
        _row(tokens_per_step.name, *(_known(side.model.traffic.tokens_per_step) for side in (baseline, candidate)))
    )
    return _group("Speculation", "drafts", (baseline.drafts, candidate.drafts), rows)


def _times(name: str, baseline: Side, candidate: Side) -> Group:
    said, _ = LATENCIES[name]
    first, second = (getattr(side.model.latency, name) for side in (baseline, candidate))
    rows = [_row(said.mean.name, _mean(first), _mean(second))]
    rows += [
        _row(getattr(said, part).name, _percentile(first, part), _percentile(second, part))
        for part in ("p50", "p95", "p99")
    ]
    counts = (first.count if first else None, second.count if second else None)
    return _group(said.title, "steps" if name == "step" else "requests", counts, rows)


def _traffic(baseline: Side, candidate: Side) -> Group:
    sides = (baseline, candidate)
    rows = [
        _row(name, *(_known(getattr(side.model.traffic, name)) for side in sides))
        for name in (*(signal.name for signal in _TRAFFIC), _PROMPT.name, _ANSWER.name)
    ]
    rows.insert(2, _row(_IN_FLIGHT.name, *(_known(side.in_flight) for side in sides)))
    counts = baseline.model.traffic.requests, candidate.model.traffic.requests
    return _group("Throughput and load", "requests", counts, rows)


def _group(title: str, counted: str, samples: tuple[float | None, float | None], rows: list[Row]) -> Group:
    return Group(
        title=title,
        counted=counted,
        baseline_samples=samples[0],
        candidate_samples=samples[1],
        rows=tuple(row for row in rows if _says(row.baseline) or _says(row.candidate)),
    )


def _row(name: str, baseline: Value, candidate: Value) -> Row:
    figure = FIGURES[name]
    difference = None
    if baseline.value is not None and candidate.value is not None:
        difference = candidate.value - baseline.value
    return Row(
        name=name,
        title=figure.title,
        unit=figure.unit.name.lower().replace("_", " "),
        better=figure.better.value,
        baseline=baseline,
        candidate=candidate,
        ratio=over(candidate.value, baseline.value),
        difference=difference,
    )


def _says(value: Value) -> bool:
    return value != Value(value=None)


def _known(value: float | None) -> Value:
    return Value(value=value)


def _mean(time: Latency | None) -> Value:
    return Value(value=time.mean if time else None)


def _percentile(time: Latency | None, part: str) -> Value:
    if time is None:
        return Value(value=None)
    estimate: float = getattr(time, part)
    return Value(value=estimate) if estimate else Value(value=None, under=time.resolution)
