"""What a simulator was told is what the records say of it, within the error of the sample."""

from collections.abc import Iterator

import pytest

from conftest import program
from draftboard.evidence import Load, assumed
from draftboard.lab.replay import Replay
from draftboard.lab.simulator.scenario import Scenario
from draftboard.settings import Settings
from scripts.detection import replayed
from support import theory
from support.known import known

pytestmark = [pytest.mark.prometheus, pytest.mark.xdist_group("simulated_truth")]

ALPHA, K = 0.8, 5
RATES = (0.85, 0.7, 0.4, 0.1)
COVERAGE, LENGTHS = 0.7, (0.4, 0.3, 0.2, 0.1)
COST = Settings().draft_cost.by_method
LOAD = {"load": {"rate": 1.0}}
TOLD = Scenario.model_validate(
    {
        "story": "Servers of which a test knows the truth.",
        "duration": "20m",
        "server": [
            {"model": "alpha", "method": "eagle3", "k": K, "requests": [{"alpha": ALPHA}]} | LOAD,
            {"model": "rates", "method": "draft_model", "k": 4, "requests": [{"rates": RATES}]} | LOAD,
            {
                "model": "lookup",
                "method": "ngram",
                "k": 4,
                "coverage": COVERAGE,
                "draft_lengths": LENGTHS,
                **{"requests": [{"alpha": ALPHA}]} | LOAD,
            },
            {"model": "alpha", "requests": [{"alpha": ALPHA}]} | LOAD,
        ],
    }
)
FOUR_DEVIATIONS = 0.01
"""Of a share of some twenty thousand drafts: 4 * sqrt(0.25 / n), rounded up for what requests have in common."""


@pytest.fixture(scope="session")
def truth(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Replay]:
    programs = program("prometheus"), program("promtool")
    with replayed(TOLD, tmp_path_factory.mktemp("truth"), programs) as replay:
        yield replay


def read(truth: Replay, record: str, model: str, own: str = "") -> dict[str, float]:
    """The record's values at the end, of the speculating servers of a model, by the record's own label."""
    found = truth.client.query(f'{record}{{model_name="{model}", spec_method!="none"}}', truth.end - truth.step)
    return {series.labels.get(own, ""): series.samples[0][1] for series in found}


def one(truth: Replay, record: str, model: str) -> float:
    return read(truth, record, model)[""]


def test_k_is_recovered(truth: Replay) -> None:
    for model, longest in (("alpha", K), ("rates", 4), ("lookup", 4)):
        assert one(truth, "model:vllm_spec_decode_configured_k:count_rate5m", model) == longest
    assert one(truth, "model:vllm_spec_decode_draft_length:mean_rate5m", "alpha") == pytest.approx(K)


def test_survival_is_recovered(truth: Replay) -> None:
    record = "model:vllm_spec_decode_survival:ratio_rate5m"
    reaching = (1.0, 0.6, 0.3, 0.1)
    for model, expected in (
        ("alpha", theory.geometric_survival(ALPHA, K)),
        ("rates", RATES),
        ("lookup", [s * r for s, r in zip(theory.geometric_survival(ALPHA, 4), reaching, strict=True)]),
    ):
        found = read(truth, record, model, "position")
        assert [found[str(i)] for i in range(len(expected))] == pytest.approx(list(expected), abs=FOUR_DEVIATIONS)


def test_alpha_is_recovered(truth: Replay) -> None:
    drafts, drafted, accepted = (
        one(truth, f"model:vllm_spec_decode_{what}:rate5m", "alpha")
        for what in ("drafts", "draft_tokens", "accepted_tokens")
    )
    by_position = read(truth, "model:vllm_spec_decode_accepted_tokens_per_pos:rate5m", "alpha", "position")
    counts = theory.Counts(drafts, drafted, accepted, tuple(by_position[str(i)] for i in range(K)))
    assert counts.alpha_hat == pytest.approx(ALPHA, abs=FOUR_DEVIATIONS)


def test_length_and_expected_speedup_are_recovered(truth: Replay) -> None:
    for model, method, length, drafted in (
        ("alpha", "eagle3", theory.expected_tokens(ALPHA, K), K),
        ("rates", "draft_model", 1 + sum(RATES), 4),
    ):
        record = "model:vllm_spec_decode_acceptance_length:mean_rate5m"
        assert one(truth, record, model) == pytest.approx(length, rel=FOUR_DEVIATIONS)
        batch = max(1.0, one(truth, "model:vllm_decode_batch:mean_rate5m", model))
        costs = known(assumed(method).step_cost(Load(batch=batch, drafted=drafted)))
        for end, cost in (("low", costs.high), ("high", costs.low)):
            found = one(truth, f"model:vllm_spec_decode_expected_speedup_{end}:ratio_rate5m", model)
            # A step of a simulated answer that ends within it yields less.
            assert found == pytest.approx(length / cost, rel=3 * FOUR_DEVIATIONS)


def test_coverage_and_the_best_k_are_recovered(truth: Replay) -> None:
    coverage = one(truth, "model:vllm_spec_decode_coverage:ratio_rate5m", "lookup")
    assert coverage == pytest.approx(COVERAGE, abs=FOUR_DEVIATIONS)
    costs = (one(truth, f"model:vllm_spec_decode_{part}_cost_low:ratio_rate5m", "rates") for part in ("token", "base"))
    best, _ = theory.best_k(RATES, *costs)
    assert one(truth, "model:vllm_spec_decode_best_k:enum_rate5m", "rates") == best


def test_users_feel_the_speedup_that_the_model_expects(truth: Replay) -> None:
    """Both servers have the same load; the batch is small, so that verifying costs little more than a plain step."""
    name = "vllm:request_time_per_output_token_seconds"

    def felt(method: str) -> float:
        matchers = f'model_name="alpha", spec_method="{method}"'
        ratio = f"rate({name}_sum{{{matchers}}}[15m]) / rate({name}_count{{{matchers}}}[15m])"
        return truth.client.query(ratio, truth.end - truth.step)[0].samples[0][1]

    expected = theory.speedup(theory.expected_tokens(ALPHA, K), K, COST["eagle3"])
    assert felt("none") / felt("eagle3") == pytest.approx(expected, rel=0.05)
