"""OpenMetrics text, for `promtool tsdb create-blocks-from openmetrics`."""

from collections.abc import Mapping

MOST_BYTES = 4_000_000_000
"""Of a recording that `replay` reads, unpacked."""


def series(name: str, labels: Mapping[str, str]) -> str:
    """A series as a sample's line begins with it."""
    inside = ",".join(f'{label}="{escaped(text)}"' for label, text in sorted(labels.items()))
    return f"{name}{{{inside}}}"


def escaped(text: str) -> str:
    """The text of a label or of a help."""
    return text.replace("\\", r"\\").replace("\n", r"\n").replace('"', r"\"")
