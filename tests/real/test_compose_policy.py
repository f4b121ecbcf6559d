"""The policy for every service of the stack, and exceptions with their reasons."""

import json
import re
import runpy
import shutil
import subprocess
import sys
from pathlib import Path
from typing import Any

import httpx
import pytest

from conftest import ROOT, program
from draftboard.prometheus.process import Program, stop
from support.composed import DEPLOY, EVERY, EXAMPLES, FILE, OWNER, PROFILES, SHELL, compose, configured

pytestmark = pytest.mark.prometheus

EXCUSED: dict[str, dict[Any, str]] = {
    "no wait for readiness": {("prometheus", "alertmanager"): "monitoring must not depend on a valid receiver"},
    "no health check": {"load": "ends after the last answer", "volume-owner": "ends at once"},
    "not restarted": {"load": "a restart would repeat the load", "volume-owner": "Compose runs it at every start"},
    "no CPU limit": {"vllm": "throttling would be measured as latency", "vllm-baseline": "as for vllm"},
    "root": {"volume-owner": "only root can change the owner of a volume"},
    "capabilities": {"volume-owner": "CHOWN, its only task"},
    "a writable bind mount": {
        "vllm": "the user's model cache, HF_CACHE",
        "vllm-baseline": "as for vllm",
        "load": "as for vllm, for the tokenizer",
    },
}
REACHABLE = {"grafana": "3000", "prometheus": "9090", "simulator": "8000", "vllm": "8000", "vllm-baseline": "8001"}
STORAGE = {"prometheus": "tsdb.path", "alertmanager": "path"}
LOOPBACK = "--web.listen-address=127.0.0.1:0"
CAPABILITIES = {"volume-owner": ["CHOWN"]}


@pytest.fixture(scope="module")
def services() -> dict[str, Any]:
    """All services of all profiles."""
    found: dict[str, Any] = configured(EVERY)["services"]
    return found


def overrides() -> list[str]:
    """What the page on other hosts puts into deploy/docker-compose.override.yml."""
    page = (ROOT / "docs/operate/hosts.md").read_text()
    return [block for block in re.findall(r"(?ms)^```yaml\n(.*?)^```", page) if re.search(r"(?m)^services:", block)]


@pytest.mark.parametrize("override", overrides(), ids=lambda text: text.split()[-1])
def test_every_override_for_another_host_is_a_valid_configuration(override: str, tmp_path: Path) -> None:
    (tmp_path / "override.yml").write_text(override)
    more = ("--file", str(tmp_path / "override.yml"), "config", "--quiet")
    done = compose(*more, env_files=(DEPLOY / ".env.example",), COMPOSE_PROFILES=EVERY, **OWNER)
    assert (done.returncode, done.stderr) == (0, "")


def test_the_page_on_other_hosts_has_an_override_for_each_that_needs_one() -> None:
    assert len(overrides()) == 4


@pytest.mark.parametrize("profiles", PROFILES)
def test_every_profile_is_a_valid_configuration(profiles: str) -> None:
    assert {"prometheus", "alertmanager", "grafana"} <= configured(profiles)["services"].keys()


@pytest.mark.parametrize(
    ("profiles", "servers"),
    [
        ("gpu", {"vllm", "dcgm-exporter", "node-exporter"}),
        ("demo", {"simulator"}),
        ("monitoring", set()),
        ("monitoring,exporters", {"dcgm-exporter", "node-exporter"}),
        ("gpu,baseline", {"vllm", "vllm-baseline", "dcgm-exporter", "node-exporter"}),
        ("monitoring,scale", {"victoria-metrics"}),
        ("gpu,load", {"vllm", "load", "dcgm-exporter", "node-exporter"}),
    ],
)
def test_a_profile_starts_its_documented_services(profiles: str, servers: set[str]) -> None:
    always = {"prometheus", "alertmanager", "grafana", "volume-owner"}
    assert configured(profiles)["services"].keys() == always | servers


@pytest.mark.parametrize("example", EXAMPLES, ids=lambda path: path.stem)
def test_every_example_is_a_valid_configuration(example: Path) -> None:
    started = configured("gpu,baseline", example)["services"]
    speculation = started["vllm"]["environment"]["SPEC_CONFIG"]
    method = started["prometheus"]["environment"]["SPEC_METHOD"]
    if example.stem == "baseline":
        assert (speculation, method) == ("", "none")
    else:
        assert json.loads(speculation)["method"] == method == example.stem
    assert started["vllm-baseline"]["environment"]["SPEC_CONFIG"] == ""


def test_missing_secrets_are_an_error_with_the_fix() -> None:
    done = compose("config", "--quiet", env_files=(DEPLOY / ".env.example",))
    assert done.returncode != 0
    assert "make secrets" in done.stderr


@pytest.mark.parametrize(("missing", "fix"), [("MODEL", "deploy/.env"), ("SPEC_METHOD", "none without speculation")])
def test_a_missing_model_or_method_is_an_error_with_the_fix(missing: str, fix: str) -> None:
    variables = {**OWNER, "COMPOSE_PROFILES": "gpu", missing: ""}
    done = compose("config", "--quiet", env_files=(DEPLOY / ".env.example",), **variables)
    assert done.returncode != 0
    assert missing in done.stderr
    assert fix in done.stderr


def test_every_image_is_pinned(services: dict[str, Any]) -> None:
    for service in (one for one in services.values() if "build" not in one):
        assert re.fullmatch(r"[\w./-]+:v?\d[\w.-]*(@sha256:[0-9a-f]{64})?", service["image"])


def test_images_are_set_in_one_place() -> None:
    text = FILE.read_text()
    named = text[text.index("x-images:") : text.index("# Finer than")]
    for image in re.findall(r"\b[\w./-]+:v?\d[\w.-]+", named):
        assert text.count(image) == 1
    assert not re.search(r"(?m)^    image: (?!\*|draftboard/)", text)


def test_the_image_for_suffix_decoding_has_the_tag_of_the_stack() -> None:
    tag = re.search(r"vllm/vllm-openai:(v[\d.]+)", FILE.read_text())
    assert tag
    assert f"FROM vllm/vllm-openai:{tag[1]}\n" in (DEPLOY / "vllm/suffix.Dockerfile").read_text()
    assert f"VLLM_IMAGE=draftboard/vllm-suffix:{tag[1]}\n" in (DEPLOY / "examples/suffix.env").read_text()


def test_no_service_is_privileged_or_shares_a_namespace_of_the_host(services: dict[str, Any]) -> None:
    for service in services.values():
        assert not {"privileged", "pid", "ipc", "uts", "userns_mode", "cgroup", "devices"} & service.keys()
        assert service.get("network_mode", "none") == "none"


def test_capabilities_and_new_privileges_are_dropped(services: dict[str, Any]) -> None:
    for name, service in services.items():
        assert service["cap_drop"] == ["ALL"]
        assert service.get("cap_add", []) == CAPABILITIES.get(name, [])
        assert service["security_opt"] == ["no-new-privileges:true"]
        assert service["read_only"] is True
    assert CAPABILITIES.keys() == EXCUSED["capabilities"].keys()


def test_services_run_as_the_owner_of_the_secrets(services: dict[str, Any]) -> None:
    roots = {name for name, service in services.items() if service["user"] != "1000:1000"}
    assert roots == EXCUSED["root"].keys()


def test_services_have_limits_bounded_logs_health_checks_and_restarts(services: dict[str, Any]) -> None:
    for name, service in services.items():
        limits = service["deploy"]["resources"]["limits"]
        unlimited = {"cpus"} if name in EXCUSED["no CPU limit"] else set()
        assert limits.keys() == {"cpus", "memory", "pids"} - unlimited
        assert limits.get("cpus", 0) <= 2, "Docker refuses more than the machine has"
        assert service["logging"] == {"driver": "json-file", "options": {"max-file": "3", "max-size": "10m"}}
    unwatched = {name for name, service in services.items() if "healthcheck" not in service}
    assert unwatched == EXCUSED["no health check"].keys()
    ending = {name for name, service in services.items() if service["restart"] != "unless-stopped"}
    assert ending == EXCUSED["not restarted"].keys()


def test_services_wait_for_the_readiness_of_their_dependencies(services: dict[str, Any]) -> None:
    waits = {
        (name, other): wait["condition"]
        for name, service in services.items()
        for other, wait in service.get("depends_on", {}).items()
    }
    assert waits
    hasty = {pair for pair, condition in waits.items() if condition == "service_started"}
    assert hasty == EXCUSED["no wait for readiness"].keys()
    assert set(waits.values()) <= {"service_healthy", "service_completed_successfully", "service_started"}


def test_ports_listen_on_loopback(services: dict[str, Any]) -> None:
    opened = {name: service["ports"] for name, service in services.items() if "ports" in service}
    assert {name: port["published"] for name, ports in opened.items() for port in ports} == REACHABLE
    assert {port["host_ip"] for ports in opened.values() for port in ports} == {"127.0.0.1"}


def test_only_prometheus_is_reached_by_servers_and_by_those_who_watch(services: dict[str, Any]) -> None:
    """Alertmanager takes silences from everybody who reaches it."""
    monitoring = {name for name, service in services.items() if "monitoring" in service.get("networks", ())}
    serving = {name for name, service in services.items() if "default" in service.get("networks", ())}
    assert monitoring == {"prometheus", "alertmanager", "grafana", "victoria-metrics"}
    assert monitoring & serving == {"prometheus"}
    assert services.keys() - monitoring - serving == {"volume-owner"}


def test_the_volume_that_an_image_declares_is_mounted_wherever_it_runs(services: dict[str, Any]) -> None:
    """Docker makes a nameless volume of it otherwise, at each start. Declared by the images' Dockerfiles."""
    declared = {"prom/prometheus": "/prometheus", "prom/alertmanager": "/alertmanager"}
    for name, service in services.items():
        folder = declared.get(service["image"].partition(":")[0])
        mounted = {mount["target"] for mount in service.get("volumes", [])}
        mounted |= {mount.partition(":")[0] for mount in service.get("tmpfs", [])}
        assert folder is None or folder in mounted, name


def test_bind_address_changes_the_address_of_all_ports() -> None:
    opened = configured(EVERY, BIND_ADDRESS="192.0.2.7")["services"].values()
    assert {port["host_ip"] for service in opened for port in service.get("ports", [])} == {"192.0.2.7"}


def test_an_ipv6_address_is_bound_in_brackets() -> None:
    opened = configured(EVERY, BIND_ADDRESS="[2001:db8::7]")["services"].values()
    assert {port["host_ip"] for service in opened for port in service.get("ports", [])} == {"2001:db8::7"}


def test_an_override_beside_the_compose_file_is_read(tmp_path: Path) -> None:
    """As `make up` calls it: by folder, not by file."""
    shutil.copytree(DEPLOY, tmp_path / "deploy", ignore=shutil.ignore_patterns("secrets", "built", ".env"))
    shutil.copy(DEPLOY / ".env.example", tmp_path / "deploy/.env")
    (tmp_path / "deploy/docker-compose.override.yml").write_text("services: {grafana: {labels: {mine: 'yes'}}}")
    done = subprocess.run(
        [program("docker-compose"), "--project-directory", "deploy", "config", "--format=json"],
        env={**SHELL, **OWNER},
        cwd=tmp_path,
        capture_output=True,
        text=True,
        timeout=300,
        check=True,
    )
    services = json.loads(done.stdout)["services"]
    assert services["grafana"]["labels"] == {"mine": "yes"}
    assert "vllm" in services


def test_bind_mounts_are_read_only(services: dict[str, Any]) -> None:
    for name, service in services.items():
        mounts = [mount for mount in service.get("volumes", []) if mount["type"] == "bind"]
        assert all(mount.get("read_only") for mount in mounts), name
        assert all(Path(mount["source"]).is_relative_to(ROOT) for mount in mounts), name


def test_the_users_model_cache_is_the_only_writable_bind_mount() -> None:
    started = configured(EVERY, HF_CACHE="/srv/models")["services"]
    written = {
        name: [mount["source"] for mount in service["volumes"] if mount["type"] == "bind" and "read_only" not in mount]
        for name, service in started.items()
        if "volumes" in service
    }
    assert {name for name, sources in written.items() if sources} == EXCUSED["a writable bind mount"].keys()
    assert all(sources in ([], ["/srv/models"]) for sources in written.values())


def test_files_built_from_user_settings_replace_all_committed_ones(files: dict[str, str]) -> None:
    mounted = {
        folder: {
            Path(mount["source"]).relative_to(root)
            for service in configured(EVERY, BUILD_FOLDER=folder)["services"].values()
            for mount in service.get("volumes", [])
            if mount["type"] == "bind" and not mount["bind"].get("create_host_path")
        }
        for folder, root in (("", ROOT), ("built", DEPLOY / "built"))
    }
    assert mounted["built"] == mounted[""]
    elsewhere = ("mixin", "deploy/kubernetes")
    for path in files:
        mounts = (Path(path).is_relative_to(source) for source in mounted["built"])
        assert any(mounts) != path.startswith(elsewhere), path


def test_mounted_files_exist_or_are_generated(services: dict[str, Any]) -> None:
    made = {"alertmanager", "provisioning"}  # by `draftboard build`
    for service in services.values():
        for mount in service.get("volumes", []):
            source = Path(mount["source"])
            assert mount["type"] != "bind" or source.exists() or source.name in made, source


def test_what_a_reload_reads_is_mounted_as_folders_and_checked_before(
    services: dict[str, Any], monkeypatch: pytest.MonkeyPatch
) -> None:
    """A container keeps the old content of a mounted file that is replaced."""
    monkeypatch.syspath_prepend(DEPLOY / "tools")
    script = runpy.run_path(str(DEPLOY / "tools/stack.py"))
    checked = {check[-1] for check in script["RELOADED"].values()}
    read = set()
    for name in ("prometheus", "alertmanager"):
        mounts = [mount for mount in services[name]["volumes"] if mount["type"] == "bind"]
        folders = {mount["target"] for mount in mounts if Path(mount["source"]).is_dir()}
        (config,) = (word.partition("=")[2] for word in services[name]["command"] if word.startswith("--config.file="))
        read.add(config)
        assert str(Path(config).parent) in folders
        files = {mount["target"] for mount in mounts} - folders
        assert files <= {"/opt/draftboard/start.sh"}, "read at the start only"
    assert checked == read


def test_new_volumes_copy_nothing_from_an_image_and_have_one_owner(services: dict[str, Any]) -> None:
    for service in services.values():
        for mount in service.get("volumes", []):
            if mount["type"] == "volume" and mount["source"] != "huggingface":
                assert mount["volume"] == {"nocopy": True}
    owned = {mount["source"] for mount in services["volume-owner"]["volumes"] if mount["type"] == "volume"}
    assert owned == configured(EVERY)["volumes"].keys()


def test_the_volume_owner_service_mounts_no_folder_of_the_user() -> None:
    mounts = configured(EVERY, HF_CACHE="/srv/models")["services"]["volume-owner"]["volumes"]
    assert {mount["type"] for mount in mounts if not mount.get("read_only")} == {"volume"}


def test_the_documented_chmod_covers_all_mounts_and_no_secret(services: dict[str, Any]) -> None:
    commands = re.findall(r"(?m)^ *chmod -R go\+rX ([^#\n]+)", (ROOT / "docs/operate/troubleshooting.md").read_text())
    opened = [(DEPLOY / folder).resolve() for command in commands for folder in command.split()]
    mounted = {
        Path(mount["source"])
        for one in (services, configured(EVERY, BUILD_FOLDER="built")["services"])
        for service in one.values()
        for mount in service.get("volumes", [])
        if mount["type"] == "bind"
    }
    assert [path for path in mounted if not any(path.is_relative_to(folder) for folder in opened)] == []
    assert [folder for folder in opened if not any(path.is_relative_to(folder) for path in mounted)] == []
    assert not any((DEPLOY / "secrets").is_relative_to(folder) for folder in opened)


def test_no_secret_is_in_an_environment_or_a_command_line(services: dict[str, Any]) -> None:
    secrets = configured(EVERY)["secrets"]
    for service in services.values():
        for name, text in service.get("environment", {}).items():
            hidden = re.search(r"(?i)password|secret|token|api_?key|credential", name)
            assert not hidden or str(text).removeprefix("/run/secrets/") in secrets, name
        words = " ".join([*(service.get("entrypoint") or []), *(service.get("command") or [])])
        assert not re.search(r"(?i)password|token|api.?key|bearer", words), words
    for secret in secrets.values():
        assert Path(secret["file"]).parent == DEPLOY / "secrets"
        assert secret.keys() <= {"name", "file"}


def test_git_ignores_secrets_and_user_settings() -> None:
    kept = [
        "deploy/secrets/vllm_api_key",
        "deploy/.env",
        "deploy/prometheus/targets/mine.yaml",
        "deploy/my.toml",
        "deploy/docker-compose.override.yml",
        "deploy/built/alerts/alerting.rules.yaml",
    ]
    done = subprocess.run(
        ["git", "check-ignore", *kept], cwd=ROOT, capture_output=True, text=True, timeout=300, check=False
    )
    assert done.stdout.split() == kept


def test_grafana_has_no_anonymous_access_and_no_telemetry(services: dict[str, Any]) -> None:
    told = services["grafana"]["environment"]
    assert told["GF_SECURITY_COOKIE_SECURE"] == "true"
    for name in (
        "AUTH_ANONYMOUS_ENABLED",
        "USERS_ALLOW_SIGN_UP",
        "ANALYTICS_REPORTING_ENABLED",
        "SECURITY_ALLOW_EMBEDDING",
    ):
        assert told[f"GF_{name}"] == "false"
    assert "GF_SECURITY_ADMIN_PASSWORD" not in told


def test_grafana_keeps_the_plugins_of_its_image_and_has_a_soft_memory_limit(services: dict[str, Any]) -> None:
    told = services["grafana"]["environment"]
    assert told["GF_PLUGINS_PREINSTALL_DISABLED"] == "true"
    number, unit = re.fullmatch(r"(\d+)(MiB|GiB)", told["GOMEMLIMIT"]).groups()  # type: ignore[union-attr]
    limit = int(services["grafana"]["deploy"]["resources"]["limits"]["memory"])
    assert 0.5 < int(number) * 1024 ** {"MiB": 2, "GiB": 3}[unit] / limit < 0.9


@pytest.mark.parametrize("name", ["prometheus", "alertmanager"])
def test_a_path_in_an_external_address_moves_no_route(name: str, tmp_path: Path) -> None:
    address = {f"{name.upper()}_URL": f"https://example.com/{name}"}
    command = configured("demo", **address)["services"][name]["command"]
    words = [word for word in command if word.startswith(("--web.", "--cluster."))]
    assert f"--web.external-url=https://example.com/{name}" in words
    assert answers_at(name, words, "/-/ready", tmp_path)


def answers_at(name: str, words: list[str], path: str, folder: Path) -> bool:
    """Whether the real program, started with these flags, answers at a path."""
    file = folder / f"{name}.yml"
    file.write_text("global: {}" if name == "prometheus" else "{route: {receiver: a}, receivers: [{name: a}]}")
    started = Program(
        name=name,
        command=(program(name), f"--config.file={file}", f"--storage.{STORAGE[name]}={folder}", *words, LOOPBACK),
        ready=re.compile(r'msg="Listening on"[^\n]* address=(127\.0\.0\.1:\d+)'),
        help="make tools",
    )
    process, found = started.start(folder / "log")
    try:
        # 503 means not ready yet; 404 would mean another path.
        return httpx.get(f"http://{found[1]}{path}", trust_env=False).status_code in (200, 503)
    finally:
        stop(process)


def test_alertmanager_has_the_documented_snapshot_interval(services: dict[str, Any]) -> None:
    [flag] = [word for word in services["alertmanager"]["command"] if word.startswith("--data.maintenance-interval=")]
    assert f"once a minute (`{flag}` in the stack)" in " ".join(
        (ROOT / "docs/operate/notifications.md").read_text().split()
    )
    assert flag.endswith("=1m")


@pytest.mark.parametrize("name", ["prometheus", "alertmanager"])
def test_the_real_programs_know_all_their_flags(services: dict[str, Any], name: str) -> None:
    done = subprocess.run([str(program(name)), "--help"], capture_output=True, text=True, timeout=300, check=False)
    flags = {word.partition("=")[0] for word in services[name]["command"]}
    assert flags
    assert not [flag for flag in flags if not re.search(rf"{re.escape(flag)}[=\s]", done.stdout + done.stderr)]


def test_prometheus_has_no_admin_api_and_no_http_reload(services: dict[str, Any]) -> None:
    assert not [word for word in services["prometheus"]["command"] if re.search("admin|lifecycle|remote-write", word)]


def test_compose_lint_finds_nothing(tmp_path: Path) -> None:
    """A copy is checked: in a clone below /root or /etc every mounted folder would be a sensitive path of the host."""
    copy = shutil.copy(FILE, tmp_path)
    options = ["--no-env", "--quiet", "--fail-on=low", "--strict-config", f"--config={DEPLOY / '.compose-lint.yml'}"]
    done = subprocess.run(
        [sys.executable, "-m", "compose_lint", "check", *options, copy],
        capture_output=True,
        text=True,
        timeout=300,
        check=False,
    )
    assert done.returncode == 0, done.stdout + done.stderr
