"""A Prometheus, or what calls itself one, that answers in a shape of its own: one line, and never a traceback."""

import json
import time
from http.server import BaseHTTPRequestHandler
from pathlib import Path
from typing import Any
from urllib.parse import parse_qs

import pytest

from draftboard.cli import main
from draftboard.errors import DraftboardError
from draftboard.prometheus import Client
from support import loopback
from support.loopback import answering, page

LABELS = {"model_name": "m", "engine": "0", "instance": "a:1", "job": "vllm", "__name__": "vllm:num_requests_running"}
MALFORMED: dict[str, Any] = {
    "a scalar": [1_700_000_000, "1"],
    "words": ["up"],
    "no labels": [{"value": [1, "1"]}],
    "labels that are a list": [{"metric": ["m"], "value": [1, "1"]}],
    "a label that is no text": [{"metric": {"m": 1}, "value": [1, "1"], "values": [[1, "1"]]}],
    "no value": [{"metric": LABELS}],
    "half a value": [{"metric": LABELS, "value": [1], "values": [[1]]}],
    "a value that is no number": [{"metric": LABELS, "value": [1, "many"], "values": [[1, "many"]]}],
    "nothing": [None],
}
FOREIGN: list[dict[str, str]] = [
    {},
    {"model_name": "m", "engine": "0", "instance": "a:1", "job": "vllm"},
    LABELS | {"le": "1.2.3", "position": "0"},
    LABELS | {"le": "1e-05", "position": "0"},
    LABELS | {"le": "x", "position": "x", "identity": "x", "latency": "x", "family": "x"},
]


def answer_of(result: Any) -> loopback.Answer:
    return page(json.dumps({"status": "success", "data": {"resultType": "vector", "result": result}}))


def commands(place: str) -> dict[str, list[str]]:
    return {
        "report": ["report", "--prometheus", place, "--engines"],
        "doctor": ["doctor", "--prometheus", place],
        "compare": ["compare", "--prometheus", place, "variant=a", "variant=b"],
        "history": ["history", "--prometheus", place],
    }


def run(arguments: list[str], capsys: pytest.CaptureFixture[str]) -> tuple[int, str]:
    with pytest.raises(SystemExit) as ended:
        main(arguments)
    return int(ended.value.code or 0), capsys.readouterr().err


@pytest.mark.parametrize("command", ["report", "doctor", "compare"])
@pytest.mark.parametrize("shape", MALFORMED)
def test_rows_of_another_shape_are_one_line(shape: str, command: str, capsys: pytest.CaptureFixture[str]) -> None:
    with answering(answer_of(MALFORMED[shape])) as place:
        code, err = run(commands(place)[command], capsys)
    assert (code, err.count("\n")) == (2, 1)
    assert err.startswith(f"draftboard: http://{place}: unexpected response: row 0")
    assert err.endswith("does not match Prometheus' HTTP API\n")


@pytest.mark.parametrize("value", ["NaN", "+Inf", "-1", "1e300", "0"])
@pytest.mark.parametrize("command", ["report", "doctor", "compare", "history"])
def test_foreign_labels_numbers_and_times_end_no_command_in_a_traceback(
    command: str, value: str, capsys: pytest.CaptureFixture[str]
) -> None:
    samples = [[1, value], [time.time() - 60, value], [1e18, value]]
    rows = [{"metric": labels, "value": samples[0], "values": samples} for labels in FOREIGN]
    with answering(answer_of(rows)) as place:
        code, err = run(commands(place)[command], capsys)
    assert code in {0, 1, 2}
    assert err.count("\n") == (code == 2)


@pytest.mark.parametrize("arguments", [[], ["--engines"]], ids=["models", "engines"])
@pytest.mark.parametrize(
    ("began", "says"),
    [
        (0, "no answer to 'Lowest K' of m, but to 'Accepted tokens by position'"),
        (1_799_999_950, "too few samples of m yet: its first scrapes are not 1m old. Repeat then\n"),
    ],
)
def test_an_answer_that_is_missing_beside_its_like_is_named(
    arguments: list[str], began: int, says: str, capsys: pytest.CaptureFixture[str]
) -> None:
    labels = {"model_name": "m", "job": "vllm"}

    def answer(request: BaseHTTPRequestHandler) -> None:
        asked = parse_qs(request.rfile.read(int(request.headers["Content-Length"])).decode())
        query = asked["query"][0]
        positions = "per_pos" in query and "sum by" in query
        rows = [{"metric": labels | ({"position": "0"} if positions else {}), "value": [1, "1000"]}]
        others = "query_range" in request.path or "count " in query or "identity" in query or "le)" in query
        answer_of([] if others or float(asked["time"][0]) < began else rows)(request)

    with answering(answer) as place:
        code, err = run(["report", "--prometheus", place, "--at", "1800000000", *arguments], capsys)
    assert (code, err.count("\n")) == (2, 1)
    assert err.startswith(f"draftboard: http://{place}: {says}")


@pytest.mark.parametrize(
    ("part", "rows"),
    [("activeTargets", [{"labels": "a"}]), ("activeTargets", ["a"]), ("groups", [{"name": "g", "rules": [{}]}])],
)
def test_targets_and_rules_of_another_shape_are_no_answer(part: str, rows: Any) -> None:
    def answer(request: BaseHTTPRequestHandler) -> None:
        page(json.dumps({"status": "success", "data": {part: rows}}))(request)

    with answering(answer) as place, Client(place) as client, pytest.raises(DraftboardError, match="row 0"):
        client.targets() if part == "activeTargets" else client.rules()


def test_numbers_that_json_has_not_are_read() -> None:
    rows = [{"metric": {}, "value": [1.5, text]} for text in ("NaN", "+Inf", "-Inf", "1e-3")]
    with answering(answer_of(rows)) as place, Client(place) as client:
        found = [series.samples[0][1] for series in client.query("x", 0)]
    assert [str(value) for value in found] == ["nan", "inf", "-inf", "0.001"]


@pytest.mark.parametrize("command", ["report", "doctor", "compare"])
def test_nobody_there_is_said_in_words(command: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert run(commands("127.0.0.1:1")[command], capsys) == (
        2,
        "draftboard: http://127.0.0.1:1: no response from Prometheus: cannot connect: Connection refused\n",
    )


def test_a_file_without_certificates_is_said_in_words(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path = tmp_path / "ca.pem"
    path.write_text("none")
    code, err = run(["report", "https://127.0.0.1:1", "--ca-file", str(path)], capsys)
    assert (code, err.startswith(f"draftboard: {path}: no certificates (PEM): ")) == (2, True)
    assert "_ssl" not in err
    assert "X509" not in err


def test_a_prometheus_that_requires_authentication_answers_with_a_token(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    token = tmp_path / "token"
    token.write_text("hunter2-hunter2")

    def answer(request: BaseHTTPRequestHandler) -> None:
        known = request.headers["Authorization"] == "Bearer hunter2-hunter2"
        (answer_of([]) if known else page("", 401))(request)

    with answering(answer) as place:
        arguments = commands(place)["report"]
        code, err = run(arguments, capsys)
        assert (code, "authentication required (HTTP 401): use --token-file" in err) == (2, True)
        assert "authentication" not in run([*arguments, "--token-file", str(token)], capsys)[1]
