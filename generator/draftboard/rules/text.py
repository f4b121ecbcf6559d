"""Rules and their groups, and the text of a rule file."""

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


@dataclass(frozen=True, kw_only=True)
class AlertingRule:
    """`alert` fires once `expr` has held for `hold`."""

    alert: str
    expr: str
    hold: Duration
    keep_firing_for: Duration
    labels: dict[str, str]
    annotations: dict[str, str]


@dataclass(frozen=True, kw_only=True)
class Group:
    """Rules that are evaluated one after the other, at one time."""

    name: str
    interval: Duration
    rules: tuple[RecordingRule | AlertingRule, ...]


class _Dumper(yaml.SafeDumper):
    """Multi-line expressions as blocks, lists below their key, every rule in full: what is reviewed is readable."""

    def increase_indent(self, flow: bool = False, indentless: bool = False) -> None:  # noqa: ARG002
        super().increase_indent(flow, indentless=False)

    def ignore_aliases(self, data: Any) -> bool:  # noqa: ANN401, ARG002
        return True

    def text(self, text: str) -> yaml.ScalarNode:
        return self.represent_scalar("tag:yaml.org,2002:str", text, style="|" if "\n" in text else None)


_Dumper.add_representer(str, _Dumper.text)
_Dumper.add_multi_representer(str, _Dumper.text)  # PromQL


def to_yaml(groups: Iterable[Group]) -> str:
    """The rule file that holds these groups; a duration of 0s is left out."""
    document = [
        {"name": group.name, "interval": str(group.interval), "rules": [_entry(rule) for rule in group.rules]}
        for group in groups
    ]
    return yaml.dump({"groups": document}, Dumper=_Dumper, sort_keys=False, width=10_000, allow_unicode=True)


def _entry(rule: RecordingRule | AlertingRule) -> dict[str, Any]:
    texts = {"for" if key == "hold" else key: value for key, value in vars(rule).items() if value != Duration(0)}
    return {key: str(value) if isinstance(value, Duration) else value for key, value in texts.items()}
