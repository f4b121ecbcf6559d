"""The story of a replay: each model window by window, read from the records, in the words of the signals."""

import math
from dataclasses import dataclass

from draftboard.lab.replay.evaluate import Replay
from draftboard.lab.replay.firing import Firing, firings
from draftboard.signals import Scope, Signal
from draftboard.signals.acceptance import acceptance, acceptance_length, draft_length, tokens_per_step
from draftboard.signals.decisions import advice, state, verdict
from draftboard.signals.depth import survival
from draftboard.signals.economics import best_k, break_even, expected_speedup
from draftboard.signals.latency import end_to_end, first_token, per_token, step
from draftboard.signals.requests import request_rate, requests_waiting
from draftboard.signals.traffic import drafts
from draftboard.signals.users import measured_speedup

MOST_MOMENTS = 60
JUDGED_BY = (acceptance_length, break_even, expected_speedup, measured_speedup)
IN_DEPTH = (acceptance, draft_length, tokens_per_step, best_k)
FELT = (request_rate, requests_waiting, first_token.mean, per_token.mean, step.mean, end_to_end.mean, end_to_end.p99)
NUMBERS = (*JUDGED_BY, *IN_DEPTH, *FELT)

_Model = tuple[tuple[str, str], ...]


@dataclass(frozen=True)
class Moment:
    """A model over the window that ends `at` (Unix seconds). What has no sample is None: the state says why."""

    at: float
    state: str
    drafts: float
    """Drafts in the window: the size of the sample."""
    numbers: dict[str, float | None]
    survival: tuple[float, ...]
    verdict: str | None
    advice: str | None
    slower: bool
    """Whether users are measured to wait longer than the baseline's, whatever the verdict expects."""


@dataclass(frozen=True)
class Chapter:
    """One model, in the order of time."""

    model: dict[str, str]
    moments: tuple[Moment, ...]


@dataclass(frozen=True)
class Story:
    """All models, and the alerts that would have fired."""

    start: float
    end: float
    window: float
    verify_inflation: float
    chapters: tuple[Chapter, ...]
    firings: tuple[Firing, ...]


def tell(replay: Replay) -> Story:
    """Read the records at the end of every window; of a long recording, at the end of some."""
    window = replay.settings.rules.rate_window.seconds
    stride = window * max(1, math.ceil((replay.end - replay.start) / window / MOST_MOMENTS))
    count = int((replay.end - replay.start) // stride)
    times = [replay.start + stride * number for number in range(1, count + 1)]
    read = {
        signal.name: _read(replay, signal, times) for signal in (*NUMBERS, drafts, survival, state, verdict, advice)
    }
    models = sorted({model for values in read[state.name].values() for model in values})
    chapters = tuple(
        Chapter(
            dict(model),
            tuple(_moment(replay, {name: read[name][at].get(model, {}) for name in read}, at) for at in times),
        )
        for model in models
    )
    return Story(
        start=replay.start,
        end=replay.end,
        window=window,
        verify_inflation=replay.settings.draft_cost.verify_inflation,
        chapters=chapters,
        firings=tuple(firings(replay)),
    )


def _read(replay: Replay, signal: Signal, times: list[float]) -> dict[float, dict[_Model, dict[str, float]]]:
    """The signal's values by time, by model, and by its own label, or by "" where it has none."""
    own = signal.by[0] if signal.by else ""
    values: dict[float, dict[_Model, dict[str, float]]] = {at: {} for at in times}
    if not times:
        return values
    step = times[1] - times[0] if len(times) > 1 else 1.0
    for series in replay.client.query_range(Scope(replay.settings)(signal), times[0], times[-1], step):
        model = tuple(sorted((name, text) for name, text in series.labels.items() if name not in {"__name__", own}))
        for at, value in series.samples:
            nearest = times[round((at - times[0]) / step)]
            values[nearest].setdefault(model, {})[series.labels.get(own, "")] = value
    return values


def _moment(replay: Replay, values: dict[str, dict[str, float]], at: float) -> Moment:
    def value(signal: Signal) -> float | None:
        return values[signal.name].get("")

    code, told, advised = value(state), value(verdict), value(advice)
    by_position, measured = values[survival.name], value(measured_speedup)
    return Moment(
        at=at,
        state="unknown" if code is None else _says(state, code),
        drafts=(value(drafts) or 0.0) * replay.settings.rules.rate_window.seconds,
        numbers={signal.name: value(signal) for signal in NUMBERS},
        survival=tuple(by_position[position] for position in sorted(by_position, key=int)),
        verdict=None if told is None else verdict.step_of(told, replay.settings).says,
        advice=None if advised is None else _says(advice, advised),
        slower=measured is not None and measured < replay.settings.thresholds.slower,
    )


def _says(signal: Signal, value: float) -> str:
    return next(code.says for code in signal.codes if code.value == value)
