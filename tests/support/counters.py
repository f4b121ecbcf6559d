"""The recorded run's raw counters in plain Python, for comparison: no PromQL here."""

import lzma
from bisect import bisect_right
from collections import defaultdict
from dataclasses import dataclass
from itertools import pairwise
from pathlib import Path

from prometheus_client.openmetrics.parser import text_string_to_metric_families

Labels = frozenset[tuple[str, str]]


@dataclass(frozen=True)
class Counter:
    """Samples of one series, in the order of time."""

    times: list[float]
    values: list[float]

    def between(self, start: float, end: float) -> "Counter":
        """Samples after `start` and up to `end`."""
        first, last = bisect_right(self.times, start), bisect_right(self.times, end)
        return Counter(self.times[first:last], self.values[first:last])

    @property
    def increase(self) -> float:
        """From the first to the last sample; a fall is a restart at 0."""
        return sum(after - before if after >= before else after for before, after in pairwise(self.values))

    def rate(self, start: float, end: float) -> float:
        """Per second between two times, extrapolated as Prometheus does: to the ends of the window where the samples
        come near them, by half a gap where they do not, and never back beyond the counter's zero.
        """
        # In whole milliseconds, as Prometheus counts: seconds since 1970 have no digits to spare.
        first, last, start, end = (round(at * 1000) for at in (self.times[0], self.times[-1], start, end))
        span = last - first
        gap = span / (len(self.times) - 1)
        before: float = first - start
        after: float = end - last
        if before >= 1.1 * gap:
            before = gap / 2
        if self.increase > 0:
            before = min(before, span * self.values[0] / self.increase)
        if after >= 1.1 * gap:
            after = gap / 2
        return self.increase * ((span + before + after) / span) / ((end - start) / 1000)

    @property
    def begins_here(self) -> bool:
        """Whether the counter was so low at first that `rate` extrapolates only back to its zero."""
        if self.increase == 0:
            return False
        span = self.times[-1] - self.times[0]
        return self.values[0] / self.increase * span < span / (len(self.times) - 1) * 1.1


def read(recording: Path, names: set[str]) -> dict[str, dict[Labels, Counter]]:
    """The named series, by name and labels, each in the order of time."""
    samples: dict[str, list[tuple[float, float]]] = defaultdict(list)
    with lzma.open(recording, "rt") as text:
        for line in text:
            if line.partition("{")[0] in names:
                series, value, time = line.rsplit(" ", 2)
                samples[series].append((float(time), float(value)))
    found: dict[str, dict[Labels, Counter]] = defaultdict(dict)
    for series, of in samples.items():
        # Each is parsed once: the parser takes as long for one line as all of the above.
        (family,) = text_string_to_metric_families(f"{series} 0\n# EOF\n")
        (sample,) = family.samples
        times, values = zip(*sorted(of), strict=True)
        found[sample.name][frozenset(sample.labels.items())] = Counter(list(times), list(values))
    return found
