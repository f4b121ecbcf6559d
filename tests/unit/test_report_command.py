"""`draftboard report` as a user types it: what it prints in each form, and how it ends when it cannot look."""

import io
import json
import re
import sys
from dataclasses import dataclass, fields
from functools import partial
from pathlib import Path
from typing import Annotated, Any

import jsonschema
import pytest
from pydantic import TypeAdapter
from rich.console import Console

from draftboard.access import Access
from draftboard.catalogue.latency import END_TO_END_LATENCY
from draftboard.catalogue.speculation import ACCEPTED_TOKENS_PER_POS
from draftboard.output import Described, as_json, as_markdown, show
from draftboard.reading import Lifetime, Pages, Reader, Servers, counts_of, lifetime, load
from draftboard.report import ModelReport, Report, Speculation, document, load_report, report, schema
from draftboard.report.bound import LINE, FromSignal, bound, lines, values
from draftboard.report.numbers import Traffic
from draftboard.settings import Settings
from draftboard.signals import Level
from draftboard.signals.acceptance import acceptance, acceptance_length, draft_length
from draftboard.signals.depth import survival
from support import command_line
from support.loopback import answering
from support.loopback import page as answer
from support.pages import page

run = partial(command_line.run, "report")

ROOT = Path(__file__).parent.parent.parent
IDLE, LOAD, DP2, BASELINE = (
    ROOT / f"tests/data/v0.32.0-{name}.prom" for name in ("ngram-idle", "ngram-load", "ngram-dp2", "baseline")
)
PAIR = ("--before", IDLE, "--after", LOAD, "--method", "ngram")
PASSWORD = "hunter2-hunter2"  # noqa: S105


def on_a_terminal(found: Report, width: int) -> str:
    console = Console(width=width, record=True, force_terminal=True, file=io.StringIO())
    show(document(found, Settings(), engines=True), console)
    return console.export_text()


def test_the_verdict_and_its_reasons_come_first(capsys: pytest.CaptureFixture[str]) -> None:
    code, out, err = run(*PAIR, "--window", "60s", capsys=capsys)
    assert (code, err) == (0, "")
    heading, _, verdict, reason, advice, *_ = out.splitlines()
    assert heading == f"two saved pages: {IDLE}, {LOAD}, over 60 s"
    assert verdict == ("tiny (ngram)  unclear: 0.45 to 1.02 times plain decoding (assumed): measure against a baseline")
    assert reason.strip().startswith("- Tokens per decode step")
    assert "It pays while a decode step takes less time than 1.11 plain ones" in advice
    assert "\x1b" not in out
    for told in ("5.7%", "poor", "14.4%", "0.53 to 0.98", "< 10 ms", "Load: 84.8 tokens/s, 1 requests/s"):
        assert told in out, told
    assert "Engines" not in out


@pytest.mark.parametrize("width", [60, 80, 200])
def test_nothing_is_cut_off_however_wide_the_terminal_is(width: int) -> None:
    text = on_a_terminal(report(Pages(IDLE, LOAD), method="ngram"), width)
    assert max(map(len, text.splitlines())) <= width
    if width >= 80:
        assert "…" not in text
        for told in ("Mean acceptance length", "If reached", "Time per", "< 10 ms"):
            assert told in text, told


def test_engines_are_told_where_asked_for(capsys: pytest.CaptureFixture[str]) -> None:
    _, out, _ = run(DP2, "--engines", capsys=capsys)
    rows = [line.split() for line in out[out.index("Engines") :].splitlines()]
    assert [row[0] for row in rows if row and row[0].isdigit()] == ["0", "1"]


def test_a_saved_page_by_itself_is_called_a_lifetime(capsys: pytest.CaptureFixture[str]) -> None:
    _, out, _ = run(LOAD, capsys=capsys)
    assert out.startswith("one saved page: totals since the server started: ")
    assert "hide recent changes" in out


def test_without_speculation_the_report_says_so(capsys: pytest.CaptureFixture[str]) -> None:
    code, out, _ = run(BASELINE, capsys=capsys)
    assert code == 0
    assert "tiny  speculation off" in out
    assert "started without a speculative configuration" in out
    assert "Time per output token" in out


@pytest.mark.parametrize("gauge", ["running", "waiting"])
def test_a_server_that_holds_requests_and_generates_nothing_is_not_idle(
    gauge: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    held = tmp_path / "held.prom"
    held.write_text(re.sub(rf"^(vllm:num_requests_{gauge}{{.*}}) .*", r"\1 3.0", LOAD.read_text(), flags=re.MULTILINE))
    _, out, _ = run("--before", held, "--after", held, capsys=capsys)
    assert "holds requests, generates nothing\n" in out
    _, out, _ = run("--before", IDLE, "--after", IDLE, capsys=capsys)
    assert "tiny  idle" in out
    _, out, _ = run("--before", IDLE, "--after", held, capsys=capsys)
    assert "generates nothing" not in out


def test_names_from_a_server_are_text_and_no_markup(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path = tmp_path / "page"
    path.write_text(page((900, 500), drafts=1000, model="[red]|evil|[/red]<b>*_`"))
    _, out, _ = run(path, capsys=capsys)
    assert "[red]|evil|[/red]<b>*_`" in out
    _, out, _ = run(path, "--markdown", capsys=capsys)
    assert r"## \[red\]\|evil\|\[/red\]\<b\>\*\_\`: unclear: " in out


def test_contradictions_are_told_before_everything_else(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path = tmp_path / "page"
    path.write_text(page((500, 900), drafts=1000))
    for form in ("--markdown", "--engines"):
        _, out, _ = run(path, form, capsys=capsys)
        assert "no verdict: counters contradict each other" in out
        assert "pays" not in out
        told = [line.strip() for line in out.splitlines() if line.strip().startswith("- ")]
        assert told[0].startswith("- Do not trust these numbers: a position is accepted more often than the one before")


def test_markdown_has_the_same_words(capsys: pytest.CaptureFixture[str]) -> None:
    _, out, _ = run(*PAIR, "--markdown", "--engines", capsys=capsys)
    assert "## tiny (ngram): unclear: 0.45 to 1.02 times plain decoding (assumed)" in out
    assert "| Draft acceptance | 5.7% | poor |" in out
    assert "| 4 | 0.9% | 0.9% | 57.9% | 0.45 to 1.02 |" in out
    assert r"| Time per output token | 3.3 ms | \< 10 ms |" in out
    for line in out.splitlines()[1:]:
        assert line.startswith(("#", "-", "|", "Load: ", "*")) or not line


@pytest.mark.parametrize("source", [PAIR, (LOAD,), (DP2, "--engines"), (BASELINE,)])
def test_json_is_as_its_schema_says(source: tuple[str | Path, ...], capsys: pytest.CaptureFixture[str]) -> None:
    _, out, _ = run(*source, "--json", capsys=capsys)
    document = json.loads(out)
    jsonschema.Draft202012Validator(json.loads((ROOT / "docs/schemas/report.schema.json").read_text())).validate(
        document
    )
    assert document["schema_version"] == 2


def test_every_field_of_the_schema_says_what_it_means() -> None:
    document = json.loads(schema())
    jsonschema.Draft202012Validator.check_schema(document)
    # These are named as the signals that describe them, or are objects that describe themselves.
    silent = {
        f"{name}.{field}"
        for name, described in {"Report": document, **document["$defs"]}.items()
        for field, meaning in described.get("properties", {}).items()
        if "description" not in meaning and "$ref" not in meaning
    }
    assert {name.rpartition(".")[2] for name in silent} <= {
        *("schema_version", "models", "says", "advice", "p50", "p95", "p99"),
        *("accepted_tokens", "draft_tokens", "first_position", "last_position", "requests_waiting"),
    }


@pytest.mark.parametrize("kind", [Speculation, Traffic])
def test_every_number_of_a_report_is_bound_to_its_signal(kind: type) -> None:
    # Computed by the report itself.
    own = {"band", "assumed", "arithmetic", "prompt_length", "answer_length", "generated", "requests"}
    unbound = {field.name for field in fields(kind)} - bound(kind).keys() - own
    assert unbound == set(), "annotate the field: Annotated[float | None, FromSignal(signal, LINE)]"


def test_fields_have_the_names_of_their_signals() -> None:
    for kind in (Speculation, Traffic, ModelReport):
        assert {name: of.signal.name for name, of in bound(kind).items()} == {name: name for name in bound(kind)}


@dataclass(frozen=True, kw_only=True)
class Longer(Described):
    first: Annotated[float | None, FromSignal(acceptance, LINE)]
    last: Annotated[float | None, FromSignal(draft_length, LINE)]
    between: Annotated[float | None, FromSignal(acceptance_length, LINE, after=acceptance)]
    unprinted: Annotated[tuple[float, ...], FromSignal(survival)]


def test_an_annotated_field_has_its_value_its_line_and_its_description() -> None:
    tallies = lifetime(load(LOAD)).tallies
    reader = Reader(counts_of(tallies, Settings()), Level.MODEL)
    numbers = reader.of(next(iter(reader.keys(acceptance))))
    found = values(Longer, numbers, None)
    assert found["first"] == numbers.value(acceptance)
    assert found["unprinted"] == numbers.each(survival)
    assert [line.field for line in lines(Longer)] == ["first", "between", "last"]
    described = TypeAdapter(Longer).json_schema()["properties"]["between"]["description"]
    assert described.startswith(f"{acceptance_length.title}. {acceptance_length.description}")


def test_a_report_that_an_older_release_saved_is_read() -> None:
    assert load_report(ROOT / "tests/data/report-schema-2.json").schema_version == 2, "new fields need a default"


def test_a_saved_report_is_read_again(tmp_path: Path) -> None:
    found = report(Pages(IDLE, LOAD))
    path = tmp_path / "report.json"
    path.write_text(as_json(found))
    assert load_report(path) == found


def newer(document: dict[str, Any]) -> str:
    return json.dumps(document | {"schema_version": 3})


@pytest.mark.parametrize(
    ("text", "reason"),
    [("", "the file: Invalid JSON"), ("{}", "schema_version: Field required"), (None, "a report of version 3")],
)
def test_what_is_no_report_gets_one_line(text: str | None, reason: str, tmp_path: Path) -> None:
    path = tmp_path / "report.json"
    path.write_text(newer(json.loads(as_json(report(Lifetime(LOAD))))) if text is None else text)
    with pytest.raises(Exception, match=reason) as error:
        load_report(path)
    assert "\n" not in str(error.value)


def test_a_plot_without_a_best_k_has_no_mark_and_without_positions_is_refused(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    pytest.importorskip("matplotlib")
    saved, picture = tmp_path / "page", tmp_path / "picture.svg"
    # Hardly accepted so deep: no k is called the best.
    saved.write_text(page((15, 14), drafts=1000))
    assert run(saved, "--plot", picture, capsys=capsys)[0] == 0
    assert "best k" not in picture.read_text()
    picture.unlink()
    saved.write_text(page((900, 500), drafts=1000) + page((300, 200, 100), drafts=1000, engine="1"))
    code, _, err = run(saved, "--plot", picture, capsys=capsys)
    assert (code, err.count("\n"), picture.exists()) == (2, 1, False)
    assert "acceptance by position is not known" in err


@pytest.mark.parametrize("ending", ["svg", "png"])
def test_a_plot_is_drawn_whole(ending: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    pytest.importorskip("matplotlib")
    path = tmp_path / f"picture.{ending}"
    code, _, err = run(*PAIR, "--plot", path, capsys=capsys)
    assert (code, err) == (0, "")
    content = path.read_bytes()
    assert content.startswith(b"\x89PNG") if ending == "png" else b"</svg>" in content[-20:]
    assert list(tmp_path.iterdir()) == [path]


def test_a_picture_is_replaced_only_when_that_is_asked_for(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    pytest.importorskip("matplotlib")
    path = tmp_path / "picture.svg"
    path.write_text("mine")
    code, out, err = run("127.0.0.1:1", "--plot", path, capsys=capsys)  # before a server is asked
    assert (code, out) == (2, "")
    assert err == f"draftboard: {path}: exists: choose another path, or replace it with --force\n"
    assert path.read_text() == "mine"
    assert run(*PAIR, "--plot", path, "--force", capsys=capsys)[0] == 0
    assert "</svg>" in path.read_text()
    assert "--force requires --plot" in run(*PAIR, "--force", capsys=capsys)[2]


@pytest.mark.parametrize(
    ("name", "source", "reason"),
    [
        ("picture.pdf", ("127.0.0.1:1",), "the picture must be *.svg or *.png"),
        ("absent/picture.svg", ("127.0.0.1:1",), "absent is not a folder"),
        ("picture.svg", (BASELINE,), "nothing was drafted"),
    ],
)
def test_a_plot_that_cannot_be_drawn_is_one_line_and_no_file(
    name: str, source: tuple[str | Path, ...], reason: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    code, out, err = run(*source, "--plot", tmp_path / name, capsys=capsys)
    assert code == 2
    assert ("tiny" in out) == (source == (BASELINE,))  # what was found out is not lost; what cannot be is told at once
    assert reason in err
    assert err.count("\n") == 1
    assert list(tmp_path.iterdir()) == []


def test_without_matplotlib_only_the_plot_is_missing(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(sys.modules, "matplotlib.figure", None)
    code, _, err = run(*PAIR, "--plot", tmp_path / "picture.svg", capsys=capsys)
    assert (code, err) == (
        2,
        "draftboard: --plot requires the package matplotlib: install the extra, pip install 'draftboard[plots]'\n",
    )
    assert run(*PAIR, capsys=capsys)[0] == 0


@pytest.mark.parametrize(
    ("arguments", "reason"),
    [
        ((), "give a server"),
        (("--before", LOAD), "require each other"),
        (("--before", IDLE, "--after", LOAD, "host:1"), "cannot be combined with server or page arguments"),
        ((LOAD, DP2), "neither is of a model that the other serves without speculation"),
        ((LOAD, "host:1"), "no addresses beside them"),
        ((LOAD, DP2, IDLE), "give one saved page, or that of a server and that of its baseline"),
        (("--prometheus", "host:9090", LOAD), "--prometheus cannot be combined with server or page arguments"),
        (("host:1", "--model", "m"), "--model requires --prometheus"),
        (("host:1", "--window", "soon"), "must be a duration"),
        (("--prometheus", "host:9090", "--range", "0s"), "longer than 0s"),
        (("--prometheus", "host:9090", "--range", "367d"), "at most 366d"),
        (("--prometheus", "host:9090", "--range", "9" * 400 + "d"), "at most 366d"),
        (("--prometheus", "host:9090", "--window", "30s"), "--window applies to servers and pages"),
        (("--prometheus", "host:9090", "--at", "yesterday"), "is not a time; write now-6h"),
        (("host:1", "--at", "now-6h"), "--range and --at require --prometheus"),
        (("host:1", "--range", "5m"), "--range and --at require --prometheus"),
        (("host:1", "--window", "2d"), "at most 1d"),
        ((LOAD, "--window", "30s"), "a single page has no window"),
        ((LOAD, "--ca-file", LOAD), "apply to servers, not to saved pages"),
        ((LOAD, "--json", "--markdown"), "mutually exclusive"),
    ],
)
def test_a_command_that_makes_no_sense_ends_with_2(
    arguments: tuple[str | Path, ...], reason: str, capsys: pytest.CaptureFixture[str]
) -> None:
    code, out, err = run(*arguments, capsys=capsys)
    assert (code, out) == (2, "")
    assert reason in " ".join(err.split())


def test_hostile_pages_end_with_one_line_and_2(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path = tmp_path / "page"
    labels = '{engine="0",model_name="m"}'
    for content in (
        b"",
        b"\x00\xff",
        b"<html>",
        b"vllm:a NaN\n",
        b"vllm:a 1\nvllm:a 1\n",
        b"vllm:a{",
        b"#" * 20_000_000,
    ):
        path.write_bytes(content)
        code, out, err = run(path, capsys=capsys)
        assert (code, out, err.count("\n")) == (2, "", 1), content[:20]
    for metric, label in ((END_TO_END_LATENCY.bucket, "le"), (ACCEPTED_TOKENS_PER_POS, "position")):
        for own in (f'{label}="many"', f'not_{label}="1"'):
            path.write_text(f"{metric.name}{labels[:-1]},{own}}} 1\n")
            assert run(path, capsys=capsys)[0] == 2


def test_pages_in_the_wrong_order_end_with_one_line_and_2(capsys: pytest.CaptureFixture[str]) -> None:
    code, out, err = run("--before", LOAD, "--after", IDLE, capsys=capsys)
    assert (code, out, err.count("\n")) == (2, "", 1)
    assert "counters decrease without a restart" in err


def test_no_credential_is_ever_printed(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    token = tmp_path / "token"
    token.write_text(PASSWORD)

    def address(place: str) -> str:
        return f"http://user:{PASSWORD}@{place}/metrics?key={PASSWORD}"

    with answering(answer(LOAD.read_text())) as good, answering(answer("", 401)) as closed:
        found = report(Servers((address(good),), access=Access.from_files(token)), sleep=lambda _: None)
        for told in (as_json(found), as_markdown(document(found, Settings(), engines=True)), on_a_terminal(found, 100)):
            assert PASSWORD not in told
            assert f"http://***@{good}/metrics?***" in told.replace("\\", "").replace("\N{WORD JOINER}", "")
        for place in (closed, "127.0.0.1:1"):
            for source in ((address(place),), ("--prometheus", address(place))):
                code, out, err = run(*source, "--token-file", token, capsys=capsys)
                assert (code, out, err.count("\n")) == (2, "", 1)
                assert PASSWORD not in err
                assert f"http://***@{place}/metrics?***" in err
                assert ("use --token-file" in err) == (place == closed)


@pytest.mark.parametrize("text", ["<html>", "[]", '{"status": "error", "error": "no\\nway"}', '{"status": "success"}'])
def test_what_is_no_prometheus_gets_one_line(text: str, capsys: pytest.CaptureFixture[str]) -> None:
    with answering(answer(text)) as place:
        code, out, err = run("--prometheus", place, capsys=capsys)
    assert (code, out, err.count("\n")) == (2, "", 1)
    reason = "Prometheus rejects the query: no way" if "error" in text else "not a Prometheus server"
    assert err.startswith(f"draftboard: http://{place}: {reason}")


def test_no_k_is_called_the_best_where_none_pays(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    page_of_losses = tmp_path / "page"
    page_of_losses.write_text(page((60, 20, 10), drafts=1000))
    settings = tmp_path / "costs.toml"
    settings.write_text("[draft_cost]\ndefault = 0.2\n")
    code, out, _ = run(page_of_losses, "--config", settings, capsys=capsys)
    assert code == 0
    assert re.search(r"Best k +no k pays", out), out
    assert "(best)" not in out
