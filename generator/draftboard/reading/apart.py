"""Target labels that tell servers of one model apart and that no record keeps, so that records add the servers up."""

from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import product

from draftboard.catalogue import Metric, serving, speculation
from draftboard.expr.nodes import Raw
from draftboard.expr.scope import Edition, Scope
from draftboard.expr.to_promql import promql_of
from draftboard.expr.vector import Labels, dropped
from draftboard.prometheus import Client, Series
from draftboard.settings import Settings
from draftboard.settings.labels import RESERVED_LABELS

OF_SCOPES = (
    *("env", "environment", "stage", "tier", "cluster", "region", "zone", "datacenter", "dc", "team", "tenant"),
    *("owner", "project", "pool", "nodepool", "deployment", "service", "app", "release", "customer", "role"),
)
"""Names that people give to labels of a scope, even where each server has a value of its own."""
_OF_PLACES = {
    *("pod", "container", "container_id", "endpoint", "node", "nodename", "host", "hostname", "ip", "address", "uid"),
    *("replica", "pod_ip", "host_ip", "uuid", "gpu", "pod_template_hash", "controller_revision_hash", "prometheus"),
    *("prometheus_replica", "__name__"),
}
"""Names of labels that say where one server runs."""
_PRESENT = serving.REQUESTS_RUNNING
"""What every server exports."""
_DRAFTS = speculation.DRAFTS
"""What only servers export that speculate."""
_LOOKS = 48
"""At so many times of a range."""
_Target = tuple[str, ...]


@dataclass(frozen=True)
class Apart:
    """Servers of one model that a target label tells apart."""

    model: Labels  # labels of its records
    labels: tuple[str, ...]  # which separate the servers alike; the best known name first
    values: tuple[str, ...]  # of the first label, "" for servers without it

    @property
    def label(self) -> str:
        """The label to keep."""
        return self.labels[0]

    @property
    def says(self) -> str:
        """Why their records are no model's."""
        return f"records add up servers that differ by the target label {self.label}"


def separated(
    client: Client, settings: Settings, at: float, model: str = "", *, since: float | None = None
) -> tuple[Apart, ...]:
    """Which target labels separate servers that records add up, at a time in Unix seconds.

    With `since`, at any of some times from then on: also in records from before a scope had its labels.
    """
    if not settings.dialect.spelled(_PRESENT):
        return ()
    moments = _moments(client, settings, _PRESENT, at, since)
    found: dict[tuple[Labels, str], Apart] = {}
    for rows in moments.values():
        own = [row for row in rows if not model or row.labels.get(settings.labels.model_name, "") == model]
        found |= {(one.model, one.label): one for one in _at_once(own, settings, past=since is not None)}
    return tuple(found[key] for key in sorted(found, key=lambda key: (sorted(key[0]), key[1])))


def plain_among(
    client: Client, settings: Settings, at: float, *, since: float | None = None
) -> Mapping[Labels, tuple[str, ...]]:
    """Servers that do not speculate, by the labels of a model whose records add them to servers that do.

    At a time in Unix seconds; with `since`, at any of some times from then on.
    """
    if not settings.dialect.is_plain_known or not settings.dialect.spelled(_PRESENT):
        return {}
    found = defaultdict[Labels, set[str]](set)
    drafting = {when: _places(rows, settings) for when, rows in _moments(client, settings, _DRAFTS, at, since).items()}
    for when, rows in _moments(client, settings, _PRESENT, at, since).items() if drafting else ():
        speculates = drafting.get(when, {})
        for key, places in _places(rows, settings).items():
            if key in speculates:
                found[key] |= places - speculates[key]
    return {key: tuple(sorted(places)) for key, places in found.items() if places}


def _places(rows: Iterable[Series], settings: Settings) -> Mapping[Labels, set[str]]:
    """Instances, by the labels of their model's records."""
    found = defaultdict[Labels, set[str]](set)
    for row in rows:
        found[_model_of(row, settings)].add(row.labels.get(settings.labels.instance, ""))
    return found


def _model_of(row: Series, settings: Settings) -> Labels:
    return frozenset((name, row.labels[name]) for name in settings.labels.model_level if row.labels.get(name))


def _moments(
    client: Client, settings: Settings, metric: Metric, at: float, since: float | None
) -> Mapping[float, Sequence[Series]]:
    """The series of a metric by the times at which they are there."""
    expr = promql_of(Raw(metric), Scope(settings, edition=Edition.ONCE))
    if since is None:
        return {at: client.query(expr, at)}
    found = defaultdict[float, list[Series]](list)
    for series in client.query_range(
        expr, since, at, max(settings.rules.scrape_interval.seconds, (at - since) / _LOOKS)
    ):
        for moment, _ in series.samples:
            found[moment].append(series)
    return found


def _at_once(rows: Iterable[Series], settings: Settings, *, past: bool) -> Iterator[Apart]:
    """The labels that separate servers which are there together."""
    names, of_models = settings.labels, defaultdict[Labels, list[Series]](list)
    for row in rows:
        of_models[_model_of(row, settings)].append(row)
    before = defaultdict[Labels, list[Series]](list)
    for key, label in product(of_models, names.scope if past else ()):
        if (without := dropped(key, (label,))) not in of_models:
            before[without] += of_models[key]
    for key, own in (of_models | before).items():
        yield from _of_model(key, own, settings)


def _of_model(key: Labels, rows: Sequence[Series], settings: Settings) -> Iterable[Apart]:
    names = settings.labels
    known = {*names.engine_level, *names.together, names.host, names.scale_to_zero, *RESERVED_LABELS, *_OF_PLACES}
    known -= {label for label in names.scope if label not in dict(key)}
    servers: dict[_Target, Mapping[str, str]] = {
        tuple(row.labels.get(n, "") for n in names.target): row.labels for row in rows
    }
    alike: dict[tuple[tuple[int, ...], ...], list[str]] = {}
    for label in sorted({name for own in servers.values() for name in own} - known, key=_known_first):
        by_value = defaultdict[str, list[int]](list)
        for number, own in enumerate(servers.values()):
            by_value[own.get(label, "")].append(number)
        if len(by_value) > 1 and (label in OF_SCOPES or len(by_value) < len(servers)):
            alike.setdefault(tuple(sorted(map(tuple, by_value.values()))), []).append(label)
    for labels in alike.values():
        values = sorted({own.get(labels[0], "") for own in servers.values()})
        yield Apart(key, tuple(labels), tuple(values))


def _known_first(label: str) -> tuple[int, str]:
    return OF_SCOPES.index(label) if label in OF_SCOPES else len(OF_SCOPES), label


def kept_apart(settings: Settings, labels: Iterable[str]) -> Settings:
    """The settings with further labels in `labels.scope`, which records then keep."""
    scope = tuple(dict.fromkeys((*settings.labels.scope, *labels)))
    return settings.model_copy(update={"labels": settings.labels.model_copy(update={"scope": scope})})
