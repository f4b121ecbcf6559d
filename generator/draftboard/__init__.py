"""Draftboard: monitoring as code for vLLM speculative decoding."""

__version__ = "0.1.0"
REVISION = "main"
"""Of this repository, which links to its files name: the default branch, in the commit of a release its tag."""
