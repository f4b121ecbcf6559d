"""What Grafana sends when a dashboard is opened, and what Prometheus reads for it."""

import re
import time
from collections.abc import Iterable, Iterator, Mapping
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from typing import NamedTuple

import httpx

from draftboard.durations import Duration
from draftboard.settings import Settings
from support import grafana

SCREEN = 1920  # Pixels across, of which a panel shows one point each.
_CONNECTIONS = 6
"""That a browser opens to one server at a time."""
_ROUND = {12.5: 10, 17.5: 15, 25: 20, 45: 30, 90: 60, 210: 120, 450: 300, 750: 600, 1050: 900, 1500: 1200}
"""Steps in seconds that Grafana rounds to, each up to the bound before it."""
_VALUES = re.compile(r"label_values\((?P<series>.+), (?P<label>\w+)\)")


class Query(NamedTuple):
    """What a panel, or an annotation, sends."""

    title: str
    expr: str
    step: int  # Seconds between points; 0 of a table, which asks once.


@dataclass(frozen=True)
class Cost:
    """Samples that Prometheus reads, the most that it holds at a time, and seconds until it answers."""

    samples: float = 0
    peak: int = 0
    seconds: float = 0

    def __add__(self, other: "Cost") -> "Cost":
        return Cost(self.samples + other.samples, max(self.peak, other.peak), self.seconds + other.seconds)


class Span(NamedTuple):
    """What is shown: its end, as Unix time, and how long it is."""

    end: float
    length: Duration


def queries(
    dashboard: grafana.Json, settings: Settings, shown: Duration, chosen: Mapping[str, str] | None = None
) -> Iterator[Query]:
    """All queries, with variables at their defaults unless chosen; collapsed rows ask nothing."""
    for panel in (one for one in dashboard["panels"] if one["type"] not in {"row", "text"}):
        across = min(SCREEN * panel["gridPos"]["w"] // 24, panel.get("maxDataPoints") or SCREEN)
        for target in panel["targets"]:
            step = step_of(shown, across, Duration.parse(target.get("interval") or panel["interval"]))
            sent = _sent(target["expr"], dashboard, settings, step, chosen)
            yield Query(panel["title"], sent, 0 if target["instant"] else step)
    for annotation in dashboard["annotations"]["list"]:
        if annotation["enable"] and "target" in annotation:
            step = step_of(shown, SCREEN, Duration.parse(annotation["target"]["interval"]))
            yield Query(
                annotation["name"], _sent(annotation["target"]["expr"], dashboard, settings, step, chosen), step
            )


def step_of(shown: Duration, across: int, least: Duration) -> int:
    """Seconds between the points of a panel that is so many pixels wide."""
    exact = shown.seconds / across
    return max(least.seconds, next((step for bound, step in _ROUND.items() if exact < bound), 1800))


def rate_interval(step: int, settings: Settings) -> Duration:
    """Grafana's $__rate_interval."""
    scrape = settings.rules.scrape_interval.seconds
    return Duration(max(step + scrape, 4 * scrape))


def _sent(expr: str, dashboard: grafana.Json, settings: Settings, step: int, chosen: Mapping[str, str] | None) -> str:
    window = str(rate_interval(step, settings))
    return grafana.substituted(expr, dashboard, window, chosen, interval=str(Duration(step)))


def opened(http: httpx.Client, dashboard: grafana.Json, settings: Settings, span: Span) -> Cost:
    """Open it once: one variable after the other, then all queries at a time; seconds are those of the whole."""
    began = time.perf_counter()
    for label, series in variables(dashboard):
        asked: dict[str, str | float] = {"match[]": series, "start": span.end - span.length.seconds, "end": span.end}
        http.get(f"/api/v1/label/{label}/values", params=asked).raise_for_status()
    with ThreadPoolExecutor(_CONNECTIONS) as browser:
        sent = list(browser.map(lambda query: asked_of(http, query, span), queries(dashboard, settings, span.length)))
    whole = sum(sent, Cost())
    return Cost(whole.samples, whole.peak, time.perf_counter() - began)


def variables(dashboard: grafana.Json) -> Iterator[tuple[str, str]]:
    """Label and series of each variable that is read from Prometheus."""
    for variable in dashboard["templating"]["list"]:
        if found := _VALUES.fullmatch(variable.get("definition", "")):
            yield found["label"], grafana.substituted(found["series"], dashboard, "")


def asked_of(http: httpx.Client, query: Query, span: Span) -> Cost:
    """Ask it, and what it cost."""
    asked: dict[str, object] = {"query": query.expr, "stats": "all", "time": span.end}
    if query.step:
        # As many points as steps, so that a range is a multiple of a shorter one.
        first = span.end - span.length.seconds + query.step
        asked |= {"start": first, "end": span.end, "step": query.step}
    began = time.perf_counter()
    answer = http.post("/api/v1/query_range" if query.step else "/api/v1/query", data=asked)
    taken = time.perf_counter() - began
    answer.raise_for_status()
    samples = answer.json()["data"]["stats"]["samples"]
    return Cost(samples["totalQueryableSamples"], samples["peakSamples"], taken)


def stretched(http: httpx.Client, sent: Iterable[Query], stretch: Span, shown: Duration) -> Cost:
    """Of a longer time than there is: what a stretch or a longer step costs, as often as it is contained."""
    total = Cost()
    for query in sent:
        length = Duration(max(stretch.length.seconds, query.step))
        one = asked_of(http, query, Span(stretch.end, length))
        total += Cost(one.samples * (shown.seconds / length.seconds if query.step else 1), one.peak, one.seconds)
    return total
