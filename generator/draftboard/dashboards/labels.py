"""PromQL that rewrites labels, and the labels that dashboards add to series."""

from draftboard.expr import promql

SERIES = "series"
"""Label that holds model name, method and variant together, so that each combination is one column."""
SHORT_NAME = ("(?:[^ ]*/)?(.*?)(?: +vllm)? *", "$1")
"""Pattern and replacement for names from a model to its job: without the model's organisation or path, and without the
job's usual name, which take a legend's room."""


def label_replace(expr: str, label: str, replacement: str, source: str, pattern: str) -> str:
    """A label made from another where that one matches."""
    return promql.call("label_replace", expr, *_quoted(label, replacement, source, pattern))


def label_join(expr: str, label: str, separator: str, *sources: str) -> str:
    """A label made of others."""
    return promql.call("label_join", expr, *_quoted(label, separator, *sources))


def _quoted(*arguments: str) -> tuple[str, ...]:
    return tuple(f'"{argument}"' for argument in arguments)
