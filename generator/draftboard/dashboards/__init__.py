"""One short module a dashboard: its table of contents."""

from draftboard.dashboards.capacity import capacity
from draftboard.dashboards.depth import depth
from draftboard.dashboards.latency import latency
from draftboard.dashboards.overview import overview

DASHBOARDS = (overview, depth, latency, capacity)

__all__ = ["DASHBOARDS"]
