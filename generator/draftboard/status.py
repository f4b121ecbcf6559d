"""The meaning of a value, from which every colour is chosen: in states, tiles and alerts alike.

Three of them say how bad it is: failing (BAD; DOWN where servers do not answer), degraded (DUE), and worth watching
(WARN). Who is called, and how soon, the severity of an alert says.
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
