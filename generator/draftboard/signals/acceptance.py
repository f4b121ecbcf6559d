"""How much of what is drafted is accepted, and what that yields a step."""

from draftboard.settings import Settings
from draftboard.signals.signal import Band, Better, Signal, Unit
from draftboard.signals.traffic import (
    BOTH_LEVELS,
    accepted_tokens,
    decode_steps,
    draft_tokens,
    drafts,
    first_tokens,
    generation_tokens,
)
from draftboard.status import Status


def _acceptance_bands(settings: Settings) -> tuple[Band, ...]:
    bounds = settings.thresholds.acceptance
    return (
        Band("poor", None, Status.BAD),
        Band("fair", bounds.fair, Status.WARN),
        Band("healthy", bounds.healthy, Status.GOOD),
        Band("optimal", bounds.optimal, Status.BEST),
        Band("suspicious", bounds.suspicious, Status.ODD, "suspiciously high"),
    )


acceptance = Signal(
    name="acceptance",
    title="Draft acceptance",
    question="Is drafting paying off?",
    description="Accepted / drafted tokens, without the bonus token. It falls as K grows, so models with different K "
    "cannot be compared by it. The bands are rules of thumb: judge by acceptance length against break-even.",
    better=Better.HIGHER,
    expr=accepted_tokens / draft_tokens,
    record="vllm_spec_decode_acceptance:ratio_rate{window}",
    levels=BOTH_LEVELS,
    bands=_acceptance_bands,
)
acceptance_length = Signal(
    name="acceptance_length",
    title="Mean acceptance length",
    question="How many tokens does a speculative step yield?",
    description="1 + accepted tokens / drafts, with the bonus token, as vLLM defines it. An upper bound of the "
    "speedup, not the speedup. Counted before a stop or max_tokens cuts tokens off.",
    unit=Unit.TOKENS,
    better=Better.HIGHER,
    expr=1 + accepted_tokens / drafts,
    record="vllm_spec_decode_acceptance_length:mean_rate{window}",
    levels=BOTH_LEVELS,
    decimals=2,
)
draft_length = Signal(
    name="draft_length",
    title="Mean draft length",
    question="How many tokens does a draft have?",
    description="Drafted tokens / drafts. n-gram and suffix drafts are often shorter than the configured K.",
    unit=Unit.TOKENS,
    expr=draft_tokens / drafts,
    record="vllm_spec_decode_draft_length:mean_rate{window}",
    decimals=2,
)
coverage = Signal(
    name="coverage",
    title="Speculation coverage",
    question="What share of decode steps carries a draft?",
    description="Drafts / decode steps. Under 100 % is normal for n-gram and suffix, which draft only where text "
    "repeats. Slightly over 100 % is possible: a draft on a request's first step belongs to no decode step.",
    better=Better.HIGHER,
    expr=drafts / decode_steps,
    record="vllm_spec_decode_coverage:ratio_rate{window}",
)
tokens_per_step = Signal(
    name="tokens_per_step",
    title="Tokens per decode step",
    question="What does a decode step yield, with or without a draft?",
    description="(Generated tokens - first tokens) / decode steps: 1 without speculation. Includes steps without a "
    "draft. Assumes one token in the first output of a request.",
    unit=Unit.TOKENS,
    better=Better.HIGHER,
    expr=(generation_tokens - first_tokens) / decode_steps,
    record="vllm_tokens_per_step:mean_rate{window}",
    empty="idle",
    decimals=2,
)
draft_efficiency = Signal(
    name="draft_efficiency",
    title="Draft efficiency",
    question="How much of what is verified becomes output?",
    description="(Drafts + accepted tokens) / (drafts + drafted tokens): output of speculative steps / their largest "
    "possible output.",
    better=Better.HIGHER,
    expr=(drafts + accepted_tokens) / (drafts + draft_tokens),
)
share_from_drafts = Signal(
    name="share_from_drafts",
    title="Output from drafts",
    question="How much of the output came from the drafter?",
    description="Accepted / generated tokens. Slightly too high where a stop or max_tokens cuts tokens off, because "
    "accepted tokens are counted before.",
    better=Better.HIGHER,
    expr=accepted_tokens / generation_tokens,
    empty="idle",
)
