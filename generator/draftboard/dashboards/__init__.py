"""One short module a dashboard."""
DASHBOARDS = ()
