"""One short module a dashboard: its table of contents."""

from draftboard.dashboards.depth import depth
from draftboard.dashboards.overview import overview

DASHBOARDS = (overview, depth)

__all__ = ["DASHBOARDS"]
