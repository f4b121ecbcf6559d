"""A wall: the totals, then a row of tiles for each of the worst models."""

from draftboard.dashboards.page import Page, row
from draftboard.dashboards.panels import not_on_the_wall, tiles, wall
from draftboard.dashboards.summary import summary
from draftboard.signals import Edition, capacity, causes, health, latency, next_steps, overview, requests

_MODELS, _, _ALERTS = summary(11, 0, 9, large=True)

PAGE = Page(
    question="Is every model healthy? For a wall screen: open it with ?kiosk.",
    # A wall of health, which only the rules know.
    editions=(Edition.RECORDS,),
    rows=(
        row(
            "",
            *(_MODELS, _ALERTS),
            tiles(overview.data_age.title, overview.data_age, width=4, large=True),
            *wall(
                *(health.health, health.health_age, next_steps.next_step, causes.health_cause),
                *(latency.per_token.mean, capacity.kv_cache_usage, requests.requests_waiting),
                widths=(7, 2, 4, 3, 3, 2, 3),
                height=20,
            ),
            not_on_the_wall(width=24),
        ),
    ),
)
