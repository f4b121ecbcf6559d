"""Samples of a page of metrics: what prometheus_client reads, fast enough for the pages of thousands of servers.

A line that client libraries would write is read here, and its labels are remembered: histograms of one model share
them, and the next page has them again. Every other line is left to prometheus_client, and so are all pages in the
format of OpenMetrics. It is imported where it is needed, for most pages need it nowhere, and it starts a tenth later.
"""

import math
import re
from functools import lru_cache

Labels = tuple[tuple[str, str], ...]  # Names and values, sorted by name.
Series = tuple[str, Labels]
Sample = tuple[Series, float]
_NAME = "[a-zA-Z_:][a-zA-Z0-9_:]*"
_PAIR = r'(?!__)[a-zA-Z_][a-zA-Z0-9_]*="[^"\\]*"'
_IS_NAME = re.compile(_NAME).fullmatch
_LABELS = re.compile(rf"(?:{_PAIR}(?:,{_PAIR})*)?,?\}}")
_PAIRS = re.compile(r'([a-zA-Z0-9_]+)="([^"]*)"')
_DESCRIPTION = re.compile(rf"# (?:HELP ({_NAME})( .*)?|TYPE ({_NAME}) (counter|gauge|histogram|summary|untyped))")
_REMARK = re.compile("#(?!.*(TYPE|HELP))")
REMEMBERED = 32_768
"""Sets of labels that are remembered; a model has 90 on a page."""
_LONGEST, _LONGEST_NUMBER = 400, 30  # Characters of labels that are remembered, and of a number that is read here.


class _UnusualError(Exception):
    """A description that only prometheus_client reads."""


def samples(text: str, *, strict: bool) -> list[Sample]:
    """The samples of classic text, or OpenMetrics where `strict`, but gauges that are NaN.

    What is not a page raises ValueError, or what else prometheus_client runs into.
    """
    if strict:
        return _by_library(text, strict=True)
    try:
        return _fast(text)
    except _UnusualError:
        return _by_library(text, strict=False)


def _fast(text: str) -> list[Sample]:
    found, gauges, without_total = list[Sample](), set[str](), ""
    for line in map(str.strip, text.split("\n")):
        if line[:1] == "#":
            without_total = _described(line, gauges, without_total)
            continue
        written, _, number = line.rpartition(" ")
        begun, brace, pairs = written.partition("{")
        labels = (_labels if len(pairs) <= _LONGEST else _labels.__wrapped__)(pairs) if brace else ()
        name = _name(begun)
        if labels is not None and name and len(number) <= _LONGEST_NUMBER and "_" not in number:
            series, value = (name, labels), float(number)
        elif line:
            series, value = _slowly(line)
        else:
            continue
        if without_total:  # prometheus_client ends the names of counters as OpenMetrics does.
            name, labels = series
            series, without_total = ((f"{name}_total", labels), name) if name == without_total else (series, "")
        found.append((series, value))
    return [one for one in found if not math.isnan(one[1]) or one[0][0] not in gauges]


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


@lru_cache(1_024)
def _name(written: str) -> str:
    """One object for each name; empty for what is none."""
    return written if _IS_NAME(written) else ""


@lru_cache(REMEMBERED)
def _labels(written: str) -> Labels | None:
    """None for what is not in the form that client libraries write, as it stands behind the brace."""
    if not _LABELS.fullmatch(written):
        return None
    pairs = _PAIRS.findall(written)
    return tuple(sorted(pairs)) if len(dict(pairs)) == len(pairs) else None


def _slowly(line: str) -> Sample:
    from prometheus_client.parser import text_string_to_metric_families as parse  # noqa: PLC0415

    ((sample,),) = (family.samples for family in parse(line))
    return (sample.name, tuple(sorted(sample.labels.items()))), float(sample.value)


def _by_library(text: str, *, strict: bool) -> list[Sample]:
    from prometheus_client import parser  # noqa: PLC0415
    from prometheus_client.openmetrics import parser as strictly  # noqa: PLC0415

    families = list((strictly if strict else parser).text_string_to_metric_families(text))
    found = [sample for family in families for sample in family.samples]
    # The parser of OpenMetrics silently drops a repeated line.
    if strict and len(found) != sum(not line.startswith("#") for line in text.splitlines()):
        raise ValueError("duplicate series")
    # A gauge that is not a number has no value now; the rest of the page is as good as ever.
    gauges = {family.name for family in families if family.type == "gauge"}
    return [
        ((sample.name, tuple(sorted(sample.labels.items()))), float(sample.value))
        for sample in found
        if sample.name not in gauges or not math.isnan(sample.value)
    ]
