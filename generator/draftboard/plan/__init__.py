"""Planning speculation before it runs: draft length, memory, cost, a schedule by batch size, and whether to try."""

from draftboard.plan.check import Check, Outcome
from draftboard.plan.decide import DecidePlan, Decision, Example, decide
from draftboard.plan.draft_length import (
    DraftLengthPlan,
    Length,
    draft_length_from_alpha,
    draft_length_from_survival,
    first_positions,
    survival_of,
)
from draftboard.plan.formula import Formula
from draftboard.plan.memory import UTILIZATION, Budget, Dtype, Gpus, Model, kv_kib_per_token
from draftboard.plan.money import CostPlan, measured_speedup, plan_cost
from draftboard.plan.schedule import Curve, Range, SchedulePlan, SpeculativeConfig, plan_schedule
from draftboard.plan.show import Plan, as_json, show
from draftboard.plan.situation import Situation, Slo
from draftboard.plan.terms import Term, cost_ratio, given, verify_inflation
from draftboard.plan.tokenizer import Vocabulary, read_vocabulary
from draftboard.plan.vram import Hint, Pair, VramPlan, plan_vram

__all__ = [
    "UTILIZATION",
    "Budget",
    "Check",
    "CostPlan",
    "Curve",
    "DecidePlan",
    "Decision",
    "DraftLengthPlan",
    "Dtype",
    "Example",
    "Formula",
    "Gpus",
    "Hint",
    "Length",
    "Model",
    "Outcome",
    "Pair",
    "Plan",
    "Range",
    "SchedulePlan",
    "Situation",
    "Slo",
    "SpeculativeConfig",
    "Term",
    "Vocabulary",
    "VramPlan",
    "as_json",
    "cost_ratio",
    "decide",
    "draft_length_from_alpha",
    "draft_length_from_survival",
    "first_positions",
    "given",
    "kv_kib_per_token",
    "measured_speedup",
    "plan_cost",
    "plan_schedule",
    "plan_vram",
    "read_vocabulary",
    "show",
    "survival_of",
    "verify_inflation",
]
