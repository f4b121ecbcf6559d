"""Several Prometheus share a fleet by model as docs/operate/scale.md says: each model is with one of them, whole."""

import re
import signal
import subprocess
from contextlib import ExitStack
from pathlib import Path

import pytest
import yaml

from conftest import ROOT, program
from draftboard.durations import Duration
from draftboard.prometheus import Client, Server
from support.waiting import until

pytestmark = pytest.mark.prometheus

SHARDS, MODELS, REPLICAS = 2, 12, 3
STEPS = re.search(r"```yaml\n(relabel_configs:.*?)```", (ROOT / "docs/operate/scale.md").read_text(), re.DOTALL)


def configuration(shard: int) -> str:
    """A job of servers that nobody runs: targets are chosen before they are scraped."""
    assert STEPS
    steps = yaml.safe_load(STEPS[1].replace("SHARDS", f"{SHARDS}").replace("SHARD", f"{shard}"))
    fleet = [
        {"targets": [f"m{model}-{replica}:8000" for replica in range(REPLICAS)], "labels": {"model": f"llama-{model}"}}
        for model in range(MODELS)
    ]
    return yaml.safe_dump({"scrape_configs": [{"job_name": "vllm", "static_configs": fleet, **steps}]})


def test_all_servers_of_a_model_are_with_one_prometheus_and_none_is_left_out(tmp_path: Path, promtool: Path) -> None:
    scraped = []
    with ExitStack() as stack:
        for shard in range(SHARDS):
            folder = tmp_path / f"{shard}"
            folder.mkdir()
            process, url = Server(program("prometheus"), folder, lookback=Duration(60)).start()
            stack.callback(process.wait)
            stack.callback(process.terminate)
            (folder / "prometheus.yml").write_text(configuration(shard))
            subprocess.run([promtool, "check", "config", folder / "prometheus.yml"], check=True, capture_output=True)
            process.send_signal(signal.SIGHUP)
            client = stack.enter_context(Client(url))
            until(client.targets, "targets are chosen", 60)
            targets = client.targets()
            scraped.append({(one.labels["model"], one.labels["instance"]) for one in targets})
            assert not any(name.startswith("__tmp") for one in targets for name in one.labels)
    models = [{model for model, _ in servers} for servers in scraped]
    assert all(models)
    assert models[0].isdisjoint(models[1])
    assert sum(map(len, scraped)) == MODELS * REPLICAS
