"""`draftboard simulate` as a user types it: what it prints, and how it ends."""

import json
import os
import re
import signal
import socket
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from functools import partial
from pathlib import Path
from types import SimpleNamespace

import httpx
import pytest
from prometheus_client.parser import text_string_to_metric_families

from conftest import ROOT
from draftboard.durations import Duration
from draftboard.errors import DraftboardError
from draftboard.lab import openmetrics
from draftboard.lab.replay.evaluate import unpack
from draftboard.lab.simulator import find, names
from draftboard.lab.simulator.backfill import estimated_bytes
from draftboard.lab.simulator.fleet import targets
from support import command_line

run = partial(command_line.run, "simulate")


@contextmanager
def live(*arguments: str) -> Iterator[tuple[subprocess.Popen[str], list[str]]]:
    """The command as a process of its own, and the addresses that it prints."""
    command = [sys.executable, "-m", "draftboard", "simulate", "--port", "0", *arguments]
    environment = os.environ | {"PYTHONUNBUFFERED": "1", "PYTHONWARNINGS": "error"}
    with subprocess.Popen(
        command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, env=environment
    ) as process:
        try:
            assert process.stdout is not None
            addresses = []
            for line in process.stdout:
                addresses.append(line.split()[-1])
                if line.rstrip().endswith("/targets"):
                    break
            yield process, addresses
        finally:
            process.kill()


def fetched(url: str) -> tuple[int, str, str]:
    """Status, content type and text."""
    answer = httpx.get(url, timeout=300)
    return answer.status_code, answer.headers.get("Content-Type", ""), answer.text


def test_list_names_every_scenario_with_its_alerts(capsys: pytest.CaptureFixture[str]) -> None:
    code, out, _ = run("--list", capsys=capsys)
    assert code == 0
    for name in names():
        assert any(line.split()[:1] == [name] for line in out.splitlines())
    assert "SpecDecodeEngineOutlier" in out


@pytest.mark.usefixtures("sigint")
@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_it_serves_until_it_is_interrupted_or_terminated_and_ends_with_0(number: signal.Signals) -> None:
    with live("--scenario", "baseline-vs-spec") as (process, addresses):
        *pages, listed = addresses
        assert len(pages) == 2
        for page in pages:
            assert page.startswith("http://127.0.0.1:")
            status, kind, text = fetched(page)
            assert (status, kind) == (200, "text/plain; version=1.0.0; charset=utf-8")
            assert "vllm:generation_tokens" in {family.name for family in text_string_to_metric_families(text)}
        groups = json.loads(fetched(listed)[2])
        assert [group["targets"][0] for group in groups] == [page.split("/")[2] for page in pages]
        assert [group["labels"] for group in groups] == [
            {"spec_method": "eagle3", "variant": "speculative"},
            {"spec_method": "none", "variant": "plain"},
        ]
        process.send_signal(number)
        assert process.wait(30) == 0
        assert process.stderr is not None
        assert process.stderr.read() == "Stopped.\n"


def test_in_the_background_of_a_shell_which_ignores_sigint_it_ends_with_sigterm() -> None:
    script = f"{sys.executable} -m draftboard simulate --scenario idle --port 0 & echo $!; wait $!; echo ended with $?"
    environment = os.environ | {"PYTHONUNBUFFERED": "1"}
    with subprocess.Popen(["/bin/sh", "-c", script], stdout=subprocess.PIPE, text=True, env=environment) as shell:
        assert shell.stdout is not None
        lines = iter(shell.stdout)
        pid = int(next(lines))
        try:
            assert any("/targets" in line for line in lines)
        finally:
            os.kill(pid, signal.SIGTERM)
        assert list(lines) == ["ended with 0\n"]


def test_time_goes_on_as_fast_as_asked_and_a_restart_gives_no_page(tmp_path: Path) -> None:
    path = tmp_path / "down.toml"
    path.write_text(
        'story = "A server that goes down after a second and stays down."\nduration = "1h"\n'
        '[[server]]\nmodel = "m"\nload = { rate = 5 }\n[[event]]\nat = "0s"\nrestart = "7d"\n'
    )
    with live("--scenario", str(path), "--speed", "1000") as (_, addresses):
        assert fetched(addresses[0])[0] == 503
    with live("--scenario", "healthy-eagle3", "--speed", "1000") as (_, addresses):
        while "vllm:request_success_total" not in counted(fetched(addresses[0])[2]):
            pass


@pytest.mark.parametrize("speed", ["20", "0.5"])
def test_what_another_speed_bends_is_said(speed: str) -> None:
    with live("--scenario", "idle", "--speed", speed) as (process, _):
        assert process.stdout
        said = process.stdout.readline()
        assert said.startswith(f"A second here is {speed} of the servers': rates per second, and requests in flight")
        assert (
            f"read {speed} times as high. Times of requests and of steps, batches, shares and speedups are as" in said
        )


def test_targets_are_named_as_the_one_who_asks_names_the_host(tmp_path: Path) -> None:
    path = tmp_path / "labelled.toml"
    path.write_text(
        'story = "A server with a target label of its own."\nduration = "1h"\n'
        '[[server]]\nmodel = "m"\nlabels = { rack = "r1" }\n'
    )
    with live("--scenario", str(path)) as (_, addresses):
        port = addresses[0].split(":")[2].removesuffix("/metrics")
        groups = json.loads(httpx.get(f"http://localhost:{port}/targets").text)
        assert groups == [{"targets": [f"localhost:{port}"], "labels": {"spec_method": "none", "rack": "r1"}}]


def counted(text: str) -> set[str]:
    """Counters that are over zero."""
    return {s.name for family in text_string_to_metric_families(text) for s in family.samples if s.value > 0}


def test_other_paths_are_not_found_and_health_answers() -> None:
    with live("--scenario", "idle", "--engines", "1") as (_, addresses):
        server = addresses[0].removesuffix("/metrics")
        assert fetched(f"{server}/v1/models")[0] == 404
        assert fetched(f"{server}/health")[0] == 200
        assert fetched(f"{server}/metrics/")[0] == 200


def test_a_taken_port_is_one_line_and_exit_code_2(capsys: pytest.CaptureFixture[str]) -> None:
    with socket.create_server(("127.0.0.1", 0)) as taken:
        port = taken.getsockname()[1]
        code, out, err = run("--scenario", "idle", "--port", str(port), capsys=capsys)
    assert (code, out) == (2, "")
    assert (
        err == f"draftboard: 127.0.0.1:{port}: cannot listen: Address already in use; name another --host or --port\n"
    )


def test_ports_beyond_the_last_are_one_line_and_exit_code_2(capsys: pytest.CaptureFixture[str]) -> None:
    code, _, err = run("--scenario", "fleet-100", "--port", "65500", capsys=capsys)
    assert code == 2
    assert (
        err == "draftboard: --port 65500: 80 servers need ports up to 65579, and the last is 65535: name a lower one\n"
    )


@pytest.mark.parametrize(
    ("host", "named"), [("no.such.host.invalid",) * 2, ("a\x85b", "a\ufffdb"), ("\udcff", "\ufffd")]
)
def test_a_host_that_is_not_ours_is_one_line_and_exit_code_2(
    host: str, named: str, capsys: pytest.CaptureFixture[str]
) -> None:
    code, _, err = run("--scenario", "idle", "--host", host, "--port", "0", capsys=capsys)
    assert code == 2
    assert err.startswith(f"draftboard: {named}:0: cannot listen: ")
    assert err.count("\n") == 1


def test_an_unknown_scenario_is_one_line_and_exit_code_2(capsys: pytest.CaptureFixture[str]) -> None:
    code, out, err = run("--scenario", "helthy", capsys=capsys)
    assert (code, out) == (2, "")
    assert err.startswith("draftboard: scenario 'helthy' is unknown: name a TOML file, or one of abandoned-requests, ")
    assert err.count("\n") == 1


@pytest.mark.parametrize(
    "arguments",
    [
        ("--backfill", "1h"),
        ("--out", "run.om"),
        ("--backfill", "soon", "--out", "run.om"),
        ("--backfill", "0s", "--out", "run.om"),
        ("--backfill", "1h", "--step", "0s", "--out", "run.om"),
        ("--speed", "0"),
        ("--speed", "nan"),
        ("--engines", "0"),
        ("--seed", "-1"),
        ("--port", "65536"),
        ("--host", ""),
        ("--backfill", "1h", "--until", "99999999999999999999", "--out", "run.om"),
        ("--until", "1800000000"),
        ("--step", "15s"),
        ("--force",),
        ("--any-size",),
    ],
)
def test_a_mistyped_option_ends_with_2(arguments: tuple[str, ...], capsys: pytest.CaptureFixture[str]) -> None:
    code, out, err = run(*arguments, capsys=capsys)
    assert (code, out) == (2, "")
    assert "Traceback" not in err


def test_engines_too_few_for_the_story_are_one_line_and_exit_code_2(capsys: pytest.CaptureFixture[str]) -> None:
    code, _, err = run("--scenario", "engine-outlier", "--engines", "1", capsys=capsys)
    assert code == 2
    assert err.startswith("draftboard: --engines 1: event.0 happens to no server")
    assert err.count("\n") == 1


def test_a_past_before_1970_is_one_line_and_exit_code_2(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    code, _, err = run("--backfill", "1h", "--until", "100", "--out", tmp_path / "run.om", capsys=capsys)
    assert code == 2
    assert err == "draftboard: --backfill 1h --until 100: the history would begin before 1970\n"


def test_a_past_ends_when_asked_and_says_how_to_load_it(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    out = tmp_path / "run.om"
    code, told, _ = run("--scenario", "idle", "--backfill", "5m", "--until", "1800000000", "--out", out, capsys=capsys)
    assert code == 0
    assert f"promtool tsdb create-blocks-from openmetrics {out} DATA" in told
    times = sorted({int(line.rsplit(" ", 1)[1]) for line in out.read_text().splitlines() if line[0] != "#"})
    assert times == list(range(1_799_999_700, 1_800_000_001, 15))


def test_a_past_says_its_size_before_it_is_made(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    out = tmp_path / "run.om"
    code, _, err = run("--scenario", "drafter-broken", "--backfill", "20m", "--out", out, capsys=capsys)
    assert code == 0
    told = re.fullmatch(r"About (\d+) MB: 2 servers, each at 81 times\n", err)
    assert told
    assert int(told[1]) == pytest.approx(out.stat().st_size / 1e6, rel=0.15)


TOO_LARGE = ("--scenario", "fleet-100", "--backfill", "6h", "--step", "15s")


def test_a_past_that_replay_would_refuse_is_refused_before_it_is_made(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    out = tmp_path / "run.om"
    code, _, err = run(*TOO_LARGE, "--out", out, capsys=capsys)
    assert (code, err.count("\n"), list(tmp_path.iterdir())) == (2, 1, [])
    assert "more than the 4 GB that `replay` reads: take a shorter --backfill, a longer --step or fewer" in err
    monkeypatch.setattr(openmetrics, "MOST_BYTES", 1_000)
    small = ("--scenario", "idle", "--engines", "1", "--backfill", "1m")
    assert run(*small, "--out", out, capsys=capsys)[0] == 2
    assert run(*small, "--out", out, "--any-size", capsys=capsys)[0] == 0
    with pytest.raises(DraftboardError, match="larger than 1e-06 GB unpacked"):
        unpack(out, tmp_path / "plain.om")


def test_a_past_for_which_the_disk_has_no_room_is_refused_before_it_is_made(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr("shutil.disk_usage", lambda _: SimpleNamespace(free=1_000))
    out = tmp_path / "run.om"
    code, _, err = run("--scenario", "drafter-broken", "--backfill", "20m", "--out", out, capsys=capsys)
    assert (code, err.count("\n"), list(tmp_path.iterdir())) == (2, 1, [])
    assert "needs about 0.0 GB while it is written, and 0.0 GB are free" in err


def test_a_file_is_replaced_only_when_that_is_asked_for(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    out = tmp_path / "run.om"
    out.write_text("mine\n")
    small = ("--scenario", "idle", "--engines", "1", "--backfill", "1m", "--out", out)
    code, _, err = run(*small, capsys=capsys)
    assert (code, err) == (2, f"draftboard: {out}: exists: choose another path, or replace it with --force\n")
    assert out.read_text() == "mine\n"
    assert run(*small, "--force", capsys=capsys)[0] == 0
    assert out.read_text().endswith("# EOF\n")


DOCUMENTED = sorted(
    {
        line.strip().removeprefix("$ ").partition("   ")[0]
        for page in (ROOT / "README.md", *(ROOT / "docs").rglob("*.md"))
        for line in page.read_text().splitlines()
        if "draftboard simulate" in line and "--backfill" in line
    }
)


@pytest.mark.parametrize("command", DOCUMENTED)
def test_every_documented_past_is_one_that_replay_reads(command: str) -> None:
    given = dict(re.findall(r"--(scenario|backfill|step) (\S+)", command))
    seconds, step = (Duration.parse(given.get(name, "15s")).seconds for name in ("backfill", "step"))
    size = estimated_bytes(targets(find(given["scenario"]), 1), range(1_800_000_000, 1_800_000_001 + seconds, step))
    assert 0 < size <= openmetrics.MOST_BYTES


def test_a_past_is_documented() -> None:
    assert DOCUMENTED


def test_the_past_of_a_demo_ends_now(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    out = tmp_path / "run.om"
    run("--scenario", "idle", "--engines", "1", "--backfill", "1m", "--step", "30s", "--out", out, capsys=capsys)
    first, *_, last = sorted({int(line.rsplit(" ", 1)[1]) for line in out.read_text().splitlines() if line[0] != "#"})
    assert last - first == 60
    assert last % 30 == 0


def test_without_the_extra_the_command_names_it_and_others_work() -> None:
    code = (
        "import sys; sys.modules['numpy'] = None\n"
        "from draftboard.cli import main\n"
        "main(['simulate', '--scenario', 'idle'])"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False)
    assert done.returncode == 2
    assert (
        done.stderr
        == "draftboard: simulate needs the package numpy: install the extra, pip install 'draftboard[lab]'\n"
    )
    listed = subprocess.run(
        [sys.executable, "-c", code.replace("'--scenario', 'idle'", "'--list'")], capture_output=True, check=False
    )
    assert listed.returncode == 0
