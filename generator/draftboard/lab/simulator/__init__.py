"""Servers that behave like vLLM where there is no GPU: their pages, live or as a past.

Scenarios are read without any further package. The modules that run them (`fleet`, `serve`, `backfill`) need the extra
`lab`, and are imported by name where they are used.
"""

from draftboard.lab.simulator.scenario import Expected, Scenario, find, names

__all__ = ["Expected", "Scenario", "find", "names"]
