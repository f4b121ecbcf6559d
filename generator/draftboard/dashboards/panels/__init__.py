"""The kinds of panel."""

from draftboard.dashboards.panels.charts import bar_chart, bars, distributions, heatmap, scatter
from draftboard.dashboards.panels.graphs import failures, percentile, percentiles, totals, trend, trends
from draftboard.dashboards.panels.notes import note, paragraph
from draftboard.dashboards.panels.panel import Built, Panel
from draftboard.dashboards.panels.stats import stat, tiles, wall
from draftboard.dashboards.panels.tables import firing_alerts, listing, table
from draftboard.dashboards.panels.timelines import timeline, worst_first
