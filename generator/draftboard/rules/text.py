"""Rules and their groups, as dataclasses and as the text of a rule file."""

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any

import yaml

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
        """The rule as the rule file holds it; a duration of 0s is left out."""
        durations = {"for": self.hold, "keep_firing_for": self.keep_firing_for}
        return (
            {"alert": self.alert, "expr": str(self.expr)}
            | {key: str(duration) for key, duration in durations.items() if duration.seconds}
            | {"labels": self.labels, "annotations": self.annotations}
        )


@dataclass(frozen=True, kw_only=True)
class Group:
    """Rules that are evaluated one after the other, at one time."""

    name: str
    interval: Duration
    rules: tuple[RecordingRule | AlertingRule, ...]


class _Dumper(yaml.SafeDumper):
    """Multi-line expressions as blocks: what is reviewed is readable."""

    def increase_indent(self, flow: bool = False, indentless: bool = False) -> None:  # noqa: ARG002
        """Indent lists below their key."""
        super().increase_indent(flow, indentless=False)

    def ignore_aliases(self, data: Any) -> bool:  # noqa: ANN401, ARG002
        """Write every rule out in full."""
        return True


def _string(dumper: yaml.SafeDumper, text: str) -> yaml.ScalarNode:
    return dumper.represent_scalar("tag:yaml.org,2002:str", text, style="|" if "\n" in text else None)


_Dumper.add_representer(str, _string)


def to_yaml(groups: Iterable[Group]) -> str:
    """The rule file that holds these groups."""
    document = [
        {"name": group.name, "interval": str(group.interval), "rules": [rule.as_yaml() for rule in group.rules]}
        for group in groups
    ]
    return yaml.dump({"groups": document}, Dumper=_Dumper, sort_keys=False, width=10_000, allow_unicode=True)
