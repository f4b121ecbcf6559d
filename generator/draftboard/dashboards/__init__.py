"""Signals become Grafana dashboards: a table of contents for each, and the charts that it names.

The only package that imports grafanalib. grafanalib 0.7.1 is frozen and writes Grafana's schema of 2016; what leaves
this package is plain JSON of the current classic schema, without legacy keys.
"""

from draftboard.dashboards.charts import uid
from draftboard.dashboards.contents import DASHBOARDS
from draftboard.dashboards.dashboard import Dashboard
