"""Once servers run: what their pages, or a Prometheus, lack of what dashboards and rules read."""
