"""Start, reload and stop the stack: `docker compose` with checks before it, and with what it leaves undone.

Usage: python3 deploy/tools/stack.py up [--demo] [--example NAME]
       python3 deploy/tools/stack.py reload [--example NAME]
       python3 deploy/tools/stack.py down
`up` also removes the containers of profiles that are no longer set, and has Prometheus and Alertmanager read changed
files. Python's standard library is enough.

Exit status: 0 success; 2 something to correct first (one line on stderr); else that of `docker compose`.
"""

import argparse
import json
import os
import re
import shutil
import subprocess
import sys
import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

from environment import DEPLOY, StackError, check_devices, check_variables, days_read, value_of, warn_of_retention
from printing import warn

PROJECT, DEMO_PROJECT = "draftboard", "draftboard-demo"
DEMO = {"COMPOSE_PROFILES": "demo", "BUILD_FOLDER": ".."}
LEAST_COMPOSE = (2, 24)
# With an older one, neighbours in the local network reach ports that are published on 127.0.0.1 (moby/moby#45610).
LEAST_ENGINE = (28, 0)
# Empty, they would let everybody in: Grafana starts with the password "admin".
REQUIRED_SECRETS = ("grafana_admin_password", "vllm_api_key")
# Services that read their configuration again on SIGHUP, each with the check of that configuration.
RELOADED = {
    "prometheus": ("promtool", "check", "config", "/etc/prometheus/config/prometheus.yml"),
    "alertmanager": ("amtool", "check-config", "/etc/alertmanager/alertmanager.yml"),
}
# The port in the container of each service that a browser or a client opens.
PAGES = {"grafana": 3000, "prometheus": 9090, "vllm": 8000, "vllm-baseline": 8000, "simulator": 8000}
# What Prometheus knew of its own samples lately: how many days a full limit will hold, judged after one day. The limit
# may be new: no scrape has it yet.
LIMIT = "wget -q -O - http://127.0.0.1:9090/metrics | sed -n 's/^prometheus_tsdb_retention_limit_bytes //p'"
DAYS_KEPT = """"
    (time() - last_over_time(prometheus_tsdb_lowest_timestamp_seconds[1d])) / 86400
    * on () group_left () (vector($limit) > 0)
    / last_over_time(prometheus_tsdb_storage_blocks_bytes[1d]) < {days}
    and (time() - last_over_time(prometheus_tsdb_lowest_timestamp_seconds[1d])) > 86400
\""""
LEAST_FREE = 0.05  # of the disk that holds the samples


def main() -> int:
    """Run one command and return the exit status."""
    parser = argparse.ArgumentParser(prog="stack.py", description="Start, reload and stop the stack.")
    parser.add_argument("command", choices=("up", "reload", "down"))
    parser.add_argument("--demo", action="store_true", help="with up: simulated servers, in a project of their own")
    parser.add_argument("--example", metavar="NAME", help="a file of deploy/examples, read after deploy/.env")
    asked = parser.parse_args()
    try:
        check_docker()
        if asked.command == "down":
            down()
            return 0
        stack = Stack(DEMO, ("--project-name", DEMO_PROJECT)) if asked.demo else Stack({}, env_files(asked.example))
        if not asked.demo:
            found = variables(asked.example)
            check_variables(found)
            check_settings(found.get("BUILD_FOLDER", ""))
            warn_of_retention(found)
        if asked.command == "reload":
            stack.reload(list(RELOADED))
        else:
            check_secrets()
            stack.up(*(["--build"] if asked.demo else []))
            if not asked.demo:
                stack.warn_of_size(days_read(found))
    except StackError as error:
        warn("stack.py", str(error))
        return 2
    except subprocess.CalledProcessError as error:
        return error.returncode  # Docker has said why.
    return 0


@dataclass(frozen=True)
class Stack:
    """A Compose project."""

    variables: Mapping[str, str] = field(default_factory=dict)  # They outrank those of deploy/.env.
    options: Sequence[str] = ()

    def run(self, *words: str, read: bool = False, **variables: str) -> str:
        """Run `docker compose`; return what it prints where it is to be read."""
        command = ["docker", "compose", "--project-directory", str(DEPLOY), *self.options, *words]
        environment = {**os.environ, **self.variables, **variables}
        output = subprocess.PIPE if read else None
        done = subprocess.run(command, env=environment, stdout=output, text=True, errors="replace", check=True)
        return done.stdout or ""

    def up(self, *words: str) -> None:
        """Start what the profiles name, remove what they named before, and have changed files read."""
        started = json.loads(self.run("config", "--format", "json", read=True))["services"]
        check_devices(started)
        there = set(self.run("ps", "--all", "--services", read=True, COMPOSE_PROFILES="*").split())
        # First, because services of two profiles may publish the same port.
        if unused := sorted(there - started.keys()):
            self.run("rm", "--stop", "--force", *unused, COMPOSE_PROFILES="*")
        before = self.containers()
        try:
            self.run("up", "--detach", *words)
        except subprocess.CalledProcessError:
            self.explain()
            raise
        # Compose looks at the configuration of a container, not into the files that it mounts.
        after = self.containers()
        self.reload([name for name in RELOADED if before[name] and before[name] == after[name]])
        for name in (name for name in PAGES if name in started):
            print(f"{name:13} http://{self.run('port', name, str(PAGES[name]), read=True).strip()}")
        print("Grafana's user is admin, its password is in deploy/secrets/grafana_admin_password.")
        self.warn()

    def explain(self) -> None:
        """Print the last words of containers that ended or are unhealthy, which Compose only names."""
        listed = self.run("ps", "--all", "--format", "{{.Service}} {{.ExitCode}} {{.State}} {{.Health}}", read=True)
        for name, code, *state in (line.split() for line in listed.splitlines()):
            if code != "0" or {"restarting", "unhealthy"} & {*state}:
                lines = self.run("logs", "--no-log-prefix", "--tail", "100", name, read=True).splitlines()
                # Docker starts it again, and its first words then follow its last ones.
                errors = [line for line in lines if re.search(r"(?i)\berr(or)?\b|fatal|start\.sh: ", line)]
                for line in (errors or lines)[-3:]:
                    warn("stack.py", f"{name}: {line}")

    def warn(self) -> None:
        """Print what was set aside or cut off, and what keeps samples from being stored: a full disk, a clock."""
        for name in RELOADED:
            for line in self.run("logs", "--no-log-prefix", "--since", "10m", name, read=True).splitlines():
                if line.startswith("start.sh: "):
                    warn("stack.py", f"{name}: {line.removeprefix('start.sh: ')}")
        blocks = self.run(
            *("exec", "-T", "prometheus", "sh", "-c", "cat /prometheus/*/meta.json 2>/dev/null || true"), read=True
        )
        for block, end in re.findall(r'(?m)^\t"ulid": "(\w+)",\s+"minTime": \d+,\s+"maxTime": (\d+)', blocks):
            if int(end) / 1000 > time.time():
                warn(
                    "stack.py",
                    f"/prometheus/{block} has samples of the future: the clock was set back. No sample is "
                    "stored before that time. Run make down and remove this folder from the volume of Prometheus",
                )
        disk = self.run("exec", "-T", "prometheus", "df", "-P", "/prometheus", read=True).splitlines()
        size, _, free = map(int, disk[-1].split()[1:4])
        if free < LEAST_FREE * size:
            warn(
                "stack.py",
                f"the disk of Prometheus' volume has {free // 1024} MB left. When it is full, no sample is "
                "stored. Free space, or lower RETENTION_SIZE in deploy/.env",
            )

    def warn_of_size(self, days: int) -> None:
        """Say it where the limit by size, at the growth so far, will keep fewer days than rules look back."""
        query = f"promtool query instant http://127.0.0.1:9090 {DAYS_KEPT.format(days=days)} || true"
        printed = self.run("exec", "-T", "prometheus", "sh", "-c", f"limit=$({LIMIT}); {query}", read=True)
        if kept := re.search(r"=> ([\d.]+) @", printed):
            warn(
                "stack.py",
                f"RETENTION_SIZE holds {float(kept[1]):.0f} days of samples at their growth so far, less "
                f"than the {days} days that rules look back, such as those on error budgets. Raise it in deploy/.env",
            )

    def containers(self) -> dict[str, str]:
        """The ids of running containers, of services that can be reloaded."""
        return {name: self.run("ps", "--quiet", name, read=True).strip() for name in RELOADED}

    def reload(self, names: Sequence[str]) -> None:
        """Signal services to read their configuration, once all of it is valid."""
        for name in names:
            self.run("exec", "-T", name, *RELOADED[name])
        if names:
            self.run("kill", "--signal", "SIGHUP", *names)


def down() -> None:
    """Stop both stacks; their containers are found by label, so that neither variables nor secrets are required."""
    for project in (os.environ.get("COMPOSE_PROJECT_NAME", PROJECT), DEMO_PROJECT):
        subprocess.run(["docker", "compose", "--project-name", project, "down"], cwd="/", check=True)


def env_files(example: str | None) -> list[str]:
    """Options of Compose that read an example after deploy/.env; none without an example, for Compose finds .env."""
    if example is None:
        return []
    files = [DEPLOY / ".env", DEPLOY / f"examples/{example}.env"]
    if not files[1].is_file():
        known = ", ".join(sorted(path.stem for path in files[1].parent.glob("*.env")))
        raise StackError(f"there is no example {example}; there are {known}")
    return [word for path in files if path.is_file() for word in ("--env-file", str(path))]


def variables(example: str | None) -> dict[str, str]:
    """The variables of deploy/.env, of an example and of the environment; the last that sets one counts."""
    found: dict[str, str] = {}
    for path in (DEPLOY / ".env", DEPLOY / f"examples/{example}.env"):
        for line in path.read_text().splitlines() if path.is_file() else ():
            name, equals, value = line.partition("=")
            if equals and not name.lstrip().startswith("#"):
                found[name.strip().removeprefix("export ").strip()] = value_of(value)
    return found | os.environ


def check_docker() -> None:
    """Docker answers, and is new enough."""
    if shutil.which("docker") is None:
        raise StackError("the program docker is not installed: https://docs.docker.com/engine/install/")
    compose = version("docker", "compose", "version", "--short")
    if compose is None:
        raise StackError(
            f"docker compose does not run: install the plugin Docker Compose, {worded(LEAST_COMPOSE)} or newer: "
            "https://docs.docker.com/compose/install/"
        )
    if compose < LEAST_COMPOSE:
        raise StackError(f"Docker Compose {worded(LEAST_COMPOSE)} or newer is required, this is {worded(compose)}")
    engine = version("docker", "version", "--format", "{{.Server.Version}}")
    if engine is None:
        raise StackError(
            "the Docker daemon does not answer. Start it, or let this user use it: docker info says what is wrong"
        )
    if engine < LEAST_ENGINE and not is_podman():
        warn(
            "stack.py",
            f"Docker Engine {worded(engine)} lets machines of the local network reach ports published on "
            f"127.0.0.1. {worded(LEAST_ENGINE)} or newer does not",
        )


def is_podman() -> bool:
    """Podman answers in place of Docker, with versions of its own."""
    parts = ["docker", "version", "--format", "{{range .Server.Components}}{{.Name}} {{end}}"]
    return "Podman" in subprocess.run(parts, capture_output=True, text=True, check=False).stdout


def version(*command: str) -> tuple[int, ...] | None:
    """Major and minor version that a program prints; None where it fails."""
    try:
        done = subprocess.run(command, capture_output=True, text=True, check=False)
    except OSError:
        return None
    found = re.match(r"v?(\d+)\.(\d+)", done.stdout)
    return (int(found[1]), int(found[2])) if found and done.returncode == 0 else None


def worded(numbers: tuple[int, ...]) -> str:
    """A version as it is written."""
    return ".".join(map(str, numbers))


def check_secrets() -> None:
    """The generated secrets are there."""
    folder = DEPLOY / "secrets"
    if not folder.is_dir():
        raise StackError("deploy/secrets is missing. Run: make secrets")
    for name in REQUIRED_SECRETS:
        try:
            empty = (folder / name).stat().st_size == 0
        except FileNotFoundError:
            raise StackError(f"deploy/secrets/{name} is missing. Run: make secrets") from None
        if empty:
            raise StackError(f"deploy/secrets/{name} is empty. Remove it and run: make secrets")


def check_settings(build_folder: str) -> None:
    """The user's settings, if there are any, are built and mounted."""
    settings, rules = DEPLOY / "my.toml", DEPLOY / "built/alerts/alerting.rules.yaml"
    if not settings.exists():
        return
    if build_folder.removeprefix("./").rstrip("/") != "built":
        raise StackError("deploy/built is not mounted. Add BUILD_FOLDER=built to deploy/.env")
    if not rules.exists() or rules.stat().st_mtime < settings.stat().st_mtime:
        raise StackError("deploy/my.toml is newer than deploy/built. Run: make build")


if __name__ == "__main__":
    sys.exit(main())
