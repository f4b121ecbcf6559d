"""The pages: a module each, which holds its `PAGE`. This is the only list of them."""

from draftboard.dashboards.page import Page
from draftboard.dashboards.pages import capacity, compare, depth, essentials, fleet, latency, overview, status

PAGES: dict[str, Page] = {
    module.__name__.rpartition(".")[2]: module.PAGE
    for module in (overview, compare, fleet, status, depth, latency, capacity, essentials)
}
"""By name, in the order in which they are listed everywhere."""
