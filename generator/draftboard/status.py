"""The meaning of a value, from which every colour is chosen."""

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
