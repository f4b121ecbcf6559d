"""A percentile in words: no finer than the bucket that holds it."""

from draftboard.signals.signal import Signal, worded


def percentile_in_words(signal: Signal, estimate: float | None, lower: float | None, upper: float | None) -> str:
    """A percentile as exactly as its bucket tells it: a range where that is wide, a number where it is narrow."""
    if upper is None or (lower is None and estimate):
        return worded(signal, estimate)
    if lower == upper:
        return f"> {_bound(upper)}"
    if not lower:
        return f"< {_bound(upper)}"
    if estimate and upper - lower <= _NARROW * estimate:
        return worded(signal, estimate)
    return f"{_bound(lower, like=upper)} to {_bound(upper)}"


_NARROW = 0.2
"""A bucket is narrow if it is at most this share of the value wide."""


def _bound(seconds: float, like: float | None = None) -> str:
    """A bound of a bucket, which is exact; the unit is left to the upper one of a range."""
    is_short = (like or seconds) < 1
    text = f"{seconds * 1000:g}" if is_short else f"{seconds:g}"
    return text if like else f"{text} {'ms' if is_short else 's'}"
