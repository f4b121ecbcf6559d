"""Of which time a Prometheus is asked, and what is then said of it."""

import json
import re
import time
from collections.abc import Iterator
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler
from pathlib import Path
from typing import Any
from urllib.parse import parse_qs

import pytest

from draftboard.cli import main
from draftboard.durations import Duration, moment
from draftboard.expr.to_promql import promql_of
from draftboard.history.runs import RUNS, of_setups
from draftboard.intervals import Estimate
from draftboard.reading import Recorded
from draftboard.report import report
from draftboard.settings import Settings
from draftboard.signals import Level, Scope
from draftboard.signals.advice import fall_age
from draftboard.signals.comparison import acceptance_change
from draftboard.signals.costs import step_cost
from draftboard.signals.gains import slower_k
from draftboard.signals.health import health
from draftboard.signals.users import speedup_uncertainty
from support.loopback import answering, page

NOW = 1_800_000_000.0
SETTINGS = Settings()
SCRAPE = SETTINGS.rules.scrape_interval.seconds
LABELS = {"model_name": "m", "job": "vllm", "spec_method": "eagle3"}


@dataclass
class Prometheus:
    """Answers 1 for each model, whatever is asked of a moment, nothing of a past, and remembers what that was."""

    asked: list[tuple[str, float]] = field(default_factory=list)
    models: tuple[dict[str, str], ...] = (LABELS,)

    def __call__(self, request: BaseHTTPRequestHandler) -> None:
        body = parse_qs(request.rfile.read(int(request.headers["Content-Length"])).decode())
        past = "end" in body
        query, at = body["query"][0], float(body["end" if past else "time"][0])
        self.asked.append((query, at))
        rows: list[Any] = []
        if not past and "position" not in query and "le" not in re.findall(r"\w+", query) and "identity" not in query:
            rows = [{"metric": labels, "value": [at, "1"]} for labels in self.models]
        page(json.dumps({"status": "success", "data": {"resultType": "vector", "result": rows}}))(request)


@pytest.fixture
def prometheus() -> Iterator[tuple[Prometheus, str]]:
    server = Prometheus()
    with answering(server) as place:
        yield server, place


def test_everything_is_asked_of_one_moment_and_of_raw_series_but_what_only_records_hold(
    prometheus: tuple[Prometheus, str],
) -> None:
    server, place = prometheus
    assert report(Recorded(place, at=NOW), engines=True).taken_at == NOW
    assert {at for _, at in server.asked} == {NOW}
    read = {query for query, _ in server.asked if "model:vllm_" in query or "engine:vllm_" in query}
    setups = {promql_of(signal, Scope(SETTINGS)) for name, signal in of_setups(SETTINGS).items() if name != RUNS}
    assert read == {
        step_cost.record_name(Level.MODEL, SETTINGS),
        speedup_uncertainty.record_name(Level.MODEL, SETTINGS),
        *(health.record_name(level, SETTINGS) for level in (Level.MODEL, Level.ENGINE)),
        *(promql_of(signal, Scope(SETTINGS)) for signal in (fall_age, slower_k)),
        *setups,
    }


def test_of_the_rules_window_the_speedup_has_their_interval_and_of_another_range_none(
    prometheus: tuple[Prometheus, str],
) -> None:
    _, place = prometheus
    (model,) = report(Recorded(place, at=NOW)).models
    assert model.measured_speedup_interval == Estimate(1, 0.5, 2)
    (model,) = report(Recorded(place, Duration(240), at=NOW)).models
    assert (model.measured_speedup, model.measured_speedup_interval) == (1, None)


def test_by_default_the_moment_is_one_whose_scrapes_have_all_arrived(prometheus: tuple[Prometheus, str]) -> None:
    server, place = prometheus
    before = time.time()
    taken_at = report(Recorded(place)).taken_at
    assert {at for _, at in server.asked} == {taken_at}
    assert taken_at
    assert before - SCRAPE <= taken_at <= time.time() - SCRAPE


def test_spans_that_overlap_are_not_compared(prometheus: tuple[Prometheus, str]) -> None:
    server, place = prometheus
    before = SETTINGS.rules.compare_with
    assert report(Recorded(place, before, at=NOW)).notes == ()
    assert any(f"offset {before}" in query for query, _ in server.asked)
    server.asked.clear()
    (note,) = report(Recorded(place, Duration(before.seconds + 1), at=NOW)).notes
    assert not any(f"offset {before}" in query for query, _ in server.asked)
    assert note.startswith(f"{acceptance_change.title} is not known: it compares with {before} ago")


@pytest.mark.parametrize("command", [("report",), ("compare", "variant=a", "variant=b", "--force")])
def test_the_past_can_be_asked_for(
    command: tuple[str, ...], prometheus: tuple[Prometheus, str], capsys: pytest.CaptureFixture[str]
) -> None:
    server, place = prometheus
    server.models = (LABELS | {"variant": "a"}, LABELS | {"variant": "b"})
    with pytest.raises(SystemExit) as ended:
        main([*command, "--prometheus", place, "--at", "2027-01-15T08:00:00", "--range", "1m", "--json"])
    assert ended.value.code in {0, None}, capsys.readouterr().err
    assert {at for _, at in server.asked} == {NOW}


def test_doctor_looks_at_the_past(prometheus: tuple[Prometheus, str], capsys: pytest.CaptureFixture[str]) -> None:
    server, _ = prometheus

    def answer(request: BaseHTTPRequestHandler) -> None:
        server(request) if request.command == "POST" else page("{}", 404)(request)

    with answering(answer) as place, pytest.raises(SystemExit):
        main(["doctor", "--prometheus", place, "--at", str(NOW)])
    assert "all well" not in capsys.readouterr().out
    assert {at for _, at in server.asked} == {NOW}


def test_a_range_is_by_default_the_window_of_the_rules(
    prometheus: tuple[Prometheus, str], tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    server, place = prometheus
    settings = tmp_path / "settings.toml"
    settings.write_text('[rules]\nwindow = "10m"\n')
    with pytest.raises(SystemExit):
        main(["report", "--prometheus", place, "--at", str(NOW), "--config", str(settings), "--json"])
    assert json.loads(capsys.readouterr().out)["seconds"] == 600
    assert any("[10m]" in query for query, _ in server.asked)


def test_moments_are_relative_seconds_or_dates() -> None:
    assert moment("now", NOW) == NOW
    assert moment("now-6h", NOW) == NOW - 6 * 3600
    assert moment("2027-01-15T09:00:00+01:00", 0) == NOW
    for text in ("", "tomorrow", "now-", "1e400", "-5", "9" * 30):
        with pytest.raises(ValueError, match="is not a time"):
            moment(text, NOW)
