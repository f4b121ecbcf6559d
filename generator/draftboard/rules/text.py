"""Rule groups as the text of a rule file."""

from collections.abc import Iterable
from typing import Any

import yaml

from draftboard.rules.group import Group


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
    document = {"groups": [group.as_yaml() for group in groups]}
    return yaml.dump(document, Dumper=_Dumper, sort_keys=False, width=10_000, allow_unicode=True)
