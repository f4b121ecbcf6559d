"""PromQL as text: what fits a line stays on one; the rest breaks at operators and parentheses, indented by two."""

from collections.abc import Iterable, Sequence

WIDTH = 100
SHORT = 24


class Compound(str):
    """An expression whose top level is an operator, so that it needs parentheses as an operand."""

    __slots__ = ()


def number(value: float) -> str:
    """A number literal; whole numbers without a fraction."""
    return repr(value).removesuffix(".0")


def selector(
    metric: str, matchers: Sequence[str], *, window: str = "", offset: str = "0s", at_end: bool = False
) -> str:
    """`metric{matchers}[window] @ end() offset ...`."""
    braces = "{" + ", ".join(matchers) + "}" if matchers else ""
    moment = (" @ end()" if at_end else "") + (f" offset {offset}" if offset != "0s" else "")
    return f"{metric}{braces}" + (f"[{window}]" if window else "") + moment


def call(function: str, *arguments: str) -> str:
    """`function(arguments)`."""
    one_line = f"{function}({', '.join(arguments)})"
    if _fits(one_line):
        return one_line
    # The vector on lines of its own, what is done with it on one: nested calls stay readable.
    first, *rest = arguments
    body = ",\n".join([first, ", ".join(rest)] if rest else [first])
    return f"{function}(\n{_indented(body)}\n)"


def subquery(expression: str, span: str, pace: str, offset: str) -> str:
    """`(expression)[span:pace] offset ...`: a past made by evaluating, where no record keeps one."""
    return f"{call('', expression)}[{span}:{pace}]" + (f" offset {offset}" if offset != "0s" else "")


def aggregate(operator: str, labels: Iterable[str], *arguments: str) -> str:
    """`operator by (labels) (arguments)`: raw series carry labels we do not know, so the ones that stay are named."""
    return call(f"{operator} by ({', '.join(labels)}) ", *arguments)


def binary(left: str, operator: str, right: str, matching: str = "") -> Compound:
    """`left operator matching right`, either side in parentheses where it needs them."""
    middle = f"{operator} {matching}".strip()
    left, right = _operand(left), _operand(right)
    one_line = f"{left} {middle} {right}"
    if _fits(one_line) or _fits(left, SHORT) or _fits(right, SHORT):
        return Compound(one_line)
    return Compound(f"{left}\n{middle} {right}")


def first_of(*alternatives: str, matching: str = "") -> str:
    """`a or b or ...`: each series comes from the first alternative that has it."""
    joined = f"\nor {matching} ".replace("  ", " ").join(map(_operand, alternatives))
    return Compound(joined) if len(alternatives) > 1 else alternatives[0]


def from_zero(counter: str, earlier: str, matching: str = "") -> Compound:
    """The rate of a counter that appeared within the range, later than another one of its engine: of its whole value.

    As an increase of the earlier counter becomes its rate, so that both are extrapolated alike.
    """
    fewer = binary(call("count_over_time", counter), "<", call("count_over_time", earlier), matching)
    begun = binary(call("last_over_time", counter), "and", fewer)
    grown = binary(call("last_over_time", earlier), "-", call("min_over_time", earlier))
    return binary(begun, "*", binary(call("rate", earlier), "/", binary(grown, ">", "0")), matching)


def constant(value: str, like: str) -> Compound:
    """The number `value` for every series of the vector `like`, with that vector's labels."""
    zero = f"0 * {_operand(like)}"
    return Compound(zero if value == "0" else f"{value} + {zero}")


def _indented(text: str) -> str:
    return "  " + text.replace("\n", "\n  ")


def _operand(expression: str) -> str:
    if not isinstance(expression, Compound):
        return expression
    return call("", expression) if "\n" in expression else f"({expression})"


def _fits(text: str, width: int = WIDTH) -> bool:
    return len(text) <= width and "\n" not in text
