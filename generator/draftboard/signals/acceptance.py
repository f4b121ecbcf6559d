"""How much of what is drafted is accepted, and what that yields a step."""

from draftboard.expr.nodes import Expr, If, InDialect, MetricOfDialect, over_level
from draftboard.quantity import Setting
from draftboard.signals.signal import Band, Better, Signal, Unit
from draftboard.signals.traffic import (
    BOTH_LEVELS,
    accepted_tokens,
    decode_steps,
    decoded_tokens,
    draft_tokens,
    drafts,
    generation_tokens,
    over_window,
)
from draftboard.status import Status


def _from_counters_or_gauge(counted: Expr, gauge: MetricOfDialect) -> Expr:
    """From counters; of an engine that has none, the mean of its gauge while it drafts."""
    reported = over_level("avg", over_window("avg_over_time", gauge)) > 0
    return If(InDialect(gauge), reported & (drafts > 0), counted)


acceptance = Signal(
    name="acceptance",
    title="Draft acceptance",
    short="Accepted",
    question="How many drafted tokens are accepted?",
    description="Accepted / drafted tokens, without the bonus token; it falls as K grows, so it does not compare "
    "models of different K.",
    action="If it fell at the same K, look at workload and drafter; else judge by acceptance length.",
    note="The bands are rules of thumb.",
    better=Better.HIGHER,
    expr=_from_counters_or_gauge(accepted_tokens / draft_tokens, MetricOfDialect("rate")),
    in_dialects={
        "sglang": "Mean of each engine's gauge over its last interval: accepted tokens / K of each draft. A mean of "
        "engines, not a ratio of sums: it weighs idle and busy engines alike."
    },
    record="vllm_spec_decode_acceptance:ratio_rate{window}",
    levels=BOTH_LEVELS,
    bands=(
        Band("poor", None, Status.BAD),
        Band("fair", Setting("thresholds.acceptance.fair"), Status.WARN),
        Band("healthy", Setting("thresholds.acceptance.healthy"), Status.GOOD),
        Band("optimal", Setting("thresholds.acceptance.optimal"), Status.BEST),
        Band("suspicious", Setting("thresholds.acceptance.suspicious"), Status.ODD, "suspiciously high"),
    ),
)
acceptance_length = Signal(
    name="acceptance_length",
    title="Mean acceptance length",
    short="Length",
    question="How many tokens does a speculative step yield?",
    description="1 + accepted tokens / drafts, with the bonus token, as vLLM defines it: an upper bound of the "
    "speedup, not the speedup.",
    action="Compare with the break-even length.",
    note="Counted before a stop or max_tokens cuts tokens off.",
    unit=Unit.TOKENS,
    better=Better.HIGHER,
    expr=_from_counters_or_gauge(1 + accepted_tokens / drafts, MetricOfDialect("length")),
    in_dialects={
        "sglang": "Mean of each engine's gauge over its last interval, with the bonus token. A mean of engines, not a "
        "ratio of sums: it weighs idle and busy engines alike."
    },
    record="vllm_spec_decode_acceptance_length:mean_rate{window}",
    levels=BOTH_LEVELS,
    decimals=2,
)
draft_length = Signal(
    name="draft_length",
    title="Mean draft length",
    short="Drafted",
    question="How many tokens does a draft have?",
    description="Drafted tokens / drafts: with n-gram and suffix often below the configured K.",
    action="If a drafter's is below K, look for K by batch size, or drafts rejected by a grammar.",
    unit=Unit.TOKENS,
    expr=draft_tokens / drafts,
    record="vllm_spec_decode_draft_length:mean_rate{window}",
    decimals=2,
)
coverage = Signal(
    name="coverage",
    title="Speculation coverage",
    question="What share of decode steps carries a draft?",
    description="Drafts / decode steps: under 100 % is normal for n-gram and suffix, which draft only where text "
    "repeats.",
    action="If it is low with a drafter, look for a K of 0 under load.",
    note="Slightly over 100 % is possible: a draft on a request's first step belongs to no decode step.",
    better=Better.HIGHER,
    expr=drafts / decode_steps,
    record="vllm_spec_decode_coverage:ratio_rate{window}",
)
tokens_per_step = Signal(
    name="tokens_per_step",
    title="Tokens per decode step",
    short="Tokens/step",
    question="What does a decode step yield, with or without a draft?",
    description="(Generated - first tokens) / decode steps, with or without a draft: 1 without speculation.",
    action="Compare with the break-even: below it, shorten K or change the drafter.",
    note="Assumes one token in the first output of a request.",
    unit=Unit.TOKENS,
    better=Better.HIGHER,
    expr=decoded_tokens / decode_steps,
    record="vllm_tokens_per_step:mean_rate{window}",
    empty="idle",
    decimals=2,
)
draft_efficiency = Signal(
    name="draft_efficiency",
    title="Draft efficiency",
    question="How much of what is verified becomes output?",
    description="(Drafts + accepted tokens) / (drafts + drafted tokens): output of speculative steps / their "
    "largest possible output.",
    action="If it is low on a busy GPU, shorten K or change the drafter.",
    better=Better.HIGHER,
    expr=(drafts + accepted_tokens) / (drafts + draft_tokens),
)
share_from_drafts = Signal(
    name="share_from_drafts",
    title="Output from drafts",
    question="How much of the output came from the drafter?",
    description="Accepted / generated tokens: the share of the output that was drafted.",
    action="Use it to see how much depends on the drafter; the expected speedup shows whether that pays.",
    note="Slightly too high where a stop or max_tokens cuts tokens off, because accepted tokens are counted before.",
    better=Better.HIGHER,
    expr=accepted_tokens / generation_tokens,
    empty="idle",
)
