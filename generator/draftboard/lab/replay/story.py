"""A replay as data: each model window by window, read from the records, and the alerts."""

import math
from collections import defaultdict
from dataclasses import dataclass

from draftboard.lab.replay.evaluate import Replay
from draftboard.lab.replay.firing import Firing, firings
from draftboard.output import Described
from draftboard.settings import Settings
from draftboard.signals import Scope, Signal
from draftboard.signals.acceptance import acceptance, acceptance_length, draft_length, tokens_per_step
from draftboard.signals.depth import survival
from draftboard.signals.economics import advice, best_k, break_even, expected_speedup, verdict
from draftboard.signals.latency import end_to_end, first_token, per_token, step
from draftboard.signals.requests import request_rate, requests_waiting
from draftboard.signals.state import state
from draftboard.signals.traffic import drafts
from draftboard.signals.users import measured_speedup

MOST_MOMENTS = 60
SPEEDUP = (acceptance_length, break_even, expected_speedup, measured_speedup)
DEPTH = (acceptance, draft_length, tokens_per_step, best_k)
LATENCY = (request_rate, requests_waiting, first_token.mean, per_token.mean, step.mean, end_to_end.mean, end_to_end.p99)
_NUMBERS = (*SPEEDUP, *DEPTH, *LATENCY)
_Model = tuple[tuple[str, str], ...]
_Read = dict[tuple[str, float, _Model], dict[str, float]]
"""By signal, time and model; within by the value of the signal's own label, or by "" where it has none."""


@dataclass(frozen=True)
class Moment(Described):
    """A model over the window that ends `at` (Unix seconds). A number without a sample is null: the state says why."""

    at: float
    state: str
    drafts: float
    """Drafts in the window: the size of the sample."""
    numbers: dict[str, float | None]
    """By signal; shares from 0 to 1, times in seconds."""
    survival: tuple[float, ...]
    """By position: share of drafts accepted at least so deep."""
    verdict: str | None
    advice: str | None
    slower: bool
    """Whether the measured time per output token is above the baseline's, whatever the verdict expects."""


@dataclass(frozen=True)
class Chapter(Described):
    """One model, by its labels, in the order of time."""

    model: dict[str, str]
    moments: tuple[Moment, ...]


@dataclass(frozen=True)
class Story(Described):
    """All models, and the alerts that would have fired; times are Unix seconds, the window is in seconds."""

    start: float
    end: float
    window: float
    verify_inflation: float
    chapters: tuple[Chapter, ...]
    firings: tuple[Firing, ...]
    schema_version: int = 1
    """Grows whenever a field is removed or its meaning changes."""


def tell(replay: Replay) -> Story:
    """Read the records at the end of every window; of a long recording, at the end of some."""
    settings = replay.settings
    window = settings.rules.rate_window.seconds
    stride = window * max(1, math.ceil((replay.end - replay.start) / window / MOST_MOMENTS))
    times = [replay.start + stride * number for number in range(1, int((replay.end - replay.start) // stride) + 1)]
    read: _Read = defaultdict(dict)
    for signal in (*_NUMBERS, drafts, survival, state, verdict, advice) if times else ():
        own = signal.by[0] if signal.by else ""
        for series in replay.client.query_range(Scope(settings)(signal), times[0], times[-1], stride):
            model = tuple(sorted((name, text) for name, text in series.labels.items() if name not in {"__name__", own}))
            for at, value in series.samples:
                nearest = times[round((at - times[0]) / stride)]
                read[signal.name, nearest, model][series.labels.get(own, "")] = value
    models = sorted({model for name, _, model in read if name == state.name})
    chapters = tuple(
        Chapter(dict(model), tuple(_moment(settings, read, at, model) for at in times)) for model in models
    )
    inflation = settings.draft_cost.verify_inflation
    return Story(replay.start, replay.end, window, inflation, chapters, tuple(firings(replay)))


def _moment(settings: Settings, read: _Read, at: float, model: _Model) -> Moment:
    def value(signal: Signal) -> float | None:
        return read[signal.name, at, model].get("")

    def words(signal: Signal) -> str | None:
        return next((code.says for code in signal.codes if code.value == value(signal)), None)

    judged, measured = value(verdict), value(measured_speedup)
    by_position = read[survival.name, at, model]
    return Moment(
        at=at,
        state=words(state) or "unknown",
        drafts=(value(drafts) or 0.0) * settings.rules.rate_window.seconds,
        numbers={signal.name: value(signal) for signal in _NUMBERS},
        survival=tuple(by_position[position] for position in sorted(by_position, key=int)),
        verdict=None if judged is None else verdict.step_of(judged, settings).says,
        advice=words(advice),
        slower=measured is not None and measured < settings.thresholds.slower,
    )
