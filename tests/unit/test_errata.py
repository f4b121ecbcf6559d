"""What docs/tune/errata.md calls wrong is wrong, what it calls right holds, and sums of the documentation add up."""

import ast
import operator
import re
from pathlib import Path
from statistics import fmean, median

import pytest

from conftest import ROOT
from draftboard.doctor import examine_command
from draftboard.durations import Duration
from draftboard.evidence import Load, assumed
from draftboard.evidence.measurements import published
from draftboard.plan import theory
from draftboard.plan.vram import Gpus, Model, plan_vram
from draftboard.reading import Lifetime, Pages
from draftboard.report import ModelReport, Speculation, report, verdict_of
from draftboard.settings import Settings
from draftboard.signals.advice import ADVICE
from support.known import known
from support.pages import page

PAGE = (ROOT / "docs/tune/errata.md").read_text()
SUMS = [
    (path.relative_to(ROOT), sum_, result)
    for path in sorted((ROOT / "docs").rglob("*.md"))
    for block in re.findall(r"(?ms)^```text\n(.*?)^```", path.read_text())
    for sum_, result in re.findall(r"(?m)^([-+x/(). \d]+) = (\d[.\d]*)(?=\s|$)", block)
]
OPERATORS = {ast.Add: operator.add, ast.Sub: operator.sub, ast.Mult: operator.mul, ast.Div: operator.truediv}
BEFORE, AFTER, LOAD, DP2 = (
    ROOT / f"tests/data/v0.32.0-ngram-{name}.prom" for name in ("pair-before", "pair-after", "load", "dp2")
)


def computed(node: ast.expr) -> float:
    match node:
        case ast.BinOp(left, operation, right):
            return float(OPERATORS[type(operation)](computed(left), computed(right)))
        case ast.Constant(float() | int() as value):
            return value
    raise ValueError(ast.unparse(node))


@pytest.mark.parametrize(("path", "sum_", "result"), SUMS, ids=[f"{path.stem}: {sum_}" for path, sum_, _ in SUMS])
def test_a_documented_sum_adds_up(path: Path, sum_: str, result: str) -> None:
    found = computed(ast.parse(sum_.replace("x", "*"), mode="eval").body)
    # Terms are printed rounded, too: a unit of the last place is theirs.
    places = len(result.partition(".")[2])
    assert found == pytest.approx(float(result), abs=1.01 * 10**-places if places else 0), path


def test_every_erratum_names_its_test() -> None:
    sections = re.split(r"(?m)^## ", PAGE)[1:]
    named = [re.search(r"\*Test: `(test_\w+)`\.\*", section) for section in sections]
    assert [int(section.partition(".")[0]) for section in sections] == list(range(1, len(sections) + 1))
    assert all(match and callable(globals().get(match[1])) for match in named)


@pytest.fixture(scope="module")
def interval() -> ModelReport:
    """The ten seconds of a real vLLM that the concepts explain."""
    (model,) = report(Pages(BEFORE, AFTER, Duration(10)), method="ngram").models
    return model


@pytest.fixture(scope="module")
def spoken(interval: ModelReport) -> Speculation:
    assert interval.speculation
    return interval.speculation


def test_the_concepts_are_about_this_interval(interval: ModelReport, spoken: Speculation) -> None:
    assert interval.sample
    counts = (interval.sample.drafts, interval.sample.draft_tokens, interval.sample.accepted_tokens)
    page = (ROOT / "docs/concepts/index.md").read_text().replace("\n", " ")
    assert "{:,.0f} drafts, {:,.0f} drafted tokens, {:,.0f} accepted".format(*counts) in page
    shown = (spoken.coverage, interval.traffic.tokens_per_step, spoken.needed_per_step, spoken.affordable_inflation)
    assert [round(value, 3) for value in shown if value] == [0.769, 1.976, 1.028, 2.232]


def test_the_length_is_an_upper_bound(spoken: Speculation) -> None:
    assert spoken.acceptance_length == pytest.approx(2.30, abs=5e-3)
    assert spoken.expected_speedup == pytest.approx(1.92, abs=5e-3)
    assert pytest.approx(0.82, abs=5e-3) == 1.24 / 1.51  # the demo's second minute


def test_the_models_own_token_counts() -> None:
    survival = theory.geometric_survival(0.5, 4)
    assert sum(survival) / theory.step_cost(4, 0.1) == pytest.approx(0.67, abs=5e-3)
    assert theory.speedup_at(survival, 0.1)[-1] == pytest.approx(1.384, abs=5e-4)


def acceptance(alpha: float, drafted: int) -> float:
    """What vLLM's counters give where every token is accepted with alpha."""
    return sum(theory.geometric_survival(alpha, drafted)) / drafted


def test_acceptance_is_not_the_probability_of_a_token() -> None:
    assert acceptance(0.8, 5) == pytest.approx(0.538, abs=5e-4)
    assert acceptance(0.8, 3) == pytest.approx(0.651, abs=5e-4)
    longer, shorter = (theory.speedup_at(theory.geometric_survival(0.8, k), 0.05)[-1] for k in (5, 3))
    assert longer > shorter


def test_low_acceptance_can_pay_and_high_acceptance_can_lose() -> None:
    length = 1 + 5 * 0.38
    assert length / theory.step_cost(5, 1 / 9) == pytest.approx(1.86, abs=5e-3)
    assert length / theory.step_cost(5, 1 / 9, 2.35) < 1 < length / theory.step_cost(5, 1 / 9, 2.34)
    assert (1 + 1 * 0.6) / theory.step_cost(1, 0.1, 1.6) < 1
    assert theory.cost_per_drafted_token(5, 1 / 9, 2) == pytest.approx(1 / 9 + (2 - 1) / 5)


def test_a_position_pays_only_above_c_times_the_speedup() -> None:
    survival, cost = (0.8, 0.65, 0.5, 0.35), 0.2
    assert all(share > cost for share in survival)
    speedups = theory.speedup_at(survival, cost)
    assert [round(speedups[k], 3) for k in (3, 4)] == [1.844, 1.833]
    assert survival[3] < cost * speedups[3] == pytest.approx(0.369, abs=5e-4)


def test_a_longer_draft_is_never_accepted_shorter(spoken: Speculation) -> None:
    assert sorted(spoken.tokens_per_step_at) == list(spoken.tokens_per_step_at)


def test_the_gauge_of_v0_read_higher() -> None:
    assert acceptance(0.7, 5) == pytest.approx(0.388, abs=5e-4)
    assert theory.speedup_at(theory.geometric_survival(0.7, 5), 0.1)[-1] == pytest.approx(1.96, abs=5e-3)


def test_a_step_is_not_a_token(interval: ModelReport) -> None:
    assert interval.latency.per_token
    assert interval.latency.step
    means = (interval.latency.per_token.mean, interval.latency.step.mean)
    assert [f"{mean:.4f}" for mean in means if mean] == ["0.0024", "0.0047"]


def test_drafts_are_shorter_than_k(interval: ModelReport, spoken: Speculation) -> None:
    sample = known(interval.sample)
    assert known(sample.draft_tokens) < known(sample.drafts) * (spoken.configured_k or 0) == 1776


def test_rates_by_position_add_up(spoken: Speculation) -> None:
    assert 1 + sum(spoken.survival) == pytest.approx(spoken.acceptance_length)


def test_a_fleet_is_a_ratio_of_sums() -> None:
    (model,) = report(Lifetime(DP2)).models
    sample = known(model.sample)
    assert known(model.speculation).acceptance == known(sample.accepted_tokens) / known(sample.draft_tokens)


def test_a_ratio_without_traffic_has_no_sample() -> None:
    (model,) = report(Pages(LOAD, LOAD, Duration(10))).models
    assert model.state == "idle"
    assert model.speculation is None
    rules = (ROOT / "alerts/recording.rules.yaml").read_text()
    (expr,) = re.findall(r"record: model:vllm_spec_decode_acceptance:ratio_rate5m\n +expr: (.+)", rules)
    assert expr.count("> 0") == 1
    assert "clamp_min" not in expr


def test_a_draft_model_has_a_cache_of_its_own() -> None:
    gpus, draft = Gpus(2, 80), Model(8, kv_kib_per_token=128)
    small = plan_vram(Settings(), gpus, Model(70, "int8", 320), draft, context=8192)
    assert (small.without.tokens, small.with_draft.tokens) == (235_595, 133_405)
    by_weights = plan_vram(Settings(), gpus, Model(70, "int8", 320), Model(8, kv_kib_per_token=0), context=8192)
    assert 1 - (by_weights.with_draft.tokens or 0) / 235_595 == pytest.approx(0.207, abs=5e-4)
    assert not plan_vram(Settings(), gpus, Model(70), Model(8), context=8192).with_draft.starts
    assert gpus.usable_gb == pytest.approx(147.2)


@pytest.mark.parametrize(
    "flag",
    [
        "--speculative-model D",
        "--num-speculative-tokens 4",
        "--speculative-disable-by-batch-size 8",
        "--spec-decoding-acceptance-method typical_acceptance_sampler",
    ],
)
def test_copied_flags_are_named(flag: str) -> None:
    found = examine_command(f"vllm serve M {flag}", Settings())
    assert any(flag.split(maxsplit=1)[0] in one.where for one in found.findings)


def test_small_costs_promise_more_than_was_measured() -> None:
    rows = published().measurement
    promised = {row: row.tokens_per_step / (1 + 0.05 * row.drafted) for row in rows}
    beyond = [speedup / row.speedup for row, speedup in promised.items()]
    assert (len(rows), min(beyond) > 1) == (64, True)
    assert median(beyond) == pytest.approx(1.59, abs=0.005)
    slower = [row for row in rows if row.speedup < 1]
    assert (len(slower), sum(promised[row] > 1 for row in slower)) == (26, 19)


def test_heads_below_seventy_percent_at_the_first_position_pay() -> None:
    assert theory.speedup_at((0.58, 0.38), 0.105, 1.09)[2] == pytest.approx(1.51, abs=0.005)
    rows = [*ADVICE.choices]
    assert rows.index("drafter") > max(map(rows.index, ("shorter", "off", "longer")))


def test_no_survival_of_the_last_position_decides_k() -> None:
    dear = theory.speedup_at((0.9, 0.7, 0.5, 0.4), 0.3, 1)
    cheap = theory.speedup_at((0.5, 0.2, 0.08), 0.02, 1)
    assert dear[4] < dear[3]
    assert cheap[3] > cheap[2]


def test_answers_of_one_token_flatter_a_mean_over_requests() -> None:
    whole, one = [0.061] * 33, [0.0] * 67
    assert 0.05 / fmean(whole + one) == pytest.approx(2.48, abs=0.005)
    tokens = 33 * 39
    assert 0.05 / (sum(time * 39 for time in whole) / tokens) == pytest.approx(0.82, abs=0.005)


def test_an_assumed_verdict_on_a_pipeline_needs_the_plugin(tmp_path: Path) -> None:
    plugin = 'draftboard_spec_info{engine="0",model_name="m",pipeline_parallel_size="4"} 1\n'
    said = []
    for number, shown in enumerate(("", plugin)):
        (path := tmp_path / f"{number}.prom").write_text(page((943,), drafts=1000, running=1, started=1) + shown)
        (model,) = report(Lifetime(path), Settings(), method="mtp").models
        said.append(verdict_of(model).partition(" times")[0])
    assert said == ["pays: 1.10 to 1.71", "unclear: 0.41 to 1.71"]
    assert all(f'"{one}' in PAGE for one in said)
    for row in published().measurement:
        cost = assumed(row.method, pipeline=True).step_cost(Load(batch=row.batch, drafted=row.drafted, coverage=1))
        assert cost is None or row.tokens_per_step / cost.high < Settings().thresholds.pays_clearly
