"""The generated files on disk: written all or none, and compared with a build."""

import re
from pathlib import Path

import pytest

from draftboard import __version__
from draftboard.build import compare, render, write
from draftboard.errors import DraftboardError
from draftboard.settings import Settings

ROOT = Path(__file__).parent.parent.parent


@pytest.fixture
def files(committed: dict[str, str]) -> dict[str, str]:
    return committed


def test_the_committed_files_are_what_the_code_writes(files: dict[str, str]) -> None:
    """Another process wrote them, with other hashes of strings: equal settings give equal bytes."""
    assert [f"{one.path} {one.what}" for one in compare(files, ROOT)] == [], "run: make build"


def test_only_what_is_built_repeats_the_version(files: dict[str, str]) -> None:
    """The plugin for vLLM has one of its own."""
    repeated = re.compile(rf"draftboard(?!_probe)[-/:@\w]*{re.escape(__version__)}")
    pages = [ROOT / "README.md", *(ROOT / "docs").rglob("*.md")]
    pages += [path for path in (ROOT / "deploy").rglob("*") if path.suffix in {".md", ".py", ".sh", ".yaml", ".yml"}]
    found = [path.relative_to(ROOT).as_posix() for path in pages if repeated.search(path.read_text())]
    assert {*found} - files.keys() == set()


@pytest.mark.parametrize(("scraped", "same"), [("60s", True), ("61s", False)])
def test_rules_and_dashboards_are_the_same_for_scrapes_up_to_every_minute(
    scraped: str, same: bool, committed: dict[str, str]
) -> None:
    settings = Settings.model_validate({"rules": {"scrape_interval": scraped}})
    made = render(settings)
    loaded = [path for path in made if path.startswith(("alerts/", "dashboards/"))]
    assert all(made[path] == committed[path] for path in loaded) == same


def test_without_an_objective_nothing_speaks_of_one(files: dict[str, str]) -> None:
    shown = re.compile("vllm_sl[io]_|VLLMErrorBudget|Are the SLOs met")
    assert [path for path, text in files.items() if shown.search(path + text) and not path.endswith(".md")] == []
    assert not [path for path in files if "ErrorBudget" in path]
    assert "ErrorBudget" not in files["alerts/README.md"]


def test_an_objective_brings_its_records_alerts_runbooks_and_panels() -> None:
    files = render(Settings.model_validate({"slo": {"errors": {"objective": 0.999}}}))
    for path in ("alerts/recording.rules.yaml", "dashboards/draftboard-latency.json"):
        assert "service:vllm_slo_period_error_budget_remaining:ratio" in files[path]
    assert '"slo", "errors"' in files["alerts/recording.rules.yaml"]
    assert '"slo", "end_to_end"' not in files["alerts/recording.rules.yaml"]
    for name in ("VLLMErrorBudgetBurnsFast", "VLLMErrorBudgetBurnsSlowly"):
        assert "| `errors` |" in files["alerts/runbooks/VLLMErrorBudgetBurnsFast.md"]
        assert name in files["alerts/README.md"]
        assert f"- alert: {name}\n" in files["alerts/alerting.rules.yaml"]
        assert f"alerts/runbooks/{name}.md" in files


def test_what_was_written_is_as_built(tmp_path: Path, files: dict[str, str]) -> None:
    write(files, tmp_path)
    assert compare(files, tmp_path) == []
    assert {str(path.relative_to(tmp_path)) for path in tmp_path.rglob("*") if path.is_file()} == set(files)


def test_a_missing_file_is_named(tmp_path: Path, files: dict[str, str]) -> None:
    write(files, tmp_path)
    (tmp_path / "alerts/alerting.rules.yaml").unlink()
    assert [(d.path, d.what) for d in compare(files, tmp_path)] == [("alerts/alerting.rules.yaml", "missing")]


def test_an_edit_by_hand_is_shown_as_a_diff(tmp_path: Path, files: dict[str, str]) -> None:
    write(files, tmp_path)
    path = tmp_path / "alerts/alerting.rules.yaml"
    path.write_text(path.read_text().replace("> 0.98", "> 0.9"))
    (difference,) = compare(files, tmp_path)
    assert difference.what == "differs"
    assert "-          (model:vllm_spec_decode_acceptance:ratio_rate5m > 0.9)" in difference.diff
    assert "+          (model:vllm_spec_decode_acceptance:ratio_rate5m > 0.98)" in difference.diff


@pytest.mark.parametrize(
    "stray",
    [
        *("dashboards/draftboard-old.json", "dashboards/standalone/draftboard-old-raw.json"),
        "dashboards/grafana-com/draftboard-old.json",
        "deploy/kubernetes/chart/files/dashboards/draftboard-old.json",
        *("alerts/old.rules.yaml", "alerts/runbooks/VLLMOld.md", "mixin/dashboards/draftboard-old.json"),
    ],
)
def test_a_file_that_is_not_generated_any_more_is_left_over(tmp_path: Path, files: dict[str, str], stray: str) -> None:
    write(files, tmp_path)
    (tmp_path / stray).write_text("{}")
    assert [(d.path, d.what) for d in compare(files, tmp_path)] == [(stray, "left over")]


@pytest.mark.parametrize("own", ["dashboards/mine.json", "alerts/mine.yaml", "alerts/runbooks/Mine.md"])
def test_a_users_own_files_are_ignored(tmp_path: Path, files: dict[str, str], own: str) -> None:
    write(files, tmp_path)
    (tmp_path / own).parent.mkdir(exist_ok=True)
    (tmp_path / own).write_text("")
    assert compare(files, tmp_path) == []


def test_a_binary_file_is_an_error_with_a_reason(tmp_path: Path, files: dict[str, str]) -> None:
    write(files, tmp_path)
    (tmp_path / "alerts/alerting.rules.yaml").write_bytes(b"\xff")
    with pytest.raises(DraftboardError, match="cannot read"):
        compare(files, tmp_path)


def test_when_one_file_cannot_be_written_none_is_changed(tmp_path: Path) -> None:
    write({"alerts/a.rules.yaml": "old\n", "dashboards/b.json": "old\n"}, tmp_path, force=True)
    (tmp_path / "dashboards/standalone").write_text("in the way")
    new = {"alerts/a.rules.yaml": "new\n", "dashboards/b.json": "new\n", "dashboards/standalone/c.json": "new\n"}
    with pytest.raises(DraftboardError, match="cannot write"):
        write(new, tmp_path, force=True)
    assert (tmp_path / "alerts/a.rules.yaml").read_text() == "old\n"
    assert (tmp_path / "dashboards/b.json").read_text() == "old\n"
    assert not list(tmp_path.rglob(".*"))


def test_a_folder_where_a_file_belongs_leaves_everything_as_it_was(tmp_path: Path) -> None:
    write({"alerts/a.rules.yaml": "old\n"}, tmp_path, force=True)
    (tmp_path / "alerts/b.rules.yaml").mkdir()
    with pytest.raises(DraftboardError, match="not a regular file"):
        write({"alerts/a.rules.yaml": "new\n", "alerts/b.rules.yaml": "new\n"}, tmp_path, force=True)
    assert (tmp_path / "alerts/a.rules.yaml").read_text() == "old\n"
    assert not list(tmp_path.rglob(".*"))
