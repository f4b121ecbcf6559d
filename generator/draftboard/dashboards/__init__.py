"""Signals become Grafana dashboards: a page is the table of contents of each, in `pages`.

grafanalib is imported by the module `grafana` alone. It writes Grafana's schema of 2016; what leaves this package has
no legacy keys.
"""

from collections.abc import Callable, Mapping
from functools import cache, lru_cache, partial

from draftboard.dashboards.context import uid
from draftboard.dashboards.document import Dashboard, build
from draftboard.dashboards.pages import PAGES
from draftboard.settings import Settings
from draftboard.signals import Edition


@lru_cache(maxsize=4)  # Files, rules of a tier and the list of signals read those of one or two settings.
def dashboards(settings: Settings, edition: Edition) -> Mapping[str, Callable[[], Dashboard]]:
    """The dashboards of an edition by uid, each built when it is first called for.

    Among those that read records, a page whose records the settings leave out reads raw series.
    """
    editions = {
        name: edition if edition is Edition.RAW or settings.rules.recorded_for(name) else Edition.RAW for name in PAGES
    }
    pages = {name: page for name, page in PAGES.items() if edition in page.editions}
    uids = {name: uid(name, editions[name]) for name in pages}
    return {
        uids[name]: cache(partial(build, name, page, settings, editions[name], uids)) for name, page in pages.items()
    }


def places(settings: Settings) -> dict[str, tuple[str, ...]]:
    """By signal name: where it is shown, as dashboard uid and panel title."""
    panels: dict[str, dict[str, None]] = {}
    for built in dashboards(settings, Edition.RECORDS).values():
        for signal, title in built().shows:
            panels.setdefault(signal, {})[f"{built().uid}: {title}"] = None
    return {signal: tuple(titles) for signal, titles in panels.items()}
