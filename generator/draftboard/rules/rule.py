"""Rules and their groups, as every ruler knows them."""

from dataclasses import dataclass

from draftboard.durations import Duration


@dataclass(frozen=True, kw_only=True)
class RecordingRule:
    """`record` is the value of `expr`."""

    record: str
    expr: str


@dataclass(frozen=True, kw_only=True)
class AlertingRule:
    """`alert` fires once `expr` has held for `pending_period`."""

    alert: str
    expr: str
    pending_period: Duration
    keep_firing_for: Duration
    labels: dict[str, str]
    annotations: dict[str, str]


@dataclass(frozen=True, kw_only=True)
class Group:
    """Rules that are evaluated one after the other, at one time."""

    name: str
    interval: Duration | str  # A text where the settings are left open.
    query_offset: Duration
    rules: tuple[RecordingRule | AlertingRule, ...]
