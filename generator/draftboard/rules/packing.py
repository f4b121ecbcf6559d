"""Groups no longer than rulers accept.

Rules of one group are evaluated one after the other, at one time. A rule that reads a record of another group reads
what that group made up to one evaluation ago, so a chain of records crosses as few groups as possible: each takes as
much of it from below as is short enough, and what does not depend on each other stays whole.
"""

import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from collections.abc import Set as AbstractSet
from graphlib import TopologicalSorter

from draftboard.rules.rule import RecordingRule

LONGEST = 20
"""Rules in a group: the default limit of Mimir (`-ruler.max-rules-per-rule-group`)."""
_RECORD = re.compile(r"[a-z]+:[^\s(){}\[\],]+")


def records_in(expr: str) -> frozenset[str]:
    """Names of the records that an expression reads."""
    return frozenset(_RECORD.findall(expr))


def reads(rules: Iterable[RecordingRule]) -> dict[str, frozenset[str]]:
    """Of each record the ones before it that it reads; of itself and of those behind it, a record reads the past."""
    result: dict[str, frozenset[str]] = {}
    for rule in rules:
        result[rule.record] = records_in(rule.expr) & result.keys()
    return result


def depths(read: Mapping[str, AbstractSet[str]]) -> dict[str, int]:
    """Number of records in a row below each record."""
    result: dict[str, int] = {}
    for record, below in read.items():
        result[record] = max((result[earlier] + 1 for earlier in below), default=0)
    return result


def packed(rules: Sequence[RecordingRule], longest: int = LONGEST) -> list[list[RecordingRule]]:
    """The rules in groups of `longest` at most, each rule and each group behind what it reads."""
    read = reads(rules)
    left, groups = list(read), list[set[str]]()
    while left:
        layer = [piece for part in _connected(left, read) for piece in _lowest(part, read, longest)]
        taken = set[str]().union(*layer)
        left = [record for record in left if record not in taken]
        groups += _together(layer, longest)
    return [[rule for rule in rules if rule.record in group] for group in groups]


def _lowest(part: AbstractSet[str], read: Mapping[str, AbstractSet[str]], longest: int) -> list[set[str]]:
    """A part that is short enough; of a longer one as much from below as falls into such."""
    depth = depths(read)
    others = frozenset[str]().union(*read.values())
    pieces: list[set[str]] = []
    # What nothing is made of can wait.
    for record in sorted((one for one in read if one in part), key=lambda one: (one not in others, depth[one])):
        below = read[record] & part
        joined = [piece for piece in pieces if piece & below]
        if below <= set[str]().union(*joined) and sum(map(len, joined)) < longest:
            pieces = [piece for piece in pieces if piece not in joined]
            pieces.append({record}.union(*joined))
    return pieces


def _together(pieces: Iterable[set[str]], longest: int) -> list[set[str]]:
    """In few groups, the longest first."""
    groups: list[set[str]] = []
    for piece in sorted(pieces, key=len, reverse=True):
        room = next((group for group in groups if len(group) + len(piece) <= longest), None)
        if room is None:
            groups.append(piece)
        else:
            room |= piece
    return groups


def in_order(groups: Sequence[Sequence[RecordingRule]], rules: Iterable[RecordingRule]) -> list[int]:
    """Places of the groups, each group behind those whose records it reads."""
    read = reads(rules)
    place = {rule.record: number for number, group in enumerate(groups) for rule in group}
    before = {
        number: sorted({place[below] for rule in group for below in read[rule.record]} - {number})
        for number, group in enumerate(groups)
    }
    return list(TopologicalSorter(before).static_order())


def _connected(records: Sequence[str], read: Mapping[str, AbstractSet[str]]) -> Iterator[set[str]]:
    """The records in parts, of which none reads another."""
    parts: list[set[str]] = []
    for record in records:
        touched = [part for part in parts if part & read[record]]
        parts = [part for part in parts if part not in touched]
        parts.append({record}.union(*touched))
    yield from parts
