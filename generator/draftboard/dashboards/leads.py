"""Where a panel leads: to the page that explains what it shows, for the same model or engine."""

from collections.abc import Collection, Iterable, Mapping, Sequence
from typing import Any

from draftboard.dashboards.labels import label_replace
from draftboard.dashboards.lines import RANK
from draftboard.expr import promql
from draftboard.settings import Settings
from draftboard.signals import FAMILIES, Signal, next_steps
from draftboard.signals.health import HEALTH, health

PAGE = "page"
"""Label that holds the uid of the page that explains a model's health."""
OF_EACH_ROW = (health, next_steps.next_step)
OF_K = "depth"
_OF_FAMILIES = {"speculation": OF_K, "requests": "capacity", "verdict": "fleet", "overview": "compare"}
_SERVERS, _USERS, _FIRST = "fleet", "latency", "overview"
_OF_HEALTH = {
    "gone": _USERS,  # It has no engine left to list; its past is there.
    **dict.fromkeys(("down", "servers down", "stuck", "no drafter", "unclear", "silent"), _SERVERS),
    **dict.fromkeys(("few drafts", "idle", "off", "starting"), _SERVERS),
    **dict.fromkeys(("requests fail", "critical", "warning"), _USERS),
    "users wait": "capacity",
    **dict.fromkeys(("costs more", "not drafting", "about even", "pays", "not measured"), "depth"),
}


OF_PAGES = {
    **{page: page for page in (_USERS, _FIRST, "capacity")},
    _SERVERS: "servers",
    OF_K: "drafts",
    "compare": "comparison",
}
"""What a page shows of what it is opened for."""
OF_ITS_PAGE = "Open the explanation"
"""Of a link that leads to one page or another."""


def words() -> dict[str, Any]:
    """A mapping of each health to the page that a button opens."""
    texts = {
        str(HEALTH[row].value): {"text": OF_PAGES[page], "index": HEALTH[row].value} for row, page in _OF_HEALTH.items()
    }
    return {"type": "value", "options": texts}


def of_signal(signal: Signal, page: str, pages: Iterable[str]) -> tuple[str, str]:
    """The page that explains a signal, and what a link to it says; from that page itself the first one."""
    family = next((name for name, family in FAMILIES.items() if signal in family), "")
    led = _OF_FAMILIES.get(family, _USERS)
    led = led if led != page and led in set(pages) else _FIRST
    return led, f"Open {OF_PAGES[led]}"


def of_series(uid: str, says: str, labels: Collection[str], settings: Settings) -> list[dict[str, Any]]:
    """A link from a series to a page on what has its labels, in which an absent one is empty."""
    chosen = [f"var-{one}=${{__field.labels.{one}:percentencode}}" for one in settings.labels.filters if one in labels]
    address = "&".join((f"/d/{uid}?${{__url_time_range}}&var-datasource=${{datasource}}", *chosen))
    name = settings.labels.model_name
    whose = f" of ${{__field.labels.{name}}}" if name in labels else ""
    return [{"title": f"{says}{whose}", "url": address}]


def with_page(health: str, labels: Sequence[str], uids: Mapping[str, str]) -> str:
    """The health of models, each with the uid of the page that explains it in a label."""
    codes: dict[str, list[int]] = {}
    for row, page in _OF_HEALTH.items():
        codes.setdefault(uids[page], []).append(HEALTH[row].value)
    by = ", ".join(labels)
    # The code stays beside the page: over time two codes lead to one page, and labels must differ.
    paged = f'count_values by ({by}) ("{RANK}", {health})'
    for page, of in codes.items():
        paged = label_replace(paged, PAGE, page, RANK, "|".join(map(str, of)))
    return promql.binary(health, "*", paged, f"on ({by}) group_left ({PAGE})")
