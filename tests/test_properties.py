"""Settings at random: either a clear error, or files that promtool and Grafana's schema accept."""

import json
import subprocess
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from draftboard.build import render, write
from draftboard.errors import DraftboardError
from draftboard.settings import Settings, load
from support import grafana
from unit.test_schema import lost, round_trip

pytestmark = [pytest.mark.prometheus, pytest.mark.long]

words = st.text("abz_09-$\"'\\{} \n.é", max_size=6)
durations = st.one_of(st.from_regex(r"\A([1-9][0-9]?[dhms]){1,3}\Z"), words)
numbers = st.one_of(st.floats(-2, 12), st.floats(), st.integers(-3, 120))
anything = st.one_of(words, durations, numbers, st.booleans(), st.lists(words, max_size=3))
tables = {
    "labels": ["scope", "job", "instance", "model_name", "engine", "spec_method", "variant"],
    "rules": ["scrape_interval", "window", "evaluation_interval", "compare_with", "baseline", "baseline_needs"],
    "draft_cost": ["default", "verify_inflation"],
    "methods": ["baseline", "lookup"],
    "thresholds": ["drop", "anomaly", "gain", "first_position", "outlier", "pays_clearly"],
    "links": ["grafana", "runbooks"],
    "traffic": ["drafts_to_judge", "drafts_at_depth"],
}
likely = {
    "labels": st.one_of(st.from_regex(r"\A[a-z_][a-z0-9_]{0,6}\Z"), anything),
    "rules": st.one_of(durations, anything),
    "links": st.one_of(st.from_regex(r"\Ahttps?://[a-z.:/é?&#]{1,9}\Z"), anything),
    "methods": st.one_of(words, st.lists(st.from_regex(r"\A[a-z_|.*]{0,6}\Z"), max_size=3), anything),
}


def documents() -> st.SearchStrategy[dict[str, Any]]:
    keys = {
        name: st.dictionaries(st.sampled_from(keys), likely.get(name, st.one_of(numbers, anything)), max_size=2)
        for name, keys in tables.items()
    }
    top = {
        "selector": st.one_of(st.from_regex(r'\A[a-z]{1,3}(=|=~|!=|!~)"[a-z.*|()\[\]+\\${}]{0,6}"\Z'), words),
        "max_draft_tokens": st.one_of(st.integers(-1, 120), anything),
    }
    return st.fixed_dictionaries({}, optional=keys | top)


def as_toml(document: dict[str, Any]) -> str:
    """Just enough TOML for these documents; JSON's strings are TOML's."""

    def value(item: Any) -> str:
        if isinstance(item, bool):
            return str(item).lower()
        if isinstance(item, float):
            return repr(item)
        return json.dumps(item, ensure_ascii=True)

    plain = [f"{key} = {value(item)}" for key, item in document.items() if not isinstance(item, dict)]
    for name, table in document.items():
        if isinstance(table, dict):
            plain += [f"[{name}]", *(f"{key} = {value(item)}" for key, item in table.items())]
    return "\n".join(plain)


names = st.from_regex(r"\A[a-z][a-z0-9_]{2,8}\Z").map(lambda name: f"l_{name}")
shares = st.floats(0.001, 0.999)


@st.composite
def sound_documents(draw: st.DrawFn) -> dict[str, Any]:
    """Settings at random that make sense together."""
    scrape = draw(st.integers(1, 90))
    window = draw(st.integers(scrape * 4, 29 * 60))
    evaluation = draw(st.integers(1, window))
    before = evaluation * draw(st.integers(1, 500))
    roles = ("job", "instance", "model_name", "engine", "spec_method", "variant")
    labels = draw(st.lists(names, min_size=9, max_size=9, unique=True))
    bands = sorted(draw(st.lists(shares, min_size=4, max_size=4, unique=True)))
    return {
        "selector": draw(st.sampled_from(["", 'a="b"', 'a=~"b.*|c",d!="e"', 'a!~"(x|y)"'])),
        "max_draft_tokens": draw(st.integers(1, 99)),
        "labels": dict(zip(roles, labels, strict=False)) | {"scope": labels[6:]},
        "rules": {
            "scrape_interval": f"{scrape}s",
            "window": f"{window}s",
            "evaluation_interval": f"{evaluation}s",
            "compare_with": f"{before}s",
            "baseline": f"{before * draw(st.integers(1, 50))}s",
            "baseline_needs": draw(shares),
            "remember": draw(st.sampled_from(["90s", "1h30m", "2d"])),
        },
        "draft_cost": {"default": draw(st.floats(0, 10)), "verify_inflation": draw(st.floats(1, 1000))},
        "methods": {"baseline": "off-1", "lookup": draw(st.lists(names, max_size=3))},
        "thresholds": {"drop": draw(shares), "anomaly": draw(st.floats(1e-9, 1e6)), "gain": draw(shares)},
        "thresholds.acceptance": dict(zip(("fair", "healthy", "optimal", "suspicious"), bands, strict=True)),
        "links": {"grafana": "https://g.example:3000/sub", "runbooks": "http://127.0.0.1/r%20s"},
    }


def check_built(chosen: Settings, folder: Path, promtool: Path) -> None:
    """Write the files of these settings, and let promtool and the schema judge them."""
    files = render(chosen)
    write(files, folder)
    paths = map(str, (folder / "alerts").glob("*.yaml"))
    command = [str(promtool), "check", "rules", "--lint=all", "--lint-fatal", *paths]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout + done.stderr
    for dashboard in grafana.dashboards(files).values():
        assert list(lost(dashboard, round_trip(dashboard))) == []


@settings(max_examples=25, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(document=sound_documents())
def test_sound_settings_at_random_are_built_well(document: dict[str, Any], tmp_path: Path, promtool: Path) -> None:
    path = tmp_path / "draftboard.toml"
    path.write_text(as_toml(document))
    check_built(load(path), tmp_path, promtool)


@settings(max_examples=100, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(document=documents())
def test_settings_at_random_are_refused_clearly_or_built_well(
    document: dict[str, Any], tmp_path: Path, promtool: Path
) -> None:
    path = tmp_path / "draftboard.toml"
    path.write_text(as_toml(document))
    try:
        chosen = load(path)
    except DraftboardError as error:
        assert str(error).startswith(f"{path}: ")
        assert "\n" not in str(error)
        return
    check_built(chosen, tmp_path, promtool)
