"""The story of a replay: each model window by window, read from the records, in the words of the signals."""

from dataclasses import dataclass

from draftboard.replay.evaluate import Replay
from draftboard.replay.firing import Firing, firings
from draftboard.signals import Level, Scope, Signal
from draftboard.signals.acceptance import acceptance, acceptance_length, draft_length, tokens_per_step
from draftboard.signals.depth import survival
from draftboard.signals.economics import advice, best_k, break_even, expected_speedup, verdict
from draftboard.signals.state import state
from draftboard.signals.traffic import drafts

NUMBERS = (acceptance, acceptance_length, break_even, draft_length, tokens_per_step, expected_speedup, best_k)


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
    """Read the records at the end of every window."""
    window = replay.settings.rules.rate_window.seconds
    count = int((replay.end - replay.start) // window)
    times = [replay.start + window * number for number in range(1, count + 1)]
    models = _models(replay)
    chapters = tuple(Chapter(dict(model), tuple(_moment(replay, dict(model), at) for at in times)) for model in models)
    return Story(
        start=replay.start,
        end=replay.end,
        window=window,
        verify_inflation=replay.settings.draft_cost.verify_inflation,
        chapters=chapters,
        firings=tuple(firings(replay)),
    )


def _models(replay: Replay) -> list[tuple[tuple[str, str], ...]]:
    expr = Scope(replay.settings)(state)
    found = replay.client.query_range(expr, replay.start, replay.end, replay.step)
    return sorted({tuple(sorted(_without_name(series.labels).items())) for series in found})


def _moment(replay: Replay, model: dict[str, str], at: float) -> Moment:
    def value(signal: Signal) -> float | None:
        return _values(replay, model, signal, at).get("")

    code, told, advised = value(state), value(verdict), value(advice)
    by_position = _values(replay, model, survival, at)
    return Moment(
        at=at,
        state="unknown" if code is None else _says(state, code),
        drafts=(value(drafts) or 0.0) * replay.settings.rules.rate_window.seconds,
        numbers={signal.name: value(signal) for signal in NUMBERS},
        survival=tuple(by_position[position] for position in sorted(by_position, key=int)),
        verdict=None if told is None else verdict.step_of(told, replay.settings).says,
        advice=None if advised is None else _says(advice, advised),
    )


def _values(replay: Replay, model: dict[str, str], signal: Signal, at: float) -> dict[str, float]:
    """The signal's values for one model, by its own label, or by "" where it has none."""
    found = replay.client.query(Scope(replay.settings, Level.MODEL)(signal), at)
    own = signal.by[0] if signal.by else ""
    return {
        series.labels.get(own, ""): series.samples[0][1]
        for series in found
        if {name: text for name, text in _without_name(series.labels).items() if name != own} == model
    }


def _says(signal: Signal, value: float) -> str:
    return next(code.says for code in signal.codes if code.value == value)


def _without_name(labels: dict[str, str]) -> dict[str, str]:
    return {name: value for name, value in labels.items() if name != "__name__"}
