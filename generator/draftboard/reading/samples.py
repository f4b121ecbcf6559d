"""Samples of a page of metrics: what prometheus_client reads, fast enough for the pages of thousands of servers.

A line that client libraries would write is read here, and remembered up to its value: the next page has it again.
Every other line is left to prometheus_client, and so are all pages in the format of OpenMetrics.
"""

import math
import re
from collections.abc import Iterator
from dataclasses import dataclass
from functools import lru_cache

from prometheus_client.openmetrics.parser import text_string_to_metric_families as _strictly
from prometheus_client.parser import text_string_to_metric_families as _classic

Labels = tuple[tuple[str, str], ...]  # Names and values, sorted by name.
_NAME = "[a-zA-Z_:][a-zA-Z0-9_:]*"
_PAIR = r'(?!__)[a-zA-Z_][a-zA-Z0-9_]*="[^"\\]*"'
_HEAD = re.compile(rf"({_NAME})(?:\{{((?:{_PAIR}(?:,{_PAIR})*)?),?\}})?")
_PAIRS = re.compile(r'([a-zA-Z0-9_]+)="([^"]*)"')
_DESCRIPTION = re.compile(rf"# (?:HELP ({_NAME})( .*)?|TYPE ({_NAME}) (counter|gauge|histogram|summary|untyped))")
_REMARK = re.compile("#(?!.*(TYPE|HELP))")
REMEMBERED = 8_192
"""Heads of lines that are remembered; a page has 400."""
_LONGEST, _LONGEST_NUMBER = 1_000, 30  # Characters of a head that is remembered, and of a number that is read here.


@dataclass(eq=False, slots=True)
class Head:
    """A line without its value."""

    name: str
    labels: Labels


class _UnusualError(Exception):
    """A description that only prometheus_client reads."""


def samples(text: str, *, strict: bool) -> list[tuple[Head, float]]:
    """The samples of classic text, or OpenMetrics where `strict`, but gauges that are NaN.

    What is not a page raises ValueError, or what else prometheus_client runs into.
    """
    if strict:
        return _by_library(text, strict=True)
    try:
        return list(_fast(text))
    except _UnusualError:
        return _by_library(text, strict=False)


def _fast(text: str) -> Iterator[tuple[Head, float]]:
    found, gauges, without_total = list[tuple[Head, float]](), set[str](), ""
    for line in map(str.strip, text.split("\n")):
        if line.startswith("#"):
            without_total = _described(line, gauges, without_total)
            continue
        written, _, number = line.rpartition(" ")
        head = _head(written) if len(written) <= _LONGEST else _head.__wrapped__(written)
        if head and len(number) <= _LONGEST_NUMBER and "_" not in number:
            value = float(number)
        elif line:
            head, value = _slowly(line)
        else:
            continue
        if without_total:  # prometheus_client ends the names of counters as OpenMetrics does.
            head, without_total = (_totalled(head), head.name) if head.name == without_total else (head, "")
        found.append((head, value))
    return (one for one in found if not math.isnan(one[1]) or one[0].name not in gauges)


def _described(line: str, gauges: set[str], without_total: str) -> str:
    """The counter whose samples follow, if its name does not say that it is one."""
    found = _DESCRIPTION.fullmatch(line)
    if not found:
        if _REMARK.match(line):
            return without_total
        raise _UnusualError
    helped, _, name, kind = found.groups()
    if helped:
        return without_total if helped == without_total else ""
    if kind == "gauge":
        gauges.add(name)
    return name if kind == "counter" and not name.endswith("_total") else ""


@lru_cache(REMEMBERED)
def _head(written: str) -> Head | None:
    """None for what is not in the form that client libraries write."""
    found = _HEAD.fullmatch(written)
    if not found:
        return None
    pairs = _PAIRS.findall(found[2] or "")
    return Head(found[1], tuple(sorted(pairs))) if len(dict(pairs)) == len(pairs) else None


@lru_cache(REMEMBERED)
def _totalled(head: Head) -> Head:
    return Head(f"{head.name}_total", head.labels)


def _slowly(line: str) -> tuple[Head, float]:
    ((sample,),) = (family.samples for family in _classic(line))
    return Head(sample.name, tuple(sorted(sample.labels.items()))), float(sample.value)


def _by_library(text: str, *, strict: bool) -> list[tuple[Head, float]]:
    families = list((_strictly if strict else _classic)(text))
    found = [sample for family in families for sample in family.samples]
    # The parser of OpenMetrics silently drops a repeated line.
    if strict and len(found) != sum(not line.startswith("#") for line in text.splitlines()):
        raise ValueError("duplicate series")
    # A gauge that is not a number has no value now; the rest of the page is as good as ever.
    gauges = {family.name for family in families if family.type == "gauge"}
    return [
        (Head(sample.name, tuple(sorted(sample.labels.items()))), float(sample.value))
        for sample in found
        if sample.name not in gauges or not math.isnan(sample.value)
    ]
