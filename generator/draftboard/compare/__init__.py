"""Comparing two runs: what a candidate gives users that a baseline does not, and whether that passes."""

from draftboard.compare.comparing import Price, compare
from draftboard.compare.gates import Limits
from draftboard.compare.markdown import as_markdown
from draftboard.compare.objects import Comparison
from draftboard.compare.schema import as_json, schema
from draftboard.compare.show import show
from draftboard.compare.sides import Side
from draftboard.compare.sources import Looking, saved, sides

__all__ = [
    "Comparison",
    "Limits",
    "Looking",
    "Price",
    "Side",
    "as_json",
    "as_markdown",
    "compare",
    "saved",
    "schema",
    "show",
    "sides",
]
