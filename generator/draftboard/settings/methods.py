"""Drafting methods as people write them."""

import re

from draftboard.errors import DraftboardError
from draftboard.settings.fields import plain_spelling
from draftboard.settings.model import Settings

_OF_VLLM = ("draft_model", "dspark", "custom_class", "mlp_speculator")
"""Methods without a cost of their own; `draft_cost.by_method` has the others."""
_OF_ONE_MODEL = "mtp"
"""Ending of vLLM's names for the heads of one model family, which `mtp` replaces."""


def known_methods(settings: Settings) -> tuple[str, ...]:
    """Names of methods: vLLM's, and those that the settings name."""
    own, costs = settings.methods, settings.draft_cost
    return tuple(dict.fromkeys((own.baseline, *own.lookup, *costs.by_method, *costs.calibrated, *_OF_VLLM)))


def spelled(given: str, settings: Settings) -> str | None:
    """The known method that a text means, whatever its case, hyphens and blanks; None where it means none."""
    if given in (known := known_methods(settings)):
        return given
    if not re.fullmatch(r"[\w -]*", given):
        return None
    plain = {plain_spelling(name): name for name in known}
    if (text := plain_spelling(given)) not in plain and text.endswith(_OF_ONE_MODEL) and "_" in given:
        return plain.get(_OF_ONE_MODEL)
    return plain.get(text)


def method_of(given: str, settings: Settings) -> str:
    """The known method that a user means; empty where none is given. DraftboardError for an unknown one."""
    if not given or (method := spelled(given, settings)):
        return given and str(method)
    known = ", ".join(sorted(known_methods(settings)))
    raise DraftboardError(
        f"method {given[:40]!r} is unknown: one of {known}, or name it in settings draft_cost.by_method"
    )
