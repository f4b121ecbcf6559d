"""Groups no longer than rulers accept.

Rules of one group are evaluated one after the other, at one time. A rule that reads a record of another group reads
what that group made up to one evaluation ago, so a chain of records crosses few groups.
"""

import re
from collections.abc import Iterable, Mapping, Sequence
from collections.abc import Set as AbstractSet

from draftboard.rules.rule import RecordingRule

LONGEST = 18
"""Rules in a group: two fewer than Mimir's default limit, 20 (`-ruler.max-rules-per-rule-group`), for a team's own."""
_RECORD = re.compile(r"[a-z]+:[^\s(){}\[\],'\"`]+")


def records_in(expr: str) -> frozenset[str]:
    """Names of the records that an expression reads, or that stand in a text."""
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


def packed(rules: Sequence[tuple[str, RecordingRule]], longest: int = LONGEST) -> list[tuple[str, list[RecordingRule]]]:
    """The rules, each with the name of its family, in groups of one family and of `longest` at most.

    Each rule and each group is behind what it reads. A record joins the groups of what it reads where all of them fit
    in one, and otherwise begins a later one. Among records of like depth those that read most choose first: they
    compare counters, which have to be of one moment.
    """
    read, family = reads(rule for _, rule in rules), {rule.record: name for name, rule in rules}
    depth = depths(read)
    crossed, part = dict[str, int](), dict[str, set[str]]()
    for record in sorted(read, key=lambda record: (depth[record], -len(read[record]))):
        beside = {one for one in read[record] if family[one] == family[record]}
        later = max((crossed[one] + (one not in beside) for one in read[record]), default=0)
        while len(whole := {record}.union(*(part[one] for one in beside if crossed[one] == later))) > longest:
            later += 1
        crossed[record] = later
        part.update(dict.fromkeys(whole, whole))
    groups: list[tuple[int, str, set[str]]] = []
    for one in sorted({id(one): one for one in part.values()}.values(), key=len, reverse=True):
        record = next(iter(one))
        kind = crossed[record], family[record]
        room = next((group for *of, group in groups if (*of,) == kind and len(group) + len(one) <= longest), None)
        if room is None:
            groups.append((*kind, {*one}))
        else:
            room |= one
    groups.sort(key=lambda group: group[0])
    return [(name, [rule for _, rule in rules if rule.record in group]) for _, name, group in groups]
