"""Pages of metrics as OpenTelemetry's SDK exports them, with names and labels of the page."""

from collections import defaultdict
from collections.abc import Iterable, Mapping
from itertools import pairwise
from typing import Any

from opentelemetry.exporter.otlp.proto.http.metric_exporter import OTLPMetricExporter
from opentelemetry.sdk.metrics import export
from opentelemetry.sdk.resources import Resource
from opentelemetry.sdk.util.instrumentation import InstrumentationScope
from prometheus_client import Metric
from prometheus_client.parser import text_string_to_metric_families

_CUMULATIVE = export.AggregationTemporality.CUMULATIVE


def push(
    exporter: OTLPMetricExporter, page: str, at: float, started: float, resource: Mapping[str, str], *, suffixed: bool
) -> None:
    """Export a page as of a time, of a process that started at another; counters end with `_total`, or do not."""
    metrics = [_metric(family, at, started, suffixed=suffixed) for family in text_string_to_metric_families(page)]
    scope = export.ScopeMetrics(InstrumentationScope("prometheusreceiver"), metrics, "")
    whole = export.MetricsData([export.ResourceMetrics(Resource(dict(resource)), [scope], "")])
    assert exporter.export(whole) is export.MetricExportResult.SUCCESS


def _metric(family: Metric, at: float, started: float, *, suffixed: bool) -> export.Metric:
    times: dict[str, Any] = {"start_time_unix_nano": int(started * 1e9), "time_unix_nano": int(at * 1e9)}
    data: export.DataT
    if family.type == "histogram":
        data = export.Histogram([*_histograms(family, times)], _CUMULATIVE)
    else:
        kept = [one for one in family.samples if not one.name.endswith("_created")]
        points = [export.NumberDataPoint(attributes=one.labels, value=one.value, **times) for one in kept]
        data = export.Sum(points, _CUMULATIVE, True) if family.type == "counter" else export.Gauge(points)
    name = family.name + "_total" * (suffixed and family.type == "counter")
    return export.Metric(name, family.documentation, "", data)


def _histograms(family: Metric, times: Mapping[str, Any]) -> Iterable[export.HistogramDataPoint]:
    buckets: dict[frozenset[tuple[str, str]], dict[float, float]] = defaultdict(dict)
    others: dict[frozenset[tuple[str, str]], dict[str, float]] = defaultdict(dict)
    for one in family.samples:
        own = frozenset((name, text) for name, text in one.labels.items() if name != "le")
        if one.name.endswith("_bucket"):
            buckets[own][float(one.labels["le"])] = one.value
        else:
            others[own][one.name.rpartition("_")[2]] = one.value
    for own, counts in buckets.items():
        bounds = sorted(counts)
        cumulative = [0.0, *(counts[bound] for bound in bounds)]
        yield export.HistogramDataPoint(
            attributes=dict(own),
            count=int(others[own]["count"]),
            sum=others[own]["sum"],
            bucket_counts=[int(after - before) for before, after in pairwise(cumulative)],
            explicit_bounds=bounds[:-1],
            min=0.0,
            max=0.0,
            **times,
        )
