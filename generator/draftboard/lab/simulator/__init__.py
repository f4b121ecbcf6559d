"""Servers that behave like vLLM where there is no GPU: their pages, live or as a past.

Scenarios need no further package. The modules that run them need the extra `lab`; import them by name.
"""

from draftboard.lab.simulator.scenario import Expected, Scenario, find, names
