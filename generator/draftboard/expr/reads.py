"""What expressions read: metrics, settings, signals; and whether they can have samples at all."""

from collections.abc import Collection, Iterable, Iterator
from dataclasses import fields, is_dataclass
from functools import lru_cache

from draftboard.catalogue import Metric
from draftboard.expr import nodes
from draftboard.expr.nodes import Expr, Recorded
from draftboard.expr.resolve import expanded, metric_of, record_name, rescoped, signal_named
from draftboard.expr.scope import Level, Scope
from draftboard.quantity import Quantity, Setting, settings_of


def operands(node: Expr, scope: Scope) -> Iterator[tuple[Expr, Scope]]:
    """The expressions that a node is made of, each with the scope from which it is seen."""
    match node:
        case Recorded():
            yield node.expr, scope
        case nodes.StandIn():
            if stands_for := expanded(node, scope):
                yield stands_for, scope
        case nodes.Rescoped():
            yield node.argument, rescoped(node, scope)
        case nodes.Before():
            pass  # Its own record, which is made of the rest.
        case _:
            for field in fields(node):  # type: ignore[arg-type]  # Every node is a dataclass.
                held = getattr(node, field.name)
                parts = held if isinstance(held, tuple) else (held,)
                yield from ((part, scope) for part in parts if isinstance(part, Expr))


def exists(expression: Expr, scope: Scope) -> bool:
    """Whether the dialect of the settings has the series that an expression needs to have a sample at all."""
    missing = scope.settings.dialect.missing
    return not (missing and stays_empty(expression, missing, scope))


def stays_empty(expression: Expr, missing: Collection[str], scope: Scope) -> bool:
    """Whether an expression has no sample in any case while series are missing, by their names in vLLM."""
    return _stays_empty(expression, frozenset(missing), scope, frozenset())


def _stays_empty(node: Expr, missing: frozenset[str], scope: Scope, carried: frozenset[str]) -> bool:
    """`carried` names the signals whose own past has been looked at: it has no sample that its present never had."""

    def empty(part: Expr, seen: Scope) -> bool:
        return _stays_empty(part, missing, seen, carried)

    match node:
        case nodes.Raw():
            return metric_of(node, scope).name in missing
        case nodes.Binary():
            left = empty(node.left, scope)
            decided = node.operator == "unless" or left != (node.operator == "or")
            return left if decided else empty(node.right, scope)
        case nodes.FirstOf() | nodes.If():
            return all(empty(part, seen) for part, seen in operands(node, scope))
        case nodes.Before():
            name = node.signal.name
            return name in carried or _stays_empty(signal_named(name), missing, scope, carried | {name})
        case Recorded():
            plain = Scope(scope.settings, scope.level, scope.edition)  # Nothing else changes which series are read.
            return _signal_stays_empty(node, missing, plain, carried)
        case _:
            return any(empty(part, seen) for part, seen in operands(node, scope))


@lru_cache(maxsize=20_000)
def _signal_stays_empty(signal: Recorded, missing: frozenset[str], scope: Scope, carried: frozenset[str]) -> bool:
    return _stays_empty(signal.expr, missing, scope, carried)


def metrics_of(expression: Expr, scope: Scope, *, recorded: bool = True) -> tuple[str, ...]:
    """Names of the metrics whose raw series it reads, in the order of reading; of a histogram its own, once.

    Those that signals in it read as records are among them, unless `recorded` is false.
    """
    names: dict[str, None] = {}
    visited: set[tuple[Recorded, Level]] = set()

    def read(leaves: Iterable[tuple[nodes.Raw | Recorded, Scope]]) -> None:
        for leaf, seen in leaves:
            if isinstance(leaf, nodes.Raw):
                names.update(dict.fromkeys(_family(metric_of(leaf, seen), seen)))
            elif (leaf, seen.level) not in visited and (recorded or not record_name(leaf, seen)):
                visited.add((leaf, seen.level))
                read(_leaves_of_signal(leaf, seen))

    read(leaves_of(expression, scope))
    return tuple(names)


def leaves_of(expression: Expr, scope: Scope) -> tuple[tuple[nodes.Raw | Recorded, Scope], ...]:
    """Raw series and signals that it is made of directly, in the order of reading, each with its scope."""
    return (
        _leaves_of_signal(expression, scope) if isinstance(expression, Recorded) else tuple(_leaves(expression, scope))
    )


@lru_cache(maxsize=20_000)
def _leaves_of_signal(signal: Recorded, scope: Scope) -> tuple[tuple[nodes.Raw | Recorded, Scope], ...]:
    return tuple(_leaves(signal.expr, scope))


def _leaves(node: Expr, scope: Scope) -> Iterator[tuple[nodes.Raw | Recorded, Scope]]:
    if isinstance(node, (nodes.Raw, Recorded)):
        yield node, scope
    else:
        for part, seen in operands(node, scope):
            yield from _leaves(part, seen)


def _family(metric: Metric, scope: Scope) -> Iterator[str]:
    if spelling := scope.settings.dialect.spelled(metric):
        for name in spelling.names:
            yield name.removesuffix(metric.name.removeprefix(metric.part_of) if metric.part_of else "")


def settings_in(node: Expr) -> tuple[Setting, ...]:
    """The settings that a node holds itself, without those of its operands."""
    held = (getattr(node, part.name) for part in fields(node))  # type: ignore[arg-type]
    return tuple(dict.fromkeys(setting for each in held for setting in _settings_in(each)))


def _settings_in(held: object) -> Iterator[Setting]:
    if isinstance(held, Quantity):
        yield from settings_of(held)
    elif isinstance(held, tuple):
        yield from (setting for each in held for setting in _settings_in(each))
    elif is_dataclass(held) and not isinstance(held, (Expr, Metric, type)):
        yield from (setting for part in fields(held) for setting in _settings_in(getattr(held, part.name)))
