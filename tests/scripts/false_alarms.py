"""How often alerts on speculation fire though nothing changed: months of steady traffic of two kinds of request.

Run as a program it prints, by model, the days of a simulated month on which each alert fired.
"""

import argparse
import json
import re
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from draftboard.alerts.speculation import ON_SPECULATION
from draftboard.build import render
from draftboard.settings import Settings
from support.rulefiles import needed

DAY = 1440  # Evaluations, one a minute.
K = 5
_TOKENS, _SPREAD = 250, 0.7  # Mean length of an answer, and the standard deviation of its logarithm.


@dataclass(frozen=True)
class Traffic:
    """Requests of two kinds, half of each, whose tokens are accepted with these probabilities."""

    name: str
    rate: float  # Requests per second and engine.
    alphas: tuple[float, float]
    engines: int = 1


_RATES = (0.002, 0.01, 0.03, 0.1, 0.5, 3.0)
MODELS = (
    *(Traffic(f"code-and-chat-{rate:g}", rate, (0.9, 0.4)) for rate in _RATES),
    *(Traffic(f"barely-pays-{rate:g}", rate, (0.4, 0.2)) for rate in _RATES),
    *(Traffic(f"four-engines-{rate:g}", rate, (0.9, 0.4), engines=4) for rate in (0.01, 0.1)),
)


def counters(traffic: Traffic, minutes: int, chance: np.random.Generator) -> dict[str, np.ndarray]:
    """Cumulated counters of one engine, a sample a minute: by series, with its own label where it has one."""
    starts = chance.poisson(traffic.rate * 60, minutes)
    minute = np.repeat(np.arange(minutes), starts)
    alpha = np.array(traffic.alphas)[chance.integers(0, 2, len(minute))]
    length = (1 - alpha ** (K + 1)) / (1 - alpha)
    tokens = _TOKENS * np.exp(chance.normal(-(_SPREAD**2) / 2, _SPREAD, len(minute)))
    drafts = np.ceil(tokens / length).astype(int)
    reached = [drafts]
    for _ in range(K):
        reached.append(chance.binomial(reached[-1], alpha))

    def counted(amounts: np.ndarray) -> np.ndarray:
        return np.bincount(minute, amounts, minlength=minutes).cumsum()

    accepted = sum(reached[1:])
    found = {
        "vllm:spec_decode_num_drafts_total": drafts,
        "vllm:spec_decode_num_draft_tokens_total": drafts * K,
        "vllm:spec_decode_num_accepted_tokens_total": accepted,
        "vllm:generation_tokens_total": drafts + accepted + 1,
        "vllm:inter_token_latency_seconds_count": drafts,
        "vllm:time_to_first_token_seconds_count": np.ones(len(minute)),
        'vllm:request_success_total{finished_reason="stop"': np.ones(len(minute)),
        **{
            f'vllm:spec_decode_num_accepted_tokens_per_pos_total{{position="{at}"': deep
            for at, deep in enumerate(reached[1:])
        },
    }
    return {name: counted(amounts) for name, amounts in found.items()}


def series(minutes: int, seed: int) -> Iterator[dict[str, str]]:
    """promtool's input: every engine of every model."""
    for index, traffic in enumerate(MODELS):
        for engine in range(traffic.engines):
            labels = (
                f'job="vllm",instance="{traffic.name}-{engine}:8000",model_name="{traffic.name}",engine="0",'
                f'spec_method="eagle3"'
            )
            chance = np.random.default_rng(np.random.SeedSequence(seed, spawn_key=(index, engine)))
            for name, values in counters(traffic, minutes, chance).items():
                start, _, own = name.partition("{")
                yield {
                    "series": f"{start}{{{labels}{',' if own else ''}{own}}}",
                    "values": " ".join(f"{value:.0f}" for value in values),
                }


def days_with_an_alarm(promtool: Path, folder: Path, days: int, seed: int) -> dict[tuple[str, str], int]:
    """Days on which an alert fired, by alert and model."""
    names = [alert.name for alert in ON_SPECULATION]
    rules = needed({path: text for path, text in render(Settings()).items() if "rules" in path}, " ".join(names))
    (folder / "rules.yaml").write_text(json.dumps({"groups": rules}))
    firing = 'count by (alertname, model_name) (count_over_time(ALERTS{alertstate="firing"}[1d]))'
    cases = [{"eval_time": f"{day * DAY}m", "expr": firing} for day in range(1, days + 1)]
    test = {
        "rule_files": ["rules.yaml"],
        "evaluation_interval": "1m",
        "group_eval_order": [group["name"] for group in rules],
        "tests": [{"interval": "1m", "input_series": list(series(days * DAY, seed)), "promql_expr_test": cases}],
    }
    (folder / "month.test.yaml").write_text(json.dumps(test))
    done = subprocess.run(
        [promtool, "test", "rules", folder / "month.test.yaml"], capture_output=True, text=True, check=False
    )
    found: dict[tuple[str, str], int] = {}
    # Nothing is expected, so that promtool prints what it got: a line for each day with an alarm.
    for line in (done.stdout + done.stderr).splitlines():
        for name, model in re.findall(r'\{alertname=\\?"(\w+)\\?", model_name=\\?"([\w.-]+)\\?"\}', line):
            found[name, model] = found.get((name, model), 0) + 1
    if done.returncode and not found:
        sys.exit(done.stdout + done.stderr)
    return found


def main() -> None:
    """Print the table."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--promtool", type=Path, required=True)
    parser.add_argument("--days", type=int, default=30)
    parser.add_argument("--seed", type=int, default=1)
    options = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        found = days_with_an_alarm(options.promtool, Path(folder), options.days, options.seed)
    for (alert, model), days in sorted(found.items()):
        sys.stdout.write(f"{alert:32}{model:24}{days:4} of {options.days} days\n")


if __name__ == "__main__":
    main()
