"""One page of metrics as a server serves it or as somebody saved it: read strictly, told apart by its dialect."""

import math
import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from functools import cached_property

from prometheus_client.openmetrics.parser import text_string_to_metric_families as _strictly
from prometheus_client.parser import text_string_to_metric_families as _classic
from prometheus_client.samples import Sample

from draftboard.catalogue import Metric, removed, speculation
from draftboard.errors import DraftboardError

Labels = tuple[tuple[str, str], ...]
"""Names and values, sorted by name."""
Series = tuple[str, Labels]

MODEL, ENGINE = "model_name", "engine"
"""Labels as vLLM gives them; relabelling, which settings know of, happens later, in Prometheus."""
REPLICA = "ReplicaId"
"""Ray's label that tells servers apart, each of which has an engine 0."""
VLLM = "vllm:"
RAY = ("ray_vllm_", "ray_vllm:")
"""How Ray Serve names the same series: newer releases, older ones."""
_PREFIXES = (VLLM, *RAY, "vllm_")
"""The last where a client library escaped the colon in OpenMetrics."""
LONGEST_LINE = 32_768
"""Characters; the longest of a real page, the cache's configuration, has about 2,000."""
_SHOWN = 120
_SMALLEST, _LARGEST = 1e-15, 1e30
_END = "# EOF"
_NO_NUMBER = re.compile("^could not convert string to float: (.*)")
_PYTHONS = re.compile("unpack|substring|invalid literal")


@dataclass(frozen=True)
class Page:
    """What a server counted, at one time. Series are named as vLLM names them, whoever exposed them."""

    source: str
    """Where it is from, fit to be shown."""
    values: Mapping[Series, float]
    """Every sample, without the `_created` times that client libraries add."""
    at: float | None = None
    """Unix seconds of the reading; None of a saved page, which does not tell."""
    prefix: str = VLLM
    """How vLLM's series are named here: Ray Serve has names of its own."""

    @cached_property
    def by_name(self) -> Mapping[str, Mapping[Labels, float]]:
        """The samples of each series name, by their labels."""
        found: dict[str, dict[Labels, float]] = {}
        for (name, labels), value in self.values.items():
            found.setdefault(name, {})[labels] = value
        return found

    def of(self, metric: Metric) -> Mapping[Labels, float]:
        """The samples of a metric by their labels; empty where the page has none."""
        return self.by_name.get(metric.name, {})

    @property
    def v0(self) -> bool:
        """Whether vLLM's V0 engine exposed it, whose speculative series meant something else."""
        return any(metric.name in self.by_name for metric in removed.V0)

    @property
    def ray(self) -> bool:
        """Whether Ray Serve exposed it."""
        return self.prefix in RAY


def read(text: str, source: str, at: float | None = None, *, openmetrics: bool = False) -> Page:
    """Read classic text or OpenMetrics; `openmetrics` says that the server called it that, so that it has an end.

    Raises:
        DraftboardError: it is no page of metrics, is cut off, or holds what no vLLM counts: one line says which.
    """
    try:
        _require_text(text)
        strict = openmetrics or _END in text.splitlines()
        samples = [sample for family in (_strictly if strict else _classic)(text) for sample in family.samples]
        if strict:
            _require_all_lines(text, len(samples))
        values, prefix = _values(samples)
    # The parser raises what its code happens to run into, and some of it has no words.
    except (ValueError, IndexError, KeyError, TypeError, AttributeError, OverflowError, UnboundLocalError) as error:
        raise DraftboardError(f"{source}: not a page of metrics: {_line(error)}") from None
    return Page(source, values, at, prefix)


def _require_text(text: str) -> None:
    """Raise ValueError for what the parsers would misread, or take too long over."""
    start = text.lstrip()[:1]
    if not start:
        raise ValueError("it is empty")
    if start in "<{[":
        kind = "HTML" if start == "<" else "JSON"
        raise ValueError(f"it is {kind}; name the address that Prometheus scrapes, which ends in /metrics")
    if any(not (character.isprintable() or character in "\n\r\t") for character in set(text)):
        raise ValueError("it is binary")
    if not text.endswith("\n") and not text.endswith(_END):
        raise ValueError("it is cut off in its last line")
    longest = max(map(len, text.splitlines()))
    if longest > LONGEST_LINE:
        raise ValueError(f"a line has {longest} characters")


def _values(samples: Iterable[Sample]) -> tuple[dict[Series, float], str]:
    """Values by series, and how vLLM's series are named."""
    values: dict[Series, float] = {}
    used = VLLM
    for sample in samples:
        if sample.name.endswith("_created"):
            continue
        prefix = next((prefix for prefix in _PREFIXES if sample.name.startswith(prefix)), "")
        used = prefix or used
        name = VLLM + sample.name.removeprefix(prefix) if prefix else sample.name
        series = (name, tuple(sorted(sample.labels.items())))
        value = float(sample.value)
        if series in values:
            raise ValueError(f"{name} is there twice with the same labels")
        if name.startswith(VLLM):
            _require_count(name, value)
            _require_numbers(name, sample.labels)
        values[series] = value
    if not values:
        raise ValueError("it holds no sample")
    return values, used


def _require_count(name: str, value: float) -> None:
    """Everything that vLLM exposes is 0, or a number of a size that can be computed with."""
    if value != 0 and not _SMALLEST < value < _LARGEST:
        raise ValueError(f"{name} is {value:g}, which vLLM never says")


def _require_numbers(name: str, labels: Mapping[str, str]) -> None:
    """Labels that are computed with are there, and are numbers."""
    if name.endswith("_bucket") and math.isnan(float(labels.get("le", "nan"))):
        raise ValueError(f"{name} has a bound le that is no number")
    if name == speculation.ACCEPTED_TOKENS_PER_POS.name and not re.fullmatch("[0-9]{1,4}", labels.get("position", "")):
        raise ValueError(f"{name} has a position that is no number")


def _require_all_lines(text: str, samples: int) -> None:
    """The parser of OpenMetrics drops a repeated line without a word."""
    if samples != sum(not line.startswith("#") for line in text.splitlines()):
        raise ValueError("a series is there twice with the same labels")


def _line(error: Exception) -> str:
    """The parser's words on one line; they may quote the page at any length, or be Python's, which say nothing."""
    text = _NO_NUMBER.sub(r"\1 is no number", " ".join(str(error).split()))
    if not text or not isinstance(error, ValueError) or _PYTHONS.search(text):
        text = "a line cannot be read"
    return text if len(text) <= _SHOWN else text[:_SHOWN] + "..."
