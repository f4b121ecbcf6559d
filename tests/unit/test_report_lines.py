"""`draftboard report --every --json`: a line for each model, for whoever collects logs."""

import json
import subprocess
import sys
from http.server import BaseHTTPRequestHandler
from pathlib import Path
from threading import Event

import pytest
from jsonschema import Draft202012Validator

from conftest import ROOT
from draftboard.reading import Lifetime
from draftboard.report import report, telemetry
from support.command_line import run
from support.loopback import answering, page

TEXT = (ROOT / "tests/data/v0.32.0-ngram-load.prom").read_text()
SCHEMA = json.loads((ROOT / "docs/schemas/report.schema.json").read_text())


@pytest.fixture
def lines() -> tuple[list[str], str]:
    """A line before and one after the server failed, and what stderr has of the failure."""
    fails = Event()

    def server(request: BaseHTTPRequestHandler) -> None:
        page("gone", 500)(request) if fails.is_set() else page(TEXT)(request)

    with answering(server) as address:
        command = [sys.executable, "-m", "draftboard", "report", address, "--window=1s", "--every=1s", "--json"]
        with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True) as process:
            assert process.stdout
            assert process.stderr
            found = [process.stdout.readline()]
            fails.set()
            error = process.stderr.readline()
            fails.clear()
            found.append(process.stdout.readline())
            process.terminate()
    return found, error


def test_each_line_is_a_report_of_one_model_and_a_failure_ends_nothing(lines: tuple[list[str], str]) -> None:
    found, errors = lines
    for line in found:
        one = json.loads(line)
        assert not list(Draft202012Validator(SCHEMA).iter_errors(one))
        assert len(one["models"]) == 1
        assert one["taken_at"]
    assert "HTTP 500" in errors
    assert "Traceback" not in errors


@pytest.mark.parametrize(
    ("arguments", "hint"),
    [
        (("--every=1m",), "--every requires --json"),
        (("--otlp", "--json"), "--otlp requires --every"),
        (("--every=1m", "--json", "--plot=x.svg"), "--every excludes"),
    ],
)
def test_options_that_do_not_go_together_are_named(
    arguments: tuple[str, ...], hint: str, capsys: pytest.CaptureFixture[str]
) -> None:
    code, _, errors = run("report", "127.0.0.1:1", *arguments, capsys=capsys)
    assert code == 2
    assert hint in errors


def test_a_saved_page_has_one_report_only(capsys: pytest.CaptureFixture[str]) -> None:
    saved = ROOT / "tests/data/v0.32.0-ngram-load.prom"
    code, _, errors = run("report", saved, "--every=1m", "--json", capsys=capsys)
    assert code == 2
    assert "--every requires servers" in errors


def test_a_collector_gets_the_line_as_a_log_record(monkeypatch: pytest.MonkeyPatch) -> None:
    bodies: list[bytes] = []
    arrived = Event()

    def collector(request: BaseHTTPRequestHandler) -> None:
        bodies.append(request.rfile.read(int(request.headers["Content-Length"])))
        page(b"", Content_Type="application/x-protobuf")(request)
        arrived.set()

    with answering(collector) as address:
        monkeypatch.setenv("OTEL_EXPORTER_OTLP_ENDPOINT", f"http://{address}")
        monkeypatch.setenv("OTEL_EXPORTER_OTLP_COMPRESSION", "none")
        monkeypatch.setenv("OTEL_BLRP_SCHEDULE_DELAY", "10")
        send = telemetry.sender()
        send(report(Lifetime(Path(ROOT / "tests/data/v0.32.0-ngram-load.prom"))))
        assert arrived.wait(30)
    assert b'"schema_version":' in bodies[0]
    assert b"gen_ai.request.model" in bodies[0]
