"""Effect of a change: figures before and after it, in batches of the same sizes.

Each size with enough windows on both sides gives a ratio; its weight is its decode steps after the change. At an equal
request rate a batch that changed is what the change did, as sooner answers empty it: then sizes are one.
"""

import math
from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import replace
from statistics import fmean

from draftboard.history.result import Effect
from draftboard.history.runs import Load, Window
from draftboard.intervals import LEAST, Ratio, geometric_mean
from draftboard.signals import acceptance, requests, traffic
from draftboard.signals.latency import per_token
from draftboard.signals.signal import Signal
from draftboard.signals.steps import pure_step_time_by_batch, step_time_by_batch

Sums = Callable[[Window], tuple[float, float]]  # What a window adds above and below the line.
_Parts = list[tuple[float, float]]


def steps_of(window: Window) -> float:
    """Decode steps per second."""
    return window.figures.get(traffic.decode_steps.name, 0.0)


def drafts_of(window: Window) -> float:
    """Drafts per second."""
    return window.figures.get(traffic.drafts.name, 0.0)


def length(window: Window) -> tuple[float, float]:
    """Tokens of speculative steps over drafts."""
    drafts = drafts_of(window)
    return window.figures.get(acceptance.acceptance_length.name, 0.0) * drafts, drafts


def latency_of(step: Signal) -> Sums:
    """Time of decode steps over their number."""

    def sums(window: Window) -> tuple[float, float]:
        steps = _timed(window, step)
        return window.figures.get(step.name, 0.0) * steps, steps

    return sums


def speed_of(step: Signal) -> Sums:
    """Tokens of decode steps over their time."""

    def sums(window: Window) -> tuple[float, float]:
        tokens = window.figures.get(acceptance.tokens_per_step.name, 0.0) * (steps := _timed(window, step))
        return tokens, window.figures.get(step.name, 0.0) * steps

    return sums


def time_per_token(window: Window) -> tuple[float, float]:
    """Times per output token over finished requests; over tokens, where an engine counts no requests."""
    known = per_token.mean.name in window.figures
    generated = window.figures.get(traffic.generation_tokens.name, 0.0)
    samples = window.figures.get(requests.request_rate.name, generated) if known else 0.0
    return window.figures.get(per_token.mean.name, 0.0) * samples, samples


def _timed(window: Window, step: Signal) -> float:
    return steps_of(window) if step.name in window.figures else 0.0


def like_loads(before: Sequence[Window], after: Sequence[Window]) -> tuple[Load, ...]:
    """Loads with enough windows on both sides."""
    counts = [Counter(window.load for window in side if window.load) for side in (before, after)]
    return tuple(sorted(load for load in counts[0] if min(one[load] for one in counts) >= LEAST))


def of_any_batch(before: Sequence[Window], after: Sequence[Window], tolerance: float) -> list[list[Window]]:
    """Both sides with all batches as one, where as many requests came a second; else without windows."""
    name, sides = requests.request_rate.name, (before, after)
    rates = [[window.figures[name] for window in side if name in window.figures] for side in sides]
    if not all(rates) or not math.isclose(*map(fmean, rates), rel_tol=tolerance):
        return [[], []]
    return [[replace(window, load=window.load._replace(batch=0)) for window in side if window.load] for side in sides]


def step_signal(before: Sequence[Window], after: Sequence[Window], loads: Sequence[Load]) -> Signal:
    """The step latency to compare: of pure decode steps where both sides have it at all loads."""
    pure = [[window for window in side if pure_step_time_by_batch.name in window.figures] for side in (before, after)]
    return pure_step_time_by_batch if loads and set(loads) <= set(like_loads(*pure)) else step_time_by_batch


def effect(sums: Sums, before: Sequence[Window], after: Sequence[Window], loads: Sequence[Load]) -> Effect | None:
    """The change of a figure, over the loads with enough windows on both sides."""
    pairs = {load: (_parts(sums, before, load), _parts(sums, after, load)) for load in loads}
    known = {load: pair for load, pair in pairs.items() if all(pair)}
    if not known:
        return None
    steps = {load: sum(steps_of(window) for window in after if window.load == load) for load in known}
    weights = {load: own / sum(steps.values()) for load, own in steps.items()}
    old, new = (
        math.exp(sum(weights[load] * math.log(_ratio(pair[side])) for load, pair in known.items())) for side in (0, 1)
    )
    ratios = [(Ratio.of(pair[1]), Ratio.of(pair[0]), weights[load]) for load, pair in known.items()]
    combined = geometric_mean([(after, before, weight) for after, before, weight in ratios if after and before])
    return Effect(before=old, after=new, ratio=new / old, low=combined.low, high=combined.high)


def _parts(sums: Sums, windows: Sequence[Window], load: Load) -> _Parts:
    """One for each window; empty with fewer than LEAST."""
    counted = [pair for pair in (sums(window) for window in windows if window.load == load) if all(pair)]
    return counted if len(counted) >= LEAST else []


def _ratio(parts: _Parts) -> float:
    return sum(above for above, _ in parts) / sum(below for _, below in parts)
