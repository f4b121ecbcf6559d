"""What a value means; colours are chosen from it, never beside it."""

from enum import Enum


class Status(Enum):
    """From bad to best, and what is neither."""

    BAD = "bad"
    WARN = "warn"
    GOOD = "good"
    BEST = "best"
    ODD = "odd"
    QUIET = "quiet"
    NEUTRAL = "neutral"
