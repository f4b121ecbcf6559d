"""Alerts that rest on statistics: numpy's reading of them, in which months are simulated, and promtool's agree."""

import json
import subprocess
from collections import defaultdict
from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pytest

from draftboard.build import render
from draftboard.settings import Settings
from support.rulefiles import needed
from support.steady import METHOD, STATISTICAL, Counts, K, Kind, Traffic, condition, counted, firing

pytestmark = [pytest.mark.prometheus, pytest.mark.long]

_GOOD = (Kind(0.8), Kind(0.5))
_QUIET = 10  # Minutes without traffic: a rate over less than its window is not read by numpy.
_STATES = "count by (alertname, alertstate, model_name) (ALERTS)"


def _hours(chance: np.random.Generator) -> dict[str, Counts]:
    """By model: one on which everything happens to one of its engines or both, and some with few requests."""

    def span(minutes: int, kinds: tuple[Kind, Kind] = _GOOD, errors: float = 0.0, rate: float = 0.3) -> Counts:
        return counted(Traffic(rate, kinds, errors=errors), minutes, chance)

    def engine(outlier: tuple[Kind, Kind]) -> Counts:
        return span(_QUIET, rate=0).joined(
            span(40),
            span(30, outlier),
            span(20),
            span(45, (Kind(0.999, cut_off=True),) * 2),
            span(45, (Kind(0.02, 0.08),) * 2, errors=0.3),
        )

    return {
        "eventful": engine(_GOOD).joined(engine((Kind(0.05),) * 2), axis=-2),
        "collapses": span(_QUIET, rate=0).joined(span(130), span(50, (Kind(0.05),) * 2)),
        **{
            f"few-{rate:g}": counted(Traffic(0, _GOOD, 2), _QUIET, chance).joined(
                counted(Traffic(rate, (Kind(0.9), Kind(0.1, 0.1)), 2, errors=0.04), 180, chance)
            )
            for rate in (0.01, 0.03)
        },
    }


def _series(model: str, counts: Counts) -> Iterator[dict[str, str]]:
    own = {
        "vllm:spec_decode_num_drafts_total": counts.drafts,
        "vllm:spec_decode_num_draft_tokens_total": counts.drafts * len(counts.accepted_by_position),
        "vllm:spec_decode_num_accepted_tokens_total": counts.accepted,
        "vllm:generation_tokens_total": counts.generated,
        "vllm:time_to_first_token_seconds_count": counts.started,
        "vllm:inter_token_latency_seconds_count": counts.drafts,
        "vllm:inter_token_latency_seconds_sum": counts.step_seconds,
        'vllm:request_success_total|finished_reason="error"': counts.errors,
        'vllm:request_success_total|finished_reason="length"': counts.cut_off,
        'vllm:request_success_total|finished_reason="stop"': counts.requests - counts.errors - counts.cut_off,
        'http_requests_total|handler="/v1/completions",status="5xx"': counts.errors,
        'http_requests_total|handler="/v1/completions",status="2xx"': counts.requests - counts.errors,
        **{
            f'vllm:spec_decode_num_accepted_tokens_per_pos_total|position="{at}"': deep
            for at, deep in enumerate(counts.accepted_by_position)
        },
    }
    for engine in range(len(counts.drafts)):
        target = f'job="vllm",instance="{model}-{engine}:8000",spec_method="{METHOD}"'
        labels = f'{target},model_name="{model}",engine="0"'
        minutes = counts.drafts.shape[-1]
        yield {"series": f"up{{{target}}}", "values": f"1x{minutes - 1}"}
        yield {"series": f"vllm:num_requests_running{{{labels}}}", "values": f"1x{minutes - 1}"}
        for name, grown in own.items():
            metric, _, label = name.partition("|")
            shared = target if metric.startswith("http") else labels
            yield {
                "series": f"{metric}{{{shared}{',' * bool(label)}{label}}}",
                # A series far from 0: Prometheus would extend its rate no further back than that.
                "values": " ".join(f"{1e6 + value:.12g}" for value in grown[engine].cumsum()),
            }


def _expected(told: dict[str, Counts], settings: Settings) -> dict[int, dict[str, int]]:
    """By minute: how many series of each alert are pending or fire, for each model."""
    found: dict[int, dict[str, int]] = defaultdict(lambda: defaultdict(int))
    for model, counts in told.items():
        for alert in STATISTICAL:
            for held in condition(alert, counts, settings):
                fires = np.zeros(len(held), bool)
                for begin, end in firing(alert, held, settings):
                    fires[begin:end] = True
                for state, minutes in (("firing", fires), ("pending", held & ~fires)):
                    labels = f'{{alertname="{alert.name}",alertstate="{state}",model_name="{model}"}}'
                    for minute in np.flatnonzero(minutes):
                        found[int(minute)][labels] += 1
    return found


def test_numpy_and_promtool_say_the_same_minute_by_minute(promtool: Path, tmp_path: Path) -> None:
    settings = Settings.model_validate(
        {
            "max_draft_tokens": K,
            "rules": {"baseline": "2h", "compare_with": "20m"},
            # With costs that are set, both ends of the expected speedup are one.
            "draft_cost": {"by_method": {METHOD: 0.05}, "verify_inflation": 1.0},
        }
    )
    told = _hours(np.random.default_rng(3))
    expected = _expected(told, settings)
    minutes = max(counts.drafts.shape[-1] for counts in told.values())
    fired = {labels.split('"')[1] for found in expected.values() for labels in found if '"firing"' in labels}
    assert fired == {alert.name for alert in STATISTICAL}, "the story has each of them"
    rules = needed(render(settings), " ".join(alert.name for alert in STATISTICAL))
    test = {
        "rule_files": ["rules.yaml"],
        "evaluation_interval": "1m",
        "group_eval_order": [group["name"] for group in rules],
        "tests": [
            {
                "interval": "1m",
                "input_series": [series for model, counts in told.items() for series in _series(model, counts)],
                "promql_expr_test": [
                    {
                        "eval_time": f"{minute}m",
                        "expr": _STATES,
                        "exp_samples": [
                            {"labels": labels, "value": number} for labels, number in expected[minute].items()
                        ],
                    }
                    for minute in range(minutes)
                ],
            }
        ],
    }
    (tmp_path / "rules.yaml").write_text(json.dumps({"groups": rules}))
    (tmp_path / "hours.test.yaml").write_text(json.dumps(test))
    done = subprocess.run(
        [promtool, "test", "rules", tmp_path / "hours.test.yaml"], capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, (done.stdout + done.stderr)[:4000]
