"""Signals become Grafana dashboards.

The only package that imports grafanalib. grafanalib 0.7.1 is frozen and emits Grafana's schema of 2016; what leaves
this package is plain JSON of the current classic schema, with nothing legacy in it.
"""

from draftboard.grafana.page import Dashboard, Page

__all__ = ["Dashboard", "Page"]
