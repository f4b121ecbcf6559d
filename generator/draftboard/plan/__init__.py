"""Planning speculation before it runs: draft length, memory, cost, a schedule by batch size, and whether to try."""

from draftboard.plan.basis import DRAFT_MODEL, Plan, Term, cost_ratio, survival_of, verify_inflation
from draftboard.plan.cost import CostPlan, measured_speedup, plan_cost
from draftboard.plan.decide import DecidePlan, Situation, Slo, decide
from draftboard.plan.draft_length import DraftLengthPlan, plan_draft_length
from draftboard.plan.schedule import SchedulePlan, plan_schedule
from draftboard.plan.tokenizer import read_vocabulary
from draftboard.plan.vram import UTILIZATION, Dtype, Gpus, Model, VramPlan, kv_kib_per_token, plan_vram

__all__ = [
    "DRAFT_MODEL",
    "UTILIZATION",
    "CostPlan",
    "DecidePlan",
    "DraftLengthPlan",
    "Dtype",
    "Gpus",
    "Model",
    "Plan",
    "SchedulePlan",
    "Situation",
    "Slo",
    "Term",
    "VramPlan",
    "cost_ratio",
    "decide",
    "kv_kib_per_token",
    "measured_speedup",
    "plan_cost",
    "plan_draft_length",
    "plan_schedule",
    "plan_vram",
    "read_vocabulary",
    "survival_of",
    "verify_inflation",
]
