"""A real vLLM's page through OpenTelemetry's SDK into VictoriaMetrics' OTLP receiver: names and labels."""

import time
from collections.abc import Iterator
from contextlib import ExitStack
from dataclasses import dataclass
from pathlib import Path

import httpx
import pytest
from opentelemetry.exporter.otlp.proto.http.metric_exporter import OTLPMetricExporter

from draftboard.catalogue.dialects import DIALECTS
from draftboard.prometheus import Client
from draftboard.prometheus.process import stop
from draftboard.reading import Pages, Recorded, load
from draftboard.report import report
from draftboard.settings import Settings
from support.otlp import push
from support.victoria import FRESH, start

pytestmark = pytest.mark.prometheus
DATA = Path(__file__).parent.parent / "data"
PAIR = (DATA / "v0.32.0-ngram-pair-before.prom", DATA / "v0.32.0-ngram-pair-after.prom")
LOST = {"vllm:cache_config_info"}  # It has more labels than VictoriaMetrics stores of a series.
STEP, STEPS = 15, 20
END = time.time() // 1 - 60

RESOURCE = {"job": "vllm", "instance": "gpu-1:8000", "service.name": "vllm"}
WAYS = {"kept": ((), True, "vllm"), "suffixes": (("-opentelemetry.usePrometheusNaming",), False, "otel")}
"""By name: flags of the receiver, whether counters are sent with `_total`, and the dialect of what arrives."""


@dataclass(frozen=True)
class Pushed:
    """A VictoriaMetrics that was sent a page, and the dialect to read it in."""

    client: Client
    dialect: str


@pytest.fixture(scope="module", params=WAYS)
def pushed(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Pushed]:
    folder = tmp_path_factory.mktemp("otlp")
    flags, suffixed, dialect = WAYS[request.param]
    process, url = start(folder, "victoria-metrics", f"-storageDataPath={folder / 'data'}", *FRESH, *flags)
    with ExitStack() as stack:
        stack.callback(stop, process)
        exporter = OTLPMetricExporter(endpoint=f"{url}/opentelemetry/v1/metrics")
        for step in range(STEPS):
            page, at = PAIR[step * 2 // STEPS].read_text(), END - (STEPS - 1 - step) * STEP
            push(exporter, page, at, END - 3600, RESOURCE, suffixed=suffixed)
        httpx.get(f"{url}/internal/force_flush", timeout=60).raise_for_status()
        yield Pushed(stack.enter_context(Client(url)), dialect)


def test_names_and_labels_arrive_as_the_dialect_reads_them(pushed: Pushed) -> None:
    arrived = {row.labels["__name__"] for row in pushed.client.query('{job="vllm", instance="gpu-1:8000"}', END)}
    dialect = DIALECTS[pushed.dialect]
    page = load(PAIR[1])
    exposed = {name for name, _ in page.values if name.startswith("vllm:") and name in DIALECTS["vllm"].exported}
    assert {dialect.named(name) for name in exposed - LOST} - arrived == set()
    (drafts,) = pushed.client.query(dialect.named("vllm:spec_decode_num_drafts_total"), END)
    assert {name: drafts.labels[name] for name in ("model_name", "engine", "job")} == {
        "model_name": "tiny",
        "engine": "0",
        "job": "vllm",
    }


def test_a_report_counts_what_the_pages_did(pushed: Pushed) -> None:
    settings = Settings.model_validate({"series": {"dialect": pushed.dialect}})
    (of_pages,) = report(Pages(*PAIR)).models
    (found,) = report(Recorded(pushed.client.url, at=END), settings).models
    assert found.state == of_pages.state == "drafting"
    assert found.speculation
    assert of_pages.speculation
    assert found.speculation.configured_k == of_pages.speculation.configured_k == 4
    for name in ("acceptance", "acceptance_length", "coverage"):
        assert getattr(found.speculation, name) == pytest.approx(getattr(of_pages.speculation, name), rel=1e-3), name
