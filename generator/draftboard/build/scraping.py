"""What Prometheus keeps of a server's page: names and labels that are read, with values that nothing obeys.

Text of a server is hostile, and this is where it enters: what templates, terminals, chats and pages would obey is
replaced before a sample is stored.
"""

import re
from collections.abc import Iterator
from typing import Any

from draftboard.catalogue import serving
from draftboard.catalogue.dialects import DIALECTS
from draftboard.catalogue.known import ADDED, known_series, of_servers
from draftboard.expr.scope import RECORD_NAMES
from draftboard.settings import Settings

Relabeling = dict[str, Any]
"""A step of `metric_relabel_configs`, under Prometheus' keys."""

UNSAFE = "unsafe-name-"
"""A model with an unsafe name is stored under this one and a number, which follows from its own name."""
_OBEYED = r"(?s).*(?:\{\{|[<>[:cntrl:]\x{80}-\x{9f}\p{Cf}\p{Zl}\p{Zp}]).*"
"""Templates, markup, mentions, controls of a terminal, changes of the direction of reading, and ends of lines."""
_OF_PROMETHEUS = "|".join([".*_created", *ADDED, RECORD_NAMES])
"""Series without a reader, and those that Prometheus adds to a page or records: no server reports them in its place."""
_NUMBERS = 1_000
_OF_TARGETS = ("instance", "job")  # Without them the series of two servers would be one.
_NAME, _NUMBER = "__name__", "__tmp_number"
_MODEL, _ENGINE = "model_name", "engine"  # As servers write them; settings name them as they arrive.


def known_labels(settings: Settings) -> list[str]:
    """Names of the labels that these series may have, those of their target included, sorted."""
    of_settings = settings.labels.model_dump()
    several = {*of_settings.pop("scope"), *of_settings.pop("together")}
    return sorted({*_own_labels(), *_OF_TARGETS, *several, *of_settings.values(), *settings.stack.scrape.labels})


def relabelings(settings: Settings) -> Iterator[Relabeling]:
    """The steps, in their order."""
    scrape = settings.stack.scrape
    if scrape.keep == "known":
        yield {"source_labels": [_NAME], "regex": "|".join(known_series(settings.dialect)), "action": "keep"}
    else:
        yield {"source_labels": [_NAME], "regex": _OF_PROMETHEUS, "action": "drop"}
    yield from _harmless(settings)
    if scrape.models:
        names = "|".join(map(re.escape, scrape.models))
        yield {"source_labels": [settings.labels.model_name], "regex": f"|{names}", "action": "keep"}
    # Other engines tell their processes apart by labels of their own.
    if scrape.keep == "known" and settings.dialect is DIALECTS["vllm"]:
        yield {"regex": "|".join([_NAME, *known_labels(settings)]), "action": "labelkeep"}
    else:
        yield {"regex": "|".join([_NUMBER, *serving.CACHE_CONFIG_UNREAD]), "action": "labeldrop"}


def _harmless(settings: Settings) -> Iterator[Relabeling]:
    """Steps after which no known label has a value that is obeyed."""
    yield {"source_labels": sorted(_own_labels() - {_MODEL}), "regex": _OBEYED, "action": "drop"}
    for label in sorted({_MODEL, settings.labels.model_name}):
        yield {"source_labels": [label], "target_label": _NUMBER, "modulus": _NUMBERS, "action": "hashmod"}
        yield {
            "source_labels": [_NUMBER, label],
            "separator": ":",
            "regex": rf"(\d+):{_OBEYED}",
            "target_label": label,
            "replacement": f"{UNSAFE}$1",
            "action": "replace",
        }


def _own_labels() -> set[str]:
    """Labels that servers give them."""
    return {_MODEL, _ENGINE, *(label for part in of_servers() for label in part.own_labels)}
