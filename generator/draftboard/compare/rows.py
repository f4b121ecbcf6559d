"""Numbers side by side, each with the signal that defines it."""

from dataclasses import replace

from draftboard.compare.objects import Group, Row, Value
from draftboard.compare.sides import Side, Sides, over
from draftboard.evidence import Range
from draftboard.intervals import Estimate, Ratio
from draftboard.report import BY_COSTS, range_of
from draftboard.signals import Signal
from draftboard.signals.acceptance import acceptance, acceptance_length, coverage, draft_length, tokens_per_step
from draftboard.signals.capacity import batch, kv_cache_usage, prefix_cache_hits
from draftboard.signals.economics import expected_speedup, needed_per_step
from draftboard.signals.latency import FELT
from draftboard.signals.percentiles import percentile_in_words
from draftboard.signals.requests import request_rate, requests_running, requests_waiting
from draftboard.signals.signal import Better, Unit, worded
from draftboard.signals.traffic import generation_tokens

_DRAFTING = (acceptance, acceptance_length, draft_length, coverage, needed_per_step, expected_speedup)
_BY_REQUEST = replace(acceptance, name="acceptance_by_request", title=f"{acceptance.title} by request")
_LOAD = (generation_tokens, request_rate, requests_running, requests_waiting, batch, kv_cache_usage, prefix_cache_hits)
_RATE = replace(request_rate, name="request_rate_per_engine", title=f"{request_rate.title} per engine")
_IN_FLIGHT = replace(requests_running, name="requests_in_flight", title="Requests in flight per engine, on average")
_LENGTHS = tuple(
    replace(_IN_FLIGHT, name=f"{what}_length", title=f"Mean {what} length", unit=Unit.TOKENS, decimals=0)
    for what in ("prompt", "answer")
)
_Rows = tuple[tuple[Signal, str], ...]  # Signals, each with the path of its value in a side.


def _of_time(name: str) -> _Rows:
    rows = [(getattr(FELT[name], part), f"model.latency.{name}.{part}") for part in ("mean", "p50", "p95", "p99")]
    # A step that yields several tokens may well take longer.
    return tuple((replace(signal, better=Better.NEITHER) if name == "step" else signal, path) for signal, path in rows)


_drafting: _Rows = tuple((signal, f"model.speculation.{signal.name}") for signal in _DRAFTING)
_more: _Rows = ((_BY_REQUEST, "model.acceptance_by_request"), (tokens_per_step, "model.traffic.tokens_per_step"))
_load: _Rows = tuple((signal, f"model.traffic.{signal.name}") for signal in (*_LOAD, *_LENGTHS))
_GENERATED = "model.traffic.generated"
_GROUPS: dict[str, tuple[str, str, _Rows]] = {
    "Speculation": ("drafts", "drafts", _drafting + _more),
    **{
        of.title: ("steps" if name == "step" else "requests", f"model.latency.{name}.count", _of_time(name))
        for name, of in FELT.items()
    },
    "Throughput and load": (
        "requests",
        "model.traffic.requests",
        (*_load, (_RATE, "request_rate"), (_IN_FLIGHT, "requests_in_flight")),
    ),
}
"""By title: what is counted, the path of the count, and the rows."""
SIGNALS = {signal.name: signal for *_, rows in _GROUPS.values() for signal, _ in rows}  # By name of the row.


def groups(sides: Sides) -> tuple[Group, ...]:
    """Groups of the numbers that at least one side has."""
    compared = []
    for title, (counted, samples, signals) in _GROUPS.items():
        rows = [_row(signal, path, sides) for signal, path in signals]
        known = tuple(row for row in rows if {row.baseline, row.candidate} != {Value(value=None)})
        sample = sides[0].sample if counted == "requests" else counted
        before, after = (side.at(_GENERATED if sample == "tokens" else samples) for side in sides)
        compared.append(
            Group(title=title, counted=sample, baseline_samples=before, candidate_samples=after, rows=known)
        )
    return tuple(group for group in compared if group.rows)


def _row(signal: Signal, path: str, sides: Sides) -> Row:
    baseline, candidate = (_value(side, signal, path) for side in sides)
    before, after = baseline.value, candidate.value
    return Row(
        name=signal.name,
        title=signal.title,
        unit=signal.unit.name.lower().replace("_", " "),
        better=signal.better.value,
        baseline=baseline,
        candidate=candidate,
        ratio=over(after, before) if apart(baseline, candidate) else None,
        difference=None if before is None or after is None else after - before,
        interval=_change(signal, *(side.ratios.get(signal.name) for side in sides)),
    )


def apart(one: Value, other: Value) -> bool:
    """Whether two values differ by more than the bucket that both may lie in; numbers that are no percentiles do."""
    if one.least is None or one.most is None or other.least is None or other.most is None:
        return True
    return one.most <= other.least or other.most <= one.least


def _value(side: Side, signal: Signal, path: str) -> Value:
    """With its interval; of a number that rests on costs the range that a report has in its place."""
    assumed = side.model.speculation.assumed if side.model.speculation else None
    if assumed and signal in BY_COSTS:
        found = range_of(signal, assumed)
        return Value(value=None, low=found.low, high=found.high, rests_on=assumed.basis) if found else Value(value=None)
    value, ratio = value_of(side, path), side.ratios.get(signal.name)
    return replace(value, low=ratio.estimate.low, high=ratio.estimate.high) if ratio else value


def _change(signal: Signal, before: Ratio | None, after: Ratio | None) -> Estimate | None:
    if before is None or after is None:
        return None
    return after.less(before) if signal.unit is Unit.RATIO else after.over(before)


def value_of(side: Side, path: str) -> Value:
    """A number of a side by its path; a percentile of 0 is below the histogram's resolution."""
    value, (whole, _, part) = side.at(path), path.rpartition(".")
    if part not in {"p50", "p95", "p99"}:
        return Value(value=value)
    bucket = Value(value=value, least=side.at(f"{path}_from"), most=side.at(f"{path}_to"))
    return replace(bucket, value=None, under=side.at(f"{whole}.resolution")) if value == 0 else bucket


def in_words(row: Row, value: Value) -> str:
    """A value of the row with its unit and interval."""
    signal = SIGNALS[row.name]
    if value.rests_on and value.low is not None and value.high is not None:
        return f"{Range(value.low, value.high)} ({value.rests_on})"
    if value.under is not None or value.most is not None:
        return percentile_in_words(signal, value.value, value.least, value.most or value.under)
    bounds = f" ({worded(signal, value.low)} to {worded(signal, value.high)})" if value.low is not None else ""
    return worded(signal, value.value) + bounds
