"""Who is cut off where the memory of Prometheus fills with new series: the server that invents them, and no other."""

import threading
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from itertools import count
from pathlib import Path

import httpx
import pytest
import yaml

from conftest import ROOT
from draftboard.build import stack
from draftboard.settings import Settings
from stack.conftest import NETWORK
from stack.engine import Engine
from stack.stand_ins import images
from support.waiting import until

pytestmark = pytest.mark.stack

FLEET = [f"fleet-{number}" for number in range(9)]
FLAPPING, CHURNING = "flapping", "churning"
FORGED = """scrape_series_added{{instance="fleet-0"}} 1e9
scrape_samples_post_metric_relabeling{{other="1"}} 1e9
prometheus_tsdb_head_series 1e9
go_gc_gomemlimit_bytes {number}
up{{instance="fleet-0"}} 0
"""
CONFIGURATION = """
global: {scrape_interval: 3s, sample_limit: 2500}
scrape_configs: [{job_name: prometheus, static_configs: [{targets: ['127.0.0.1:9090']}]}]
scrape_config_files: [scrape/*.yaml]
"""
VARIABLES = {
    "SCRAPE_FOLDER": "/etc/prometheus/scrape",
    "SCRAPE_OPTIONS": "/etc/prometheus/config/options.yml",
    "PROFILES": "monitoring",
    "VLLM_TARGET": "127.0.0.1:9",
    "SPEC_METHOD": "none",
    "HOST_LABEL": "host",
    "BYTES_PER_SERIES": "24000",
}


class Server(BaseHTTPRequestHandler):
    """The pages of all: as large as they may be, refused now and then, or of new models that claim to be another's."""

    pages, refusals = count(), count()

    def do_GET(self) -> None:
        number, name = next(Server.pages), self.path.removeprefix("/")
        self.send_response(500 if name == FLAPPING and next(Server.refusals) % 4 < 2 else 200)
        self.send_header("Content-Type", "text/plain; version=0.0.4")
        self.end_headers()
        labels = (
            f'model_name="{number}-{line}",engine="0",instance="fleet-0"' if name == CHURNING else f'engine="{line}"'
            for line in range(700 if name == CHURNING else 1900)
        )
        page = "".join(f"vllm:num_requests_running{{{one}}} 1\n" for one in labels)
        self.wfile.write((page + FORGED.format(number=number) * (name == CHURNING)).encode())

    def log_message(self, *_: object) -> None:
        """Log nothing."""


@pytest.fixture(scope="module")
def prometheus(docker: Engine, bridge: str, tmp_path_factory: pytest.TempPathFactory) -> Iterator[tuple[str, str]]:
    """Address and container of a Prometheus with half a gigabyte, under the stack's script, that stores everything."""
    folder = tmp_path_factory.mktemp("budget")
    (folder / "targets").mkdir()
    everything = Settings.model_validate({"stack": {"scrape": {"keep": "everything"}}})
    (folder / "options.yml").write_text(stack.text(stack.SCRAPE, everything, "made by a test"))
    (folder / "prometheus.yml").write_text(CONFIGURATION.replace("scrape/", "../scrape/"))
    with ThreadingHTTPServer((bridge, 0), Server) as server:
        threading.Thread(target=server.serve_forever, daemon=True).start()
        pages = [{"__metrics_path__": f"/{name}", "instance": name} for name in (*FLEET, FLAPPING, CHURNING)]
        targets = [{"targets": [f"{bridge}:{server.server_port}"], "labels": labels} for labels in pages]
        (folder / "targets/all.yaml").write_text(yaml.safe_dump(targets))
        container = started(docker, folder)
        (address,) = docker.docker(
            "inspect", "--format", "{{range .NetworkSettings.Networks}}{{.IPAddress}} {{end}}", container
        ).split()
        yield f"http://{address}:9090", container
        docker.docker("rm", "--force", "--volumes", container)
        server.shutdown()


def started(docker: Engine, folder: Path) -> str:
    for path in (folder, *folder.rglob("*")):
        path.chmod(0o755 if path.is_dir() else 0o644)
    script = ROOT / "deploy/prometheus/start.sh"
    mounts = {script: "/opt/start.sh", folder: "/etc/prometheus/config", folder / "targets": "/etc/prometheus/targets"}
    return docker.docker(
        *("run", "--detach", f"--network={NETWORK}", "--memory=512m", "--tmpfs=/etc/prometheus/scrape:mode=1777"),
        *(f"--volume={source}:{target}:ro" for source, target in mounts.items()),
        *(f"--env={name}={value}" for name, value in VARIABLES.items()),
        *("--entrypoint=/bin/sh", images()["prometheus"], "/opt/start.sh", "/bin/prometheus"),
        *("--config.file=/etc/prometheus/config/prometheus.yml", "--storage.tsdb.path=/prometheus"),
    )


def values(url: str, query: str) -> dict[str, float]:
    """By the label `instance`; nothing before the first answer."""
    try:
        answer = httpx.get(f"{url}/api/v1/query", params={"query": query}).raise_for_status().json()
    except httpx.HTTPError:
        return {}
    return {row["metric"].get("instance", ""): float(row["value"][1]) for row in answer["data"]["result"]}


def test_the_server_that_invents_models_is_cut_off_and_neither_a_new_fleet_nor_a_failing_page(
    docker: Engine, prometheus: tuple[str, str]
) -> None:
    url, container = prometheus
    until(lambda: len(values(url, "scrape_samples_scraped > 1000")) >= len(FLEET), "the fleet is scraped", 120)
    until(lambda: CHURNING in docker.tried("logs", container).stderr, "the server that churns is cut off", 180)
    assert values(url, "prometheus_tsdb_head_series{job='prometheus'} * 24000 > go_gc_gomemlimit_bytes")
    away = f"sum_over_time((1 - up{{instance='{CHURNING}'}})[5m:3s]) >= 20"
    until(lambda: values(url, away), "it is not scraped for some rounds of the script")
    assert {values(url, "up")[name] for name in FLEET} == {1}
    assert values(url, "max_over_time(up[30s])")[FLAPPING] == 1
    assert docker.tried("logs", container).stderr.count("start.sh: ") == 1
