"""Where a panel leads: to the page that explains what it shows, for the same model or engine."""

from collections.abc import Iterable, Mapping, Sequence
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
OF_K = ("depth", "Up to which position are its drafts accepted?")
_OF_FAMILIES = {
    "speculation": OF_K,
    "requests": ("capacity", "How full is its KV cache, and do requests wait?"),
    "verdict": ("fleet", "Which of its engines needs somebody?"),
    "overview": ("compare", "How much does it gain against its baseline?"),
}
_OF_OTHERS = ("latency", "Where does its time go?")
_FIRST = ("overview", "How is this model, and what should be done?")
_SERVERS, _USERS = "fleet", "latency"
_OF_HEALTH = {
    "gone": _USERS,  # It has no engine left to list; its past is there.
    **dict.fromkeys(("down", "servers down", "stuck", "no drafter", "unclear", "silent"), _SERVERS),
    **dict.fromkeys(("few drafts", "idle", "off", "starting"), _SERVERS),
    **dict.fromkeys(("requests fail", "critical", "warning"), _USERS),
    "users wait": "capacity",
    **dict.fromkeys(("costs more", "not drafting", "about even", "pays", "not measured"), "depth"),
}


def of_signal(signal: Signal, page: str, pages: Iterable[str]) -> tuple[str, str]:
    """The page that explains a signal, and the question that it answers; from that page itself the first one."""
    family = next((name for name, family in FAMILIES.items() if signal in family), "")
    led = _OF_FAMILIES.get(family, _OF_OTHERS)
    return led if led[0] != page and led[0] in set(pages) else _FIRST


def of_series(uid: str, question: str, labels: Iterable[str], settings: Settings) -> list[dict[str, Any]]:
    """A link from a series to a page on what has its labels, in which an absent one is empty."""
    chosen = [f"var-{one}=${{__field.labels.{one}:percentencode}}" for one in settings.labels.filters if one in labels]
    address = "&".join((f"/d/{uid}?${{__url_time_range}}&var-datasource=${{datasource}}", *chosen))
    return [{"title": question, "url": address}]


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
