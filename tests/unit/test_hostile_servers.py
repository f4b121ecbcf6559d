"""Commands that read hostile servers: every corpus text in every label and error, in every form of output."""

import json
import math
import re
from functools import partial
from http.server import BaseHTTPRequestHandler
from pathlib import Path
from typing import Any

import pytest

from conftest import ROOT
from draftboard.cli import main
from draftboard.errors import DraftboardError
from draftboard.expr.scope import Matcher
from draftboard.prometheus import Client
from support.command_line import options_of_commands, run
from support.fake_vllm import FakeVLLM, accepting
from support.hostile import CORPUS, ENCODABLE, assert_words, escaped, obeyed_by_a_ci
from support.loopback import Answer, answering, page

BEFORE, AFTER = (ROOT / f"tests/data/v0.32.0-ngram-{name}.prom" for name in ("idle", "load"))
READABLE = {text for text in ENCODABLE.values() if all(one.isprintable() or one in "\n\r\t" for one in text)}
"""What a page may hold: others are refused as binary."""
LABELS = (
    *("model_name", "engine", "instance", "job", "spec_method", "variant", "method", "host", "reached", "identity"),
    *("position", "batch", "k", "dimension", "class", "vllm_version", "draft_model"),
)


@pytest.fixture(scope="module")
def pages(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, Path]:
    """Two pages of a real server, on which every model of the corpus is served."""
    folder, written = tmp_path_factory.mktemp("pages"), []
    for path in (BEFORE, AFTER):
        lines = []
        for line in path.read_text().splitlines():
            names = READABLE if 'model_name="' in line else [""]
            lines += [re.sub(r'model_name="[^"]*"', partial(named, text), line) for text in names]
        written.append(folder / path.name)
        written[-1].write_bytes("\n".join([*lines, ""]).encode())
    return written[0], written[1]


def named(text: str, _: re.Match[str]) -> str:
    return f'model_name="{escaped(text)}"'


@pytest.mark.long
@pytest.mark.parametrize("form", ["--markdown", "--engines"])
def test_a_report_of_hostile_models_is_words(
    pages: tuple[Path, Path], form: str, capsys: pytest.CaptureFixture[str]
) -> None:
    before, after = pages
    words = ("--method", "ngram", form, "--all")
    code, out, err = run("report", "--before", before, "--after", after, *words, capsys=capsys)
    assert (code, err) == (0, "")
    assert_words(out)
    # Of each model one heading, and no line beside that a server wrote.
    headings = re.findall(r"\(ngram\)", out)
    assert len(headings) == len(READABLE)


@pytest.mark.long
def test_json_holds_the_names_as_they_are(pages: tuple[Path, Path], capsys: pytest.CaptureFixture[str]) -> None:
    before, after = pages
    code, out, err = run("report", "--before", before, "--after", after, "--json", capsys=capsys)
    assert (code, err) == (0, "")
    assert not obeyed_by_a_ci(out)
    assert {model["model"] for model in json.loads(out)["models"]} == READABLE


@pytest.mark.long
def test_a_doctor_of_hostile_servers_prints_words(pages: tuple[Path, Path], capsys: pytest.CaptureFixture[str]) -> None:
    lines = pages[1].read_bytes().split(b"\n")
    small = [line for line in lines if b"_bucket{" not in line]  # A server's page is no larger.
    with answering(page(b"\n".join(small))) as place:
        _, out, err = run("doctor", place, "--window", "1s", capsys=capsys)
    assert out, err
    assert_words(out + err)


@pytest.fixture(scope="module")
def plan(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Of an experiment that has begun."""
    path = tmp_path_factory.mktemp("plan") / "plan.json"
    with pytest.raises(SystemExit, match="0"):
        main(["experiment", "plan", str(path), "--arm=a=true", "--arm=b=true", "--pairs=16", "--start=1700000000"])
    return path


def commands(place: str, plan: Path = Path()) -> dict[str, list[str]]:
    return {
        "report": ["report", "--prometheus", place, "--engines"],
        "report in Markdown": ["report", "--prometheus", place, "--markdown"],
        "doctor": ["doctor", "--prometheus", place],
        "doctor, another ruler": ["doctor", "--prometheus", place, "--ruler", place],
        "doctor, cost": ["doctor", "--prometheus", place, "--cost"],
        "compare": ["compare", "--prometheus", place, "variant=a", "variant=b"],
        "history": ["history", "--prometheus", place],
        "history in Markdown": ["history", "--explain", "--prometheus", place, "--markdown"],
        "calibrate": ["calibrate", "--prometheus", place],
        "explain": ["explain", "verdict", "--prometheus", place],
        "explain in Markdown": ["explain", "health", "--prometheus", place, "--markdown"],
        "alerts replay": ["alerts", "replay", "--prometheus", place, "--range", "1d"],
        "experiment read": ["experiment", "read", str(plan), "--prometheus", place],
    }


def test_every_command_that_prints_what_a_prometheus_answers_is_tried() -> None:
    reading = {" ".join(words) for words, options in options_of_commands().items() if "--prometheus" in options}
    # A screen (test_top) and a server (its own protocol, test_many_servers).
    assert reading - {"top", "serve"} == {re.sub(r" in Markdown|,.*", "", name) for name in commands("")}


def in_json(answer: Any) -> Answer:
    """Once the query is read: a server that does not read it resets the connection of a long answer."""
    written = page(json.dumps(answer), Content_Type="application/json")

    def respond(request: BaseHTTPRequestHandler) -> None:
        request.rfile.read(int(request.headers.get("Content-Length") or 0))
        written(request)

    return respond


RECORD, ALERT, RELEASE = (
    "model:vllm_spec_decode_drafts:rate5m",
    "VLLMModelDown",
    "fleet:draftboard_recording_release:info",
)
"""A build has them: of others a command repeats the name alone."""
FEW = [*CORPUS.values()][::12]


def hostile_groups() -> list[dict[str, Any]]:
    """Of each text a group that passes for ours, with an alert; of few a record too, as each is computed again."""
    return [
        {
            "name": f"draftboard-{text}",
            "file": text,
            "interval": 30,
            "rules": [hostile_rule(text, kind) for kind in ("alerting", "recording")[: 1 + (text in FEW)]],
        }
        for text in CORPUS.values()
    ]


def hostile_rule(text: str, kind: str = "alerting", **more: object) -> dict[str, Any]:
    everywhere = dict.fromkeys(("name", "query", "health", "lastError", "state"), text)
    labels = {"labels": {"severity": text, text: text}, "annotations": {"summary": text, text: text}}
    return {**everywhere, **labels, "type": kind, "duration": 60, "evaluationTime": 0.1, **more}


def data_of(rows: list[dict[str, Any]], rules: list[dict[str, Any]]) -> Answer:
    groups = [{"name": "draftboard-x", "interval": 30, "rules": rules}]
    return in_json({"status": "success", "data": {"result": rows, "activeTargets": [{"labels": {}}], "groups": groups}})


@pytest.mark.parametrize("text", FEW, ids=repr)
def test_what_a_hostile_prometheus_says_of_our_rules_is_words(text: str, capsys: pytest.CaptureFixture[str]) -> None:
    rules = [
        hostile_rule(text, name=ALERT),
        hostile_rule(text, "recording", name=RECORD),
        hostile_rule(text, "recording", name=RELEASE, query=f'label_replace(vector(1), "release", "{text}", "", "")'),
        hostile_rule(text, text),
    ]
    with answering(data_of([], [*rules, *rules])) as place:
        _, out, err = run("doctor", "--prometheus", place, capsys=capsys)
    assert_words(out)
    assert err == ""
    said = ("cannot be evaluated", "have other expressions", "are loaded more than once", "are not in this build")
    assert [what for what in said if what not in out] == ([] if text else [*said[:2]])


@pytest.mark.parametrize("command", commands(""))
def test_no_row_of_a_hostile_prometheus_ends_a_command_in_a_traceback(
    command: str, plan: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    labels = {"__name__": "vllm:num_requests_running", "model_name": "m", "position": "x", "k": "nan", "batch": "-5"}
    numbers = ("NaN", "+Inf", "-Inf", "1e308")
    rows: list[dict[str, Any]] = [
        *({"metric": labels, "value": [1.7e9, one], "values": [[1.7e9, one]]} for one in numbers),
        {"metric": {}, "value": [1.7e9, "1"], "values": [[1.7e9, "1"]]},
        {"metric": labels, "value": [1.7e9, "1"], "values": []},
    ]
    for row in rows:
        with answering(data_of([row, {**row, "metric": {**row["metric"], "engine": "1"}}], [])) as place:
            _, out, err = run(*commands(place, plan)[command], capsys=capsys)
        assert_words(out + err)
        assert out or len(err.splitlines()) == 1


@pytest.mark.parametrize("command", [command for command in commands("") if command.startswith("doctor")])
def test_no_query_of_a_hostile_prometheus_ends_a_command_in_a_traceback(
    command: str, capsys: pytest.CaptureFixture[str]
) -> None:
    ranges = ("9s1d", "9" * 5000 + "w", "999999999w", "\N{ARABIC-INDIC DIGIT THREE}d", "5m:9s1d", "")
    patterns = ("(", "(?P<", "[", "\\\\", "")
    queries = [f"rate(x[{one}]) + y offset {one}" for one in ranges] + [f'{{__name__=~"{one}"}}' for one in patterns]
    rules = [
        {"name": name, "query": query, "type": kind, "lastEvaluation": at}
        for name, kind in ((ALERT, "alerting"), (RECORD, "recording"))
        for query in queries
        for at in ("0001-01-01T00:00:00Z", "9999-12-31T23:59:59Z")
    ]
    rows = [{"metric": {"__name__": "vllm:num_requests_running", "model_name": "m"}, "value": [1.7e9, "1"]}]
    with answering(data_of(rows, rules)) as place:
        _, out, err = run(*commands(place)[command], capsys=capsys)
    assert out
    assert err == ""


@pytest.mark.parametrize("number", [-1, 1e300, math.inf, -math.inf, math.nan, "x", None, []], ids=repr)
@pytest.mark.parametrize("name", ["duration", "evaluationTime", "interval", "labels"])
def test_what_no_rule_can_have_is_one_line(name: str, number: object) -> None:
    with (
        answering(data_of([], [{"name": ALERT, name: number}])) as place,
        Client(place) as client,
        pytest.raises(DraftboardError, match=rf"unexpected response: row 0\.rules\.0\.{name} does not match"),
    ):
        client.rules()


@pytest.mark.parametrize("at", [-1, 1e18, math.inf, math.nan, "x", None], ids=repr)
def test_a_time_that_is_none_is_one_line(at: object) -> None:
    with (
        answering(data_of([{"metric": {}, "value": [at, "1"]}], [])) as place,
        Client(place) as client,
        pytest.raises(DraftboardError, match=r"unexpected response: row 0\.value\.0 does not match"),
    ):
        client.query("up", 0)


@pytest.mark.parametrize("form", [(), ("--json",)], ids=["words", "JSON"])
@pytest.mark.parametrize("command", commands(""))
def test_rows_of_a_hostile_prometheus_are_words(
    command: str, form: tuple[str, ...], plan: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    rows = [
        {"metric": {**dict.fromkeys(LABELS, text), "__name__": "vllm:num_requests_running"}, **values}
        for text in CORPUS.values()
        for values in ({"value": [1.7e9, "1"], "values": [[1.7e9, "1"], [1.7e9 + 60, "2"]]},)
    ]
    targets = [{"labels": dict.fromkeys(LABELS, text), "lastError": text} for text in CORPUS.values()]
    data = {"resultType": "vector", "result": rows, "activeTargets": targets, "groups": hostile_groups()}
    with answering(in_json({"status": "success", "data": data})) as place:
        words = [word for word in commands(place, plan)[command] if not form or word != "--markdown"]
        _, out, err = run(*words, *form, capsys=capsys)
    assert_words(out + err)
    assert out or err


def test_a_selector_of_a_name_with_a_line_end_is_one_line() -> None:
    assert Matcher.exactly("model_name", "a\nb.c").text == r'model_name=~"a\\nb\\.c"'


def test_a_name_that_no_query_can_hold_is_one_line() -> None:
    with (
        answering(in_json({"status": "success", "data": {"result": []}})) as place,
        Client(place) as client,
        pytest.raises(DraftboardError, match="is not UTF-8"),
    ):
        client.query('up{model_name="\ud800"}', 0)


@pytest.mark.parametrize("text", ["a\n  b", "\ud800", *FEW], ids=repr)
def test_the_past_of_a_hostile_model_is_words(text: str, capsys: pytest.CaptureFixture[str]) -> None:
    labels = dict.fromkeys(LABELS, text) | {"__name__": "vllm:num_requests_running"}
    row = {"metric": labels, "value": [1.7e9, "1"], "values": [[1.7e9 - 300 * ago, "1"] for ago in range(30, 0, -1)]}
    with answering(in_json({"status": "success", "data": {"result": [row]}})) as place:
        _, out, err = run(
            *("history", "--explain", "--prometheus", place, "--at", "2023-11-14T22:15:00Z"), capsys=capsys
        )
    assert_words(out + err)
    assert "no response" not in err


@pytest.mark.parametrize(
    ("command", "text"),
    [
        # All commands print an error by one function: in `make test` every text of one of them, and few of the others.
        pytest.param(command, text, id=f"{name}-{command}", marks=[] if near else [pytest.mark.long])
        for name, text in CORPUS.items()
        for command in commands("")
        for near in [command == "report" or text in FEW]
    ],
)
def test_an_error_of_a_hostile_prometheus_is_one_line(
    command: str, text: str, plan: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    with answering(in_json({"status": "error", "errorType": "bad_data", "error": text})) as place:
        code, out, err = run(*commands(place, plan)[command], capsys=capsys)
    assert (code, out) == (2, "")
    assert_words(err)
    assert len(err.splitlines()) == 1


@pytest.mark.parametrize("text", [text for text in ENCODABLE.values() if text.isprintable() and text.isascii()])
def test_a_redirection_to_a_hostile_address_is_one_line(text: str, capsys: pytest.CaptureFixture[str]) -> None:
    with answering(page("", 307, Location=text)) as place:
        code, out, err = run("report", place, "--window", "1s", capsys=capsys)
    assert (code, out) == (2, "")
    assert_words(err)
    assert len(err.splitlines()) == 1


@pytest.mark.parametrize("words", [["simulate"], ["plan"], ["report", "--range"], ["signals"]])
def test_an_argument_that_is_repeated_is_words(words: list[str], capsys: pytest.CaptureFixture[str]) -> None:
    """A pipeline may pass the name of a stranger's file."""
    code, out, err = run(*words, "\n".join(CORPUS.values()), capsys=capsys)
    assert (code, out) == (2, "")
    assert_words(err)


@pytest.mark.parametrize("text", sorted(filter(None, ENCODABLE.values())))
def test_an_error_of_a_server_under_a_sweep_is_words(text: str, capsys: pytest.CaptureFixture[str]) -> None:
    def refuse(_server: FakeVLLM, request: BaseHTTPRequestHandler, _body: dict[str, Any]) -> bool:
        page(json.dumps({"error": {"message": text}, "message": text}), 400)(request)
        return True

    with answering(FakeVLLM({0.0: accepting(81)}, instead=refuse)) as place:
        code, out, err = run("sweep", place, "--requests", "1", "--temperatures", "0", capsys=capsys)
    assert code
    assert_words(out + err)


@pytest.mark.parametrize(
    "text",
    [pytest.param(text, marks=[] if text in FEW else [pytest.mark.long]) for text in sorted(filter(None, READABLE))],
)
def test_the_model_under_a_sweep_is_words(text: str, capsys: pytest.CaptureFixture[str]) -> None:
    class Named(FakeVLLM):
        def page(self) -> str:
            return re.sub(r'model_name="[^"]*"', partial(named, text), super().page())

    with answering(Named({0.0: accepting(81)})) as place:
        _, out, err = run("sweep", place, "--requests", "1", "--temperatures", "0", capsys=capsys)
    assert out + err
    assert_words(out + err)


@pytest.mark.parametrize("command", ["drill", "simulate"])
@pytest.mark.parametrize("text", [text for text in ENCODABLE.values() if not re.fullmatch(r"[\w./-]{1,80}", text)])
def test_a_scenario_of_a_hostile_model_is_refused_in_one_line(
    command: str, text: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    file = tmp_path / "scenario.toml"
    server = f'[[server]]\nmodel = {json.dumps(text)}\nmethod = "ngram"\nk = 4\nload = {{ rate = 1.0 }}\n'
    file.write_text(f'story = "One server drafts well."\nduration = "2h"\n{server}requests = [{{ alpha = 0.5 }}]\n')
    words = (file,) if command == "drill" else ("--scenario", file, "--backfill", "1h", "--out", tmp_path / "out.om")
    code, out, err = run(command, *words, capsys=capsys)
    assert (code, out) == (2, "")
    assert_words(err)
    assert len(err.splitlines()) == 1
    assert "model" in err or "not valid TOML" in err
