"""`make up`, with a stand-in of Docker: what is checked before anything is pulled or started."""

import contextlib
import io
import json
import os
import sys
from pathlib import Path
from types import ModuleType

import pytest

from conftest import ROOT
from support.scripts import loaded

GPU = {"deploy": {"resources": {"reservations": {"devices": [{"driver": "nvidia", "capabilities": ["gpu"]}]}}}}
DOCKER = """#!{python}
import json, os, sys
words = sys.argv[1:]
if words[:2] == ["compose", "version"] or words[0] == "version":
    print("28.1.0")
elif words[0] == "info":
    print(os.environ["INFO"])
elif words[0] == "context":
    print("unix:///var/run/docker.sock")
elif "config" in words:
    print(json.dumps({{"services": json.loads(os.environ["SERVICES"])}}))
else:
    open(os.environ["LOG"], "a").write(" ".join(words) + "\\n")
    sys.exit("up" in words)
"""


@pytest.fixture
def stack(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> ModuleType:
    (tmp_path / "docker").write_text(DOCKER.format(python=sys.executable))
    (tmp_path / "docker").chmod(0o755)
    deploy = tmp_path / "deploy"
    (deploy / "secrets").mkdir(parents=True)
    module = loaded("deploy/tools/stack.py", monkeypatch)
    for name in module.REQUIRED_SECRETS:
        (deploy / "secrets" / name).write_text("secret")
    monkeypatch.setattr(module, "DEPLOY", deploy)
    monkeypatch.setenv("PATH", f"{tmp_path}{os.pathsep}/usr/bin{os.pathsep}/bin")
    monkeypatch.setenv("LOG", str(tmp_path / "log"))
    monkeypatch.setenv("INFO", "Runtimes: runc")
    monkeypatch.setattr(sys, "argv", ["stack.py", "up"])
    return module


@pytest.mark.parametrize(
    ("service", "device", "info", "error"),
    [
        (GPU, False, "", "no NVIDIA GPU on this host, which the profile needs for vllm: "),
        (GPU, True, "Runtimes: runc", "Docker cannot give a GPU to vllm"),
        (GPU, True, "Runtimes: nvidia runc", ""),
        ({}, False, "Runtimes: runc", ""),
    ],
)
def test_a_host_without_a_gpu_is_told_before_anything_is_pulled(
    stack: ModuleType, monkeypatch: pytest.MonkeyPatch, *, service: object, device: bool, info: str, error: str
) -> None:
    monkeypatch.setattr(sys.modules["environment"], "GPU_DEVICES", (ROOT,) if device else ())
    monkeypatch.setenv("SERVICES", json.dumps({"vllm": service, "grafana": {}}))
    monkeypatch.setenv("INFO", info)
    printed = io.StringIO()
    with contextlib.redirect_stderr(printed):
        code = stack.main()
    log = Path(os.environ["LOG"])
    assert (code, "up" in (log.read_text() if log.exists() else "").split()) == (2 if error else 1, not error)
    assert error in printed.getvalue()


def test_the_gpus_of_another_host_are_not_looked_for(
    stack: ModuleType, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(sys.modules["environment"], "GPU_DEVICES", ())
    monkeypatch.setenv("SERVICES", json.dumps({"vllm": GPU}))
    monkeypatch.setenv("DOCKER_HOST", "ssh://gpu-1")
    assert stack.main() == 1
    assert "up" in (tmp_path / "log").read_text().split()
