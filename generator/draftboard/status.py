"""The meaning of a value, from which every colour is chosen: in states, tiles and alerts alike.

Three of them say how soon somebody must act: now (BAD; DOWN where nothing serves), today (DUE), and when there is time
(WARN).
"""

from enum import Enum


class Status(Enum):
    """From bad to best, and what is neither."""

    DOWN = "down"
    BAD = "bad"
    DUE = "due"
    WARN = "warn"
    GOOD = "good"
    BEST = "best"
    ODD = "odd"
    QUIET = "quiet"
    OFF = "off"
    STARTING = "starting"
    NEUTRAL = "neutral"
