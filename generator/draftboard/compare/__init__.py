"""Comparing two runs: what a candidate changes for users against a baseline, and gates for CI."""

from draftboard.compare.ci import annotations, require_unused, write_junit
from draftboard.compare.comparing import compare
from draftboard.compare.objects import Comparison
from draftboard.compare.sides import Side, recorded, saved, sides
from draftboard.compare.words import document
