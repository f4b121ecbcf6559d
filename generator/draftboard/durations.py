"""Durations in Prometheus' notation (`15s`, `5m`, `1h30m`, `1d`), and times on a command line (`now-6h`)."""

import re
from dataclasses import dataclass
from datetime import UTC, datetime

_UNITS = {"w": 604_800, "d": 86_400, "h": 3_600, "m": 60, "s": 1}
_PATTERN = re.compile("".join(rf"(?:(\d+){unit})?" for unit in _UNITS))
_RELATIVE = re.compile(r"now(?:-(\w+))?")
LATEST = 4_102_444_800  # Unix seconds: the year 2100.


@dataclass(frozen=True, order=True)
class Duration:
    """A whole number of seconds that prints in Prometheus' notation, largest units first."""

    seconds: int

    @classmethod
    def parse(cls, text: str) -> "Duration":
        """Read Prometheus' notation, from weeks to seconds; ValueError where the text is not a duration."""
        match = _PATTERN.fullmatch(text)
        if match is None or not text:
            raise ValueError("must be a duration such as 15s, 5m, 1h30m or 1d")
        return cls(sum(int(n) * size for n, size in zip(match.groups(), _UNITS.values(), strict=True) if n))

    def __str__(self) -> str:
        """Weeks are written as days: `7d`."""
        parts, rest = [], self.seconds
        for unit in ("d", "h", "m", "s"):
            count, rest = divmod(rest, _UNITS[unit])
            parts += [f"{count}{unit}"] if count else []
        return "".join(parts) or "0s"

    def __add__(self, other: "Duration") -> "Duration":
        return Duration(self.seconds + other.seconds)

    def __mul__(self, factor: int) -> "Duration":
        return Duration(self.seconds * factor)

    def __floordiv__(self, divisor: int) -> "Duration":
        return Duration(self.seconds // divisor)

    def at_least(self, least: "Duration") -> "Duration":
        """This duration, or `least` if that is longer."""
        return max(self, least)


WEEK = Duration(7 * 86_400)
READING = Duration(30)  # Default sampling window of servers.


def minute(at: float) -> str:
    """A time in Unix seconds, as people read it."""
    return datetime.fromtimestamp(at, UTC).strftime("%Y-%m-%d %H:%M UTC")


def moment(text: str, now: float) -> float:
    """Unix seconds of `now-6h`, Unix seconds, or ISO 8601 (UTC by default), from 1970 to 2100; else ValueError."""
    try:
        if relative := _RELATIVE.fullmatch(text):
            seconds = now - (Duration.parse(relative[1]).seconds if relative[1] else 0)
        elif re.fullmatch(r"\d+(\.\d+)?", text):
            seconds = float(text)
        else:
            given = datetime.fromisoformat(text)
            seconds = (given if given.tzinfo else given.replace(tzinfo=UTC)).timestamp()
    except (ValueError, OverflowError):
        seconds = -1
    if not 0 <= seconds < LATEST:
        raise ValueError("is not a time; write now-6h, Unix seconds, or 2026-05-01T12:00:00")
    return seconds
