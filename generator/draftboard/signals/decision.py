"""Tables of conditions: the first row that holds decides."""

from dataclasses import dataclass
from operator import attrgetter

from draftboard.expr.nodes import Condition, Expr, FirstOf, If, constant
from draftboard.signals.signal import Code


@dataclass(frozen=True)
class Choice:
    """A row of a decision."""

    code: Code
    when: Expr  # Holds where it has a value.
    reason: str = ""
    """Why, in a sentence: `{acceptance}` is that signal's value in words, `{acceptance.title}` its name."""
    basis: str = ""  # What a verdict rests on; empty where it is withheld.
    possible: Condition | None = None
    """Where it can hold at all, if not everywhere."""
    details: tuple[str, ...] = ()
    """What follows the reason, each where all signals that it names have a value."""

    def where_possible(self, expression: Expr) -> Expr:
        """The expression, where this row can hold at all."""
        return If(self.possible, expression) if self.possible else expression


@dataclass(frozen=True)
class Decision:
    """Rows in the order of asking, by name."""

    choices: dict[str, Choice]

    @property
    def expr(self) -> Expr:
        """The code of the first row that holds."""
        return FirstOf(tuple(row.where_possible(constant(row.code.value, row.when)) for row in self.choices.values()))

    def any_of(self, signal: Expr, *rows: str) -> Expr:
        """Where the signal has the code of one of these rows."""
        chosen = (self.choices[row] for row in rows)
        return FirstOf(tuple(row.where_possible(signal.equals(row.code.value)) for row in chosen))

    @property
    def codes(self) -> tuple[Code, ...]:
        """All codes, in order of their values."""
        return tuple(sorted((choice.code for choice in self.choices.values()), key=attrgetter("value")))

    def __getitem__(self, name: str) -> Code:
        """The code of a row."""
        return self.choices[name].code

    def of(self, value: float | None) -> Choice | None:
        """The row of a code; None where there is none."""
        return next((choice for choice in self.choices.values() if choice.code.value == value), None)
