"""Costs that were measured: v by batch between its points, and verdicts that say on what they rest."""

import json
import subprocess
from pathlib import Path

import numpy as np
import pytest

from draftboard.build import render
from draftboard.build.files import RECORDING
from draftboard.expr.counts import Counts
from draftboard.expr.scope import Level
from draftboard.expr.to_numbers import values_of
from draftboard.expr.vector import value_of
from draftboard.settings import Settings
from draftboard.signals.costs import decode_batch, verify_inflation
from draftboard.signals.health import HEALTH
from draftboard.signals.traffic import drafts
from support.rulefiles import needed

POINTS = {"1": 1.0, "8": 1.35, "32": 2.55}
CURVE = Settings.model_validate({"draft_cost": {"verify_inflation": POINTS, "calibrated": ["mtp"]}})
SIZES = (0.25, 1, 2, 4.5, 8, 20, 31.9, 32, 500)
VERDICTS = {0.99: 13, 1: 14, 1.09: 14, 1.1: 15}  # by the expected speedup
OF_HEALTH = {13: "costs more", 14: "about even", 15: "pays"}


def expected_at(size: float) -> float:
    return float(np.interp(size, [float(point) for point in POINTS], list(POINTS.values())))


def model(name: object, method: str = "mtp") -> str:
    return f'job="vllm",model_name="{name}",spec_method="{method}"'


def record(name: str, labels: str, value: float) -> dict[str, str]:
    return {"series": f"{name}{{{labels}}}", "values": f"{value}"}


@pytest.mark.prometheus
def test_rules_interpolate_v_by_batch_and_tell_calibrated_verdicts_from_assumed_ones(
    promtool: Path, tmp_path: Path
) -> None:
    rates = "model:vllm_spec_decode_drafts:rate5m"
    series = [record(rates, model(size), 1) for size in (*SIZES, "unknown")]
    series += [record("model:vllm_decode_batch:mean_rate5m", model(size), size) for size in SIZES]
    for method in ("mtp", "eagle3"):
        for speedup in VERDICTS:
            series.append(record(rates, model(f"S {speedup}", method), 1))
            series.append(record("model:vllm_spec_decode_draft_tokens:rate5m", model(f"S {speedup}", method), 3))
            for end in ("low", "high"):
                name = f"model:vllm_spec_decode_expected_speedup_{end}:ratio_rate5m"
                series.append(record(name, model(f"S {speedup}", method), speedup))
    inflation = {size: expected_at(float(size)) for size in SIZES} | {"unknown": max(POINTS.values())}
    asked = [
        *(
            {
                "expr": f'round(model:vllm_spec_decode_base_cost_{end}:ratio_rate5m{{model_name!~"S.*"}}, 1e-9)',
                "exp_samples": [{"labels": f"{{{model(size)}}}", "value": v} for size, v in inflation.items()],
            }
            for end in ("low", "high")
        ),
        {
            "expr": 'model:vllm_spec_decode_verdict:enum_rate5m{model_name=~"S.*"} + 0',
            "exp_samples": [
                {"labels": f"{{{model(f'S {speedup}', method)}}}", "value": code if method == "mtp" else code - 13}
                for speedup, code in VERDICTS.items()
                for method in ("mtp", "eagle3")
            ],
        },
        {
            "expr": 'model:vllm_health:enum_rate5m{model_name=~"S.*",spec_method="mtp"} + 0',
            "exp_samples": [
                {"labels": f"{{{model(f'S {speedup}')}}}", "value": HEALTH[OF_HEALTH[code]].value}
                for speedup, code in VERDICTS.items()
            ],
        },
    ]
    case = {
        "rule_files": ["rules.json"],
        "evaluation_interval": "1m",
        "fuzzy_compare": True,
        "tests": [
            {
                "interval": "1m",
                "input_series": series,
                "promql_expr_test": [{**one, "eval_time": "0m"} for one in asked],
            }
        ],
    }
    rules = needed({RECORDING: render(CURVE)[RECORDING]}, json.dumps(case))
    text = json.dumps(case | {"group_eval_order": [group["name"] for group in rules]})
    (tmp_path / "rules.json").write_text(json.dumps({"groups": rules}))
    (tmp_path / "case.json").write_text(text)
    done = subprocess.run(
        [promtool, "test", "rules", tmp_path / "case.json"], capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stdout + done.stderr


def test_a_report_interpolates_v_as_the_rules_do() -> None:
    keys = {size: frozenset({("model_name", str(size)), ("spec_method", "mtp")}) for size in SIZES}
    answers = {
        (decode_batch.name, Level.MODEL): {key: float(size) for size, key in keys.items()},
        (drafts.name, Level.MODEL): dict.fromkeys(keys.values(), 300.0),
    }
    found = values_of(verify_inflation, Counts(CURVE, answers=answers))
    told = {float(value_of(labels, "model_name")): value for labels, value in found.items()}
    assert told == pytest.approx({float(size): expected_at(float(size)) for size in SIZES})


def test_a_curve_replaces_the_number_and_is_read_in_order_of_its_batches() -> None:
    settings = Settings.model_validate({"draft_cost": {"verify_inflation": {"16": 1.5, "2": 1.1}}})
    assert settings.draft_cost.inflation_by_batch == ((2.0, 1.1), (16.0, 1.5))


@pytest.mark.parametrize(
    "hostile", [{}, {"0": 1.0}, {"-1": 1.0}, {"1.5": 1.0}, {"one": 1.0}, {"1": 0.99}, {"1": "x"}, {"1": 1001}, 0.5, "1"]
)
def test_a_curve_that_is_none_is_refused_in_one_line(hostile: object) -> None:
    with pytest.raises(ValueError, match="verify_inflation"):
        Settings.model_validate({"draft_cost": {"verify_inflation": hostile}})
