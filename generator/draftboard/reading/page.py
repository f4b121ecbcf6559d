"""One page of metrics, live or saved: read strictly, in the dialect that it is in."""

import math
import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from functools import cached_property, lru_cache
from typing import NamedTuple

from draftboard.catalogue import CATALOGUE, Metric, probe, removed, speculation
from draftboard.catalogue.dialects import DIALECTS, VLLM, Dialect, dialect_of
from draftboard.errors import DraftboardError
from draftboard.reading.samples import REMEMBERED, Labels, Sample, Series, samples

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
_BUCKETS = {part.name for metric in CATALOGUE for part in metric.parts if part.name.endswith("_bucket")}
_END = "# EOF"
_USUAL = bytes(range(32, 127)) + b"\n\r\t"
_NO_NUMBER = re.compile("^could not convert string to float: (.*)")
_PYTHONS = re.compile("unpack|substring|invalid literal")


@dataclass(frozen=True)
class Page:
    """Samples of a server at one time, under vLLM's names, whatever the engine's own."""

    source: str  # Address or path, without secrets.
    values: Mapping[Series, float]
    """Every sample, without the `_created` times that client libraries add, and buckets that no signal reads."""
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
        values, dialect = _values(samples(text, strict=openmetrics or (_END in text and _END in text.splitlines())))
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
    if not text.encode(errors="surrogatepass").translate(None, _USUAL).decode(errors="surrogatepass").isprintable():
        raise ValueError("it is binary")
    if not _is_complete(text):
        raise ValueError("its last line is incomplete")
    if (longest := max(map(len, text.splitlines()))) > LONGEST_LINE:
        raise ValueError(f"a line has {longest} characters")


def _values(found: Iterable[Sample]) -> tuple[dict[Series, float], Dialect | None]:
    """Values by series, and the dialect in which the engine's are written."""
    values: dict[Series, float] = {}
    parts: dict[Series, set[str]] = {}  # Names of samples, by the series that they are part of, where those have two.
    spoken: Dialect | None = None
    shown: Dialect | None = None
    for written, value in found:
        name, labels = written
        says = _name(name)
        spoken, shown = spoken or says.spoken, shown or says.shown
        if says.must_be_number and not _is_number(labels, says.must_be_number):
            raise ValueError(f"{name} has a label {says.must_be_number} that is not a number")
        if not says.is_read:
            continue
        for series, weight, whole in ((written, 1.0, False),) if says.meant == name else _parts(written):
            if series in values and (not whole or name in parts[series]):
                raise ValueError(f"duplicate series of {name}")
            if whole:
                parts.setdefault(series, set()).add(name)
            if value != 0 and not _SMALLEST < value < _LARGEST and series[0].startswith(_BOUNDED):
                raise ValueError(f"{name} is {value:g}: value out of range")
            values[series] = values.get(series, 0.0) + weight * value if whole else value
    if not values:
        raise ValueError("it has no samples")
    for series in (series for series, names in parts.items() if len(names) == 1):
        del values[series]
    return values, spoken or shown


_Part = tuple[Series, float, bool]
"""What a sample is of a series: its weight, and whether the series is a difference, which needs both counters."""


class _Name(NamedTuple):
    """What the name of a sample says."""

    is_read: bool = True
    spoken: Dialect | None = None  # The dialect that has the sample.
    shown: Dialect | None = None  # The dialect whose sign it is.
    meant: str = ""  # vLLM's name of the series with the same labels; empty where the dialect renames labels, too.
    must_be_number: str = ""  # A label.


@lru_cache(1_024)
def _name(name: str) -> _Name:
    if name.endswith("_created"):
        return _Name(is_read=False)
    dialect = dialect_of(name)
    # What a plugin of one engine adds may begin as another's series do.
    spoken = dialect if dialect and name in dialect.exported else None
    shown = next((one for one in DIALECTS.values() if one.sign == name), None)
    same_labels = (dialect or _OWN).spellings is None and (dialect or _OWN).has_models
    meant = next((dialect or _OWN).meant(name)) if same_labels else ""
    is_read = not meant.endswith("_bucket") or meant in _BUCKETS  # The others are a third of a page.
    return _Name(is_read, spoken, shown, meant, _must_be_number(name, meant))


def _must_be_number(name: str, meant: str) -> str:
    """A label of a series that vLLM calls otherwise."""
    if not meant.startswith(_BOUNDED):
        return ""
    return "position" if meant in _BY_POSITION else "le" if name.endswith("_bucket") else ""


@lru_cache(REMEMBERED)
def _parts(written: Series) -> tuple[_Part, ...]:
    """Under vLLM's names. ValueError where bounds or positions are no numbers."""
    name, labels = written
    dialect, parts = dialect_of(name) or _OWN, []
    for meant, own, weight in dialect.understood(name, dict(labels)):
        if not dialect.has_models:
            own.setdefault(MODEL, "")
        ours = tuple(sorted(own.items()))
        label = _must_be_number(name, meant)
        if label and not _is_number(ours, label):
            raise ValueError(f"{name} has a label {label} that is not a number")
        parts.append(((meant, ours), float(weight), bool(dialect.differences.get(meant))))
    return tuple(parts)


@lru_cache(REMEMBERED)
def _is_number(labels: Labels, label: str) -> bool:
    """Whether a position is one, or a bound; of what cannot be read, ValueError."""
    text = dict(labels).get(label, "nan")
    if label == "position":
        return bool(re.fullmatch("[0-9]{1,4}", text))
    return not math.isnan(float(text))


def _line(error: Exception) -> str:
    """The parser's words on one line, cut; generic where they are Python's own."""
    text = _NO_NUMBER.sub(r"\1 is not a number", " ".join(str(error).split()))
    if not text or not isinstance(error, ValueError) or _PYTHONS.search(text):
        text = "a line cannot be read"
    return text if len(text) <= _SHOWN else text[:_SHOWN] + "..."
