"""A real vLLM, started by the stack's own script: on loopback, on a free port, with the model of `tiny_model.py`."""

import os
import signal
import subprocess
from collections.abc import Callable, Iterator, Mapping
from contextlib import AbstractContextManager, contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path

import httpx
import pytest

from conftest import ROOT
from draftboard.catalogue import Metric
from draftboard.catalogue.serving import GENERATION_TOKENS
from draftboard.catalogue.speculation import DRAFT_TOKENS
from draftboard.reading import lifetime, read
from draftboard.settings import Settings
from support.loopback import free_port
from support.vllm_log import Line, lines

MODEL = "tiny"
K = 4
SPECULATION = f'{{"method": "ngram", "num_speculative_tokens": {K}, "prompt_lookup_max": 4, "prompt_lookup_min": 1}}'
PER_REQUEST = "--per-request-spec-decode-metrics summary"
KEY = "only-for-tests"
# The engine is not to compile, nor to reserve more memory than a model of no size needs.
WORDS = f"--served-model-name {MODEL} --max-num-seqs 8 --enforce-eager --dtype float32 --host 127.0.0.1"
VARIABLES = {
    "HF_HUB_OFFLINE": "1",
    "VLLM_CPU_KVCACHE_SPACE": "1",
    "VLLM_NO_USAGE_STATS": "1",
    "VLLM_LOG_STATS_INTERVAL": "2",
}
POLL_SECONDS = 0.25
PATIENCE = 2400  # polls, so ten minutes: a slow machine loads torch from a slow disk
STOP_SECONDS = 30


def installed_program(target: str) -> Path:
    """VLLM, or what a target of the Makefile installs."""
    path = Path(os.environ.get("VLLM", ROOT / ".venv-vllm/bin/vllm"))
    assert path.is_file(), f"{path} is not there: run `make {target}`"
    return path


@dataclass(frozen=True)
class Vllm:
    """A server that answers."""

    url: str
    process: subprocess.Popen[bytes]
    log_file: Path
    key_file: Path

    @property
    def log(self) -> str:
        """All that it said so far."""
        return self.log_file.read_text(errors="replace")

    @property
    def spoken(self) -> list[Line]:
        """All that it said of speculation."""
        return lines(self.log)

    @property
    def command(self) -> list[str]:
        """The words that it runs with, from `vllm` on."""
        words = Path(f"/proc/{self.process.pid}/cmdline").read_text().rstrip("\0").split("\0")
        return ["vllm", *words[words.index("serve") :]]

    def page(self) -> str:
        """What Prometheus would read: the page asks nobody for a key."""
        return httpx.get(f"{self.url}/metrics", trust_env=False, timeout=30).raise_for_status().text

    @property
    def readings(self) -> int:
        """How often its page was read so far, as it logs."""
        return self.log.count('"GET /metrics HTTP/1.1" 200')

    def wait_until_read_by(self, reader: subprocess.Popen[str], before: int) -> None:
        """Until a process has read the page, `before` which it had been read so often."""
        self.wait("its page is read", lambda: self.readings > before or reader.poll() is not None)

    def wait(self, what: str, happened: Callable[[], bool]) -> None:
        """Look again and again until something happened."""
        for _ in range(PATIENCE):
            if happened():
                return
            try:
                self.process.wait(POLL_SECONDS)
            except subprocess.TimeoutExpired:
                continue
            break
        pytest.fail(f"vLLM: {what}: that never happened; {self.log_file} ends with:\n{self.log[-3000:]}")

    def wait_until_all_is_logged(self) -> None:
        """Until the log has told of every drafted token that the page has counted: the log comes later."""
        self.wait("the log tells all", lambda: sum(line.drafted for line in self.spoken) == self._total(DRAFT_TOKENS))

    @property
    def generated(self) -> float:
        """All tokens that its page has counted, of all engines."""
        return self._total(GENERATION_TOKENS)

    def _total(self, metric: Metric) -> float:
        return sum(tally.total(metric) or 0 for tally in lifetime(read(self.page(), "page")).tallies)


Started = AbstractContextManager[Vllm]
Start = Callable[..., Started]
"""By a name, and a speculation, words, a port and variables as those of `serving`."""


@contextmanager
def serving(
    folder: Path,
    *,
    program: Path,
    model: Path,
    settings: Settings,
    speculation: str = "",
    words: str = "",
    port: int | None = None,
    variables: Mapping[str, str] | None = None,
) -> Iterator[Vllm]:
    """Run `deploy/vllm/serve.sh` for the time of a `with`; it and its children are ended by their own ids.

    Args:
        folder: A new one; for secrets, caches and the log.
        program: vLLM's, in its virtual environment.
        model: Folder of the model.
        settings: Whose bounds of histograms it is to have.
        speculation: JSON, or nothing.
        words: Further options.
        port: A free one by default.
        variables: Further ones of its environment.
    """
    secrets = folder / "secrets"
    secrets.mkdir()
    (secrets / "vllm_api_key").write_text(KEY)
    (secrets / "hf_token").touch()
    port = port or free_port()
    environment = {
        "PATH": f"{program.parent}:{os.environ['PATH']}",
        "HOME": str(folder),
        "SECRETS": str(secrets),
        "MODEL": str(model),
        "SPEC_CONFIG": speculation,
        "TENSOR_PARALLEL_SIZE": "1",
        "GPU_MEMORY_UTILIZATION": "0.5",
        "MAX_MODEL_LEN": "1024",
        "BUCKETS": settings.buckets.model_dump_json(),
        "HF_HOME": str(folder),
        "SERVE_ARGS": f"{WORDS} --port {port} {words}",
        "PROBE": "on",
        **VARIABLES,
        **(variables or {}),
    }
    log = folder / "vllm.log"
    with log.open("wb") as output:
        process = subprocess.Popen(
            ["/bin/sh", ROOT / "deploy/vllm/serve.sh"],
            env=environment,
            cwd=folder,
            stdin=subprocess.DEVNULL,
            stdout=output,
            stderr=output,
            start_new_session=True,  # its children are a group that can be ended together
        )
    try:
        server = Vllm(f"http://127.0.0.1:{port}", process, log, secrets / "vllm_api_key")
        server.wait("it is ready", lambda: _healthy(server.url))
        yield server
    finally:
        _stop(process)


def _healthy(url: str) -> bool:
    try:
        return httpx.get(f"{url}/health", trust_env=False, timeout=5).is_success
    except httpx.TransportError:
        return False


def _stop(process: subprocess.Popen[bytes]) -> None:
    process.terminate()
    with suppress(subprocess.TimeoutExpired):
        process.wait(STOP_SECONDS)
    with suppress(ProcessLookupError):  # nobody is left
        os.killpg(process.pid, signal.SIGKILL)
    process.wait()
