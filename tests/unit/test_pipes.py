"""Pages that arrive in a pipe, and outputs that are closed: the command as a shell starts it."""

import subprocess
import sys
from pathlib import Path

import pytest

from draftboard.errors import DraftboardError
from draftboard.settings import Settings, load

PAGE = Path(__file__).parent.parent / "data/v0.32.0-ngram-load.prom"
COMMAND = f"{sys.executable} -m draftboard"


def shell(script: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(["bash", "-c", script], capture_output=True, text=True, check=False)


@pytest.mark.parametrize(
    "script", [f"cat {PAGE} | {COMMAND} report - --method ngram", f"{COMMAND} report <(gzip -c {PAGE}) --method N-gram"]
)
def test_a_page_is_read_from_a_pipe(script: str) -> None:
    done = shell(script)
    assert (done.returncode, done.stderr) == (0, "")
    assert "tiny (ngram)" in done.stdout


def test_the_doctor_reads_a_pipe() -> None:
    assert "drafted tokens since its start" in shell(f"cat {PAGE} | {COMMAND} doctor -").stdout


@pytest.mark.parametrize("script", [f"printf '' | {COMMAND} report -", f"echo hello | {COMMAND} report -"])
def test_a_pipe_without_a_page_is_one_line(script: str) -> None:
    done = shell(script)
    assert (done.returncode, done.stdout) == (2, "")
    assert done.stderr.startswith("draftboard: standard input: not a page of metrics")
    assert done.stderr.count("\n") == 1


@pytest.mark.parametrize("what", ["signals acceptance", f"report {PAGE}"])
def test_a_closed_output_is_one_line_and_no_traceback(what: str) -> None:
    done = shell(f"{COMMAND} {what} >&-")
    assert (done.returncode, done.stderr.count("\n")) == (2, 1)
    assert "standard output is closed" in done.stderr


def test_closed_errors_change_nothing() -> None:
    done = shell(f"{COMMAND} report {PAGE} 2>&-")
    assert done.returncode == 0
    assert "Drafts" in done.stdout


def test_settings_may_begin_with_a_byte_order_mark(tmp_path: Path) -> None:
    (tmp_path / "own.toml").write_bytes(b'\xef\xbb\xbf[rules]\nremember = "2h"\n')
    assert load(tmp_path / "own.toml").rules.remember != Settings().rules.remember


@pytest.mark.parametrize(
    ("text", "says"),
    [
        ("{{ .Nope", "not closed"),
        ("nope }}", "not closed"),
        ("{{ }}", "empty template"),
        ("{{ $labels.a | humanise }}", "calls humanise, which is no function"),
        ("{{ if labels }}x{{ end }}", "calls labels, which is no function"),
        ('{{ with query "up" }}{{ . | frist | value }}{{ end }}', "calls frist, which is no function"),
        ("{{ if $value }}x", "without {{ end }}"),
        ("x{{ end }}", "{{ end }} without"),
        ('{{ printf "%s }}', "not closed"),
    ],
)
def test_a_template_that_prometheus_refuses_is_refused(tmp_path: Path, text: str, says: str) -> None:
    (tmp_path / "own.toml").write_text(f"[all_alerts]\nannotations = {{ a = '''{text}''' }}\n")
    with pytest.raises(DraftboardError, match="all_alerts") as refused:
        load(tmp_path / "own.toml")
    assert says in str(refused.value)


@pytest.mark.parametrize(
    "text", ["plain", "{{ $labels.job }}", '{{ printf "{{" }}', "{{- with $value }}{{ . }}{{ end -}}", "{{`}}`}}"]
)
def test_a_template_that_prometheus_takes_is_taken(text: str) -> None:
    assert Settings.model_validate({"all_alerts": {"annotations": {"a": text}}}).all_alerts.annotations["a"] == text
