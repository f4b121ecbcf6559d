"""`make up-demo`: simulated servers and their monitoring, in containers that may do little."""

import os
import re
import signal
from collections.abc import Iterator
from pathlib import Path

import pytest

from draftboard.alerts import WATCHDOG
from stack.checkout import PORTS, Checkout, checkout, remove_volumes
from stack.engine import PROJECTS, Engine
from support.waiting import until

pytestmark = pytest.mark.stack

SERVICES = ("simulator", "prometheus", "alertmanager", "grafana")
VOLUMES = {"prometheus": "/prometheus", "alertmanager": "/alertmanager", "grafana": "/var/lib/grafana"}
GENERATED = ("grafana_admin_password", "vllm_api_key")
TWO_EVALUATIONS = 180


def nameless_volumes(docker: Engine) -> set[str]:
    return {name for name in docker.docker("volume", "ls", "--quiet").split() if re.fullmatch("[0-9a-f]{64}", name)}


@pytest.fixture(scope="module")
def demo(docker: Engine, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Checkout]:
    """The demo's stack, healthy. What `make down` leaves is looked at by its end."""
    found = checkout(tmp_path_factory.mktemp("demo"), docker, project=PROJECTS[1])
    before = nameless_volumes(docker)
    found.made("secrets")
    if docker.is_private:  # It has no bridge.
        override = found.deploy / "docker-compose.override.yml"
        override.write_text("services: {simulator: {build: {network: host}}}\n")
    found.made("up-demo")
    found.until_healthy(*SERVICES)
    yield found
    found.made("down")
    assert not any(found.container(service) for service in SERVICES), "make down left a container"
    assert nameless_volumes(docker) == before, "a volume without a name is left"
    remove_volumes(docker)


@pytest.mark.parametrize("service", SERVICES)
def test_a_container_runs_as_the_owner_of_the_secrets_without_privileges(demo: Checkout, service: str) -> None:
    demo.assert_without_privileges(service)


@pytest.mark.parametrize("service", SERVICES)
def test_no_secret_is_in_the_description_of_a_container(demo: Checkout, service: str) -> None:
    described = demo.docker.docker("inspect", demo.container(service))
    for name in GENERATED:
        assert (demo.deploy / "secrets" / name).read_text() not in described


@pytest.mark.parametrize("service", SERVICES)
def test_ports_are_published_on_loopback_only_and_those_of_alertmanager_not_at_all(
    demo: Checkout, service: str
) -> None:
    published = demo.docker.docker("port", demo.container(service)).splitlines()
    assert bool(published) is (service in PORTS)
    assert all("-> 127.0.0.1:" in line for line in published)


@pytest.mark.parametrize("service", SERVICES)
def test_the_root_of_a_container_is_read_only_and_its_temporary_folder_is_not(demo: Checkout, service: str) -> None:
    container = demo.container(service)
    assert demo.docker.tried("exec", container, "sh", "-c", ": >/new").returncode
    demo.docker.docker("exec", container, "sh", "-c", ": >/tmp/new")


def test_the_volumes_belong_to_the_owner_of_the_secrets(demo: Checkout) -> None:
    assert demo.inspect("volume-owner", "{{.State.Status}} {{.State.ExitCode}}") == "exited 0"
    for service, folder in VOLUMES.items():
        demo.docker.docker("exec", demo.container(service), "sh", "-c", f": >{folder}/new && rm {folder}/new")


def test_grafana_reads_its_password_data_sources_and_dashboards(demo: Checkout) -> None:
    def run(command: str) -> str:
        return demo.docker.docker("exec", demo.container("grafana"), "sh", "-c", command)

    run("test -s /run/secrets/grafana_admin_password")
    assert run("ls /etc/grafana/provisioning").split() == ["dashboards", "datasources"]
    run("cat /etc/grafana/provisioning/*/*.yaml")
    shown = run("ls -F /var/lib/grafana/dashboards").split()
    assert {name for name in shown if name.endswith(".json")} == {
        path.name for path in demo.folder.glob("dashboards/*.json")
    }
    assert (
        run("ls /var/lib/grafana/dashboards/standalone /var/lib/grafana/dashboards/grafana-com | grep json; true") == ""
    )


def test_grafana_reaches_prometheus_and_the_servers_do_not_reach_alertmanager(demo: Checkout) -> None:
    demo.docker.docker("exec", demo.container("grafana"), "wget", "-q", "-O", "-", "http://prometheus:9090/-/ready")
    ask = "import urllib.request as u; u.urlopen('http://{}', timeout=5)"
    simulator = demo.container("simulator")
    demo.docker.docker("exec", simulator, "python", "-c", ask.format("prometheus:9090/-/ready"))
    for unreachable in ("alertmanager:9093/-/ready", "grafana:3000/api/health"):
        assert demo.docker.tried("exec", simulator, "python", "-c", ask.format(unreachable)).returncode


@pytest.mark.parametrize(
    ("path", "statuses"), [("/-/reload", {403}), ("/-/quit", {403}), ("/api/v1/admin/tsdb/snapshot", {403, 500})]
)
def test_prometheus_refuses_to_be_administered_by_http(demo: Checkout, path: str, statuses: set[int]) -> None:
    assert demo.posted("prometheus", path).status_code in statuses


def test_all_targets_are_scraped_all_rules_evaluate_and_the_watchdog_fires(demo: Checkout) -> None:
    def targets() -> list[str]:
        return [target["health"] for target in demo.prometheus("targets")["activeTargets"]]

    def rules() -> list[str]:
        return [rule["health"] for group in demo.prometheus("rules")["groups"] for rule in group["rules"]]

    def firing() -> set[str]:
        return {
            alert["labels"]["alertname"] for alert in demo.prometheus("alerts")["alerts"] if alert["state"] == "firing"
        }

    until(lambda: set(targets()) == {"up"}, "all targets are up")
    # Rules that read days are evaluated every four minutes.
    until(lambda: set(rules()) == {"ok"}, "all rules evaluate", seconds=300)
    until(lambda: WATCHDOG in firing(), "the watchdog fires", TWO_EVALUATIONS)
    reached = demo.asked("alertmanager", "/api/v2/alerts").json()
    assert WATCHDOG in {alert["labels"]["alertname"] for alert in reached}


@pytest.mark.parametrize("service", SERVICES)
def test_a_killed_process_is_started_again(demo: Checkout, service: str) -> None:
    before = demo.inspect(service, "{{.State.StartedAt}}")
    os.kill(int(demo.inspect(service, "{{.State.Pid}}")), signal.SIGKILL)  # `docker kill` counts as a wish to stop
    until(lambda: demo.inspect(service, "{{.State.StartedAt}}") != before, f"{service} is started again")
    demo.until_healthy(service)


def test_a_second_start_changes_no_container(demo: Checkout) -> None:
    before = {service: demo.container(service) for service in SERVICES}
    said = demo.made("up-demo")
    assert {service: demo.container(service) for service in SERVICES} == before
    for service in {*SERVICES} & PORTS.keys():
        assert demo.url(service) in said


@pytest.mark.parametrize("damage", ["no secrets", "an empty password", "a missing key"])
def test_nothing_starts_without_the_secrets(docker: Engine, tmp_path: Path, damage: str) -> None:
    found = checkout(tmp_path, docker)
    if damage != "no secrets":
        found.made("secrets")
    if damage == "an empty password":
        (found.deploy / "secrets/grafana_admin_password").write_text("")
    if damage == "a missing key":
        (found.deploy / "secrets/vllm_api_key").unlink()
    done = found.make("up")
    assert done.returncode
    assert "make secrets" in done.stderr
    assert not found.container("grafana")


def test_secrets_made_by_another_user_leave_the_owner(docker: Engine, tmp_path: Path) -> None:
    found = checkout(tmp_path, docker)
    found.made("secrets")
    key = found.deploy / "secrets/vllm_api_key"
    before = key.stat()
    assert found.make("secrets", SUDO_UID="1234", SUDO_GID="1234").returncode
    assert (key.stat().st_uid, key.stat().st_gid) == (before.st_uid, before.st_gid)
