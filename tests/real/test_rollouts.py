"""Three canaries by the AnalysisTemplate, simulated end to end: pages, Prometheus, rules, query, decision."""

from collections.abc import Iterator
from typing import Any

import pytest

from conftest import ROOT, program
from draftboard.lab.replay import Replay
from draftboard.lab.simulator.scenario import Scenario
from scripts.detection import replayed
from support.rulefiles import loaded

pytestmark = [pytest.mark.prometheus, pytest.mark.xdist_group("rollouts")]

WORKS, BROKEN = [0.82, 0.66, 0.51, 0.38, 0.26], [0.04, 0.0, 0.0, 0.0, 0.0]
LONG = [0.78, 0.55, 0.30, 0.14, 0.06, 0.02, 0.01, 0.0]
USUAL = {"load": {"rate": 1.0}}


def _variants(model: str, canary: dict[str, Any], **stable: Any) -> list[dict[str, Any]]:
    both = {"model": model, "method": "eagle3"} | stable
    return [both | {"variant": "stable"}, both | {"variant": "canary"} | canary]


TOLD = Scenario.model_validate(
    {
        "story": "A drafter is broken in the canary; a shorter K is better; a canary gets hardly a request.",
        "duration": "45m",
        "server": [
            *_variants("broken", {"requests": [{"rates": BROKEN}]}, k=5, requests=[{"rates": WORKS}], **USUAL),
            *_variants("better", {"k": 3}, k=8, requests=[{"rates": LONG}], **USUAL),
            *_variants("quiet", {"load": {"rate": 0.005}}, k=5, requests=[{"rates": WORKS}], **USUAL),
        ],
    }
)
START, WINDOW = 600, 300


@pytest.fixture(scope="module")
def rollouts(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Replay]:
    programs = program("prometheus"), program("promtool")
    with replayed(TOLD, tmp_path_factory.mktemp("rollouts"), programs) as replay:
        yield replay


def decided(replay: Replay, model: str) -> str:
    """The phase of a run of the committed template, by the rules of Argo Rollouts for counts and limits."""
    template = loaded((ROOT / "deploy/kubernetes/rollouts/argo-rollouts.yaml").read_text())["spec"]
    (metric,) = template["metrics"]
    query = metric["provider"]["prometheus"]["query"]
    arguments = {one["name"]: one.get("value", "") for one in template["args"]} | {"model": model}
    for name, value in arguments.items():
        query = query.replace(f"{{{{args.{name}}}}}", value)
    failed = inconclusive = in_a_row = 0
    for number in range(metric["count"]):
        answer = replay.client.query(query, replay.start + START + number * WINDOW)
        result = [series.samples[0][1] for series in answer]
        holds = {name: _holds(metric[f"{name}Condition"], result) for name in ("success", "failure")}
        assert not all(holds.values())
        in_a_row = in_a_row + 1 if holds["success"] else 0
        failed += holds["failure"]
        inconclusive += not any(holds.values())
        if failed > metric["failureLimit"]:
            return "Failed"
        if in_a_row >= metric["consecutiveSuccessLimit"]:
            return "Successful"
        if inconclusive > metric["inconclusiveLimit"]:
            return "Inconclusive"
    return "Inconclusive"


def _holds(condition: str, result: list[float]) -> bool:
    """The condition in the part of the expression language that the template uses, which Python shares but for `&&`."""
    return bool(eval(condition.replace("&&", "and"), {"__builtins__": {}}, {"result": result, "len": len}))  # noqa: S307


@pytest.mark.parametrize(
    ("model", "phase"), [("broken", "Failed"), ("better", "Successful"), ("quiet", "Inconclusive")]
)
def test_a_canary_is_rolled_back_kept_or_waits(rollouts: Replay, model: str, phase: str) -> None:
    assert decided(rollouts, model) == phase
