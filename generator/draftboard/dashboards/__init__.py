"""Signals become Grafana dashboards: a table of contents for each, and the charts that it names.

grafanalib is imported here alone. It writes Grafana's schema of 2016; what leaves this package has no legacy keys.
"""

from draftboard.dashboards.charts import uid
from draftboard.dashboards.contents import DASHBOARDS, places
from draftboard.dashboards.dashboard import Dashboard
