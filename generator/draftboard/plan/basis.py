"""What plans share: bounds of numbers, assumed costs, survival, and the form of the answer."""

from abc import ABC, abstractmethod
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from draftboard.errors import DraftboardError
from draftboard.output import Block, Bullets, Described, Document, Heading, Table, columns
from draftboard.plan import theory
from draftboard.settings import Settings
from draftboard.settings.fields import LONGEST_DRAFT

DRAFT_MODEL = "draft_model"
"""vLLM's method that runs a second, smaller model. All others draft with heads of the target, or look up text."""
_SHOWN = 20
"""Characters of a number that an error repeats."""


def within(name: str, value: float, least: float, most: float) -> float:
    """The value; DraftboardError unless it is a number within both bounds."""
    if not least <= value <= most:
        shown = str(value) if isinstance(value, int) else f"{value:g}"
        raise DraftboardError(f"{name} = {shown[:_SHOWN]} is out of range: a number from {least:g} to {most:g}")
    return value


@dataclass(frozen=True)
class Formula(Described):
    """A formula, or the rule of a check."""

    gives: str
    text: str
    source: str


@dataclass(frozen=True)
class Term(Described):
    """A number that the plan rests on."""

    value: float
    source: str = "given"
    """`given`, or the setting it was taken from."""
    assumed: bool = False

    def note(self, name: str) -> tuple[str, ...]:
        """One sentence where the number is assumed."""
        return (f"{name} = {self.value:g} is assumed ({self.source}): measure yours.",) if self.assumed else ()


@dataclass(frozen=True, kw_only=True)
class Plan(Described, ABC):
    """The answer of a `plan` command."""

    schema_version: int = 1
    plan: str
    """Name of the command."""
    verdict: str
    notes: tuple[str, ...]
    """Assumptions and limits of the figures."""
    formulas: tuple[Formula, ...]

    def document(self, *, explain: bool = False) -> Document:
        """The plan for people, with the formulas where `explain` is set."""
        rows = tuple((each.gives, each.text, each.source) for each in self.formulas)
        formulas = (Heading("Formulas"), Table(columns("Gives", "Formula", "Source"), rows))
        return Document.of((Heading(self.verdict), *self.blocks(), Bullets(self.notes), *(formulas if explain else ())))

    @abstractmethod
    def blocks(self) -> Iterable[Block]:
        """The figures."""


def cost_ratio(settings: Settings, ratio: float | None, method: str | None = None) -> Term:
    """Draft cost c: as given, else the settings' value for the method. DraftboardError for an unknown method."""
    if ratio is not None:
        return Term(within("cost ratio", ratio, 0, 10))
    costs = settings.draft_cost.by_method
    known = sorted({DRAFT_MODEL, *costs, *settings.methods.lookup})
    if method is not None and method not in known:
        raise DraftboardError(
            f"method {method[:40]!r} is unknown: one of {', '.join(known)}, or name it in settings draft_cost.by_method"
        )
    if method in costs:
        return Term(costs[method], f"settings: draft_cost.by_method.{method}", assumed=True)
    return Term(settings.draft_cost.default, "settings: draft_cost.default", assumed=True)


def verify_inflation(settings: Settings, inflation: float | None) -> Term:
    """Verify inflation v: as given, else the settings' value."""
    if inflation is not None:
        return Term(within("verify inflation", inflation, 0.01, 1000))
    return Term(settings.draft_cost.verify_inflation, "settings: draft_cost.verify_inflation", assumed=True)


def survival_of(alpha: float | None, survival: Sequence[float] | None, longest: int) -> tuple[float, ...]:
    """Survival of each position of drafts of up to `longest` tokens: from one alpha for all of them, or as measured.

    Raises:
        DraftboardError: a number out of range, or not exactly one of both.
    """
    if (alpha is None) == (survival is None):
        raise DraftboardError("name one of --alpha and --survival: what is known of acceptance")
    within("max k", longest, 1, LONGEST_DRAFT)
    if survival is None:
        return theory.geometric_survival(within("alpha", alpha or 0.0, 0, 1), longest)
    if not 1 <= len(survival) <= LONGEST_DRAFT:
        raise DraftboardError(f"survival names {len(survival)} positions: name 1 to {LONGEST_DRAFT}")
    if not theory.is_survival(survival):
        raise DraftboardError("survival: give shares of drafts from 0 to 1 by position, each at most the one before")
    return tuple(survival[:longest])
