"""The kinds of panel."""

from draftboard.dashboards.panels.charts import bar_chart, bars, scatter, variant_bars
from draftboard.dashboards.panels.first import needs_first, next_first, who_first
from draftboard.dashboards.panels.graphs import failures, measured_or_expected, ranges, together, totals, trend, trends
from draftboard.dashboards.panels.notes import note, paragraph
from draftboard.dashboards.panels.panel import Built, Panel
from draftboard.dashboards.panels.stats import not_on_the_wall, stat, tiles, wall
from draftboard.dashboards.panels.tables import firing_alerts, listing, percentile_table, table
from draftboard.dashboards.panels.timelines import timeline, worst_first
