"""One page of metrics, live or saved: read strictly, in the dialect that it is in."""

import math
import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from functools import cached_property, lru_cache
from typing import NamedTuple

from draftboard.catalogue import Metric, probe, removed, speculation
from draftboard.catalogue.dialects import DIALECTS, VLLM, Dialect, dialect_of
from draftboard.errors import DraftboardError
from draftboard.reading.samples import REMEMBERED, Head, Labels, samples

Series = tuple[str, Labels]
Names = tuple[str, ...]  # Beginnings of lines; none stands for all.

MODEL, ENGINE = "model_name", "engine"
"""Labels as vLLM gives them; relabelling, which settings know of, happens later, in Prometheus."""
REPLICA = "ReplicaId"  # Ray's label that tells servers apart, each of which has an engine 0.
LONGEST_LINE = 32_768  # Characters; the longest of a real page, the cache's configuration, has about 2,000.
_OWN = DIALECTS["vllm"]
_SHOWN = 120
_SMALLEST, _LARGEST = 1e-15, 1e30
_BY_POSITION = {
    metric.name
    for metric in (speculation.ACCEPTED_TOKENS_PER_POS, speculation.DRAFT_TOKENS_PER_POS, probe.DRAFT_TOKENS_PER_POS)
}
_BOUNDED = (VLLM, probe.PREFIX)
_END = "# EOF"
_UNUSUAL = re.compile(r"[^ -~\n\r\t]")
_NO_NUMBER = re.compile("^could not convert string to float: (.*)")
_PYTHONS = re.compile("unpack|substring|invalid literal")


@dataclass(frozen=True)
class Page:
    """Samples of a server at one time, under vLLM's names, whatever the engine's own."""

    source: str  # Address or path, without secrets.
    values: Mapping[Series, float]  # Every sample, without the `_created` times that client libraries add.
    at: float | None = None  # Unix seconds of the reading; None for a saved page.
    dialect: Dialect | None = None  # Whose names the page has; None where no engine is known that has them.

    @cached_property
    def by_name(self) -> Mapping[str, Mapping[Labels, float]]:
        """The samples of each series name, by their labels."""
        series: dict[str, dict[Labels, float]] = {}
        for (name, labels), value in self.values.items():
            series.setdefault(name, {})[labels] = value
        return series

    def of(self, metric: Metric) -> Mapping[Labels, float]:
        """The samples of a metric by their labels; empty where the page has none."""
        return {labels: value for (name, labels), value in self.values.items() if name == metric.name}

    @cached_property
    def v0(self) -> bool:
        """Whether vLLM's V0 engine exposed it, whose speculative series meant something else."""
        return not {metric.name for metric in removed.V0}.isdisjoint(name for name, _ in self.values)

    def of_engine(self, name: str) -> bool:
        """Whether a series is about an engine."""
        return name.startswith((VLLM, probe.PREFIX)) or (self.dialect is not None and name in self.dialect.own_names)


def read(text: str, source: str, at: float | None = None, *, openmetrics: bool = False, names: Names = ()) -> Page:
    """Read classic text, or OpenMetrics (`openmetrics` asserts it); DraftboardError for anything else.

    `names` restricts it to series of a page that was read before: nothing is checked of the others.
    """
    try:
        if names:
            text = _restricted(text, names)
        _require_text(text)
        values, dialect = _values(samples(text, strict=openmetrics or _END in text.splitlines()))
    # The parser raises whatever its code runs into, some of it without words.
    except (ValueError, IndexError, KeyError, TypeError, AttributeError, OverflowError, UnboundLocalError) as error:
        raise DraftboardError(f"{source}: not a page of metrics: {_line(error)}") from None
    return Page(source, values, at, dialect)


def _restricted(text: str, names: Names) -> str:
    if not _is_complete(text):
        return text
    wanted = (_END, *names, *(f"# TYPE {name}" for name in names))
    return "".join(f"{line}\n" for line in text.split("\n") if line.startswith(wanted))


def _is_complete(text: str) -> bool:
    return text.endswith(("\n", _END))


def _require_text(text: str) -> None:
    """Raise ValueError for what the parsers would misread, or take too long over."""
    start = text.lstrip()[:1]
    if not start:
        raise ValueError("it is empty")
    if start in "<{[":
        kind = "HTML" if start == "<" else "JSON"
        raise ValueError(f"it is {kind}; use the address that Prometheus scrapes, which ends in /metrics")
    if any(not character.isprintable() for character in set(_UNUSUAL.findall(text))):
        raise ValueError("it is binary")
    if not _is_complete(text):
        raise ValueError("its last line is incomplete")
    if (longest := max(map(len, text.splitlines()))) > LONGEST_LINE:
        raise ValueError(f"a line has {longest} characters")


def _values(found: Iterable[tuple[Head, float]]) -> tuple[dict[Series, float], Dialect | None]:
    """Values by series, and the dialect in which the engine's are written."""
    values: dict[Series, float] = {}
    parts: dict[Series, set[str]] = {}  # Names of samples, by the series that they are part of, where those have two.
    spoken: Dialect | None = None
    shown: Dialect | None = None
    for head, value in found:
        meaning = _meaning(head)
        spoken, shown = spoken or meaning.name.spoken, shown or meaning.name.shown
        for series, weight, whole, bounded in meaning.parts:
            if series in values and (not whole or head.name in parts[series]):
                raise ValueError(f"duplicate series of {head.name}")
            if whole:
                parts.setdefault(series, set()).add(head.name)
            if bounded and value != 0 and not _SMALLEST < value < _LARGEST:
                raise ValueError(f"{head.name} is {value:g}: value out of range")
            values[series] = values.get(series, 0.0) + weight * value
    if not values:
        raise ValueError("it has no samples")
    for series in (series for series, names in parts.items() if len(names) == 1):
        del values[series]
    return values, spoken or shown


class _Part(NamedTuple):
    """What a sample is of a series."""

    series: Series
    weight: float
    whole: bool  # Whether the series is a difference, which needs both counters.
    bounded: bool  # Whether its values have a computable size.


class _Name(NamedTuple):
    """What the name of a sample says."""

    spoken: Dialect | None  # The dialect that has the sample.
    shown: Dialect | None  # The dialect whose sign it is.
    meant: str  # vLLM's name of the series with the same labels; empty where the dialect renames labels, too.


class _Meaning(NamedTuple):
    """What the line of a sample says, whatever its value."""

    parts: tuple[_Part, ...]
    name: _Name


@lru_cache(REMEMBERED)
def _name(name: str) -> _Name:
    dialect = dialect_of(name)
    # What a plugin of one engine adds may begin as another's series do.
    spoken = dialect if dialect and name in dialect.exported else None
    shown = next((one for one in DIALECTS.values() if one.sign == name), None)
    same_labels = (dialect or _OWN).spellings is None and (dialect or _OWN).has_models
    return _Name(spoken, shown, next((dialect or _OWN).meant(name)) if same_labels else "")


@lru_cache(REMEMBERED)
def _meaning(head: Head) -> _Meaning:
    """Under vLLM's names. ValueError where bounds or positions are no numbers."""
    if head.name.endswith("_created"):
        return _Meaning((), _Name(None, None, ""))
    name = _name(head.name)
    if name.meant:
        return _Meaning((_part(head, name.meant, head.labels),), name)
    dialect, parts = dialect_of(head.name) or _OWN, []
    for meant, labels, weight in dialect.understood(head.name, dict(head.labels)):
        if not dialect.has_models:
            labels.setdefault(MODEL, "")
        own = _part(head, meant, tuple(sorted(labels.items())))
        parts.append(own._replace(weight=weight, whole=bool(dialect.differences.get(meant))))
    return _Meaning(tuple(parts), name)


def _part(head: Head, meant: str, labels: Labels) -> _Part:
    bounded = meant.startswith(_BOUNDED)
    if bounded and (meant in _BY_POSITION or head.name.endswith("_bucket")):
        _require_numbers(head.name, dict(labels), by_position=meant in _BY_POSITION)
    return _Part((meant, labels), 1.0, whole=False, bounded=bounded)


def _require_numbers(name: str, labels: Mapping[str, str], *, by_position: bool) -> None:
    if name.endswith("_bucket") and math.isnan(float(labels.get("le", "nan"))):
        raise ValueError(f"{name} has a label le that is not a number")
    if by_position and not re.fullmatch("[0-9]{1,4}", labels.get("position", "")):
        raise ValueError(f"{name} has a label position that is not a number")


def _line(error: Exception) -> str:
    """The parser's words on one line, cut; generic where they are Python's own."""
    text = _NO_NUMBER.sub(r"\1 is not a number", " ".join(str(error).split()))
    if not text or not isinstance(error, ValueError) or _PYTHONS.search(text):
        text = "a line cannot be read"
    return text if len(text) <= _SHOWN else text[:_SHOWN] + "..."
