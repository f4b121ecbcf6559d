"""Checks of deploy/.env and of the host, before anything starts: what containers would only tell in their logs.

Python's standard library is enough.
"""

import ipaddress
import json
import os
import re
import shutil
import subprocess
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from printing import warn

DEPLOY = Path(__file__).parent.parent
PORTS = ("VLLM_PORT", "BASELINE_PORT", "GRAFANA_PORT", "PROMETHEUS_PORT")
HIGHEST_PORT = 65535
# What Prometheus and vLLM's start script accept. With anything else they restart again and again.
FORMATS = {
    "RETENTION_TIME": (r"(\d+(ms|[smhdwy]))+", "a duration such as 45d"),
    "RETENTION_SIZE": (r"\d+[KMGTPE]?B", "a size such as 20GB"),
    "BYTES_PER_SERIES": (r"\d+", "a number of bytes such as 24000"),
    "VLLM_PROBE": ("on|off", "on or off"),
    "GPU_MEMORY_UTILIZATION": (r"0?\.\d*[1-9]\d*|1(\.0*)?", "a share of the memory above 0, at most 1, such as 0.9"),
    "TENSOR_PARALLEL_SIZE": (r"[1-9]\d*", "a number of GPUs"),
    "GPUS": (r"\d+(,\d+)*", "numbers of GPUs, such as 0,1"),
    "BASELINE_GPUS": (r"\d+(,\d+)*", "numbers of GPUs, such as 2,3"),
    "VLLM_TARGET": (
        r"([A-Za-z0-9._-]+|\[[0-9A-Fa-f:.]+\]):\d{1,5}",
        "host:port without http://, such as 10.0.0.5:8000 or [2001:db8::5]:8000",
    ),
    "SPEC_METHOD": (r"[A-Za-z0-9._:-]+", "a label: letters, digits and . _ : -"),
    "HOST_LABEL": (r"[A-Za-z0-9._:-]+", "a label: letters, digits and . _ : -"),
}
# What the driver of NVIDIA adds to a host, and what WSL has in its place.
GPU_DEVICES = (Path("/dev/nvidiactl"), Path("/dev/dxg"))
PROFILES = ("gpu", "demo", "monitoring", "baseline", "load", "exporters", "scale")
UNITS = {"ms": 0.001, "s": 1, "m": 60, "h": 3600, "d": 86_400, "w": 7 * 86_400, "y": 365 * 86_400}
DAY = UNITS["d"]
KEPT_BY_DEFAULT = "45d"  # of docker-compose.yml


class StackError(Exception):
    """Something to correct first; the text is one line."""


def value_of(text: str) -> str:
    """A value as Compose reads it: without quotes, or without the comment behind it."""
    text = text.strip()
    quoted = re.match(r"""'([^']*)'|"([^"]*)\"""", text)
    return (quoted[1] or quoted[2] or "") if quoted else re.sub(r"\s+#.*", "", text)


def check_variables(found: Mapping[str, str]) -> None:
    """What the containers would only tell in their logs."""
    if found.get("STACK_UID") == "0":
        raise StackError("STACK_UID=0: containers must not run as root. Remove the line and run: make secrets")
    bound = found.get("BIND_ADDRESS", "")
    if bound and not is_address(bound):
        raise StackError(f"BIND_ADDRESS={bound} is not an IP address, such as 192.0.2.7 or [2001:db8::7]")
    for name in PORTS:
        port = found.get(name, "")
        if port and not (port.isdecimal() and 1 <= int(port) <= HIGHEST_PORT):
            raise StackError(f"{name}={port} is not a port from 1 to {HIGHEST_PORT}")
    for name, (pattern, example) in FORMATS.items():
        if found.get(name) and not re.fullmatch(pattern, found[name]):
            raise StackError(f"{name}={found[name]} is not {example}")
    profiles = check_profiles(found)
    if "gpu" in profiles:
        check_gpus(found, profiles)
        check_speculation(found)


def check_profiles(found: Mapping[str, str]) -> set[str]:
    """The profiles, each of which exists and has what it needs."""
    profiles = {name.strip() for name in found.get("COMPOSE_PROFILES", "").split(",")} - {""}
    if unknown := sorted(profiles - {*PROFILES}):
        raise StackError(
            f"COMPOSE_PROFILES={found['COMPOSE_PROFILES']}: no profile {unknown[0]}: {', '.join(PROFILES)}"
        )
    if "monitoring" in profiles and not found.get("VLLM_TARGET"):
        raise StackError("VLLM_TARGET is empty: the profile monitoring needs the host:port of your vLLM")
    return profiles


def check_gpus(found: Mapping[str, str], profiles: set[str]) -> None:
    """Each copy of the model has as many GPUs as it is split over, and shares none."""
    size, used = int(found.get("TENSOR_PARALLEL_SIZE") or 1), dict[str, str]()
    copies = {"GPUS": "0"} | ({"BASELINE_GPUS": "1"} if "baseline" in profiles else {})
    for name, default in copies.items():
        numbers = (found.get(name) or default).split(",")
        if len({*numbers}) != size or len(numbers) != size:
            raise StackError(f"{name}={','.join(numbers)} does not name TENSOR_PARALLEL_SIZE={size} different GPUs")
        if shared := sorted(used.keys() & {*numbers}):
            raise StackError(f"{name} and {used[shared[0]]} both name GPU {shared[0]}: two vLLM servers would share it")
        used |= dict.fromkeys(numbers, name)


def reserves_gpu(service: Mapping[str, Any]) -> bool:
    """A service of Compose's configuration that starts only on a host with a GPU."""
    reserved = service.get("deploy", {}).get("resources", {}).get("reservations", {}).get("devices", ())
    return any("gpu" in device.get("capabilities", ()) for device in reserved)


def check_devices(services: Mapping[str, Any]) -> None:
    """A GPU for services that reserve one, before gigabytes of images are pulled; of another host nothing is known."""
    names = ", ".join(name for name, service in services.items() if reserves_gpu(service))
    if not names or not is_local():
        return
    if not any(device.exists() for device in GPU_DEVICES):
        raise StackError(
            f"no NVIDIA GPU on this host, which the profile needs for {names}: nvidia-smi says whether a driver runs. "
            "Without one, run make up-demo, or set COMPOSE_PROFILES=monitoring and VLLM_TARGET in deploy/.env"
        )
    known = subprocess.run(["docker", "info"], capture_output=True, text=True, check=False).stdout
    if "nvidia" not in known and shutil.which("nvidia-container-runtime-hook") is None:
        raise StackError(
            f"Docker cannot give a GPU to {names}: install the NVIDIA Container Toolkit, or run make up-demo: "
            "https://docs.nvidia.com/datacenter/cloud-native/container-toolkit/latest/install-guide.html"
        )


def is_local() -> bool:
    """Whether the containers run on this host."""
    inspected = ["docker", "context", "inspect", "--format", "{{.Endpoints.docker.Host}}"]
    host = (
        os.environ.get("DOCKER_HOST") or subprocess.run(inspected, capture_output=True, text=True, check=False).stdout
    )
    return host.strip().startswith("unix:")


def check_speculation(found: Mapping[str, str]) -> None:
    """The configuration of speculation is a JSON object, and its method is that of the label."""
    text, label = found.get("SPEC_CONFIG", ""), found.get("SPEC_METHOD", "")
    try:
        config = json.loads(text or "{}")
    except ValueError:
        config = None
    if not isinstance(config, dict):
        raise StackError("SPEC_CONFIG is not a JSON object: write it in single quotes, with double quotes inside")
    method = "none" if not config else config.get("method", "")
    if method and label and method != label and not (label == "mtp" and method.endswith("_mtp")):
        raise StackError(f"SPEC_METHOD={label} is not the method of SPEC_CONFIG, {method}: write SPEC_METHOD={method}")


def days_read(found: Mapping[str, str]) -> int:
    """How far rules look back."""
    rules = DEPLOY / (found.get("BUILD_FOLDER") or "..") / "alerts/recording.rules.yaml"
    text = rules.read_text() if rules.is_file() else ""
    return max((int(days) for days in re.findall(r"\[(\d+)d[]:]", text)), default=0)


def warn_of_retention(found: Mapping[str, str]) -> None:
    """Say it where rules look back further than samples are kept: error budgets then count too little."""
    days = days_read(found)
    kept = found.get("RETENTION_TIME") or KEPT_BY_DEFAULT
    seconds = sum(int(count) * UNITS[unit] for count, unit in re.findall(r"(\d+)(ms|[smhdwy])", kept))
    if seconds < days * DAY:
        warn(
            "stack.py",
            f"RETENTION_TIME={kept} is shorter than the {days} days that rules look back, such as those on "
            f"error budgets. Set RETENTION_TIME={days + 1}d or more in deploy/.env, or a shorter slo.window",
        )


def is_address(text: str) -> bool:
    """Whether it is an IP address as Compose takes it: IPv6 in brackets."""
    bare = text.removeprefix("[").removesuffix("]")
    try:
        return (ipaddress.ip_address(bare).version == 6) == (text == f"[{bare}]")  # noqa: PLR2004
    except ValueError:
        return False
