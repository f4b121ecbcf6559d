"""`draftboard compare` as a user types it: its forms, its exit codes, and how it ends when it cannot compare."""

import contextlib
import io
import json
import lzma
import os
from collections.abc import Iterator
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import Any

import pytest
from pydantic import TypeAdapter
from rich.console import Console

from conftest import DEMO_SETTINGS, RECORDING
from draftboard.compare import Comparison, Side, compare, document, sides
from draftboard.compare import saved as saved_side
from draftboard.durations import Duration
from draftboard.errors import DraftboardError
from draftboard.output import as_json, as_markdown, show
from draftboard.reading import Pages
from draftboard.report import Report, report
from draftboard.settings import Settings, load
from support import command_line
from support.loopback import answering
from support.loopback import page as answer
from support.runs import ran

run = partial(command_line.run, "compare")

ROOT = Path(__file__).parent.parent.parent
PLAIN = ran(times=[0.04] * 200, waiting=1)
FAST = ran(times=[0.02] * 200, acceptance=0.5, method="eagle3", waiting=1)
FAST_JSON = as_json(FAST.report)
SECOND_MINUTE = (1795248913.0, 1795248973.0)


def save(side: Side, path: Path) -> Path:
    path.write_text(as_json(side.report))
    return path


@pytest.fixture
def saved(tmp_path: Path) -> tuple[Path, Path]:
    return save(PLAIN, tmp_path / "plain.json"), save(FAST, tmp_path / "fast.json")


@pytest.fixture(scope="module")
def demo(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, Path]:
    """Reports of both servers of the recorded run, over its second minute."""
    folder = tmp_path_factory.mktemp("demo")
    found = []
    for method in ("none", "ngram"):
        told = report(recorded(method, folder), load(DEMO_SETTINGS), method=method)
        found.append(save(Side(told, told.models[0]), folder / f"{method}.json"))
    return found[0], found[1]


def recorded(method: str, folder: Path) -> Pages:
    scrapes: dict[float, list[str]] = {}
    with lzma.open(RECORDING, "rt") as text:
        for line in text:
            if not line.startswith(("#", "up{")) and f'spec_method="{method}"' in line:
                series, value, at = line.rsplit(" ", 2)
                if SECOND_MINUTE[0] < float(at) < SECOND_MINUTE[1]:
                    scrapes.setdefault(float(at), []).append(f"{series} {value}\n")
    first, last = min(scrapes), max(scrapes)
    for name, moment in (("before", first), ("after", last)):
        (folder / f"{method}-{name}").write_text("".join(scrapes[moment]))
    return Pages(folder / f"{method}-before", folder / f"{method}-after", Duration(round(last - first)))


def test_the_recorded_run_lost_by_drafting_in_its_second_minute(
    demo: tuple[Path, Path], capsys: pytest.CaptureFixture[str]
) -> None:
    code, out, err = run(*demo, "--json", "--min-speedup", "1", capsys=capsys)
    found = json.loads(out)
    assert (code, err) == (1, "")
    measured = found["measured"]
    assert 0.79 <= measured["speedup"] <= 0.83
    assert measured["speedup_by_steps"] == pytest.approx(measured["speedup"], abs=0.03)
    assert measured["saving"] is None, "clients sent at a rate that both could serve"
    assert measured["implied_v"] == pytest.approx(measured["step_cost"] - 3.6 * 0.01, abs=0.01)
    assert found["verdict"]["says"] == "users wait longer"
    assert found["unlike"] == []
    # A CPU has no compute to spare, and the settings assume otherwise.
    (note,) = (note for note in found["notes"] if "the implied v of" in note)
    alone = float(note.rsplit(" ", 1)[1])
    assert alone == pytest.approx(1.75, abs=0.15)
    assert not any(" rest on " in note for note in found["notes"]), "the range of assumed costs holds it"


def test_verdicts_and_gates_come_before_the_numbers(
    saved: tuple[Path, Path], capsys: pytest.CaptureFixture[str]
) -> None:
    code, out, err = run(*saved, "--min-speedup", "1.5", "--gpu-hour-price", "2", "--gpus", "4", capsys=capsys)
    assert (code, err) == (0, "")
    lines = out.splitlines()
    assert lines[0].startswith(
        "Baseline   m: two scrapes (http://127.0.0.1:8000/metrics), 1 engine, over 100 s, until 2027-01-15"
    )
    assert lines[1].endswith("200 requests, 1,000 drafts, drafting")
    assert lines[3:5] == [
        "Verdict  users wait less: measured speedup 2.00",
        "  - Mean time per output token 40.0 ms against 20.0 ms: measured speedup 2.00",
    ]
    assert "Tail  P99 in line with the median" in lines
    assert "Gate --min-speedup 1.5  met: measured speedup 2.000" in lines
    assert "\x1b" not in out
    for told in ("11.11 / 11.11", "0.0%", "-50.0%", "200 requests", "1,000 drafts", "Generated tokens, tokens/s"):
        assert told in out, told


@pytest.mark.parametrize("width", [60, 80, 200])
def test_nothing_is_cut_off_however_wide_the_terminal_is(width: int) -> None:
    console = Console(width=width, record=True, force_terminal=True, file=io.StringIO())
    show(document(compare(PLAIN, FAST), Settings()), console)
    text = console.export_text()
    assert max(map(len, text.splitlines())) <= width
    assert "…" not in text


def test_what_is_forced_is_said_on_top(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    other = save(ran(model="[red]other"), tmp_path / "other.json")
    base = save(PLAIN, tmp_path / "base.json")
    code, out, err = run(base, other, capsys=capsys)
    assert (code, out) == (2, "")
    assert err == (
        "draftboard: not comparable: model 'm' against '[red]other' (load and lengths may differ by 20%); "
        "use --force to compare anyway\n"
    )
    code, out, err = run(base, other, "--force", capsys=capsys)
    assert (code, err) == (0, "")
    assert "[red]other" in out
    assert out.index("Not alike, compared because of --force") < out.index("Verdict")
    _, out, _ = run(base, other, "--force", "--markdown", capsys=capsys)
    assert "Not alike, compared because of --force:" in out


@pytest.mark.parametrize(
    ("options", "code", "says"),
    [
        ((), 0, None),
        (("--min-speedup", "2"), 0, "met: measured speedup 2.000"),
        (("--min-speedup", "2.01"), 1, "missed: measured speedup 2.000"),
    ],
)
def test_the_exit_code_is_the_gate(
    options: tuple[str, ...], code: int, says: str | None, saved: tuple[Path, Path], capsys: pytest.CaptureFixture[str]
) -> None:
    for form in ((), ("--json",), ("--markdown",)):
        ended, out, _ = run(*saved, *options, *form, capsys=capsys)
        assert ended == code
        assert says is None or says in out


@pytest.mark.parametrize(("after", "code"), [(0.70, 1), (0.71, 0), (0.72, 0)])
def test_a_drop_in_points_trips_the_gate(
    after: float, code: int, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    base, other = save(ran(acceptance=0.76), tmp_path / "a"), save(ran(acceptance=after), tmp_path / "b")
    ended, out, _ = run(base, other, "--max-drop-pp", "5", capsys=capsys)
    assert ended == code
    assert ("missed: draft acceptance from 76.0% to 70.0%, down 6 points" in out) is bool(code)


def test_a_gate_without_meaning_is_a_mistake(saved: tuple[Path, Path], capsys: pytest.CaptureFixture[str]) -> None:
    code, out, err = run(*saved, "--max-drop-pp", "5", capsys=capsys)
    assert (code, out) == (2, "")
    assert "the baseline has no drafts (speculation off)" in err
    assert err.count("\n") == 1


def test_the_third_run_is_read_from_its_report(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    base = save(PLAIN, tmp_path / "base")
    candidate = save(ran(times=[0.02] * 180 + [0.09] * 20, acceptance=0.5), tmp_path / "candidate")
    _, out, _ = run(base, candidate, capsys=capsys)
    assert "compare again with --confirm REPORT" in out.replace("\n    ", " ")
    third = save(ran(times=[0.02] * 200, acceptance=0.8), tmp_path / "third")
    _, out, _ = run(base, candidate, "--confirm", third, capsys=capsys)
    assert "Confirmed: P99" in out


def test_markdown_has_the_same_words() -> None:
    text = as_markdown(document(compare(PLAIN, FAST), Settings()))
    assert "## Verdict: users wait less: measured speedup 2.00\n" in text
    assert "|   Draft acceptance | - | 50.0% | - |" in text
    assert "|   Mean time per output token | 40.0 ms | 20.0 ms | -50.0% |" in text


def spoilt(**changes: Any) -> str:
    return json.dumps(json.loads(FAST_JSON) | changes)


def inside(*path: str | int, value: object) -> str:
    document: Any = json.loads(FAST_JSON)
    part = document
    for step in path[:-1]:
        part = part[step]
    part[path[-1]] = value
    return json.dumps(document)


HOSTILE = {
    "empty": "",
    "not JSON": "# HELP vllm:num_requests_running\n",
    "binary": "\0\1\2",
    "another document": '{"a": 1}',
    "a list": "[]",
    "deep": "[" * 100_000,
    "a newer version": spoilt(schema_version=3),
    "no models": spoilt(models=[]),
    "models of nothing": spoilt(models=None),
    "NaN": inside("models", 0, "latency", "per_token", "mean", value=float("nan")),
    "infinite": inside("models", 0, "traffic", "request_rate", value=float("inf")),
    "beyond all counting": inside("models", 0, "traffic", "request_rate", value=1e300),
    "a missing key": inside("models", 0, "latency", "per_token", value={"mean": 1}),
    "colours of a terminal": inside("models", 0, "model", value="\x1b[31mred"),
    "words for a number": inside("models", 0, "speculation", "acceptance", value="high"),
}


@pytest.mark.parametrize("name", HOSTILE)
def test_what_is_no_report_is_one_line(name: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path, fine = tmp_path / "report.json", save(FAST, tmp_path / "fine.json")
    path.write_text(HOSTILE[name])
    for pair in ((path, fine), (fine, path)):
        code, out, err = run(*pair, capsys=capsys)
        assert (code, out) == (2, "")
        assert err.count("\n") == 1
        assert err.startswith(f"draftboard: {path}: ")
        assert len(err) < 500


def test_of_the_servers_of_a_fleet_the_first_are_named(
    saved: tuple[Path, Path], tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    servers = tuple(f"http://gpu-{number}/metrics" for number in range(300))
    fleet = save(Side(replace(FAST.report, sources=servers), FAST.model), tmp_path / "fleet.json")
    out = run(saved[0], fleet, capsys=capsys)[1]
    assert out.count("http://gpu-") == 4
    assert "http://gpu-3/metrics and 296 more (--json has all)" in out


def test_a_huge_file_is_not_read_whole(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path, fine = tmp_path / "huge.json", save(FAST, tmp_path / "fine.json")
    with path.open("wb") as file:
        os.truncate(file.fileno(), 100_000_000)
    code, _, err = run(path, fine, capsys=capsys)
    assert code == 2
    assert "exceeds 32 MB; not a report" in err


def leaves(part: Any, *at: str | int) -> Iterator[tuple[str | int, ...]]:
    """Where the values of a document stand."""
    if isinstance(part, dict | list):
        for name, inner in part.items() if isinstance(part, dict) else enumerate(part):
            yield from leaves(inner, *at, name)
    else:
        yield at


@pytest.mark.parametrize("value", [-1, 1e29, None], ids=str)
def test_no_number_of_a_report_leads_to_a_traceback(value: float | None, tmp_path: Path) -> None:
    path, compared, written = tmp_path / "odd.json", 0, TypeAdapter(Comparison)
    for at in leaves(json.loads(FAST_JSON)):
        path.write_text(inside(*at, value=value))
        with contextlib.suppress(DraftboardError):
            odd = saved_side(path)
            for pair in ((odd, FAST), (FAST, odd)):
                found = compare(*pair, force=True, min_speedup=1, gpu_hour_price=1, confirmation=odd)
                printed = document(found, Settings())
                as_markdown(printed)
                assert written.dump_json(found)
                compared += 1
    assert compared > 50
    show(printed, Console(file=io.StringIO()))


@pytest.mark.parametrize(
    ("name", "reason"),
    [("absent.json", "absent.json: no such file, and not an address"), (".", "not a regular file, and not an address")],
)
def test_a_file_that_is_not_there_is_no_server(
    name: str, reason: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    code, _, err = run(tmp_path / name, tmp_path / name, capsys=capsys)
    assert code == 2
    assert reason in err


def test_a_saved_report_knows_its_own_method(saved: tuple[Path, Path], capsys: pytest.CaptureFixture[str]) -> None:
    code, out, err = run(*saved, "--method", "ngram", capsys=capsys)
    assert (code, out) == (2, "")
    assert "--method and --baseline-method apply to servers" in err


@pytest.mark.parametrize("option", ["--max-drop-pp", "--min-speedup", "--gpu-hour-price"])
@pytest.mark.parametrize("value", ["nan", "inf", "-1", "many"])
def test_a_limit_must_be_a_number(option: str, value: str, capsys: pytest.CaptureFixture[str]) -> None:
    code, _, err = run("a.json", "b.json", option, value, capsys=capsys)
    assert code == 2
    assert option in err


@pytest.mark.parametrize(
    ("options", "reason"),
    [
        (("--json", "--markdown"), "mutually exclusive"),
        (("--at", "now-6h"), "--range and --at require --prometheus"),
        (("--range", "5m"), "--range and --at require --prometheus"),
        (("--prometheus", "x:1", "--window", "5m"), "--window applies to servers"),
        (("--prometheus", "x:1", "--method", "ngram"), "--method and --baseline-method apply to servers"),
        (("--gpus", "2"), "--gpus requires --gpu-hour-price or --baseline-gpus"),
    ],
)
def test_options_that_do_not_apply_are_refused(
    options: tuple[str, ...], reason: str, capsys: pytest.CaptureFixture[str]
) -> None:
    code, out, err = run("a=b", "c=d", *options, capsys=capsys)
    assert (code, out) == (2, "")
    assert reason in " ".join(err.split())


def several(*names: str) -> Report:
    models = tuple(replace(FAST.model, model=name) for name in names)
    return replace(FAST.report, models=models)


def test_of_several_models_one_is_named(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path = tmp_path / "several.json"
    path.write_text(as_json(several("a", "b")))
    code, _, err = run(path, path, capsys=capsys)
    assert code == 2
    assert err.endswith("2 models (available: 'a (eagle3)', 'b (eagle3)'): select one with --model\n")
    assert run(path, path, "--model", "b", capsys=capsys)[0] == 0
    code, _, err = run(path, path, "--model", "c", capsys=capsys)
    assert code == 2
    assert "no model for 'c' (available: 'a (eagle3)', 'b (eagle3)')" in err


@pytest.fixture
def servers() -> Iterator[tuple[str, str]]:
    page = (ROOT / "tests/data/v0.32.0-ngram-load.prom").read_text()
    with answering(answer(page)) as first, answering(answer(page)) as second:
        yield first, second


def test_two_servers_are_read_over_the_same_time(servers: tuple[str, str]) -> None:
    waits: list[float] = []
    first, second = sides(servers, Settings(), window=Duration(30), methods=("", "ngram"), sleep=waits.append)
    assert 0 < sum(waits) <= 30, "the rest is what the readings took"
    assert (first.model.method, second.model.method) == (None, "ngram")
    assert first.report.sources == (f"http://{servers[0]}/metrics",)
    # Between two equal pages nothing happened.
    assert json.loads(as_json(compare(first, second)))["verdict"]["says"] is None


@pytest.mark.parametrize("dead", [0, 1])
def test_a_side_that_does_not_answer_is_reported_before_the_window(servers: tuple[str, str], dead: int) -> None:
    waits: list[float] = []
    first, second = (("127.0.0.1:1", servers[0]), (servers[0], "127.0.0.1:1"))[dead]
    with pytest.raises(DraftboardError, match=r"127\.0\.0\.1:1/metrics: cannot connect"):
        sides((first, second), Settings(), sleep=waits.append)
    assert waits == []


def test_a_server_may_be_compared_with_a_saved_report(servers: tuple[str, str], saved: tuple[Path, Path]) -> None:
    first, second = sides((str(saved[0]), servers[1]), Settings(), sleep=lambda _: None)
    assert first.report.models == PLAIN.report.models
    assert second.report.sources == (f"http://{servers[1]}/metrics",)


@pytest.mark.parametrize("spelling", ["{}", "http://{}", "{}/metrics"])
def test_a_server_is_not_compared_with_itself(spelling: str) -> None:
    with pytest.raises(DraftboardError, match="named twice"):
        sides(("gpu:8000", spelling.format("gpu:8000")), Settings(), sleep=lambda _: None)


SECRET = "hunter2-hunter2"  # noqa: S105


@pytest.mark.parametrize("address", ["http://u:{}@127.0.0.1:1/", "ftp://u:{}@127.0.0.1:1/", "u:{}@127.0.0.1:1/metrics"])
def test_a_password_in_an_address_is_not_shown(
    address: str, servers: tuple[str, str], capsys: pytest.CaptureFixture[str]
) -> None:
    code, out, err = run(address.format(SECRET), servers[0], capsys=capsys)
    assert (code, out) == (2, "")
    assert SECRET not in err
    assert err.count("\n") == 1
