"""GPU memory: worked examples, and laws that always hold."""

import math
from typing import get_args

import pytest
from hypothesis import given
from hypothesis import settings as hypothesis_settings
from hypothesis import strategies as st

from draftboard.errors import DraftboardError
from draftboard.plan.vram import UTILIZATION, Dtype, Gpus, Model, VramPlan, kv_kib_per_token, plan_vram
from draftboard.settings import Settings

UNTIMED = hypothesis_settings(deadline=None)
H100, H200 = 80, 141
KV_70B = kv_kib_per_token(80, 8, 128, "bf16")
KV_8B = kv_kib_per_token(32, 8, 128, "bf16")
BF16: Dtype = "bf16"
INT8: Dtype = "int8"
INT4: Dtype = "int4"
DTYPES: tuple[Dtype, ...] = get_args(Dtype)


def planned(
    target: Dtype = INT8,
    draft: Dtype = BF16,
    *,
    gpus: int = 2,
    gb: float = H100,
    utilization: float = UTILIZATION,
    overhead: float = 0.0,
    draft_params: float = 8,
    draft_kv: float | None = KV_8B,
    settings: Settings | None = None,
) -> VramPlan:
    """A 70B target with an 8B draft."""
    return plan_vram(
        settings or Settings(),
        Gpus(gpus, gb, utilization, overhead),
        Model(70, target, KV_70B),
        Model(draft_params, draft, draft_kv),
        context=8192,
    )


@pytest.mark.parametrize(("dtype", "of_70b", "of_8b"), [(BF16, 140, 16), (INT8, 70, 8), (INT4, 35, 4)])
def test_weights_are_parameters_times_bytes(dtype: Dtype, of_70b: float, of_8b: float) -> None:
    assert Model(70, dtype).weights_gb == of_70b
    assert Model(8, dtype).weights_gb == of_8b


@pytest.mark.parametrize(
    ("target", "utilization", "gross", "net"),
    [(INT8, 0.9, 74, 58.0), (BF16, 0.9, 4, -12.0), (INT8, 0.92, 74, 61.2), (BF16, 0.92, 4, -8.8)],
)
def test_two_h100_leave_less_than_simple_arithmetic(
    target: Dtype, utilization: float, gross: float, net: float
) -> None:
    budget = planned(target, utilization=utilization).with_draft
    assert budget.gross_gb == pytest.approx(gross)
    assert budget.net_gb == pytest.approx(net)
    assert budget.starts is (net > 0)


def test_a_pair_that_does_not_fit_is_said_not_to_start() -> None:
    assert planned(BF16).verdict.startswith("Does not start with the draft: 156 GB of weights do not fit into 147.2 GB")
    alone = planned(BF16, gpus=1)
    assert alone.verdict.startswith("Does not start even without the draft: 140 GB")
    assert alone.with_draft.tokens == 0


def test_two_h200_leave_1_7_times_the_cache() -> None:
    h200, h100 = planned(BF16, gb=H200).with_draft, planned(INT8).with_draft
    assert h200.gross_gb == pytest.approx(126)
    assert h200.gross_gb / h100.gross_gb == pytest.approx(1.703, abs=5e-4)
    assert h200.net_gb == pytest.approx(103.4, abs=0.05)
    assert h200.net_gb / h100.net_gb == pytest.approx(1.69, abs=5e-3)


def test_two_h200_hold_the_unquantised_pair_with_long_contexts() -> None:
    budget = planned(BF16, gb=H200).with_draft
    assert budget.starts
    assert budget.tokens is not None
    assert budget.tokens // 32_768 == 6


def test_overhead_of_each_gpu_comes_off_the_cache() -> None:
    assert planned(overhead=3.5).with_draft.net_gb == pytest.approx(61.2 - 7)
    assert UTILIZATION == 0.92
    assert any("Overhead is assumed to be 0 GB" in note for note in planned().notes)
    assert not any("Overhead" in note for note in planned(overhead=3.5).notes)


def test_kv_of_a_token_is_keys_and_values_of_every_layer_s_heads() -> None:
    assert (KV_70B, KV_8B) == (320, 128)
    assert kv_kib_per_token(80, 8, 128, "fp8") == 160


def test_the_draft_holds_its_own_kv_so_it_costs_more_than_its_weights() -> None:
    plan = planned()
    assert plan.with_draft.kv_kib_per_token == 448
    assert plan.without.tokens == pytest.approx(235_600, abs=50)
    assert plan.with_draft.tokens == pytest.approx(133_400, abs=50)
    assert plan.tokens_by_weights_alone == pytest.approx(186_800, abs=50)
    assert plan.tokens_lost == pytest.approx(0.43, abs=5e-3)


def test_fewer_tokens_are_fewer_concurrent_requests() -> None:
    plan = planned()
    assert (plan.without.requests, plan.with_draft.requests) == (235_595 // 8192, 133_405 // 8192)


@pytest.mark.parametrize(("target", "share", "broken"), [(BF16, 0.875, True), (INT8, 0.4375, False)])
def test_a_target_above_its_share_of_the_gpus_breaks_the_rule_of_thumb(
    target: Dtype, share: float, broken: bool
) -> None:
    hint = planned(target).hints[0]
    assert (hint.value, hint.broken) == (pytest.approx(share), broken)


@pytest.mark.parametrize(("gpus", "share", "broken"), [(2, 0.10, False), (1, 0.20, True)])
def test_a_draft_above_its_share_of_the_gpus_breaks_the_rule_of_thumb(gpus: int, share: float, broken: bool) -> None:
    hint = planned(INT4, gpus=gpus).hints[1]
    assert (hint.value, hint.broken) == (pytest.approx(share), broken)


def test_the_rules_of_thumb_are_settings() -> None:
    moved = Settings.model_validate({"planning": {"target_share": 0.4, "draft_share": 0.05}})
    assert [hint.broken for hint in planned(settings=moved).hints] == [True, True]
    assert [hint.broken for hint in planned().hints] == [False, False]


@pytest.mark.parametrize(
    ("target", "gpus", "gross", "net"), [(INT8, 1, 10, 3.6), (INT4, 1, 45, 38.6), (INT8, 2, 90, 77.2)]
)
def test_what_a_quantised_target_alone_leaves(target: Dtype, gpus: int, gross: float, net: float) -> None:
    budget = planned(target, gpus=gpus).without
    assert (budget.gross_gb, budget.net_gb) == (pytest.approx(gross), pytest.approx(net))


def test_on_two_h100_the_unquantised_pair_does_not_start_and_the_quantised_one_does() -> None:
    starts = {dtypes: budget.starts for dtypes, budget in planned(BF16).pairs.items()}
    assert starts == {"bf16+bf16": False, "int8+bf16": True, "int8+int8": True, "int4+bf16": True, "int4+int4": True}


def test_different_tensor_parallel_sizes_of_target_and_draft_are_an_error() -> None:
    gpus, target, draft = Gpus(2, H100), Model(70, INT8, KV_70B), Model(8, BF16, KV_8B)
    with pytest.raises(DraftboardError, match="draft TP 1 with target TP 2: vLLM refuses"):
        plan_vram(Settings(), gpus, target, draft, context=8192, target_tp=2, draft_tp=1)
    heads = Model(0, BF16, 0)
    assert plan_vram(Settings(), gpus, target, heads, context=8192, target_tp=2, draft_tp=1).with_draft.starts


def test_the_weights_of_five_pairs_of_dtypes() -> None:
    pairs = planned(gpus=1).pairs
    assert [budget.weights_gb for budget in pairs.values()] == [156, 86, 78, 51, 39]
    assert pairs["int4+bf16"].net_gb == pytest.approx(22.6)


def test_weights_of_each_gpu_are_worked_out_rather_than_guessed() -> None:
    plan = plan_vram(Settings(), Gpus(4, H100), Model(70), Model(7), context=1)
    assert plan.with_draft.weights_gb == 154
    assert plan.with_draft.weights_gb_per_gpu == 38.5


@UNTIMED
@given(st.floats(0.3, 1), st.floats(0.3, 1))
def test_lower_utilization_never_gives_more_tokens(one: float, other: float) -> None:
    lower, higher = (planned(utilization=share).with_draft.tokens for share in sorted((one, other)))
    assert lower is not None
    assert higher is not None
    assert lower <= higher


@UNTIMED
@given(st.floats(1, 1000), st.floats(0, 1000), st.sampled_from(DTYPES))
def test_more_memory_never_gives_fewer_tokens(gb: float, more: float, dtype: Dtype) -> None:
    less = planned(dtype, gb=gb).with_draft
    much = planned(dtype, gb=gb + more).with_draft
    assert less.tokens is not None
    assert much.tokens is not None
    assert less.tokens <= much.tokens
    assert less.starts <= much.starts


def test_lookups_take_no_memory_and_heads_what_is_given() -> None:
    lookup = planned(draft_params=0, draft_kv=0)
    assert lookup.tokens_lost == 0
    assert lookup.hints == ()
    heads = planned(draft_params=0, draft_kv=kv_kib_per_token(1, 8, 128, BF16))
    assert heads.with_draft.net_gb == lookup.with_draft.net_gb
    assert heads.tokens_lost == pytest.approx(4 / 324, abs=1e-4)


def test_an_unknown_kv_leaves_tokens_unknown_and_says_what_to_give() -> None:
    plan = planned(draft_kv=None)
    assert plan.without.tokens is not None
    assert (plan.with_draft.tokens, plan.tokens_lost) == (None, None)
    assert any(note.startswith("Tokens with the draft are unknown") for note in plan.notes)


@pytest.mark.parametrize(
    ("count", "gb", "utilization", "overhead"),
    [(0, 80, 0.9, 0), (1, 0, 0.9, 0), (1, math.nan, 0.9, 0), (1, math.inf, 0.9, 0), (1, 80, 1.1, 0), (1, 80, 0.9, 81)],
)
def test_gpus_out_of_range_are_an_error(count: int, gb: float, utilization: float, overhead: float) -> None:
    with pytest.raises(DraftboardError, match="is out of range"):
        Gpus(count, gb, utilization, overhead)


@pytest.mark.parametrize(("params", "kv"), [(-1, None), (math.nan, None), (1e6, None), (1, -1), (1, math.nan)])
def test_models_out_of_range_are_an_error(params: float, kv: float | None) -> None:
    with pytest.raises(DraftboardError, match="is out of range"):
        Model(params, BF16, kv)
