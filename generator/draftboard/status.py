"""What a value means; colours are chosen from it, never beside it."""

from enum import Enum


class Status(Enum):
    """From bad to best, and what is neither; a server that does not work is bad in its own way."""

    DOWN = "down"
    HUNG = "hung"
    STUCK = "stuck"
    BAD = "bad"
    WARN = "warn"
    GOOD = "good"
    BEST = "best"
    ODD = "odd"
    QUIET = "quiet"
    OFF = "off"
    STARTING = "starting"
    NEUTRAL = "neutral"
