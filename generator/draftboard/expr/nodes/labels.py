"""Names of labels, and what matches them: by the settings, the level or the metric."""

from dataclasses import dataclass
from typing import Literal

from draftboard.catalogue import Metric
from draftboard.expr.vector import Group
from draftboard.quantity import Quantity, Setting


@dataclass(frozen=True)
class Labels:
    """The label, or the labels, that the settings name under `labels`: `spec_method`, `scope`, `target` ..."""

    field: str


@dataclass(frozen=True)
class LabelsOfLevel:
    """The labels that series of the level carry."""


@dataclass(frozen=True)
class LabelsOfMetric:
    """The labels that the series of a metric carry."""

    metric: Metric


LEVEL = LabelsOfLevel()

Label = str | Labels

Names = tuple[str | Labels | LabelsOfLevel | LabelsOfMetric, ...]


@dataclass(frozen=True)
class UpTo:
    """The whole numbers from 0 to the largest."""

    largest: Quantity | int


@dataclass(frozen=True)
class Bound:
    """A bound of a bucket, as Prometheus 2 stores it or as 3 does: `1` or `1.0`."""

    seconds: Setting


Pattern = str | Setting | UpTo | Bound
"""Values of a label: a regular expression, a setting with one or several names, numbers."""


@dataclass(frozen=True)
class Match:
    """A matcher on a label of raw series."""

    label: Label
    operator: Literal["=", "!=", "=~", "!~"]
    pattern: str | Setting


@dataclass(frozen=True)
class Matching:
    """How PromQL matches two vectors: by all labels but some (`ignoring`), or by just some (`on`)."""

    labels: Names = ()
    just: bool = False
    group: Group = ""


ALL_LABELS = Matching()


def ignoring(*labels: str, group: Group = "") -> Matching:
    """By all labels but these."""
    return Matching(labels, group=group)


def on(*labels: str | Labels | LabelsOfLevel, group: Group = "") -> Matching:
    """By these labels."""
    return Matching(labels, just=True, group=group)
