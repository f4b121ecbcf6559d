"""What vLLM says of speculation in its own log, as far as its printed digits tell."""

import re
from collections.abc import Sequence
from dataclasses import dataclass

_LINE = re.compile(
    r"SpecDecoding metrics: Mean acceptance length: (?P<length>[\d.]+), .*"
    r"Accepted: (?P<accepted>\d+) tokens, Drafted: (?P<drafted>\d+) tokens, "
    r"Per-position acceptance rate: (?P<positions>[\d., ]+), Avg Draft acceptance rate: (?P<acceptance>[\d.]+)%"
)
_LENGTH_DIGITS, _RATE_DIGITS = 0.005, 0.0005
"""Half of what the last printed digit is worth."""


@dataclass(frozen=True)
class Bounds:
    """A number that was printed rounded."""

    low: float
    high: float

    def __contains__(self, value: float) -> bool:
        return self.low <= value <= self.high


@dataclass(frozen=True)
class Line:
    """One line: what was counted since the line before."""

    length: float
    accepted: int
    drafted: int
    rates: tuple[float, ...]
    """By position: accepted tokens over drafts."""
    acceptance: float
    """Share of drafted tokens."""

    @property
    def drafts(self) -> Bounds:
        """1 + accepted / drafts is the printed length; and no draft is empty, none longer than K."""
        fewest = self.accepted / (self.length + _LENGTH_DIGITS - 1)
        least_length = self.length - _LENGTH_DIGITS - 1
        most = self.accepted / least_length if least_length > 0 else self.drafted
        return Bounds(max(fewest, self.drafted / len(self.rates)), min(most, self.drafted))

    def accepted_at(self, position: int) -> Bounds:
        """How many drafts were accepted at a position."""
        rate, drafts = self.rates[position], self.drafts
        return Bounds((rate - _RATE_DIGITS) * drafts.low, (rate + _RATE_DIGITS) * drafts.high)


def lines(log: str) -> list[Line]:
    """All lines of a log that speak of speculation."""
    return [
        Line(
            float(found["length"]),
            int(found["accepted"]),
            int(found["drafted"]),
            tuple(float(rate) for rate in found["positions"].split(", ")),
            float(found["acceptance"]) / 100,
        )
        for found in _LINE.finditer(log)
    ]


def total(bounds: Sequence[Bounds]) -> Bounds:
    """The sum of such numbers."""
    return Bounds(sum(each.low for each in bounds), sum(each.high for each in bounds))
