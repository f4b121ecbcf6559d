"""Instant vectors on plain numbers: each function means what Prometheus means by the operator of that name."""

import math
import operator
import re
from bisect import bisect_left
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from functools import cache
from itertools import accumulate
from statistics import fmean
from typing import Literal, NamedTuple

Labels = frozenset[tuple[str, str]]
Vector = Mapping[Labels, float]
Key = Callable[[Labels], Labels]  # What two elements must have in common to match.
Group = Literal["", "left", "right"]  # The side that may have several partners of one on the other.
NOTHING: Vector = {}


def as_vector(operand: Vector | float) -> Vector:
    """The vector itself; of a number, the one element without labels."""
    return operand if isinstance(operand, Mapping) else {frozenset(): float(operand)}


def required(operand: Vector | float) -> Vector:
    """The vector; TypeError for a number."""
    if isinstance(operand, Mapping):
        return operand
    raise TypeError("a number stands where a vector is needed")


def kept(labels: Labels, names: Collection[str]) -> Labels:
    """Only the labels of these names."""
    return frozenset([pair for pair in labels if pair[0] in names])


def dropped(labels: Labels, names: Collection[str]) -> Labels:
    """All other labels."""
    return frozenset([pair for pair in labels if pair[0] not in names]) if names else labels


class _Remembered(dict[Labels, Labels]):
    """A key's results by the labels that they are of: each is computed once, and equal ones are one object."""

    def __init__(self, compute: Key) -> None:
        super().__init__()
        self._compute = compute

    def __missing__(self, labels: Labels) -> Labels:
        result = self._compute(labels)
        result = self[labels] = self.setdefault(result, result)  # The key of a key is that key.
        return result


def keeping(names: Collection[str]) -> Key:
    """The key of elements that have these labels in common."""
    return _Remembered(lambda labels: kept(labels, names)).__getitem__


def dropping(names: Collection[str]) -> Key:
    """The key of elements that have all other labels in common."""
    return _Remembered(lambda labels: dropped(labels, names)).__getitem__ if names else lambda labels: labels


def value_of(labels: Labels, name: str) -> str:
    """A label's value; "" where it does not exist."""
    for label, value in labels:  # The commonest of all calls: a generator takes twice as long.
        if label == name:
            return value
    return ""


def with_label(labels: Labels, name: str, value: str) -> Labels:
    """The labels with one of them set; the empty value takes it away."""
    others = dropped(labels, (name,))
    return others | {(name, value)} if value else others


_AGGREGATIONS: Mapping[str, Callable[[list[float]], float]] = {
    "sum": math.fsum,
    "avg": fmean,
    "min": min,
    "max": max,
    "count": lambda values: float(len(values)),
    "group": lambda _: 1.0,
}


def aggregated(how: str, vector: Vector, key: Key) -> Vector:
    """One value for all elements with the same key."""
    groups: dict[Labels, list[float]] = {}
    for labels, value in vector.items():
        groups.setdefault(key(labels), []).append(value)
    compute = _AGGREGATIONS[how]
    return {labels: compute(values) for labels, values in groups.items()}


def at_most(most: int, vector: Vector, key: Key) -> Vector:
    """`topk`: the greatest of all elements with the same key; of equals the first by their labels, NaN last."""
    groups: dict[Labels, list[Labels]] = {}
    for labels in sorted(vector, key=lambda each: (math.isnan(vector[each]), -vector[each], sorted(each))):
        groups.setdefault(key(labels), []).append(labels)
    return {labels: vector[labels] for ordered in groups.values() for labels in ordered[:most]}


def spread(share: float, vector: Vector, key: Key) -> Vector:
    """A quantile of all elements with the same key, between two of them in proportion."""
    groups: dict[Labels, list[float]] = {}
    for labels, value in vector.items():
        groups.setdefault(key(labels), []).append(value)
    return {labels: _ranked(share, sorted(values)) for labels, values in groups.items()}


def _ranked(share: float, ordered: list[float]) -> float:
    rank = share * (len(ordered) - 1)
    low = math.floor(rank)
    weight = rank - low
    return ordered[low] * (1 - weight) + ordered[min(low + 1, len(ordered) - 1)] * weight


def first_of(vectors: Iterable[Vector]) -> Vector:
    """`a or b or ...`: each element from the first vector that has its labels."""
    result: dict[Labels, float] = {}
    for vector in vectors:
        for labels, value in vector.items():
            result.setdefault(labels, value)
    return result


def _divided(left: float, right: float) -> float:
    if right == 0:
        return math.nan if left == 0 or math.isnan(left) else math.copysign(math.inf, left)
    return left / right


_ARITHMETIC: Mapping[str, Callable[[float, float], float]] = {
    "+": operator.add,
    "-": operator.sub,
    "*": operator.mul,
    "/": _divided,
    "^": operator.pow,
}
_COMPARISONS: Mapping[str, Callable[[float, float], bool]] = {
    "<": operator.lt,
    ">": operator.gt,
    "<=": operator.le,
    ">=": operator.ge,
    "==": operator.eq,
    "!=": operator.ne,
}
_SETS = {"and", "unless", "or"}


def combined(left: Vector | float, how: str, right: Vector | float, key: Key, group: Group = "") -> Vector | float:
    """`left how right`: elements match by key, on the side of the group several with one."""
    if how in _SETS:
        return _set(required(left), how, required(right), key)
    if isinstance(left, Mapping):
        return _grouped(left, how, right, key, group) if isinstance(right, Mapping) else _scaled(left, how, right)
    if isinstance(right, Mapping):
        return {labels: _ARITHMETIC[how](left, value) for labels, value in right.items()}
    return _ARITHMETIC[how](left, right)


def _scaled(left: Vector, how: str, right: float) -> Vector:
    if how in _ARITHMETIC:
        compute = _ARITHMETIC[how]
        return {labels: compute(value, right) for labels, value in left.items()}
    return _compared(((labels, value, right) for labels, value in left.items()), how)


def _compared(pairs: Iterable[tuple[Labels, float, float]], how: str) -> Vector:
    """The elements for which a comparison holds; with `bool`, 1 or 0 for all of them."""
    holds = _COMPARISONS[how.removesuffix(" bool")]
    if how.endswith(" bool"):
        return {labels: float(holds(left, right)) for labels, left, right in pairs}
    return {labels: left for labels, left, right in pairs if holds(left, right)}


def _set(left: Vector, how: str, right: Vector, key: Key) -> Vector:
    if how == "or":
        keys = {key(labels) for labels in left}
        return {**left, **{labels: value for labels, value in right.items() if key(labels) not in keys}}
    keys = {key(labels) for labels in right}
    return {labels: value for labels, value in left.items() if (key(labels) in keys) == (how == "and")}


def _grouped(left: Vector, how: str, right: Vector, key: Key, group: Group) -> Vector:
    many, one = (right, left) if group == "right" else (left, right)
    partners: dict[Labels, float] = {}
    for labels, value in one.items():
        own = key(labels)
        if own in partners:
            raise ValueError(f"several elements match {sorted(own)}: a group is needed on that side")
        partners[own] = value
    pairs = []
    for labels, value in many.items():
        own = key(labels)
        if own in partners:
            sides = (partners[own], value) if group == "right" else (value, partners[own])
            pairs.append((labels if group else own, *sides))
    if how in _ARITHMETIC:
        compute = _ARITHMETIC[how]
        return {labels: compute(a, b) for labels, a, b in pairs}
    return _compared(pairs, how)


def relabelled(vector: Vector, label: str, replacement: str, source: str, pattern: str) -> Vector:
    """`label_replace`: where the source label matches whole, the label becomes the replacement ($1 or ${1} in it)."""
    compiled, template = re.compile(pattern), re.sub(r"\$\{?(\d+)\}?", r"\\g<\1>", replacement)

    def replaced(text: str) -> str | None:
        match = compiled.fullmatch(text)
        return match.expand(template) if match else None

    return relabelled_by(replaced, vector, label, source)


def relabelled_by(replaced: Callable[[str], str | None], vector: Vector, label: str, source: str) -> Vector:
    """With the label set to what a function makes of the source label; as it was where that is None."""
    replaced = cache(replaced)
    result: dict[Labels, float] = {}
    for labels, value in vector.items():
        text = replaced(value_of(labels, source) if source else "")
        result[labels if text is None else with_label(labels, label, text)] = value
    return result


Histograms = Mapping[Labels, tuple[list[float], list[float]]]  # Bounds, and what was counted up to each.


def histograms(buckets: Vector, key: Key) -> Histograms:
    """Classic buckets by the other labels, which the key tells; none where nothing was counted or +Inf is missing."""
    counts: dict[Labels, dict[float, float]] = {}
    for labels, count in buckets.items():
        bounds = counts.setdefault(key(labels), {})
        bound = float(value_of(labels, "le"))
        bounds[bound] = bounds.get(bound, 0.0) + count
    result: dict[Labels, tuple[list[float], list[float]]] = {}
    for labels, counted in counts.items():
        ordered = sorted(counted)
        # Sums over servers with unlike bounds may fall, where a cumulative count cannot.
        rising = list(accumulate((counted[bound] for bound in ordered), max))
        if len(ordered) > 1 and math.isinf(ordered[-1]) and rising[-1]:
            result[labels] = ordered, rising
    return result


def quantile(share: float, found: Histograms) -> Vector:
    """`histogram_quantile`."""
    return {labels: _quantile(share, *each).estimate for labels, each in found.items()}


def quantile_bucket(share: float, found: Histograms, upper: bool) -> Vector:
    """A bound of the bucket in which that quantile lies; of one above the last bound, that bound."""
    quantiles = {labels: _quantile(share, *each) for labels, each in found.items()}
    return {labels: each.high if upper else each.low for labels, each in quantiles.items()}


class _Quantile(NamedTuple):
    """A quantile's bucket, and its estimate within it."""

    low: float
    high: float
    estimate: float


def _quantile(share: float, bounds: Sequence[float], rising: Sequence[float]) -> _Quantile:
    rank = share * rising[-1]
    index = min(bisect_left(rising, rank), len(bounds) - 1)
    if index == len(bounds) - 1:
        return _Quantile(bounds[-2], bounds[-2], bounds[-2])
    low, below = (bounds[index - 1], rising[index - 1]) if index else (0.0, 0.0)
    high = bounds[index]
    return _Quantile(low, high, low + (high - low) * (rank - below) / (rising[index] - below))
