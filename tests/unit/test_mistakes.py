"""Two hundred mistakes of users: each ends with exit code 2 and one line, prints nothing else, and loses no file."""

import gzip
import shlex
from pathlib import Path

import pytest

from support import command_line

DATA = Path(__file__).parent.parent / "data"
COMMANDS = [line for line in (DATA / "mistakes.txt").read_text().splitlines() if not line.startswith("#")]
PAGE = (DATA / "v0.32.0-ngram-idle.prom").read_bytes()
SETTINGS = (
    *("selector = 1", 'selector = "x"', "max_draft_tokens = 0", "max_draft_tokens = 1e9", "bogus = 1", "[bogus]"),
    *('[labels]\nscope = "cluster"', '[labels]\njob = "le"', '[labels]\njob = "instance"', "[labels]\nbogus = 1"),
    *("[rules]\nwindow = 5", '[rules]\nwindow = "1s"', '[rules]\nscrape_interval = "1h"', '[rules]\nruler = "x"'),
    *("[thresholds]\nbogus = 1", "[draft_cost]\ndefault = -1", "[draft_cost]\ndefault = nan", "[slo]\nbogus = 1"),
    *("[slo]\nerrors = 0.99", "[slo]\nerrors = { objective = 2 }", '[links]\ngrafana = "x"', "[alerts.Bogus]"),
    *('[alerts.VLLMErrors]\nseverity = "page"', "[alerts.VLLMErrors]\nbogus = 1", '[severities]\ncritical = "info"'),
    *('[all_alerts]\nannotations = { a = "{{ .Nope" }', '[all_alerts]\nlabels = { job = "x" }'),
    *('[all_alerts]\nannotations = { a = "{{ $labels.a | humanise }}" }', '[draft_cost.by_method]\n"Eagle-3" = 0.1'),
    *('[severities]\nCritical = "page"', '[labels]\nscope = ["a-b"]', "[cost]\nprice_per_gpu_hour = -2"),
    *('[stack.notify]\ncritical = ["fax"]', '[stack.notify]\ncritical = ["email"]', "[managed]\ndatasource = 1"),
)
"""Settings files with one mistake each."""


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The files that the commands name."""
    path = tmp_path_factory.mktemp("mistakes")
    (path / "folder").mkdir()
    line = b"vllm:num_requests_running"
    contents = {
        "page.prom": PAGE,
        "binary.prom": bytes(range(256)),
        "html.prom": b"<html></html>\n",
        "json.prom": b"{}\n",
        "report.json": b"{}\n",
        "empty.prom": b"",
        "cut.prom": PAGE[: len(PAGE) // 2 - 7] + b" 1",
        "double.prom": PAGE + PAGE,
        "nan.prom": line + b'_total{model_name="m"} x\n',
        "huge-line.prom": line + b'{a="' + b"x" * 100_000 + b'"} 1\n',
        "damaged.prom.gz": gzip.compress(PAGE)[:50],
        "token": b"a b\n",
        "settings.toml": b"[rules]\n",
        "bad.toml": b"[rules\n",
        "unknown.toml": b"bogus = 1\n",
        **{f"wrong-{number}.toml": text.encode() for number, text in enumerate(SETTINGS)},
    }
    for name, content in contents.items():
        (path / name).write_bytes(content)
    return path


def test_there_are_as_many_as_promised() -> None:
    assert len({*COMMANDS}) == len(COMMANDS) >= 200
    assert all(f"wrong-{number}.toml" in " ".join(COMMANDS) for number in range(len(SETTINGS)))


@pytest.mark.parametrize("command", COMMANDS)
def test_a_mistake_is_one_line_and_exit_code_2(
    command: str, folder: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(folder)
    before = {path: path.read_bytes() for path in folder.rglob("*") if path.is_file()}
    code, out, err = command_line.run(*shlex.split(command), capsys=capsys)
    assert (code, out) == (2, ""), err
    *head, error = err.splitlines()
    assert error.startswith(("draftboard: ", "Error: ")), err
    assert head == [] or head[0].startswith("Usage: "), err
    assert "Traceback" not in err
    assert "secret" not in err
    assert before == {path: path.read_bytes() for path in folder.rglob("*") if path.is_file()}


def test_pages_in_place_of_reports_are_told_what_makes_one(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    _, _, err = command_line.run("compare", *[folder / "page.prom"] * 2, capsys=capsys)
    assert "a saved /metrics page, not a report. Make a report of two pages" in err
