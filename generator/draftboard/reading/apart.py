"""Target labels that tell servers of one model apart and that no record keeps, so that records add the servers up."""

from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

from draftboard.catalogue import serving
from draftboard.expr.nodes import Raw
from draftboard.expr.scope import Edition, Scope
from draftboard.expr.to_promql import promql_of
from draftboard.expr.vector import Labels
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


def separated(client: Client, settings: Settings, at: float, model: str = "") -> tuple[Apart, ...]:
    """Which target labels separate servers that records add up, at a time in Unix seconds."""
    names, found = settings.labels, defaultdict[Labels, list[Series]](list)
    metric = serving.REQUESTS_RUNNING
    if not settings.dialect.spelled(metric):
        return ()
    for row in client.query(promql_of(Raw(metric), Scope(settings, edition=Edition.ONCE)), at):
        if not model or row.labels.get(names.model_name, "") == model:
            key = frozenset((name, row.labels[name]) for name in names.model_level if row.labels.get(name))
            found[key].append(row)
    return tuple(
        one
        for key, rows in sorted(found.items(), key=lambda each: sorted(each[0]))
        for one in _of_model(key, rows, settings)
    )


def _of_model(key: Labels, rows: Sequence[Series], settings: Settings) -> Iterable[Apart]:
    names = settings.labels
    known = {*names.engine_level, *names.together, names.host, names.scale_to_zero, *RESERVED_LABELS, *_OF_PLACES}
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
