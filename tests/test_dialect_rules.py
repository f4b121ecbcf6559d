"""Rules for other engines before a real promtool: on an engine's page they record what is computed from the page."""

import json
import math
import subprocess
from pathlib import Path
from typing import Any

import pytest
from prometheus_client.parser import text_string_to_metric_families

from draftboard.build import render
from draftboard.build.files import ALERTING, RECORDING
from draftboard.expr.vector import kept
from draftboard.reading import Numbers, Reader, counts_of, labels_of, lifetime, load
from draftboard.settings import Settings
from draftboard.signals import ALL, Level, acceptance, depth, drafting
from draftboard.signals.signal import Signal
from support import cases
from support.dialects import OTHERS, built_for, page_of
from support.rulefiles import groups, needed

pytestmark = pytest.mark.prometheus
TARGET = {"job": "vllm", "instance": "gpu-1:8000"}
WINDOW = Settings().rules.rate_window
MINUTES = 10
CASES = sorted((cases.FOLDER / "dialects").glob("*.cases.yaml"))
DIGITS = 6
OF_EVERY_ENGINE = {acceptance.acceptance.name, acceptance.acceptance_length.name, "drafts", "requests_running"}
OF_POSITIONS = {depth.survival.name, drafting.configured_k.name, depth.first_position.name}


def input_series(text: str) -> list[dict[str, str]]:
    """A server whose counters grow by what the page holds, each window."""
    found = [{"series": f"up{selector(TARGET)}", "values": f"1x{MINUTES}"}]
    for family in text_string_to_metric_families(text):
        for sample in (one for one in family.samples if not math.isnan(one.value)):
            series = sample.name + selector(sample.labels | TARGET)
            values = f"{sample.value:g}" if family.type == "gauge" else f"0+{sample.value / WINDOW.seconds * 60:g}"
            found.append({"series": series, "values": f"{values}x{MINUTES}"})
    return found


def selector(labels: dict[str, str]) -> str:
    return "{" + ", ".join(f'{name}="{value}"' for name, value in sorted(labels.items()) if value) + "}"


def computed(path: Path, settings: Settings) -> Numbers:
    tallies = lifetime(load(path)).tallies
    (labels,) = {kept(labels_of(tally, settings), settings.labels.model_level) for tally in tallies}
    return Reader(counts_of(tallies, settings), Level.MODEL).of(labels)


def expected(signal: Signal, record: str, numbers: Numbers) -> dict[str, Any]:
    model = dict(numbers.labels) | {"job": TARGET["job"]}
    scale = WINDOW.seconds if signal.per_second else 1
    samples = [
        {"labels": selector(model | ({signal.by[0]: own} if own else {})), "value": round(value / scale, DIGITS)}
        for own, value in numbers.by(signal).items()
    ]
    return {"expr": f"round({record}, 1e-{DIGITS})", "eval_time": f"{MINUTES}m", "exp_samples": samples}


@pytest.mark.parametrize("dialect", OTHERS)
def test_rules_record_of_a_page_what_is_computed_from_it(dialect: str, promtool: Path, tmp_path: Path) -> None:
    settings = built_for(dialect)
    made = render(settings)
    for path in (RECORDING, ALERTING):  # A file that holds what promtool cannot parse fails all cases.
        (tmp_path / Path(path).name).write_text(made[path])
    numbers = computed(page_of(dialect), settings)
    recorded = {
        signal: signal.record_name(Level.MODEL, settings)
        for signal in ALL
        if numbers.by(signal) and "le" not in signal.by
    }
    wanted = [expected(signal, record, numbers) for signal, record in recorded.items() if record]
    names = {signal.name for signal, record in recorded.items() if record}
    assert names >= OF_EVERY_ENGINE | (OF_POSITIONS if dialect != "sglang" else set())
    test = {
        "rule_files": ["recording.rules.yaml", "alerting.rules.yaml"],
        "evaluation_interval": "1m",
        "fuzzy_compare": True,
        "tests": [
            {"interval": "1m", "input_series": input_series(page_of(dialect).read_text()), "promql_expr_test": wanted}
        ],
    }
    (tmp_path / "cases.yaml").write_text(json.dumps(test))
    command = [str(promtool), "test", "rules", str(tmp_path / "cases.yaml")]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout + done.stderr


@pytest.mark.parametrize("path", CASES, ids=lambda path: path.name.removesuffix(".cases.yaml"))
def test_cases_of_a_dialect(path: Path, promtool: Path, tmp_path: Path) -> None:
    document = cases.read(path)
    made = render(built_for(document["dialect"]))
    texts = {name: made[name] for name in (RECORDING, ALERTING)}
    (tmp_path / "rules.yaml").write_text(json.dumps({"groups": needed(texts, cases.text(document))}))
    promtools = {name: value for name, value in document.items() if name != "dialect"}
    (tmp_path / "cases.yaml").write_text(cases.for_promtool(promtools, "rules.yaml", groups(texts)))
    command = [str(promtool), "test", "rules", str(tmp_path / "cases.yaml")]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout + done.stderr
