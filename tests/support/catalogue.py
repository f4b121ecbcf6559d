"""The catalogue's families as the series that a page exposes."""

from draftboard.catalogue import CATALOGUE, Kind


def series() -> list[str]:
    """Names of all series."""
    return [part.name for metric in CATALOGUE for part in metric.parts]


def counters() -> list[str]:
    """Names of those that only rates mean anything of."""
    return [part.name for metric in CATALOGUE for part in metric.parts if part.kind is Kind.COUNTER]
