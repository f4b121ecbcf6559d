"""The catalogue: every raw series that Draftboard reads, and the page: every one that a vLLM server exposes.

Names, labels, units, bounds and the version that first exports a series were read from vLLM's source and from the
`/metrics` page of a running vLLM 0.32.0; those of the GPU from dcgm-exporter's documentation. A selector is built from
an entry here and nowhere else, so a renamed series is mended in one place.
"""

from types import ModuleType

from draftboard.catalogue import around, latency, serving, speculation, unread
from draftboard.catalogue.metric import Histogram, Kind, Metric, Owner, Presence, Summary


def _in(*modules: ModuleType) -> tuple[Metric, ...]:
    return tuple(value for module in modules for value in vars(module).values() if isinstance(value, Metric))


CATALOGUE = _in(speculation, serving, latency, around)
"""What Draftboard reads."""
_ELSEWHERE = {Presence.PROMETHEUS, Presence.GPU_EXPORTER}
PAGE = tuple(metric for metric in (*CATALOGUE, *_in(unread)) if metric.presence not in _ELSEWHERE)
"""What vLLM 0.32 exposes at `/metrics` when nothing conditional is switched on, read or not."""

__all__ = [
    "CATALOGUE",
    "PAGE",
    "Histogram",
    "Kind",
    "Metric",
    "Owner",
    "Presence",
    "Summary",
    "around",
    "latency",
    "serving",
    "speculation",
    "unread",
]
