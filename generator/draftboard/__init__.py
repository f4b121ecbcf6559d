"""Draftboard: monitoring as code for vLLM speculative decoding."""

__version__ = "0.1.0"
