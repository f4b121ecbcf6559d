"""The first commands of runbooks, typed in a shell: only addresses and the time of the recording are replaced."""

import re
import shlex
import shutil
from collections.abc import Iterator
from pathlib import Path

import pytest

from conftest import ROOT, program
from draftboard.alerts.platforms import platforms
from draftboard.lab.replay import Replay
from draftboard.lab.simulator import find
from draftboard.lab.simulator.fleet import targets
from draftboard.lab.simulator.serve import serving
from draftboard.prometheus import start_alertmanager, stop
from draftboard.settings.runbooks import Runbooks
from support import shell as shells
from support.composed import OWNER
from support.loopback import free_port
from support.runbooks import commands
from support.shell import Shell, typed

pytestmark = pytest.mark.prometheus

FIRST = re.compile(r"^## One or several\?\n(.+?)^## How", re.DOTALL | re.MULTILINE)
INSIDE = re.compile(
    "docker compose --file deploy/docker-compose.yml exec (prometheus|alertmanager) (?=promtool|amtool)"
)
"""What runs a program in its container. It is tried by itself: here the program is on PATH."""
PAGES = [path.read_text() for path in sorted((ROOT / "alerts/runbooks").glob("*.md"))]
WHOLE = sorted({command for page in PAGES for command in commands("".join(FIRST.findall(page)))})
TYPED = sorted({INSIDE.sub("", command) for command in WHOLE})
NO_RECEIVER = "route: {receiver: nobody}\nreceivers: [{name: nobody}]\n"


def of(*beginnings: str) -> list[str]:
    found = [command for command in TYPED if command.startswith(beginnings)]
    assert found, f"no runbook begins with {beginnings}"
    return found


@pytest.fixture(scope="module")
def shell(tmp_path_factory: pytest.TempPathFactory) -> Shell:
    compose = f"shift; exec {shlex.quote(str(program('docker-compose')))}"
    return shells.shell(tmp_path_factory.mktemp("bin"), ("promtool", "amtool"), docker=compose)


def moved(command: str, place: str, url: str) -> str:
    assert place in command, command
    return command.replace(place, url)


def test_every_command_is_of_a_program_that_is_tried_here() -> None:
    tried = ("promtool query instant ", "promtool check healthy ", "draftboard report ", "draftboard history ")
    cluster = ("kubectl get ",)  # No cluster is here.
    assert of(*tried, *cluster, "draftboard doctor ", "curl ", "amtool ", "docker compose ") == TYPED


@pytest.mark.xdist_group("default_run")
def test_queries_are_answered_by_the_prometheus_of_the_recorded_run(default_run: Replay, shell: Shell) -> None:
    answers = {}
    for command in of("promtool query instant "):
        here = moved(command, "http://127.0.0.1:9090", default_run.client.url)
        done = typed(here.replace(" instant ", f" instant --time={default_run.end - 60} ", 1), shell)
        assert (done.returncode, done.stderr) == (0, ""), command
        answers[command] = done.stdout
    assert sum(map(bool, answers.values())) > len(answers) / 4, "commands with an answer from healthy servers"


@pytest.mark.xdist_group("default_run")
def test_queries_with_a_name_filled_in_run_for_a_server_of_the_recorded_run(default_run: Replay) -> None:
    when = default_run.end - 60
    (found,) = default_run.client.query('target:vllm_up:bool{spec_method="ngram"}', when)
    for page in PAGES:
        for query in re.findall(r"^```promql\n(.+?)^```", page, re.DOTALL | re.MULTILINE):
            of_server = query.replace("MODEL", found.labels["model_name"]).replace(
                "HOST:8000", found.labels["instance"]
            )
            default_run.client.query(of_server, when)


@pytest.mark.xdist_group("default_run")
def test_reports_and_checks_of_prometheus_answer(default_run: Replay, shell: Shell) -> None:
    for command in of("promtool check healthy ", "draftboard report ", "draftboard history "):
        when = f" --at={default_run.end - 60}" if command.startswith("draftboard") else ""
        done = typed(moved(command, "http://127.0.0.1:9090", default_run.client.url) + when, shell)
        assert done.returncode == 0, (command, done.stderr)


@pytest.mark.skipif(not shutil.which("curl"), reason="curl is not installed")
def test_a_server_is_asked_for_its_health_and_examined(shell: Shell) -> None:
    with serving(targets(find("baseline-vs-spec"), seed=1), "127.0.0.1", 0, speed=20) as places:
        said = {
            command: typed(moved(command, "http://127.0.0.1:8000", f"http://{places[0]}"), shell)
            for command in of("curl ", "draftboard doctor ")
        }
    for command, done in said.items():
        assert (done.returncode, done.stderr) == (0, ""), command
        assert done.stdout == "200\n" or command.startswith("draftboard doctor "), command


@pytest.fixture
def alertmanager(tmp_path: Path) -> Iterator[str]:
    (tmp_path / "alertmanager.yml").write_text(NO_RECEIVER)
    process = start_alertmanager(program("alertmanager"), tmp_path, port := free_port())
    yield f"http://127.0.0.1:{port}"
    stop(process)


def test_alertmanager_is_asked_and_takes_every_silence(alertmanager: str, shell: Shell) -> None:
    every = (INSIDE.sub("", command) for page in PAGES for command in commands(page))
    silences = [command for command in every if command.startswith("amtool silence add ")]
    assert len(silences) == len(PAGES)
    for command in (*of("amtool "), *silences):
        done = typed(moved(command, "http://127.0.0.1:9093", alertmanager), shell)
        assert (done.returncode, done.stderr) == (0, ""), command


def test_compose_knows_the_options_and_services_of_its_commands(shell: Shell) -> None:
    variables = {"MODEL": "m", "SPEC_METHOD": "ngram", "COMPOSE_PROFILES": "gpu", "DOCKER_HOST": "tcp://127.0.0.1:1"}
    composed = [command for command in WHOLE if command.startswith("docker compose ")]
    assert {words[4] for words in map(str.split, composed)} == {"exec", "logs"}
    # Compose hands on what follows the program's name; those words are typed by other tests.
    before = {" ".join(command.split()[:7]) if " exec " in command else command: command for command in composed}
    for command in before.values():
        done = typed(command, {**shell, **OWNER, **variables})
        assert "Cannot connect to the Docker daemon" in done.stderr, command


@pytest.mark.skipif(not shutil.which("kubectl"), reason="kubectl is not installed")
def test_kubectl_knows_the_options_of_its_commands(shell: Shell) -> None:
    on_kubernetes = next(one for one in platforms(Runbooks(platform="kubernetes")).values())
    within = [f"{beginning} true" for beginning in on_kubernetes.inside.values()]
    logs = [on_kubernetes.logs("vllm", 100), on_kubernetes.logs_since("prometheus", "30m")]
    nowhere = "--server=http://127.0.0.1:1"
    for command in (*within, *logs):
        done = typed(command.replace("kubectl", f"kubectl {nowhere}", 1), shell)
        assert "The connection to the server 127.0.0.1:1 was refused" in done.stderr, command
