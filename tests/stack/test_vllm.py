"""The profile gpu with a real vLLM, which computes on the CPU: from its counters to a page when it is cut off."""

import os
import shutil
import signal
import subprocess
import time
from collections.abc import Iterator
from pathlib import Path

import httpx
import pytest

from conftest import ROOT
from draftboard.lab.receivers import Receiver
from stack.checkout import Checkout, checkout, remove_volumes
from stack.engine import Engine
from support.vllm_server import SPECULATION, installed_program
from support.waiting import until

pytestmark = [pytest.mark.stack, pytest.mark.vllm]

SERVICES = ("prometheus", "alertmanager", "grafana", "node-exporter")
SETTINGS = '[stack.notify]\ncritical = ["webhook"]\nheartbeat = true\n'
# No GPU to reserve, and vLLM from this machine.
OVERRIDE = """
services:
  dcgm-exporter: {{deploy: {{resources: {{reservations: !reset null}}}}}}
  vllm:
    deploy: {{resources: {{reservations: !reset null}}}}
    volumes: ["{environment}:{environment}:ro", "{interpreter}:{interpreter}:ro"]
    environment:
      PATH: "{environment}/bin:/usr/local/bin:/usr/bin:/bin"
      HF_HUB_OFFLINE: "1"
      VLLM_CPU_KVCACHE_SPACE: "1"
"""
LOADING = 900
"""Seconds: a slow machine loads torch from a slow disk."""
PAGED = 480
"""Seconds until an outage is told: the silence, the pending period of the alert, and the wait of the group."""


@pytest.fixture(scope="module")
def environment() -> Path:
    """The virtual environment of vLLM."""
    return installed_program("test-stack-vllm").parents[1]


@pytest.fixture(scope="module")
def stack(
    docker: Engine, webhook: tuple[Receiver, str], environment: Path, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[Checkout]:
    """The profile gpu, its vLLM healthy, with a tiny model that drafts by n-grams."""
    found = checkout(tmp_path_factory.mktemp("gpu"), docker)
    found.made("secrets")
    for name in ("alert_webhook_url", "heartbeat_url"):
        (found.deploy / "secrets" / name).write_text(webhook[1])
    cache = tmp_path_factory.mktemp("cache")
    make_models(environment, cache, owner=(found.deploy / "secrets").stat())
    interpreter = (environment / "bin/python").resolve().parents[1]
    override = OVERRIDE.format(environment=environment, interpreter=interpreter)
    (found.deploy / "docker-compose.override.yml").write_text(override)
    found.configure(
        COMPOSE_PROFILES="gpu",
        BUILD_FOLDER="built",
        HF_CACHE=str(cache),
        MODEL="/cache/huggingface/target",
        SPEC_CONFIG=f"'{SPECULATION}'",
        MAX_MODEL_LEN="1024",
        GPU_MEMORY_UTILIZATION="0.2",
        VLLM_MEMORY="8g",
        VLLM_ARGS="--enforce-eager --dtype float32 --max-num-seqs 8 --served-model-name tiny",
    )
    found.build(SETTINGS)
    found.made("up")
    found.until_healthy("vllm", seconds=LOADING)
    found.until_healthy(*SERVICES)
    yield found
    found.made("down")
    remove_volumes(docker)


def make_models(environment: Path, folder: Path, owner: os.stat_result) -> None:
    """The models of `tiny_model.py`, readable by the user of the container."""
    script = ROOT / "tests/support/tiny_model.py"
    subprocess.run([environment / "bin/python", script, folder], capture_output=True, check=True)
    for path in (folder, *folder.rglob("*")):
        shutil.chown(path, owner.st_uid, owner.st_gid)
    for parent in folder.parents[:3]:
        parent.chmod(parent.stat().st_mode | 0o011)


@pytest.mark.parametrize("service", ["vllm", *SERVICES])
def test_a_container_runs_as_the_owner_of_the_secrets_without_privileges(stack: Checkout, service: str) -> None:
    stack.assert_without_privileges(service)


def ask(stack: Checkout, key: str) -> httpx.Response:
    """A request of a client."""
    return httpx.post(
        stack.url("vllm", "/v1/completions"),
        headers={"Authorization": f"Bearer {key}"},
        json={"model": "tiny", "prompt": "one two three one two three", "max_tokens": 64, "temperature": 0},
        timeout=120,
    )


def result(stack: Checkout, query: str) -> list[dict[str, dict[str, str]]]:
    """The series that a query gives now."""
    found: list[dict[str, dict[str, str]]] = stack.prometheus(f"query?query={query}")["result"]
    return found


def test_a_client_without_the_key_is_refused(stack: Checkout) -> None:
    assert ask(stack, "wrong").status_code == httpx.codes.UNAUTHORIZED


def test_what_it_drafts_reaches_the_records_under_the_method_of_env(stack: Checkout) -> None:
    key = (stack.deploy / "secrets/vllm_api_key").read_text()

    def recorded() -> bool:
        ask(stack, key).raise_for_status()
        drafts = result(stack, "model:vllm_spec_decode_drafts:rate5m>0")
        return any(series["metric"]["spec_method"] == "ngram" for series in drafts)

    until(recorded, "drafts are recorded", 240)
    assert {target["health"] for target in stack.prometheus("targets")["activeTargets"]} == {"up"}


def test_an_engine_that_is_killed_takes_its_server_down_and_docker_starts_it_again(stack: Checkout) -> None:
    before = stack.inspect("vllm", "{{.State.StartedAt}}")
    processes = stack.docker.docker("top", stack.container("vllm"), "-eo", "pid,comm").splitlines()
    (engine,) = (int(line.split()[0]) for line in processes if "EngineCor" in line)
    os.kill(engine, signal.SIGKILL)
    until(lambda: stack.inspect("vllm", "{{.State.StartedAt}}") != before, "vLLM is started again")
    stack.until_healthy("vllm", seconds=LOADING)


def saved_at(stack: Checkout) -> float:
    """When Alertmanager last saved what it has told."""
    log = ("stat", "-c", "%Y", "/alertmanager/nflog")
    return float(stack.docker.docker("exec", stack.container("alertmanager"), *log))


def test_a_server_that_is_cut_off_pages_once_though_the_monitoring_crashes(
    stack: Checkout, webhook: tuple[Receiver, str]
) -> None:
    receiver, _ = webhook

    def pages() -> list[str]:
        heard = [one for one in receiver.arrivals if one.receiver == "critical" and one.status == "firing"]
        return [one.name for one in heard]

    stack.docker.docker("network", "disconnect", f"{stack.project}_default", stack.container("vllm"))
    assert receiver.wait_for(lambda _: bool(pages()), PAGED)
    told, at = pages(), time.time()
    # Once a minute Alertmanager saves what it has told: a crash before that repeats it, rather than to lose it.
    until(lambda: saved_at(stack) > at, "the notification is saved", 2 * 60)
    for service in ("prometheus", "alertmanager"):
        os.kill(int(stack.inspect(service, "{{.State.Pid}}")), signal.SIGKILL)
    stack.until_healthy("prometheus", "alertmanager")
    quiet = not receiver.wait_for(lambda _: pages() != told, 2 * 60)
    assert quiet, "the page is repeated"
    assert set(told) <= {"VLLMModelDown", "VLLMTargetDown"}


def test_the_heartbeat_reaches_its_receiver(stack: Checkout, webhook: tuple[Receiver, str]) -> None:
    assert stack.container("alertmanager")
    assert webhook[0].wait_for(lambda arrivals: any(one.receiver == "heartbeat" for one in arrivals), PAGED)
