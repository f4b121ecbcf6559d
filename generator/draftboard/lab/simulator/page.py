"""A server's page as vLLM's own exposition writes it."""

from collections.abc import Iterator

from prometheus_client import CONTENT_TYPE_LATEST, CollectorRegistry, generate_latest
from prometheus_client.metrics_core import Metric as Family
from prometheus_client.registry import Collector

from draftboard.catalogue import Kind
from draftboard.lab.simulator.instance import Instance

CONTENT_TYPE = CONTENT_TYPE_LATEST
_SINCE_START = {Kind.COUNTER, Kind.HISTOGRAM, Kind.SUMMARY}


class _Page(Collector):
    """What an instance exposes at this moment, as families of prometheus_client."""

    def __init__(self, instance: Instance) -> None:
        self._instance = instance

    def collect(self) -> Iterator[Family]:
        """Families in the catalogue's order. Pages of several processes have no `_created`, as vLLM's have none."""
        with_created = self._instance.server.engines == 1
        for metric, rows in self._instance.pages():
            family = Family(metric.family, metric.help, metric.kind.value)
            for child, values in rows:
                for column, value in zip(child.columns, values.tolist(), strict=True):
                    labels = child.labels if column.le is None else child.labels | {"le": column.le}
                    family.add_sample(metric.name + column.suffix, labels, value)
                if with_created and metric.kind in _SINCE_START and not metric.name.startswith(("python_", "process_")):
                    family.add_sample(metric.family + "_created", child.labels, self._instance.created)
            yield family


def page(instance: Instance) -> bytes:
    """The text of `/metrics`: the classic format, whatever is asked for, as vLLM does."""
    registry = CollectorRegistry(auto_describe=False)
    registry.register(_Page(instance))
    return generate_latest(registry)
