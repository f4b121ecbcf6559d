"""What `make` does with user settings, with missing secrets, and with two stacks on one machine."""

import os
import re
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from conftest import ROOT, program
from support.hostile import ENCODABLE, obeyed_by_a_ci

DOCKER = """#!/bin/sh
echo "called: ${BUILD_FOLDER-} $COMPOSE_PROFILES $*" >>"$CALLS"
case " $* " in
    *" compose version "*) echo "${COMPOSE_VERSION-2.40.3}" ;;
    *Components*) echo "${PARTS-Engine}" ;;
    *" version --format "*) echo "${ENGINE_VERSION-28.2.2}" ;;
    *" config --format json"*) echo '{"services": {'"$(printf '"%s": {},' $ENABLED | sed 's/,$//')"'}}' ;;
    *" --format {{.Service}}"*) echo "$STATES" ;;
    *" logs "*) echo "$LOGS" ;;
    *" promtool query "*) echo "$KEPT" ;;
    *meta.json*) printf '{\n\t"ulid": "01M8",\n\t"minTime": 0,\n\t"maxTime": %s\n}' "${BLOCK_ENDS-1}" ;;
    *" df "*) echo "Filesystem 1024-blocks Used Available Capacity Mounted on"; echo "$DISK" ;;
    *" up "*) exit "${UP-0}" ;;
    *" ps --all "*) echo "$THERE" ;;
    *" ps --quiet "*) echo "id" ;;
    *" port "*) echo "127.0.0.1:1234" ;;
esac
"""


@pytest.fixture
def project(tmp_path: Path) -> Path:
    """A folder with the Makefile and a `docker` that notes how it was called."""
    shutil.copy(ROOT / "Makefile", tmp_path)
    (tmp_path / "deploy/tools").mkdir(parents=True)
    for path in ("deploy/stack.mk", "deploy/tools/stack.py", "deploy/tools/environment.py", "deploy/tools/printing.py"):
        shutil.copy(ROOT / path, tmp_path / path)
    (tmp_path / "deploy/examples").mkdir()
    (tmp_path / "deploy/examples/eagle3.env").write_text("MODEL=a\n")
    (tmp_path / "deploy/secrets").mkdir()
    for name in ("grafana_admin_password", "vllm_api_key"):
        (tmp_path / "deploy/secrets" / name).write_text("secret")
    (tmp_path / "docker").write_text(DOCKER)
    (tmp_path / "docker").chmod(0o755)
    return tmp_path


def make(project: Path, *words: str, **variables: str) -> subprocess.CompletedProcess[str]:
    started = {
        "ENABLED": "prometheus alertmanager grafana",
        "THERE": "",
        "DISK": "/dev/vda 100 1 99 1% /",
        "CALLS": str(project / "calls"),
    }
    return subprocess.run(
        ["make", "--no-print-directory", *words],
        cwd=project,
        env={"PATH": f"{project}:{os.environ['PATH']}", **started, **variables},
        capture_output=True,
        text=True,
        timeout=300,
        check=False,
    )


def calls(project: Path, *verbs: str) -> list[str]:
    """How Docker was called, of those calls that contain one of the verbs as a word."""
    lines = (project / "calls").read_text().splitlines() if (project / "calls").exists() else []
    ours = [line for line in lines if not re.search(r" df |meta\.json", line)]
    return [line.removeprefix("called: ") for line in ours if {*verbs} & {*line.split()}]


def ran(project: Path, *words: str, **variables: str) -> subprocess.CompletedProcess[str]:
    done = make(project, *words, **variables)
    assert done.returncode == 0, done.stderr
    return done


def refused(project: Path, target: str = "up", **variables: str) -> str:
    """The line that says what to correct; nothing was started."""
    done = make(project, target, **variables)
    assert done.returncode == 2
    assert calls(project, "up", "rm", "kill") == []
    return done.stderr.splitlines()[0].removeprefix("stack.py: ")


def planned(project: Path, *words: str) -> str:
    """The command that would run if the virtual environment existed."""
    done = make(project, "--dry-run", "--old-file=.venv/.runtime", *words)
    assert done.returncode == 0, done.stderr
    return done.stdout.strip()


def user_settings(project: Path, *, built: bool = True, env: str = "BUILD_FOLDER=built\n") -> None:
    """Write user settings and complete the steps that the stack needs to read them."""
    settings, rules = project / "deploy/my.toml", project / "deploy/built/alerts/alerting.rules.yaml"
    settings.touch()
    (project / "deploy/.env").write_text(env)
    rules.parent.mkdir(parents=True)
    rules.touch()
    later = settings.stat().st_mtime + (1 if built else -1)
    os.utime(rules, (later, later))


@pytest.mark.parametrize("verb", ["build", "check"])
def test_without_user_settings_the_committed_files_are_built(project: Path, verb: str) -> None:
    assert planned(project, verb) == f".venv/bin/draftboard {verb} --config deploy/draftboard.toml --out ."


@pytest.mark.parametrize("verb", ["build", "check"])
def test_user_settings_are_built_into_a_folder_that_git_ignores(project: Path, verb: str) -> None:
    user_settings(project)
    assert planned(project, verb) == f".venv/bin/draftboard {verb} --config deploy/my.toml --out deploy/built"
    other = planned(project, verb, "CONFIG=other.toml")
    assert other == f".venv/bin/draftboard {verb} --config other.toml --out deploy/built"


def test_the_demo_writes_nothing_into_the_tree(project: Path) -> None:
    programs = [f"{name}=there" for name in ("PROMETHEUS", "PROMTOOL", "ALERTMANAGER", "AMTOOL")]
    commands = planned(project, "--old-file=.venv/.demo", *programs, "demo")
    assert commands == ".venv/bin/draftboard demo"


@pytest.mark.parametrize("folder", ["built", "./built/", "'built'", '"built"  '])
def test_the_stack_starts_with_the_users_settings_once_they_are_built_and_mounted(project: Path, folder: str) -> None:
    user_settings(project, env=f"MODEL=a\nBUILD_FOLDER={folder}\n")
    ran(project, "up")
    [line] = calls(project, "up")
    assert line.endswith(f"compose --project-directory {project}/deploy up --detach")


def test_an_example_is_read_after_the_users_variables(project: Path) -> None:
    (project / "deploy/.env").write_text("MODEL=b\n")
    ran(project, "up", "EXAMPLE=eagle3")
    files = f"--env-file {project}/deploy/.env --env-file {project}/deploy/examples/eagle3.env"
    assert f" {files} up " in calls(project, "up")[0]


def test_an_unknown_example_names_those_there_are(project: Path) -> None:
    done = make(project, "up", "EXAMPLE=eagle4")
    assert done.returncode == 2
    assert "there is no example eagle4; there are eagle3" in done.stderr


@pytest.mark.parametrize(
    ("built", "env", "says"),
    [
        (True, "#BUILD_FOLDER=built\n", "deploy/built is not mounted. Add BUILD_FOLDER=built to deploy/.env"),
        (False, "BUILD_FOLDER=built\n", "deploy/my.toml is newer than deploy/built. Run: make build"),
    ],
)
@pytest.mark.parametrize("target", ["up", "reload"])
def test_user_settings_that_are_not_built_or_not_mounted_are_refused(
    project: Path, built: bool, env: str, says: str, target: str
) -> None:
    user_settings(project, built=built, env=env)
    assert refused(project, target) == says


@pytest.mark.parametrize("target", ["up", "up-demo"])
def test_missing_secrets_are_one_line_with_the_fix(project: Path, target: str) -> None:
    shutil.rmtree(project / "deploy/secrets")
    (project / "deploy/.env").write_text("STACK_UID=1000\n")
    assert refused(project, target) == "deploy/secrets is missing. Run: make secrets"


@pytest.mark.parametrize("name", ["grafana_admin_password", "vllm_api_key"])
@pytest.mark.parametrize("target", ["up", "up-demo"])
def test_an_empty_secret_is_refused(project: Path, target: str, name: str) -> None:
    (project / "deploy/secrets" / name).write_text("")
    assert refused(project, target) == f"deploy/secrets/{name} is empty. Remove it and run: make secrets"


@pytest.mark.parametrize(
    ("line", "says"),
    [
        ("STACK_UID=0", "STACK_UID=0: containers must not run as root. Remove the line and run: make secrets"),
        ("GRAFANA_PORT=65536", "GRAFANA_PORT=65536 is not a port from 1 to 65535"),
        ("VLLM_PORT=0", "VLLM_PORT=0 is not a port from 1 to 65535"),
        ("VLLM_PORT=8000:80", "VLLM_PORT=8000:80 is not a port from 1 to 65535"),
        ("BIND_ADDRESS=localhost", "BIND_ADDRESS=localhost is not an IP address, such as 192.0.2.7 or [2001:db8::7]"),
        ("BIND_ADDRESS=::1", "BIND_ADDRESS=::1 is not an IP address, such as 192.0.2.7 or [2001:db8::7]"),
        ("RETENTION_TIME=45 days", "RETENTION_TIME=45 days is not a duration such as 45d"),
        ("VLLM_PROBE=no", "VLLM_PROBE=no is not on or off"),
        ("RETENTION_SIZE=20G", "RETENTION_SIZE=20G is not a size such as 20GB"),
        ("GPU_MEMORY_UTILIZATION=90", "GPU_MEMORY_UTILIZATION=90 is not a share of the memory"),
        ("GPU_MEMORY_UTILIZATION=0.0", "GPU_MEMORY_UTILIZATION=0.0 is not a share of the memory"),
        ("TENSOR_PARALLEL_SIZE=0", "TENSOR_PARALLEL_SIZE=0 is not a number of GPUs"),
        ("GPUS=all", "GPUS=all is not numbers of GPUs"),
        (
            "COMPOSE_PROFILES=gpu\nGPUS=0\nTENSOR_PARALLEL_SIZE=4",
            "GPUS=0 does not name TENSOR_PARALLEL_SIZE=4 different GPUs",
        ),
        ("COMPOSE_PROFILES=gpu,baseline\nBASELINE_GPUS=0", "BASELINE_GPUS and GPUS both name GPU 0"),
        ("COMPOSE_PROFILES=gpus", "COMPOSE_PROFILES=gpus: no profile gpus"),
        ("COMPOSE_PROFILES=monitoring", "VLLM_TARGET is empty"),
        (
            "COMPOSE_PROFILES=monitoring\nVLLM_TARGET=http://gpu:8000",
            "VLLM_TARGET=http://gpu:8000 is not host:port without",
        ),
        ("COMPOSE_PROFILES=monitoring\nVLLM_TARGET=gpu", "VLLM_TARGET=gpu is not host:port without http://"),
        ("HOST_LABEL=gpu 1", "HOST_LABEL=gpu 1 is not a label"),
        ("export GPUS=all # of them", "GPUS=all is not numbers of GPUs"),
        ("VLLM_PORT=0\r", "VLLM_PORT=0 is not a port"),
        ("COMPOSE_PROFILES=gpu\nSPEC_CONFIG={method: ngram}", "SPEC_CONFIG is not a JSON object"),
        (
            "COMPOSE_PROFILES=gpu\nSPEC_CONFIG='{}'\nSPEC_METHOD=ngram",
            "SPEC_METHOD=ngram is not the method of SPEC_CONFIG, none",
        ),
        (
            """COMPOSE_PROFILES=gpu\nSPEC_CONFIG='{"method": "mtp"}'\nSPEC_METHOD=ngram""",
            "SPEC_METHOD=ngram is not the method of SPEC_CONFIG, mtp",
        ),
    ],
)
def test_a_wrong_variable_is_one_line(project: Path, line: str, says: str) -> None:
    (project / "deploy/.env").write_text(f"{line}\n")
    assert refused(project).startswith(says)


def test_comments_quotes_and_export_are_read_as_compose_reads_them(project: Path) -> None:
    lines = (
        "VLLM_PORT=8100  # mine",
        "export GPUS='0' # the first",
        'HOST_LABEL="gpu-1"',
        "RETENTION_TIME=45d\t# days",
    )
    with (project / "deploy/.env").open("a") as env:
        env.write("\n".join(lines) + "\n")
    assert make(project, "up").returncode == 0


def test_the_environment_outranks_the_file_and_a_later_line_an_earlier_one(project: Path) -> None:
    (project / "deploy/.env").write_text(
        "GRAFANA_PORT=0\nVLLM_PORT=0\nVLLM_PORT=8100\nBIND_ADDRESS=[::1]\n#STACK_UID=0"
    )
    ran(project, "up", GRAFANA_PORT="3100")


@pytest.mark.parametrize(
    ("variables", "says"),
    [
        ({"COMPOSE_VERSION": ""}, "docker compose does not run: install the plugin Docker Compose, 2.24"),
        ({"COMPOSE_VERSION": "v2.23.3"}, "Docker Compose 2.24 or newer is required, this is 2.23"),
        ({"ENGINE_VERSION": ""}, "the Docker daemon does not answer."),
    ],
)
def test_docker_that_is_absent_old_or_silent_is_one_line(project: Path, variables: dict[str, str], says: str) -> None:
    assert refused(project, **variables).startswith(says)


def test_without_docker_that_is_the_line(project: Path) -> None:
    (project / "docker").unlink()
    (project / "python3").symlink_to(sys.executable)
    (project / "make").symlink_to(str(shutil.which("make")))
    says = "the program docker is not installed: https://docs.docker.com/engine/install/"
    assert refused(project, PATH=str(project)) == says


@pytest.mark.parametrize(("engine", "warned"), [("27.5.1", True), ("28.0.0", False), ("29.1.0", False)])
def test_an_engine_that_opens_loopback_ports_to_neighbours_is_told(project: Path, engine: str, warned: bool) -> None:
    assert ("local network" in ran(project, "up", ENGINE_VERSION=engine).stderr) == warned


def test_podman_has_versions_of_its_own(project: Path) -> None:
    assert "local network" not in ran(project, "up", ENGINE_VERSION="4.3.1", PARTS="Podman Engine Conmon").stderr


def test_the_demo_shares_neither_data_nor_receivers_with_a_real_installation(project: Path) -> None:
    user_settings(project)
    ran(project, "up-demo")
    [line] = calls(project, "up")
    assert line.startswith(".. demo compose ")
    assert line.endswith(" --project-name draftboard-demo up --detach --build")


def test_what_a_profile_no_longer_names_is_removed_before_the_start(project: Path) -> None:
    ran(project, "up", THERE="prometheus vllm dcgm-exporter")
    remove, start = calls(project, "rm", "up")
    assert remove.split()[0] == "*"
    assert remove.endswith(" rm --stop --force dcgm-exporter vllm")
    assert start.endswith(" up --detach")


def without_queries(made: list[str]) -> list[str]:
    """What a start does, without what it asks Prometheus about its store."""
    return [call for call in made if "promtool query" not in call]


def test_a_start_has_containers_that_it_did_not_make_read_changed_files(project: Path) -> None:
    ran(project, "up")
    check_rules, check_routes, signal = without_queries(calls(project, "exec", "kill"))
    assert "exec -T prometheus promtool check config " in check_rules
    assert "exec -T alertmanager amtool check-config " in check_routes
    assert signal.endswith(" kill --signal SIGHUP prometheus alertmanager")


@pytest.mark.parametrize("container", ['"$(wc -l <"$CALLS")"', '""'])
def test_a_new_container_is_not_signalled(project: Path, container: str) -> None:
    """Its program may not handle the signal yet, and ends."""
    (project / "docker").write_text(DOCKER.replace('echo "id"', f"echo {container}"))
    ran(project, "up")
    assert without_queries(calls(project, "exec", "kill")) == []


def test_a_start_prints_the_addresses(project: Path) -> None:
    shown = ran(project, "up").stdout
    assert "grafana       http://127.0.0.1:1234\n" in shown
    assert "vllm" not in shown
    assert "deploy/secrets/grafana_admin_password" in shown


def test_a_reload_signals_both_once_their_configuration_is_valid(project: Path) -> None:
    user_settings(project)
    ran(project, "reload")
    assert [line.split()[-1] for line in calls(project, "exec", "kill", "up")] == [
        "/etc/prometheus/config/prometheus.yml",
        "/etc/alertmanager/alertmanager.yml",
        "alertmanager",
    ]


def test_an_invalid_configuration_is_not_reloaded(project: Path) -> None:
    (project / "docker").write_text(DOCKER.replace("case", 'case "$*" in *" amtool "*) exit 1 ;; esac\ncase', 1))
    done = make(project, "reload")
    assert done.returncode == 2
    assert "Traceback" not in done.stderr
    assert calls(project, "kill") == []


def test_down_stops_both_and_requires_neither_variables_nor_secrets(project: Path) -> None:
    shutil.rmtree(project / "deploy/secrets")
    ran(project, "down")
    assert [line.strip() for line in calls(project, "down")] == [
        "compose --project-name draftboard down",
        "compose --project-name draftboard-demo down",
    ]


@pytest.mark.parametrize(
    ("status", "ci", "passes"), [(0, "true", True), (2, "", False), (3, "", True), (3, "true", False)]
)
def test_a_program_that_cannot_be_had_stops_the_tests_in_ci_only(
    project: Path, status: int, ci: str, passes: bool
) -> None:
    called = project / "deploy/tools/fetch.py"
    called.write_text(f"import sys\nprint(*sys.argv[1:])\nsys.exit({status})\n")
    done = make(project, "optional-tools", "DOCKER_COMPOSE=there", CI=ci)
    assert done.stdout == "alertmanager --into .tools\n"
    assert (done.returncode == 0) == passes


def test_the_tests_fetch_every_program_that_the_environment_does_not_name(project: Path) -> None:
    for file in ("deploy/tools/fetch.py", "constraints.txt", "pyproject.toml", ".venv/.pip", ".venv/.dev"):
        (project / file).parent.mkdir(exist_ok=True)
        (project / file).touch()
    assert "fetch.py alertmanager docker-compose --into .tools" in planned(project, "test")
    named = planned(project, "test", "ALERTMANAGER=there", "AMTOOL=there")
    assert "fetch.py docker-compose --into .tools" in named


def test_a_test_of_a_program_that_could_not_be_fetched_is_skipped_and_of_a_named_one_is_not(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setattr("conftest.ROOT", tmp_path)
    monkeypatch.setenv("AMTOOL", str(tmp_path / ".tools/bin/amtool"))  # as `make` exports it
    with pytest.raises(pytest.skip.Exception, match=r"amtool is not in \.tools/bin; `make tools` says why"):
        program("amtool")
    monkeypatch.setenv("AMTOOL", "/nowhere/amtool")
    assert program("amtool") == Path("/nowhere/amtool")


@pytest.mark.parametrize("target", ["test-grafana", "pictures"])
def test_a_missing_browser_is_one_line_with_the_fix(project: Path, target: str) -> None:
    programs = [f"{name}=there" for name in ("PROMETHEUS", "PROMTOOL", "ALERTMANAGER", "AMTOOL")]
    done = make(project, "--old-file=.venv/.dev", *programs, "CHROMIUM=no-such-browser", target)
    assert done.returncode == 2
    fix = "Run: apt-get install --no-install-recommends chromium fonts-inter, or set CHROMIUM"
    assert done.stderr.splitlines()[0] == f"no-such-browser is missing. {fix}"


def test_install_links_the_program_and_says_what_is_not_on_path(project: Path) -> None:
    (project / ".venv/bin").mkdir(parents=True)
    (project / ".venv/bin/draftboard").write_text("#!/bin/sh\necho it runs\n")
    (project / ".venv/bin/draftboard").chmod(0o755)
    prefix = project / "a prefix"
    words = ("--old-file=.venv/.installed", "install", f"PREFIX={prefix}")
    assert f"Add {prefix}/bin to PATH." in ran(project, *words).stdout
    on_path = ran(project, *words, PATH=f"{prefix}/bin:{os.environ['PATH']}").stdout
    assert on_path == f"{prefix}/bin/draftboard runs from {project}.\n"
    started = subprocess.run([prefix / "bin/draftboard"], capture_output=True, text=True, check=True)
    assert started.stdout == "it runs\n"
    completion = ("bash-completion/completions/draftboard", "zsh/site-functions/_draftboard")
    for place in (*completion, "fish/vendor_completions.d/draftboard.fish"):
        assert (prefix / "share" / place).read_text() == "it runs\n"


def test_without_a_package_index_one_line_names_the_variable_of_a_mirror(project: Path) -> None:
    for file in ("constraints.txt", "pyproject.toml", ".venv/.pip", "tests/scripts/needs.py"):
        (project / file).parent.mkdir(parents=True, exist_ok=True)
        (project / file).touch()
    (project / ".venv/bin").mkdir()
    (project / ".venv/bin/pip").write_text("#!/bin/sh\necho 'ERROR: conflicting dependencies' >&2\nexit 1\n")
    (project / ".venv/bin/pip").chmod(0o755)
    done = make(project, ".venv/.demo")
    assert done.returncode == 2
    line, by_make = done.stderr.splitlines()
    assert "PIP_INDEX_URL names a mirror. What pip says is in .venv/pip.log" in line
    assert by_make.startswith("make: ***")
    assert "conflicting" in (project / ".venv/pip.log").read_text()


@pytest.mark.long
def test_the_tests_of_targets_that_make_test_leaves_out_can_be_collected() -> None:
    targets = re.findall(r"^\t.*\bpytest (tests/[\w/]+)", (ROOT / "Makefile").read_text(), re.MULTILINE)
    assert {"tests/vllm", "tests/grafana", "tests/stack"} <= {*targets}
    command = [sys.executable, "-m", "pytest", "--collect-only", "-qq", "-p", "no:cacheprovider", *sorted({*targets})]
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout


def test_the_list_of_targets_fits_a_terminal_of_80_columns(project: Path) -> None:
    lines = make(project, "help").stdout.splitlines()
    assert len(lines) > 15
    assert max(map(len, lines)) <= 80


@pytest.mark.xdist_group("together")
def test_of_all_tests_those_of_a_group_share_a_worker_and_what_it_makes(request: pytest.FixtureRequest) -> None:
    """Some versions of pytest and pytest-xdist let groups fall apart without a word: pytest-dev/pytest-xdist#1386."""
    if not getattr(request.config.option, "loadgroup", False):
        pytest.skip("no groups without --dist loadgroup")
    assert request.node.nodeid.endswith("@together")


def test_what_ended_at_a_start_says_why(project: Path) -> None:
    states = "prometheus 0 running healthy\nvolume-owner 2 exited \nalertmanager 1 restarting "
    done = make(project, "up-demo", UP="1", STATES=states, LOGS="own.sh: a reason")
    assert done.returncode
    assert [line for line in done.stderr.splitlines() if line.startswith("stack.py")] == [
        "stack.py: volume-owner: own.sh: a reason",
        "stack.py: alertmanager: own.sh: a reason",
    ]


def test_whatever_a_container_logs_is_words_on_a_line_of_its_own(project: Path) -> None:
    hostile = [text for text in ENCODABLE.values() if text.splitlines() == [text] and not re.search(r"[\0\\]", text)]
    lines = ["start.sh: " + text for text in (*hostile, "cut off \udcf0\udc9f")]
    done = ran(project, "up-demo", LOGS="\n".join(lines))
    assert done.stderr.count("stack.py: alertmanager:") == len(lines) > len(ENCODABLE) / 2
    assert not obeyed_by_a_ci(done.stderr)
    assert all(line.isprintable() for line in done.stderr.split("\n"))


def test_a_damaged_file_that_was_set_aside_is_named(project: Path) -> None:
    done = ran(project, "up-demo", LOGS="time=now level=INFO\nstart.sh: /alertmanager/nflog was damaged")
    assert "stack.py: alertmanager: /alertmanager/nflog was damaged" in done.stderr.splitlines()


def test_a_server_that_is_scraped_no_more_is_named(project: Path) -> None:
    done = ran(project, "up-demo", LOGS="start.sh: gpu-1:8000 fills the memory")
    assert "stack.py: prometheus: gpu-1:8000 fills the memory" in done.stderr.splitlines()


@pytest.mark.parametrize(("kept", "warned"), [("{} => 12.4 @[1]", True), ("", False)])
def test_a_size_that_holds_fewer_days_than_rules_look_back_is_named(project: Path, kept: str, warned: bool) -> None:
    said = ran(project, "up", KEPT=kept).stderr
    assert ("RETENTION_SIZE holds 12 days of samples at their growth so far" in said) is warned


@pytest.mark.parametrize(("end", "named"), [(1, False), (4_000_000_000_000, True)])
def test_a_block_of_samples_of_the_future_is_named(project: Path, end: int, named: bool) -> None:
    done = ran(project, "up-demo", BLOCK_ENDS=str(end))
    assert ("stack.py: /prometheus/01M8 has samples of the future" in done.stderr) is named


@pytest.mark.parametrize(("free", "warned"), [(4, True), (5, False)])
def test_a_disk_that_is_nearly_full_is_named(project: Path, free: int, warned: bool) -> None:
    done = ran(project, "up-demo", DISK=f"/dev/vda {100 * 1024} 1 {free * 1024} 1% /")
    assert ("has 4 MB left" in done.stderr) is warned


@pytest.mark.parametrize(
    ("kept", "window", "warned"),
    [("29d", "30d", True), ("30d", "30d", False), ("4w", "30d", True), ("1y", "30d", False), ("", "44d", False)],
)
def test_a_retention_shorter_than_the_rules_look_back_is_told(
    project: Path, kept: str, window: str, warned: bool
) -> None:
    (project / "alerts").mkdir()
    rule = f"sum_over_time(service:vllm_slo_events:rate5m[{window}])"
    (project / "alerts/recording.rules.yaml").write_text(rule)
    (project / "deploy/.env").write_text(f"RETENTION_TIME={kept}\n")
    said = ran(project, "up").stderr
    assert (f"RETENTION_TIME={kept} is shorter than the 30 days" in said) is warned
    assert ("shorter than" in said) is warned
