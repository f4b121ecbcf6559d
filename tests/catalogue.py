"""The catalogue's families as the series that a page exposes."""

from draftboard.metrics import CATALOGUE, Histogram, Kind, Metric, Summary


def parts(metric: Metric) -> list[Metric]:
    """What is exposed: of a histogram its three parts, of a summary two."""
    if isinstance(metric, Histogram):
        return [metric.bucket, metric.sum, metric.count]
    return [metric.sum, metric.count] if isinstance(metric, Summary) else [metric]


def series() -> list[str]:
    """Names of all series."""
    return [part.name for metric in CATALOGUE for part in parts(metric)]


def counters() -> list[str]:
    """Names of those that only rates mean anything of."""
    return [part.name for metric in CATALOGUE for part in parts(metric) if part.kind is Kind.COUNTER]
