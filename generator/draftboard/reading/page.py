"""One page of metrics, live or saved: read strictly, in the dialect that it is in."""

import math
import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from functools import cached_property

from prometheus_client.openmetrics.parser import text_string_to_metric_families as _strictly
from prometheus_client.parser import text_string_to_metric_families as _classic
from prometheus_client.samples import Sample

from draftboard.catalogue import Metric, probe, removed, speculation
from draftboard.catalogue.dialects import DIALECTS, VLLM, Dialect, dialect_of
from draftboard.errors import DraftboardError

Labels = tuple[tuple[str, str], ...]  # Names and values, sorted by name.
Series = tuple[str, Labels]

MODEL, ENGINE = "model_name", "engine"
"""Labels as vLLM gives them; relabelling, which settings know of, happens later, in Prometheus."""
REPLICA = "ReplicaId"  # Ray's label that tells servers apart, each of which has an engine 0.
LONGEST_LINE = 32_768  # Characters; the longest of a real page, the cache's configuration, has about 2,000.
_OWN = DIALECTS["vllm"]
_SHOWN = 120
_SMALLEST, _LARGEST = 1e-15, 1e30
_BY_POSITION = {speculation.ACCEPTED_TOKENS_PER_POS.name, probe.DRAFT_TOKENS_PER_POS.name}
_END = "# EOF"
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
        return self.by_name.get(metric.name, {})

    @property
    def v0(self) -> bool:
        """Whether vLLM's V0 engine exposed it, whose speculative series meant something else."""
        return any(metric.name in self.by_name for metric in removed.V0)

    def of_engine(self, name: str) -> bool:
        """Whether a series is about an engine."""
        own = self.dialect.own if self.dialect else ()
        return name.startswith((VLLM, probe.PREFIX)) or any(metric.name == name for metric in own)


def read(text: str, source: str, at: float | None = None, *, openmetrics: bool = False) -> Page:
    """Read classic text, or OpenMetrics (`openmetrics` asserts it); DraftboardError for anything else."""
    try:
        _require_text(text)
        values, dialect = _values(_samples(text, strict=openmetrics or _END in text.splitlines()))
    # The parser raises whatever its code runs into, some of it without words.
    except (ValueError, IndexError, KeyError, TypeError, AttributeError, OverflowError, UnboundLocalError) as error:
        raise DraftboardError(f"{source}: not a page of metrics: {_line(error)}") from None
    return Page(source, values, at, dialect)


def _require_text(text: str) -> None:
    """Raise ValueError for what the parsers would misread, or take too long over."""
    start = text.lstrip()[:1]
    if not start:
        raise ValueError("it is empty")
    if start in "<{[":
        kind = "HTML" if start == "<" else "JSON"
        raise ValueError(f"it is {kind}; use the address that Prometheus scrapes, which ends in /metrics")
    if any(not (character.isprintable() or character in "\n\r\t") for character in set(text)):
        raise ValueError("it is binary")
    if not text.endswith("\n") and not text.endswith(_END):
        raise ValueError("its last line is incomplete")
    if (longest := max(map(len, text.splitlines()))) > LONGEST_LINE:
        raise ValueError(f"a line has {longest} characters")


def _samples(text: str, *, strict: bool) -> list[Sample]:
    families = list((_strictly if strict else _classic)(text))
    samples = [sample for family in families for sample in family.samples]
    # The parser of OpenMetrics silently drops a repeated line.
    if strict and len(samples) != sum(not line.startswith("#") for line in text.splitlines()):
        raise ValueError("duplicate series")
    # A gauge that is not a number has no value now; the rest of the page is as good as ever.
    gauges = {family.name for family in families if family.type == "gauge"}
    return [sample for sample in samples if sample.name not in gauges or not math.isnan(sample.value)]


def _values(samples: Iterable[Sample]) -> tuple[dict[Series, float], Dialect | None]:
    """Values by series, and the dialect in which the engine's are written."""
    values: dict[Series, float] = {}
    spoken: Dialect | None = None
    for sample in samples:
        if sample.name.endswith("_created"):
            continue
        dialect = dialect_of(sample.name)
        # What a plugin of one engine adds may begin as another's series do.
        if dialect and sample.name in dialect.exported:
            spoken = spoken or dialect
        for name, labels in (dialect or _OWN).understood(sample.name, sample.labels):
            if dialect and not dialect.has_models:
                labels.setdefault(MODEL, "")
            series = (name, tuple(sorted(labels.items())))
            if series in values:
                raise ValueError(f"duplicate series of {sample.name}")
            values[series] = float(sample.value)
            if name.startswith((VLLM, probe.PREFIX)):
                _require_possible(sample.name, values[series], labels, by_position=name in _BY_POSITION)
    if not values:
        raise ValueError("it has no samples")
    return values, spoken


def _require_possible(name: str, value: float, labels: Mapping[str, str], *, by_position: bool) -> None:
    """Raise ValueError unless the value is 0 or of a computable size, and bounds and positions are numbers."""
    if value != 0 and not _SMALLEST < value < _LARGEST:
        raise ValueError(f"{name} is {value:g}: value out of range")
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
