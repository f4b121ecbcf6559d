"""Shared parts of plans: bounds of numbers, assumed costs, survival, vocabularies, and the result's base class."""

import json
import tomllib
from abc import ABC, abstractmethod
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from importlib import resources
from pathlib import Path

from draftboard.errors import DraftboardError
from draftboard.files import saved_bytes
from draftboard.output import Block, Bullets, Described, Document, Heading, Table, columns
from draftboard.plan import theory
from draftboard.settings import Settings, method_of
from draftboard.settings.fields import LONGEST_DRAFT

DRAFT_MODEL = "draft_model"  # vLLM's method that runs a second, smaller model; all others have none
_LARGEST = 128_000_000  # bytes: several times the largest published tokenizer.json


def within(name: str, value: float, least: float, most: float) -> float:
    """The value; DraftboardError unless it is within both bounds."""
    if not least <= value <= most:
        shown = str(value)[:20] if isinstance(value, int) else f"{value:g}"
        raise DraftboardError(f"{name} = {shown} is out of range: a number from {least:g} to {most:g}")
    return value


@dataclass(frozen=True)
class Formula(Described):
    """A formula, or the rule of a check."""

    gives: str
    text: str
    source: str


FORMULAS = {
    plan: tuple(Formula(gives, *words) for gives, words in table.items())
    for plan, table in tomllib.loads(resources.files(__package__).joinpath("formulas.toml").read_text()).items()
}
"""By plan; those of `speedup` are shared."""


@dataclass(frozen=True)
class Term(Described):
    """An input of a plan, and its source."""

    value: float
    source: str = "given"  # `given`, or the setting it was taken from
    assumed: bool = False

    def note(self, name: str) -> tuple[str, ...]:
        """A sentence that names an assumed number; empty for others."""
        return (f"{name} = {self.value:g} is assumed ({self.source}): measure yours.",) if self.assumed else ()


@dataclass(frozen=True, kw_only=True)
class Plan(Described, ABC):
    """The result of a `plan` command."""

    schema_version: int = 1
    plan: str
    verdict: str
    notes: tuple[str, ...]  # assumptions and limits of the figures
    formulas: tuple[Formula, ...]

    def document(self, *, explain: bool = False) -> Document:
        """The plan as a document, with the formulas where `explain` is set."""
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
    costs, method = settings.draft_cost.by_method, method_of(method, settings) if method else method
    key = f"by_method.{method}" if method in costs else "default"
    cost, assumed = costs.get(method or "", settings.draft_cost.default), not _calibrated(settings, method)
    return Term(cost, f"settings: draft_cost.{key}", assumed=assumed)


def verify_inflation(settings: Settings, inflation: float | None, method: str | None = None) -> Term:
    """Verify inflation v: as given, else the settings' value; of a curve, that of its smallest batch."""
    if inflation is not None:
        return Term(within("verify inflation", inflation, 0.01, 1000))
    curve = settings.draft_cost.inflation_by_batch
    at = f" at a batch of {curve[0][0]:g}" if len(curve) > 1 else ""
    return Term(curve[0][1], f"settings: draft_cost.verify_inflation{at}", assumed=not _calibrated(settings, method))


@dataclass(frozen=True)
class Curve(Described):
    """Verify inflation v by batch size."""

    points: tuple[tuple[int, float], ...]  # in rising order
    source: str = "given"  # `given`, or the setting it was taken from
    assumed: bool = False
    context: int | None = None  # tokens of a request up to which it was measured; None: of all


def inflation_curve(settings: Settings, method: str | None = None) -> Curve:
    """Verify inflation by batch size, of the settings. DraftboardError where they have no curve."""
    points = tuple((int(size), inflation) for size, inflation in settings.draft_cost.inflation_by_batch)
    if len(points) == 1:
        raise DraftboardError(
            "name --inflation, or in the settings draft_cost.verify_inflation by batch size, which `draftboard "
            "calibrate` writes"
        )
    return Curve(points, "settings: draft_cost.verify_inflation", assumed=not _calibrated(settings, method))


def _calibrated(settings: Settings, method: str | None) -> bool:
    return method_of(method or "", settings) in settings.draft_cost.calibrated


def survival_of(alpha: float | None, survival: Sequence[float] | None, longest: int) -> tuple[float, ...]:
    """Survival by position for drafts of up to `longest` tokens: from exactly one of alpha and measured shares."""
    if (alpha is None) == (survival is None):
        raise DraftboardError("give either --alpha or --survival")
    within("max k", longest, 1, LONGEST_DRAFT)
    if survival is None:
        return theory.geometric_survival(within("alpha", alpha or 0.0, 0, 1), longest)
    if not 1 <= len(survival) <= LONGEST_DRAFT:
        raise DraftboardError(f"survival has {len(survival)} positions: give 1 to {LONGEST_DRAFT}")
    if not theory.is_survival(survival):
        raise DraftboardError("survival: give shares of drafts from 0 to 1 by position, each at most the one before")
    return tuple(survival[:longest])


def read_vocabulary(path: Path) -> dict[str, int]:
    """Token to id of a Hugging Face tokenizer.json, added tokens included. Merges and normalisers are not read."""
    text = saved_bytes(path, "tokenizer", _LARGEST, pipes=True)
    try:
        document = json.loads(text)
        vocab = document["model"]["vocab"]
        # BPE and WordPiece keep a table; Unigram a list of token and score, whose index is the id.
        listed = vocab.items() if isinstance(vocab, dict) else ((entry[0], index) for index, entry in enumerate(vocab))
        added = ((entry["content"], entry["id"]) for entry in document.get("added_tokens") or ())
        tokens = {str(token): int(number) for token, number in (*listed, *added)}
    except (KeyError, TypeError, ValueError, IndexError, OverflowError, RecursionError):
        tokens = {}
    if not tokens:
        raise DraftboardError(f"{path}: no vocabulary at model.vocab; give a Hugging Face tokenizer.json")
    return tokens
