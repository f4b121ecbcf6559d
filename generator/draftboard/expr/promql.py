"""PromQL as text: pure functions that compose expressions in one canonical layout.

An expression that fits a line stays on one; a longer one breaks at its operators and parentheses, indented by two.
Operands that need parentheses are told by their type: an expression with an operator at its top is a `Compound`.
"""

from collections.abc import Iterable, Sequence

WIDTH = 100
SHORT = 24


class Compound(str):
    """An expression whose top level is an operator, so that it needs parentheses as an operand."""

    __slots__ = ()


def number(value: float) -> str:
    """A number literal; whole numbers without a fraction."""
    return str(int(value)) if value == int(value) and abs(value) < 1e15 else repr(float(value))  # noqa: PLR2004


def selector(metric: str, matchers: Sequence[str], *, window: str = "", offset: str = "") -> str:
    """`metric{matchers}[window] offset ...`."""
    braces = "{" + ", ".join(matchers) + "}" if matchers else ""
    return f"{metric}{braces}" + (f"[{window}]" if window else "") + (f" offset {offset}" if offset else "")


def call(function: str, *arguments: str) -> str:
    """`function(arguments)`."""
    return _wrapped(f"{function}(", arguments)


def subquery(expression: str, span: str, pace: str, offset: str) -> str:
    """`(expression)[span:pace] offset ...`: a past made by evaluating, where no record keeps one."""
    return f"{_wrapped('(', (expression,))}[{span}:{pace}]" + (f" offset {offset}" if offset else "")


def aggregate(operator: str, labels: Iterable[str], vector: str) -> str:
    """`operator by (labels) (vector)`: raw series carry labels we do not know, so the ones that stay are named."""
    return _wrapped(f"{operator} by ({', '.join(labels)}) (", (vector,))


def reduce(operator: str, label: str, vector: str) -> str:
    """`operator without (label) (vector)`: over the one dimension that a signal has beyond its level."""
    return _wrapped(f"{operator} without ({label}) (", (vector,))


def count_values(label: str, labels: Iterable[str], vector: str) -> str:
    """Number of series of each value, the value in `label`."""
    return _wrapped(f"count_values by ({', '.join(labels)}) (", (f'"{label}"', vector))


def binary(left: str, operator: str, right: str, matching: str = "") -> Compound:
    """`left operator matching right`, either side in parentheses where it needs them."""
    middle = f"{operator} {matching}".strip()
    left, right = _operand(left), _operand(right)
    one_line = f"{left} {middle} {right}"
    if _fits(one_line) or _is_short(left) or _is_short(right):
        return Compound(one_line)
    return Compound(f"{left}\n{middle} {right}")


def first_of(*alternatives: str) -> str:
    """`a or b or ...`: each series comes from the first alternative that has it."""
    if len(alternatives) == 1:
        return alternatives[0]
    return Compound("\nor ".join(_operand(alternative) for alternative in alternatives))


def constant(value: float, like: str) -> Compound:
    """`value` for every series of the vector `like`, with that vector's labels."""
    zero = f"0 * {_operand(like)}"
    return Compound(f"{number(value)} + {zero}" if value else zero)


def _operand(expression: str) -> str:
    if not isinstance(expression, Compound):
        return expression
    return f"({expression})" if "\n" not in expression else _wrapped("(", (expression,))


def _wrapped(opening: str, arguments: Sequence[str]) -> str:
    one_line = f"{opening}{', '.join(arguments)})"
    if _fits(one_line):
        return one_line
    # The vector on lines of its own, what is done with it on one: nested calls stay readable.
    first, *rest = arguments
    body = ",\n".join([first, ", ".join(rest)] if rest else [first])
    return f"{opening}\n{_indented(body)}\n)"


def _fits(text: str) -> bool:
    return len(text) <= WIDTH and "\n" not in text


def _is_short(operand: str) -> bool:
    return len(operand) <= SHORT and "\n" not in operand


def _indented(text: str) -> str:
    return "\n".join(f"  {line}" for line in text.splitlines())
