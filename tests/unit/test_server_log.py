"""Programs that are started: a Prometheus is ready once its log says so and where it listens; none outlives us."""

import contextlib
import os
import select
import signal
import subprocess
import sys
from itertools import permutations
from pathlib import Path

import pytest

from draftboard.prometheus.process import READY

LISTENS = 'level=INFO msg="Listening on" component=web address=127.0.0.1:41275\n'
READIES = 'level=INFO msg="Server is ready to receive web requests."\n'
OTHER = 'level=INFO msg="TLS is disabled." component=web http2=false address=127.0.0.1:41275\n'
ORDERS = list(permutations((LISTENS, READIES, OTHER)))


@pytest.mark.parametrize("lines", ORDERS, ids=["".join(order) for order in permutations("lro")])
def test_a_log_that_says_both_is_ready_in_whichever_order(lines: tuple[str, ...]) -> None:
    found = READY.search("".join(lines))
    assert found
    assert found["address"] == "127.0.0.1:41275"


@pytest.mark.parametrize("log", [LISTENS + OTHER, READIES + OTHER, ""], ids=["deaf", "nowhere", "silent"])
def test_a_log_that_says_only_one_of_both_is_not(log: str) -> None:
    assert not READY.search(log)


@pytest.mark.skipif(sys.platform != "linux", reason="elsewhere a killed process cannot end its children")
def test_a_server_ends_when_the_process_that_started_it_is_killed(tmp_path: Path) -> None:
    code = (
        "import re, pathlib; from draftboard.prometheus import Program\n"
        "command = ('sh', '-c', 'echo ready; exec sleep 1000')\n"
        f"log = pathlib.Path({str(tmp_path / 'log')!r})\n"
        "server, _ = Program(name='s', command=command, ready=re.compile('ready'), help='').start(log)\n"
        "print(server.pid, flush=True); server.wait()"
    )
    with subprocess.Popen([sys.executable, "-c", code], stdout=subprocess.PIPE, text=True) as starter:
        assert starter.stdout is not None
        server = os.pidfd_open(int(starter.stdout.readline()))
        starter.kill()
    ended, _, _ = select.select([server], [], [], 30)
    with contextlib.suppress(ProcessLookupError):
        signal.pidfd_send_signal(server, signal.SIGKILL)
    os.close(server)
    assert ended
