"""Cost of drafting and verify inflation: as given, or as the settings assume, and then said to be assumed."""

from dataclasses import dataclass

from draftboard.errors import DraftboardError
from draftboard.plan.bounds import within
from draftboard.settings import Settings

DRAFT_MODEL = "draft_model"
"""vLLM's method that runs a second, smaller model; all others draft with heads of the target or by looking up text."""
_GIVEN = "given"


@dataclass(frozen=True)
class Term:
    """A number that the plan rests on."""

    value: float
    source: str
    """`given`, or the setting it was taken from."""
    assumed: bool
    """True when nobody gave it: the plan is only as good as the guess."""


def given(value: float) -> Term:
    """What the user measured, or wants to try."""
    return Term(value, _GIVEN, assumed=False)


def cost_ratio(settings: Settings, ratio: float | None, method: str | None = None) -> Term:
    """c, the time of drafting one token over one target step: as given, else what the settings assume of the method.

    Raises:
        DraftboardError: out of range, or a method that the settings do not know.
    """
    if ratio is not None:
        return given(within("cost ratio", ratio, 0, 10))
    if method is not None:
        require_method(settings, method)
    costs = settings.draft_cost.by_method
    if method in costs:
        return Term(costs[method], f"settings: draft_cost.by_method.{method}", assumed=True)
    return Term(settings.draft_cost.default, "settings: draft_cost.default", assumed=True)


def verify_inflation(settings: Settings, inflation: float | None) -> Term:
    """v, the time of a verify step over a plain step: as given, else what the settings assume.

    Raises:
        DraftboardError: out of range.
    """
    if inflation is not None:
        return given(within("verify inflation", inflation, 0.01, 1000))
    return Term(settings.draft_cost.verify_inflation, "settings: draft_cost.verify_inflation", assumed=True)


def require_method(settings: Settings, method: str) -> None:
    """Raise DraftboardError unless vLLM or the settings know the method: a mistyped one would skip checks."""
    known = sorted({DRAFT_MODEL, *settings.draft_cost.by_method, *settings.methods.lookup})
    if method not in known:
        raise DraftboardError(
            f"method {method[:40]!r} is unknown: one of {', '.join(known)}, or name it in settings draft_cost.by_method"
        )


def assumptions(**terms: Term) -> tuple[str, ...]:
    """One note for each number that nobody gave."""
    return tuple(
        f"{name.replace('_', ' ')} = {term.value:g} is assumed ({term.source}): measure yours."
        for name, term in terms.items()
        if term.assumed
    )
