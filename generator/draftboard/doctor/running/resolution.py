"""Whether the servers' histograms resolve what is asked of them."""

import contextlib
import math
from collections.abc import Iterable, Iterator

from draftboard.doctor.command import buckets
from draftboard.doctor.finding import Finding, Severity
from draftboard.doctor.running.server import Server, named, place
from draftboard.doctor.running.stored import Stored
from draftboard.expr.promql import aggregate, binary, number, selector, told_apart
from draftboard.prometheus import Client
from draftboard.reading import Page
from draftboard.settings import Settings
from draftboard.settings.objectives import HISTOGRAMS
from draftboard.signals import Level, Scope
from draftboard.signals.latency import Latency, end_to_end, first_token, per_token, queue, step
from draftboard.signals.signal import within

_MEDIAN = 0.5
_FELT = (first_token, per_token, step, end_to_end)
_FAMILIES = {histogram.custom: histogram for histogram in HISTOGRAMS.values()}


def explain(client: Client, stored: Stored, settings: Settings, time: float) -> Iterator[Finding]:
    """Bounds that differ from the declared ones, and medians that lie under the first bound."""
    yield from _bounds(client, stored, settings, time)
    if stored.state_records:
        yield from _unresolved(client, settings, time)


def of_page(page: Page, settings: Settings) -> Iterator[Finding]:
    """Bounds of a server's page that differ from the declared ones."""
    for family, histogram in _FAMILIES.items():
        if bounds := _numbers(dict(labels).get("le", "") for labels in page.of(histogram.bucket)):
            yield from buckets.against(page.source, histogram.name, bounds, family, settings)


def _bounds(client: Client, stored: Stored, settings: Settings, time: float) -> Iterator[Finding]:
    labels = settings.labels
    matchers = [settings.selector] if settings.selector else []
    families = {
        family: aggregate("group", (labels.job, labels.instance, "le"), selector(histogram.bucket.name, matchers))
        for family, histogram in _FAMILIES.items()
    }
    found: dict[tuple[str, str], set[float]] = {}
    for series in client.query(told_apart("family", families), time):
        if (family := series.labels.get("family")) in families:
            of_one = found.setdefault((family, place(series.labels, settings)), set())
            of_one.update(_numbers([series.labels.get("le", "")]))
    alike: dict[tuple[str, frozenset[float]], list[Server]] = {}
    for (family, where), bounds in sorted(found.items()):
        alike.setdefault((family, frozenset(bounds)), []).append(Server(where, frozenset()))
    for (family, own), servers in alike.items():
        where, name = named(servers, stored.servers), _FAMILIES[family].name
        yield from buckets.against(where, name, set(own), family, settings)


def _numbers(texts: Iterable[str]) -> set[float]:
    """Bounds in seconds, without +Inf and without what is no number."""
    found = set()
    for text in texts:
        with contextlib.suppress(ValueError):
            found.add(float(text))
    return {bound for bound in found if math.isfinite(bound)}


def _unresolved(client: Client, settings: Settings, time: float) -> Iterator[Finding]:
    scope = Scope(settings, Level.MODEL)
    told = {latency.title: latency for latency in (*_FELT, queue)}
    shares = {title: scope(latency.unresolved) for title, latency in told.items()}
    vector = binary(told_apart("latency", shares), ">=", number(_MEDIAN))
    by_model: dict[str, list[Latency]] = {}
    for series in client.query(vector, time):
        model = series.labels.get(settings.labels.model_name, "")
        if latency := told.get(series.labels.get("latency", "")):
            by_model.setdefault(model, []).append(latency)
    for model, latencies in sorted(by_model.items()):
        felt = any(latency in _FELT for latency in latencies)
        words = ", ".join(dict.fromkeys(within(latency.title) for latency in latencies))
        what = f'half of the samples and more lie under the first bound of {words}: percentiles say "below resolution"'
        fix = f"start its servers (vLLM {buckets.SINCE} or newer) with the flag below, and declare the same"
        severity = Severity.WARNING if felt else Severity.NOTE
        yield Finding(severity, f"model {model}", what, fix, paste=buckets.flag(settings))
