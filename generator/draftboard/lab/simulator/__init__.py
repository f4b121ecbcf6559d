"""Servers that behave like vLLM where nobody has a GPU: their pages, live or as a past.

Scenarios are read without any further package. The modules that tell them (`fleet`, `serve`, `backfill`) need the
extra `simulator`, and are imported by name where they are used.
"""

from draftboard.lab.simulator.library import find, names
from draftboard.lab.simulator.scenario import Expected, Scenario

__all__ = ["Expected", "Scenario", "find", "names"]
