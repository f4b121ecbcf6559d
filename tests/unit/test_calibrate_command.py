"""`draftboard calibrate` as a user types it: against servers, against a history, and how it ends when it cannot."""

import json
import os
import signal
import sys
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, field
from functools import partial
from http.server import BaseHTTPRequestHandler
from pathlib import Path
from typing import Any
from urllib.parse import parse_qs

import jsonschema
import pytest

from draftboard.catalogue import latency, serving, speculation
from draftboard.cli.schemas import schema_of
from support import command_line
from support.costed import PLAIN, C, Costed, v
from support.loopback import answering, page

run = partial(command_line.run, "calibrate")

pytest.importorskip("statsmodels")
QUICK = ("--concurrency", "1,2", "--rounds", "3", "--requests", "2")
END = 1_800_000_000


@contextmanager
def serving_all(*servers: Costed) -> Iterator[list[str]]:
    with ExitStack() as stack:
        yield [stack.enter_context(answering(server)) for server in servers]


@pytest.fixture(autouse=True)
def _no_key(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("VLLM_API_KEY", raising=False)


def test_each_file_of_prompts_is_a_context(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    servers = (
        Costed(loads=(1, 2, 1, 2), prompt_tokens=(1000, 8000)),
        Costed(5, loads=(1, 2, 1, 2), prompt_tokens=(1000, 8000)),
    )
    (short := tmp_path / "short.txt").write_text("short\n")
    (long := tmp_path / "long.txt").write_text("long\n")
    with serving_all(*servers) as places:
        files = ("--prompts", short, "--prompts", long)
        code, out, err = run(*places, *QUICK, "--method", "eagle3", *files, "--json", capsys=capsys)
    assert (code, err) == (0, "")
    found = json.loads(out)
    jsonschema.validate(found, json.loads(schema_of("calibrate")))
    # The prompt, and half of an answer of 101 tokens on the baseline, of 401 with drafts.
    assert [each["context"] for each in found["contexts"]] == [1201, 8201]
    assert found["windows"] == 2 * 2 * 3 * 2
    assert [body["prompt"] for body in servers[0].asked[:: len(servers[0].asked) - 1]] == ["short", "long"]


def test_servers_get_the_same_prompts_in_turns_and_their_costs_are_found(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    servers = Costed(), Costed(3), Costed(5)
    files = ("--write", tmp_path / "costs.toml", "--plot", tmp_path / "costs.svg")
    with serving_all(*servers) as places:
        code, out, err = run(*places, *QUICK, "--method", "eagle3", *files, "--json", capsys=capsys)
    assert (code, err) == (0, "")
    first, *others = (sorted(body["prompt"] for body in server.asked) for server in servers)
    assert others == [first, first]
    assert len(first) == 4 * (2 + 4)
    assert {body["temperature"] for server in servers for body in server.asked} == {0}
    found = json.loads(out)
    jsonschema.validate(found, json.loads(schema_of("calibrate")))
    assert (found["windows"], found["origin"], found["model"]) == (3 * 3 * 2, "load", "m")
    assert found["costs"]["draft_cost"]["value"] == pytest.approx(C, rel=0.2)
    sums = [point["together"]["value"] for point in found["costs"]["points"]]
    assert sums == pytest.approx([v(load) + 4 * C for load in (1, 2)], rel=0.05)
    assert "by_method.eagle3" in (tmp_path / "costs.toml").read_text()
    assert (tmp_path / "costs.svg").read_text().startswith("<?xml")


def test_people_get_tables_and_the_settings(capsys: pytest.CaptureFixture[str]) -> None:
    with serving_all(Costed(), Costed(5)) as places:
        code, out, err = run(*places, *QUICK, "--method", "eagle3", "--markdown", capsys=capsys)
    assert (code, err) == (0, "")
    for told in (
        "pays at all batches measured, up to 2",
        "c and v are known as a sum only",
        "verify_inflation = { 1 = ",
        "3 + 3",
    ):
        assert told in out


@pytest.mark.parametrize(
    ("servers", "reason"),
    [
        ((Costed(5), Costed(5)), "the baseline speculates: start it without --speculative-config"),
        ((Costed(), Costed()), "the candidate does not speculate: name the baseline first"),
        ((Costed(), Costed(5, model="other")), "different models ('m', 'other'): name a common one with --model"),
        (
            (Costed(), Costed(5, instead=lambda _, request: page("", 500)(request) or True)),
            "no completion for any of 2 requests to m: HTTP 500",
        ),
    ],
)
def test_servers_that_are_no_arms_are_one_line(
    servers: tuple[Costed, ...], reason: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    with serving_all(*servers) as places:
        code, out, err = run(*places, *QUICK, "--method", "eagle3", "--write", tmp_path / "costs.toml", capsys=capsys)
    assert (code, out, err.count("\n")) == (2, "", 1)
    assert reason in err
    assert list(tmp_path.iterdir()) == []


def test_a_server_that_stops_answering_ends_it(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    server = Costed(5)
    whole = server.page

    def ended() -> str:
        return "" if len(server.asked) == 2 else whole()

    server.page = ended  # type: ignore[method-assign]
    with serving_all(Costed(), server) as places:
        code, out, err = run(*places, *QUICK, "--method", "eagle3", "--write", tmp_path / "costs.toml", capsys=capsys)
    assert (code, out, err.count("\n")) == (2, "", 1)
    assert "not a page of metrics: it is empty" in err
    assert list(tmp_path.iterdir()) == []


def test_an_interrupted_run_writes_nothing(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    before = signal.signal(signal.SIGINT, signal.default_int_handler)

    def interrupt(server: Costed, request: BaseHTTPRequestHandler) -> bool:
        if len(server.asked) != 9:
            return False
        os.kill(os.getpid(), signal.SIGINT)
        request.rfile.read()
        return True

    files = ("--write", tmp_path / "costs.toml", "--plot", tmp_path / "costs.svg")
    try:
        with serving_all(Costed(), Costed(5, instead=interrupt)) as places:
            code, out, err = run(*places, *QUICK, "--method", "eagle3", *files, capsys=capsys)
    finally:
        signal.signal(signal.SIGINT, before)
    assert (code, out, err) == (130, "", "draftboard: interrupted\n")
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize(
    ("words", "reason"),
    [
        ((), "give a baseline and a candidate"),
        (("host:1",), "give a baseline and a candidate"),
        (("host:1", "host:2", "--range", "1d"), "--range and --at require --prometheus"),
        (("host:1", "--prometheus", "host:9090"), "--prometheus cannot be combined with server arguments"),
        (("--prometheus", "host:9090", "--rounds", "4"), "--rounds cannot be combined with --prometheus"),
        (("host:1", "host:2", "--concurrency", "1,1"), "each once"),
        (("host:1", "host:2", "--concurrency", "0"), "numbers of requests, such as 1,2,4,8"),
        (("host:1", "host:2", "--concurrency", "999"), "256 at most"),
        (("host:1", "host:2", "--method", "a b"), "must be a method name"),
        (("host:1", "host:2", "--write", "costs.toml"), "--write requires --method"),
        (("host:1", "host:1"), "a server is named twice"),
        (("host:1", "host:2", "--plot", "x.pdf"), "the picture must be *.svg or *.png"),
        (("host:1", "host:2", "--force"), "--force requires --write or --plot"),
        (("host:1", "host:2", "--json", "--markdown"), "mutually exclusive"),
        (("--prometheus", "host:9090", "--range", "1m"), "shorter than the window of rates, 5m"),
    ],
)
def test_options_that_do_not_fit_are_refused(
    words: tuple[str, ...], reason: str, capsys: pytest.CaptureFixture[str]
) -> None:
    code, out, err = run(*words, capsys=capsys)
    assert (code, out) == (2, "")
    assert reason in " ".join(err.split())


def test_without_statsmodels_nothing_is_sent(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(sys.modules, "statsmodels.robust.robust_linear_model", None)
    server = Costed()
    with serving_all(server, Costed(5)) as places:
        code, _, err = run(*places, capsys=capsys)
    assert code == 2
    assert err == (
        "draftboard: calibrate requires the package statsmodels: install the extra, pip install "
        "'draftboard[calibrate]'\n"
    )
    assert server.asked == []


def test_a_file_that_exists_is_kept(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (tmp_path / "costs.toml").write_text("mine")
    words = ("host:1", "host:2", "--method", "mtp", "--write", tmp_path / "costs.toml")
    code, _, err = run(*words, capsys=capsys)
    assert (code, "exists: choose another path" in err) == (2, True)
    assert (tmp_path / "costs.toml").read_text() == "mine"


@dataclass
class History:
    """A Prometheus that remembers engines by their labels and K, at a batch of 1, then at one of 4."""

    engines: dict[tuple[tuple[str, str], ...], int]
    instead: bytes = b""
    value: str = ""
    queries: list[str] = field(default_factory=list)

    def __call__(self, request: BaseHTTPRequestHandler) -> None:
        asked = {name: text[0] for name, text in parse_qs(self._body(request)).items()}
        self.queries.append(asked["query"])
        start, end, step = (float(asked[name]) for name in ("start", "end", "step"))
        times = [start + number * step for number in range(int((end - start) / step) + 1)]
        result = [
            {
                "metric": dict(labels),
                "values": [[at, self.value or str(self._rate(asked["query"], k, at))] for at in times],
            }
            for labels, k in self.engines.items()
        ]
        text = json.dumps({"status": "success", "data": {"resultType": "matrix", "result": result}}).encode()
        page(self.instead or text, Content_Type="application/json")(request)

    def _body(self, request: BaseHTTPRequestHandler) -> str:
        return request.rfile.read(int(request.headers["Content-Length"])).decode()

    def _rate(self, query: str, k: int, at: float) -> float:
        batch = 1 if at < END - 3600 else 4
        cost = (v(batch) + k * C if k else 1.0) * (1 + 0.01 * ((at // 300 * 7919) % 11 - 5) / 5)
        rates = {
            serving.REQUESTS_RUNNING.name: batch,  # And what is made of it.
            latency.STEP_LATENCY.count.name: batch / (PLAIN * cost),
            latency.STEP_LATENCY.sum.name: batch,
            latency.TIME_TO_FIRST_TOKEN.count.name: 0.1,
            serving.GENERATION_TOKENS.name: batch / (PLAIN * cost) * (1 + 0.6 * k) + 0.1,
            speculation.DRAFTS.name: batch / (PLAIN * cost) * bool(k),
            speculation.DRAFT_TOKENS.name: batch / (PLAIN * cost) * k,
        }
        return next(rate for name, rate in rates.items() if name in query)


def engine(method: str, model: str = "m", **labels: str) -> tuple[tuple[str, str], ...]:
    own = {"model_name": model, "instance": f"{method}:8000", "engine": "0", "job": "vllm"}
    return tuple((own | ({"spec_method": method} if method else {}) | labels).items())


BOTH = {engine("none"): 0, engine("eagle3"): 5}
ASKED = ("--range", "2h", "--at", str(END))


def test_a_history_of_both_arms_is_calibrated(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    history = History(BOTH)
    with answering(history) as place:
        words = ("--prometheus", place, *ASKED, "--write", tmp_path / "costs.toml", "--json")
        code, out, err = run(*words, capsys=capsys)
    assert (code, err) == (0, "")
    found = json.loads(out)
    assert (found["origin"], found["method"], found["taken_at"]) == ("history", "eagle3", END)
    points = found["costs"]["points"]
    assert [point["batch"] for point in points] == [1, 4]
    assert [point["together"]["value"] for point in points] == pytest.approx(
        [v(batch) + 5 * C for batch in (1, 4)], rel=0.02
    )
    assert (tmp_path / "costs.toml").exists()
    assert len(history.queries) == 9


def test_servers_that_a_target_label_separates_are_not_pooled_unasked(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    pools = {engine("eagle3", env=env, instance=f"{env}:8000"): 5 for env in ("prod", "staging")}
    joined = tmp_path / "joined.toml"
    joined.write_text('[labels]\ntogether = ["env"]\n')
    with answering(History({engine("none", env="prod"): 0} | pools)) as place:
        code, out, err = run("--prometheus", place, *ASKED, capsys=capsys)
        assert (code, out) == (2, "")
        assert err.endswith(
            "env has several values ('prod', 'staging'): choose one with the settings' selector, or join them: "
            "labels.together\n"
        )
        assert run("--prometheus", place, *ASKED, "--config", joined, capsys=capsys)[0] == 0


def test_variants_of_one_method_tell_c_and_v_apart(capsys: pytest.CaptureFixture[str]) -> None:
    arms = {engine("none"): 0, engine("mtp", variant="short"): 2, engine("mtp", variant="long"): 6}
    with answering(History(arms)) as place:
        code, out, _ = run("--prometheus", place, *ASKED, "--json", capsys=capsys)
    assert code == 0
    found = json.loads(out)
    assert {row["candidate"] for row in found["rows"]} == {"short", "long"}
    assert found["costs"]["draft_cost"]["value"] == pytest.approx(C, rel=0.05)


@pytest.mark.parametrize(
    ("engines", "words", "reason"),
    [
        ({}, (), "no decode steps of vLLM in that range"),
        ({engine("eagle3"): 5}, (), "no baseline in that range: label a target of this model that does not speculate"),
        ({engine("none"): 0}, (), "no servers with the label spec_method in that range, besides the baseline"),
        ({engine("none"): 0, engine(""): 5}, (), "no servers with the label spec_method"),
        (BOTH, ("--method", "mtp"), "no servers with spec_method=mtp"),
        (BOTH | {engine("mtp"): 3}, (), "several methods ('eagle3', 'mtp'): choose one with --method"),
        (BOTH | {engine("mtp", "n"): 3}, (), "model_name has several values ('m', 'n'): choose one with --model"),
        (BOTH | {engine("none", cluster="a"): 0}, (), "cluster has several values ('', 'a')"),
    ],
)
def test_a_history_without_two_arms_of_one_model_is_one_line(
    engines: dict[Any, int], words: tuple[str, ...], reason: str, capsys: pytest.CaptureFixture[str]
) -> None:
    with answering(History(engines)) as place:
        code, out, err = run("--prometheus", place, *ASKED, *words, capsys=capsys)
    assert (code, out, err.count("\n")) == (2, "", 1)
    assert reason in err


@pytest.mark.parametrize("value", ["NaN", "+Inf", "0", "-1", "1e308"])
def test_impossible_numbers_are_no_windows(value: str, capsys: pytest.CaptureFixture[str]) -> None:
    with answering(History(BOTH, value=value)) as place:
        code, out, err = run("--prometheus", place, *ASKED, capsys=capsys)
    assert (code, out, err.count("\n")) == (2, "", 1)


@pytest.mark.parametrize(
    "content", [b"", b"[]", b"\xff", b'{"status": "success", "data": {"result": [{"metric": 3}]}}']
)
def test_an_answer_that_is_none_is_one_line(content: bytes, capsys: pytest.CaptureFixture[str]) -> None:
    with answering(History(BOTH, instead=content or b"{}")) as place:
        code, _, err = run("--prometheus", place, *ASKED, capsys=capsys)
    assert (code, err.count("\n")) == (2, 1)
    assert "not a Prometheus server" in err or "does not match Prometheus' HTTP API" in err
