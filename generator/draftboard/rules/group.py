"""Rule groups as Prometheus reads them."""

from dataclasses import dataclass
from typing import Any

from draftboard.durations import Duration


@dataclass(frozen=True, kw_only=True)
class RecordingRule:
    """`record` is the value of `expr`."""

    record: str
    expr: str

    def as_yaml(self) -> dict[str, Any]:
        """The rule as the rule file holds it."""
        return {"record": self.record, "expr": str(self.expr)}


@dataclass(frozen=True, kw_only=True)
class AlertingRule:
    """`alert` fires once `expr` has held for `hold`."""

    alert: str
    expr: str
    hold: Duration
    keep_firing_for: Duration
    labels: dict[str, str]
    annotations: dict[str, str]

    def as_yaml(self) -> dict[str, Any]:
        """The rule as the rule file holds it."""
        keep = {"keep_firing_for": str(self.keep_firing_for)} if self.keep_firing_for.seconds else {}
        hold = {"for": str(self.hold)} if self.hold.seconds else {}
        return {"alert": self.alert, "expr": str(self.expr), **hold, **keep, "labels": self.labels} | {
            "annotations": self.annotations,
        }


@dataclass(frozen=True, kw_only=True)
class Group:
    """Rules that are evaluated one after the other, at one time."""

    name: str
    interval: Duration
    rules: tuple[RecordingRule | AlertingRule, ...]

    def as_yaml(self) -> dict[str, Any]:
        """The group as the rule file holds it."""
        return {"name": self.name, "interval": str(self.interval), "rules": [rule.as_yaml() for rule in self.rules]}
