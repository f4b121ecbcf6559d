"""The catalogue: every raw series that Draftboard reads.

Entries follow vLLM's source and the `/metrics` page of a running vLLM 0.32.0; those of the GPU, dcgm-exporter's
documentation; those of the monitoring, pages of Prometheus, Alertmanager and node-exporter. A selector is built from an
entry here and nowhere else.
"""

from draftboard.catalogue import around, latency, lens, probe, serving, speculation, unread
from draftboard.catalogue.metric import ELSEWHERE, OLDEST, RECORDED, Histogram, Kind, Metric, Owner, Presence

CATALOGUE = tuple(
    metric
    for module in (speculation, serving, latency, probe, lens, around)
    for metric in vars(module).values()
    if isinstance(metric, Metric)
)
