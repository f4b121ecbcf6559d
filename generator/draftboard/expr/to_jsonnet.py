"""Quantities as Jsonnet: an expression of the settings' paths, and what stands for it in a text until it is evaluated.

A placeholder is the expression in double brackets. A setting stands in it with its path, a duration as its seconds.
"""

from collections.abc import Collection, Mapping
from dataclasses import dataclass, field

from draftboard.quantity import Calculated, Operator, Quantity, Setting, settings_of

_TEMPLATES: Mapping[Operator, str] = {
    "//": "std.floor({} / {})",
    "max": "std.max({}, {})",
    "min": "std.min({}, {})",
    "ceil": "std.ceil({})",
    "neg": "-{}",
}


def jsonnet(quantity: Quantity | float) -> str:
    """The quantity as an expression of the settings' paths, each a field of a local variable named as its table."""
    if isinstance(quantity, Setting):
        return quantity.path
    if isinstance(quantity, Calculated):
        template = _TEMPLATES.get(quantity.operator, f"({{}} {quantity.operator} {{}})")
        return template.format(*map(jsonnet, quantity.operands))
    return repr(quantity)


def number(quantity: Quantity) -> str:
    """Jsonnet of the text of a number."""
    return f"number({jsonnet(quantity)})"


def span(quantity: Quantity) -> str:
    """Jsonnet of the text of a duration."""
    return f"span({jsonnet(quantity)})"


@dataclass(frozen=True)
class Placeholders:
    """What stands for quantities in texts, and all that was written so."""

    paths: Collection[str]  # Of the settings that are open.
    texts: dict[str, str] = field(default_factory=dict)
    """By placeholder, without brackets: the Jsonnet of the text that takes its place."""
    read: set[str] = field(default_factory=set)
    """Paths of the settings in them."""

    def number(self, quantity: Quantity) -> str | None:
        """A number within a text; None where no setting in it is open."""
        return self._placeholder(quantity, jsonnet(quantity), number(quantity))

    def span(self, quantity: Quantity) -> str | None:
        """A duration within a text."""
        return self._placeholder(quantity, f"span:{jsonnet(quantity)}", span(quantity))

    def leaf(self, quantity: Quantity) -> str | None:
        """A number that is no part of a text: = marks it."""
        written = self.number(quantity)
        return written and f"⟦={written[1:]}"

    def _placeholder(self, quantity: Quantity, name: str, text: str) -> str | None:
        opened = {setting.path for setting in settings_of(quantity)}.intersection(self.paths)
        if not opened:
            return None
        self.read.update(opened)
        self.texts[name] = text
        return f"⟦{name}⟧"
