"""A wall: the totals, then a row of tiles for each model."""

from draftboard.dashboards.page import Page, row
from draftboard.dashboards.panels import tiles, wall
from draftboard.dashboards.summary import summary
from draftboard.signals import Edition, capacity, health, latency, requests, standings

PAGE = Page(
    question="Is every model healthy? For a wall screen: open it with ?kiosk.",
    # A wall of standings, which only the rules know.
    editions=(Edition.RECORDS,),
    rows=(
        row(
            "",
            *summary(8, 7, 6, large=True),
            tiles(standings.data_age.title, standings.data_age, width=3, large=True),
            *wall(
                *(health.standing, latency.per_token.p99, capacity.kv_cache_usage, requests.requests_waiting),
                widths=(11, 5, 4, 4),
                height=22,
            ),
        ),
    ),
)
