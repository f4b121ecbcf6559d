"""Comparing two runs: what a candidate gives users that a baseline does not, and whether that passes."""

from draftboard.comparison.comparing import Price, compare
from draftboard.comparison.gates import Limits
from draftboard.comparison.markdown import as_markdown
from draftboard.comparison.objects import Comparison
from draftboard.comparison.schema import as_json, schema
from draftboard.comparison.show import show
from draftboard.comparison.sides import Side
from draftboard.comparison.sources import Looking, saved, sides

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
