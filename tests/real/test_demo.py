"""What `make demo` shows: the drop at high load is seen and named, and the run can be repeated."""

import contextlib
import io
import json
import lzma
import os
import re
import subprocess
import sys
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

import httpx
import pytest
from rich.console import Console

from conftest import DEMO_SETTINGS, RECORDING, program
from conftest import replayed as replaying_of
from draftboard.calibrate import calibrated, of_history
from draftboard.cli import main
from draftboard.durations import Duration
from draftboard.expr.scope import Matcher
from draftboard.expr.to_promql import promql_of
from draftboard.lab.replay import Replay, brief, story_of, summary
from draftboard.output import Document, as_json, show
from draftboard.reading import Recorded
from draftboard.settings import Settings, load
from draftboard.signals import Edition, Scope, Signal
from draftboard.signals.economics import expected_speedup, expected_speedup_high, expected_speedup_low
from draftboard.signals.users import measured_speedup
from draftboard.signals.verdicts import VERDICT, verdict
from draftboard.status import Status

pytestmark = pytest.mark.prometheus
of_kept = pytest.mark.xdist_group("demo_run")  # one worker, one replay of each kind


@pytest.fixture(scope="module")
def kept(tmp_path_factory: pytest.TempPathFactory) -> Iterator[tuple[dict[str, Any], str]]:
    """The story as JSON, and the URL of the Prometheus that `--keep` left running.

    Programs are named relative to where one stands.
    """
    programs = [f"--{name}-program=./{name}" for name in ("prometheus", "promtool")]
    arguments = [str(RECORDING), f"--config={DEMO_SETTINGS}", *programs, "--keep", "--json"]
    done = subprocess.run(
        [sys.executable, "-m", "draftboard", "replay", *arguments],
        capture_output=True,
        text=True,
        check=False,
        cwd=program("promtool").parent,
        env={**os.environ, "TMPDIR": str(tmp_path_factory.mktemp("kept"))},
    )
    assert done.returncode == 0, done.stderr
    words = done.stderr.split()
    pid = int(words[words.index("(process") + 1].rstrip(","))
    try:
        yield json.loads(done.stdout), words[words.index("at") + 1]
    finally:
        os.kill(pid, 15)


def printed(story: Document, columns: int) -> str:
    paper = io.StringIO()
    show(story, Console(width=columns, file=paper))
    return paper.getvalue()


@of_kept
def test_the_drop_at_high_load_is_seen_and_named(demo_run: Replay) -> None:
    out = printed(summary(story_of(demo_run)), 200)
    lines = out.splitlines()
    (first,) = (line for line in lines if line.split()[:3] == ["01:00", "drafting", "4,371"])
    assert first.split()[-2:] == ["(measured)", "keep"]
    assert "users wait less" in first
    (busy,) = (line for line in lines if line.split()[:2] == ["02:00", "drafting"])
    assert "users wait longer (measured)" in busy
    assert "draft less under load, or turn it off" in busy
    assert any(line.split() == ["02:00", "1.24", "1.49", "1.49", "0.83", "0.83", "0.83"] for line in lines)
    fired = [found[1] for line in lines if (found := re.search(r"^ \d\d:\d\d .* ((SpecDecode|VLLM)\w+) ", line))]
    assert fired == [
        "VLLMSpeculationSlowsUsers",
        "SpecDecodeAcceptanceDrop",
        "SpecDecodeLengthAnomaly",
        # Both servers: twenty clients are more than either has slots for.
        "VLLMQueueGrowing",
        "VLLMQueueGrowing",
        # One of two servers is down, and nobody waits at the other: no page.
        "VLLMTargetDown",
        "SpecDecodeNotPaying",
    ]
    assert any(line.split()[:2] == ["05:00", "down"] for line in lines)
    assert any(line.split()[:2] == ["08:00", "idle"] for line in lines)
    assert "vllm tiny none  no drafts in all this time (speculation off)" in out
    assert "VLLMTargetDown: A vLLM server does not answer." in out
    assert "costs more than it saves (measured by steps)" in next(
        line for line in lines if line.startswith(" 05:00   down")
    )
    assert "\x1b" not in out


@pytest.mark.xdist_group("demo_run")
@pytest.mark.parametrize("width", [60, 80])
def test_every_number_and_word_is_whole_on_a_narrow_terminal(demo_run: Replay, width: int) -> None:
    story = summary(story_of(demo_run))

    def words(text: str) -> set[str]:
        return {word.strip(":\u2500") for word in text.split()}

    assert max(map(len, printed(story, width).splitlines())) <= width
    assert words(printed(story, 200)) <= words(printed(story, width)) | {""}


@of_kept
def test_the_brief_story_fits_a_screen_of_100_columns_and_says_when_it_did_not_pay(demo_run: Replay) -> None:
    lines = printed(brief(story_of(demo_run)), 100).splitlines()
    assert max(map(len, lines)) <= 100
    assert len(lines) <= 32
    told = [line for line in lines if re.match(r" 0[123]:00 +[\d,]+ +\d", line)]
    assert ["users wait less" in line for line in told] == [True, False, False]
    assert ["users wait longer" in line for line in told] == [False, True, True]
    assert any("SpecDecodeAcceptanceDrop" in line for line in lines)
    assert any(line.split() == ["08:00", "0", "-", "-", "-", "idle"] for line in lines)


@of_kept
def test_the_same_recording_tells_the_same_story_every_time(kept: tuple[dict[str, Any], str], demo_run: Replay) -> None:
    first, second = kept[0], json.loads(as_json(story_of(demo_run)))
    assert first == second
    assert at_one_minute(first)["numbers"]["acceptance_length"] == pytest.approx(2.70, abs=0.01)


@of_kept
def test_with_the_default_costs_the_estimate_agrees_with_what_users_measure(kept: tuple[dict[str, Any], str]) -> None:
    story, _ = kept
    assert load(DEMO_SETTINGS).draft_cost == Settings().draft_cost
    (chapter,) = (chapter for chapter in story["chapters"] if chapter["model"]["spec_method"] == "ngram")
    # While both servers are up under one load, traffic enough; after the restart too.
    numbers = [moment["numbers"] for moment in chapter["moments"][1:4] + chapter["moments"][5:7]]
    measured = [each["measured_speedup"] for each in numbers]
    for end in ("low", "high"):
        assert [each[f"expected_speedup_{end}"] for each in numbers] == pytest.approx(measured, abs=0.04)


BUSY = 440  # Seconds of the recording in which requests arrive.
VERDICTS = {choice.code.value: choice.code.status for choice in VERDICT.choices.values()}
"""What a verdict says, whatever it rests on: good, a warning, bad."""


def of_ngram(replay: Replay, scope: Scope, signal: Signal, seconds: Sequence[int]) -> dict[int, float]:
    """The signal of the server that drafts, by seconds since the start of the recording."""
    drafting = scope.where(Matcher.exactly("spec_method", "ngram"))
    first, pace = replay.start + seconds[0], seconds[1] - seconds[0]
    found = replay.client.query_range(promql_of(signal, drafting), first, replay.start + seconds[-1], pace)
    return {round(at - replay.start): value for series in found for at, value in series.samples}


def fitted_on(replay: Replay, seconds: int) -> Settings:
    """The demo's settings with the curve that `calibrate` fits on the beginning of the recording."""
    # Windows of four scrapes, the shortest: minutes would be too few. Records of such windows are not there either, so
    # that nothing that was measured stands in for the curve.
    short = replay.settings.model_copy(
        update={"rules": replay.settings.rules.model_copy(update={"window": Duration(20)})}
    )
    history = Recorded(replay.client.url, Duration(seconds))
    fragment = calibrated(of_history(history, short, at=replay.start + seconds), short).settings
    assert fragment
    costs = {
        "by_method": {fragment.method: fragment.draft_cost},
        "verify_inflation": {str(batch): inflation for batch, inflation in fragment.verify_inflation.items()},
    }
    return Settings.model_validate(short.model_dump(by_alias=True) | {"draft_cost": costs})


def judged(signal: Signal, values: dict[int, float], settings: Settings) -> dict[int, Status]:
    return {at: signal.step_of(value, settings).status for at, value in values.items()}


@of_kept
def test_a_curve_fitted_on_the_first_half_gives_the_measured_verdict_of_the_second(demo_run: Replay) -> None:
    pytest.importorskip("statsmodels")
    curve = Scope(fitted_on(demo_run, BUSY // 2), edition=Edition.ONCE, span=Duration(60))
    every_minute, every_scrape = range(240, BUSY, 60), range(BUSY // 2, BUSY, 5)
    expected = judged(expected_speedup, of_ngram(demo_run, curve, expected_speedup, every_scrape), curve.settings)
    verdicts = of_ngram(demo_run, Scope(demo_run.settings), verdict, every_minute)
    assert {at: expected[at] for at in verdicts} == {at: VERDICTS[round(code)] for at, code in verdicts.items()}
    assert set(map(expected.get, verdicts)) == {Status.DUE, Status.WARN, Status.GOOD}
    # Between two minutes, too, it never says the contrary of what users measure while both servers are up.
    measured = judged(
        measured_speedup, of_ngram(demo_run, Scope(demo_run.settings), measured_speedup, every_scrape), curve.settings
    )
    assert {at for at in measured if {expected[at], measured[at]} == {Status.DUE, Status.GOOD}} == set()
    assert len(measured) > 20


def contradicted(replay: Replay) -> dict[int, Status]:
    """Verdicts of moments at which users wait longer, other than that speculation costs more than it saves."""
    scope, times = Scope(replay.settings), range(0, BUSY, replay.step)
    measured = judged(measured_speedup, of_ngram(replay, scope, measured_speedup, times), replay.settings)
    slower = {at for at, status in measured.items() if status is Status.DUE}
    assert slower
    told = {at: VERDICTS[round(code)] for at, code in of_ngram(replay, scope, verdict, times).items()}
    return {at: told[at] for at in slower if told[at] is not Status.DUE}


@of_kept
def test_with_the_default_costs_no_verdict_contradicts_a_measured_slowdown(demo_run: Replay) -> None:
    assert contradicted(demo_run) == {}


@pytest.mark.xdist_group("default_run")
def test_with_default_settings_no_verdict_contradicts_a_measured_slowdown(default_run: Replay) -> None:
    assert contradicted(default_run) == {}


@pytest.fixture(scope="module")
def alone(demo_settings: Settings, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Replay]:
    """The recording without its baseline."""
    rest = tmp_path_factory.mktemp("alone") / "run.om"
    with lzma.open(RECORDING, "rt") as lines:
        rest.write_text("".join(line for line in lines if 'spec_method="none"' not in line))
    with replaying_of(rest, demo_settings) as replay:
        yield replay


@pytest.mark.long
@of_kept
def test_without_its_baseline_no_minute_contradicts_the_measurement(demo_run: Replay, alone: Replay) -> None:
    minutes, scope = range(60, BUSY, 60), Scope(alone.settings)
    measured = of_ngram(demo_run, scope, measured_speedup, minutes)
    assert len(measured) >= 6
    low, high, told = (
        of_ngram(alone, scope, signal, minutes) for signal in (expected_speedup_low, expected_speedup_high, verdict)
    )
    assert of_ngram(alone, scope, measured_speedup, minutes) == {}
    assert not [at for at, speedup in measured.items() if not low[at] <= speedup <= high[at]]
    statuses = judged(measured_speedup, measured, alone.settings)
    contrary = {Status.GOOD, Status.DUE}
    assert not [at for at, status in statuses.items() if {status, VERDICTS[round(told[at])]} == contrary]


def at_one_minute(story: dict[str, Any]) -> dict[str, Any]:
    (chapter,) = (chapter for chapter in story["chapters"] if chapter["model"]["spec_method"] == "ngram")
    moment: dict[str, Any] = chapter["moments"][0]
    return moment


def test_a_program_that_is_not_there_is_named(capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit) as ended:
        main(["replay", str(RECORDING), "--promtool-program=/nowhere/promtool"])
    assert ended.value.code == 2
    assert "/nowhere/promtool: cannot run promtool" in capsys.readouterr().err


def test_a_program_that_is_no_prometheus_is_named(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    impostor = tmp_path / "prometheus"
    impostor.write_text("#!/bin/sh\necho no such thing >&2\nexit 3\n")
    impostor.chmod(0o755)
    promtool = program("promtool")
    with pytest.raises(SystemExit) as ended:
        main(["replay", str(RECORDING), f"--prometheus-program={impostor}", f"--promtool-program={promtool}"])
    assert ended.value.code == 2
    assert "Prometheus did not start: no such thing" in capsys.readouterr().err


@of_kept
def test_keep_leaves_a_prometheus_that_answers_until_it_is_ended(kept: tuple[dict[str, Any], str]) -> None:
    _, url = kept
    assert url.startswith("http://127.0.0.1:")
    query: list[str | Path] = [program("promtool"), "query", "instant", "--time=1795248910", url]
    asked = [*query, 'model:vllm_spec_decode_acceptance_length:mean_rate1m{spec_method="ngram"}']
    assert "=> 2.70" in subprocess.run(asked, capture_output=True, text=True, check=True).stdout


def test_told_to_end_it_ends_what_it_started_and_cleans_up(tmp_path: Path) -> None:
    programs = {name.upper(): str(program(name)) for name in ("prometheus", "promtool")}
    process = subprocess.Popen(
        [sys.executable, "-m", "draftboard", "replay", str(RECORDING), f"--config={DEMO_SETTINGS}"],
        env={**os.environ, **programs, "TMPDIR": str(tmp_path)},
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
    )
    while not (address := listening(tmp_path)):
        with contextlib.suppress(subprocess.TimeoutExpired):
            process.wait(0.02)
            pytest.fail("it ended before it was told to")
    process.terminate()
    assert process.wait(60) == 128 + 15
    assert list(tmp_path.iterdir()) == []
    with pytest.raises(httpx.ConnectError):
        httpx.get(f"http://{address}/-/ready")


def listening(folder: Path) -> str | None:
    """Where a Prometheus that keeps its log below the folder listens, once it does."""
    for log in folder.glob("draftboard-*/prometheus.log"):
        if found := re.search(r'msg="Listening on".* address=(\S+)', log.read_text()):
            return found[1]
    return None
