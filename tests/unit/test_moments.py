"""No rule divides or compares what was counted at different moments: two groups are evaluated up to a minute apart."""

from collections.abc import Mapping
from itertools import accumulate, starmap

import pytest

from conftest import ROOT
from draftboard.build import render
from draftboard.catalogue.dialects import DIALECTS
from draftboard.settings import Settings, load
from support.moments import mixed

STEADY = {"model:vllm_step_cost:ratio_rate5m": "of batches of one size on both sides, whatever the load"}
OF_RATIOS = {
    "model:vllm_spec_decode_verdict:enum_rate5m": "a measured speedup refutes beyond 20 % only (thresholds.load)",
    "model:vllm_spec_decode_slower_k:by_batch_rate5m": "whether a token took longer, in most windows of an hour",
    "engine:vllm_health:enum_rate5m": "acceptance of an engine, costs of its model",
    "model:vllm_health:rank": "an order of models, by health, tokens and gain",
    "service:vllm_unserved:bool": "nine in ten requests rejected, of which the alert wants ten minutes",
    "model:draftboard_spec_class_speedup_low:ratio_rate5m": "acceptance of a class, costs of its model",
    "model:draftboard_spec_class_speedup_high:ratio_rate5m": "acceptance of a class, costs of its model",
}
"""Rules that compare ratios of different moments, each of counters of one: `apart` says how much these can differ."""
FURTHER = {
    "objectives": {
        "service:vllm_sli_error:ratio_rate5m": "what failed of the answers counts above and below the line",
        "service:vllm_slo_bad_events:rate5m": "of events only the errors are of another moment: it reads none",
    }
}


def files(*groups: tuple[str, Mapping[str, str]]) -> dict[str, str]:
    def text(name: str, rules: Mapping[str, str]) -> str:
        lines = [f"  - {{record: '{record}', expr: '{expr}'}}\n" for record, expr in rules.items()]
        return f"- name: {name}\n  rules:\n{''.join(lines)}"

    return {"a.rules.yaml": "groups:\n" + "".join(starmap(text, groups))}


COUNTED = ("one", {"model:a:rate": "rate(a[5m])", "model:b:rate": "rate(b[5m])"})


@pytest.mark.parametrize(
    ("expr", "is_mixed"),
    [
        ("model:a:rate / (model:b:rate > 0)", False),  # Both as old.
        ("rate(a[5m]) / (rate(b[5m]) > 0)", False),
        ("model:a:rate / rate(b[5m])", True),
        ("model:a:rate > model:c:rate", True),
        ("sum(model:a:rate) - on () max(model:c:rate)", True),
        ("model:a:rate / model:d:ratio", True),  # That one is older by a group.
        ("model:a:rate / avg_over_time(model:c:rate[1h])", False),  # Its past.
        ("model:a:rate / model:c:rate offset 1h", False),
        ("last_over_time(model:a:rate[2m]) / model:c:rate", True),
        ("model:a:rate + 0 * model:c:rate", False),  # Labels alone.
        ("model:a:rate / model:b:rate and model:c:rate > 5", False),
        ('label_replace(model:a:rate, "x", "y", "", "") / ignoring (x) model:c:rate', True),
    ],
)  # fmt: skip
def test_what_is_read_in_one_group_or_from_one_group_is_of_one_moment(expr: str, is_mixed: bool) -> None:
    other = ("two", {"model:c:rate": "rate(c[5m])", "model:d:ratio": "model:a:rate / model:b:rate"})
    made = files(COUNTED, other, ("three", {"model:e:ratio": expr.replace("'", "''")}))
    assert list(mixed(made)) == (["model:e:ratio"] if is_mixed else [])


SETTINGS = {
    "default": Settings(),
    "objectives": load(ROOT / "tests/rules/objectives.toml"),
    "costs": load(ROOT / "tests/rules/costs.toml"),
    **{tier: Settings.model_validate({"rules": {"tier": tier}}) for tier in ("alerts", "standard")},
    **{dialect: Settings.model_validate({"series": {"dialect": dialect}}) for dialect in DIALECTS},
}


@pytest.mark.parametrize("name", SETTINGS)
def test_no_rule_combines_counters_of_different_moments(name: str) -> None:
    found = mixed(render(SETTINGS[name]), STEADY)
    assert {rule: found[rule] for rule in found.keys() - OF_RATIOS.keys()}.keys() == FURTHER.get(name, {}).keys()
    if name == "default":
        assert found.keys() == OF_RATIOS.keys()


WINDOW, INTERVAL = 300, 60


def apart(change: float, *, lasts: int, traffic: float = 1) -> float:
    """Greatest share by which a ratio over the window differs from that of an evaluation before.

    Its value becomes `change` times as much within so many seconds, and traffic `traffic` times as much.
    """

    def at(second: int) -> tuple[float, float]:
        share = min(max((second + 1) / lasts, 0.0), 1.0)
        weight = 1 + (traffic - 1) * share
        return weight * (1 + (change - 1) * share), weight

    counted = [at(second) for second in range(-2 * WINDOW, lasts + 2 * WINDOW)]
    sums: list[list[float]] = [[0.0, *accumulate(side)] for side in zip(*counted, strict=True)]
    above, below = ([b - a for a, b in zip(one, one[WINDOW:], strict=False)] for one in sums)
    means = [a / b for a, b in zip(above, below, strict=True)]
    return max(max(a / b, b / a) - 1 for a, b in zip(means, means[INTERVAL:], strict=False))


@pytest.mark.parametrize(
    ("change", "lasts", "traffic", "percent"),
    [
        (0.5, 1800, 1, 3.1),
        (0.5, 600, 1, 8.1),
        (0.8, 1, 1, 5.0),
        (0.5, 1, 1, 20.0),
        (2.0, 1, 1, 20.0),
        (0.5, 1, 4, 33.3),
        (0.5, 1, 0.25, 50.0),
    ],
)
def test_ratios_that_are_compared_differ_by_no_more_than_the_page_says(
    change: float, lasts: int, traffic: float, percent: float
) -> None:
    assert 100 * apart(change, lasts=lasts, traffic=traffic) == pytest.approx(percent, abs=0.1)
    page = " ".join((ROOT / "docs/operate/existing.md").read_text().split())
    assert f"by {percent:.0f} %" in page
