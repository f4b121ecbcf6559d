"""Durations as Prometheus writes them: `15s`, `5m`, `1h30m`, `1d`."""

import re
from dataclasses import dataclass
from functools import total_ordering

_UNITS = {"w": 604_800, "d": 86_400, "h": 3_600, "m": 60, "s": 1}
_PATTERN = re.compile(r"(?:(\d+)w)?(?:(\d+)d)?(?:(\d+)h)?(?:(\d+)m)?(?:(\d+)s)?")


@total_ordering
@dataclass(frozen=True)
class Duration:
    """A whole number of seconds that prints in Prometheus' notation, largest units first."""

    seconds: int

    @classmethod
    def parse(cls, text: str) -> "Duration":
        """Read Prometheus' notation.

        Raises:
            ValueError: the text is not a duration of whole seconds, units from weeks down to seconds.
        """
        match = _PATTERN.fullmatch(text)
        if match is None or not text:
            raise ValueError("must be a duration such as 15s, 5m, 1h30m or 1d")
        return cls(sum(int(n) * size for n, size in zip(match.groups(), _UNITS.values(), strict=True) if n))

    def __str__(self) -> str:
        """Weeks are written as days: `7d` is what people type."""
        parts, rest = [], self.seconds
        for unit in ("d", "h", "m", "s"):
            count, rest = divmod(rest, _UNITS[unit])
            if count:
                parts.append(f"{count}{unit}")
        return "".join(parts) or "0s"

    def __lt__(self, other: "Duration") -> bool:
        return self.seconds < other.seconds

    def __mul__(self, factor: int) -> "Duration":
        return Duration(self.seconds * factor)
