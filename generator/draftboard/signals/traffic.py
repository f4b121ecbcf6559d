"""How much is drafted, accepted and generated: the counters as rates, from which every ratio is made."""

from draftboard.catalogue import Metric, latency, serving, speculation
from draftboard.expr.scope import Level
from draftboard.expr.tree import rate
from draftboard.signals.signal import Better, Signal, Unit
from draftboard.status import Status

SILENT = "no vLLM series: server down, or started with --disable-log-stats"
BOTH_LEVELS = (Level.ENGINE, Level.MODEL)


def rate_of(
    metric: Metric,
    *,
    name: str,
    title: str,
    question: str,
    unit: Unit,
    record: str,
    empty: str,
    kinds: tuple[tuple[str, Status], ...] = (),
) -> Signal:
    """A counter as a rate: recorded by engine, summed by model."""
    return Signal(
        name=name,
        title=title,
        question=question,
        description=f"{metric.meaning} Per second.",
        unit=unit,
        expr=rate(metric),
        record=f"{record}:rate{{window}}",
        levels=BOTH_LEVELS,
        by=metric.own_labels,
        kinds=kinds,
        rollup="sum",
        empty=empty,
    )


drafts = rate_of(
    speculation.DRAFTS,
    name="drafts",
    title="Drafts",
    question="How often is a draft verified?",
    unit=Unit.DRAFTS_PER_SECOND,
    record="vllm_spec_decode_drafts",
    empty="speculation is off",
)
draft_tokens = rate_of(
    speculation.DRAFT_TOKENS,
    name="draft_tokens",
    title="Drafted tokens",
    question="How many tokens does the drafter propose?",
    unit=Unit.TOKENS_PER_SECOND,
    record="vllm_spec_decode_draft_tokens",
    empty="speculation is off",
)
accepted_tokens = rate_of(
    speculation.ACCEPTED_TOKENS,
    name="accepted_tokens",
    title="Accepted tokens",
    question="How many drafted tokens are kept?",
    unit=Unit.TOKENS_PER_SECOND,
    record="vllm_spec_decode_accepted_tokens",
    empty="speculation is off",
)
accepted_tokens_per_pos = rate_of(
    speculation.ACCEPTED_TOKENS_PER_POS,
    name="accepted_tokens_per_pos",
    title="Accepted tokens by position",
    question="How many drafts are accepted this deep?",
    unit=Unit.TOKENS_PER_SECOND,
    record="vllm_spec_decode_accepted_tokens_per_pos",
    empty="speculation is off",
)
generation_tokens = rate_of(
    serving.GENERATION_TOKENS,
    name="generation_tokens",
    title="Generated tokens",
    question="How much do the users get?",
    unit=Unit.TOKENS_PER_SECOND,
    record="vllm_generation_tokens",
    empty=SILENT,
)
decode_steps = rate_of(
    latency.STEP_LATENCY.count,
    name="decode_steps",
    title="Decode steps",
    question="How many steps does the engine take, over all requests?",
    unit=Unit.STEPS_PER_SECOND,
    record="vllm_inter_token_latency_seconds_count",
    empty="no vLLM series: server down, older than 0.10.2, or started with --disable-log-stats",
)
first_tokens = rate_of(
    latency.TIME_TO_FIRST_TOKEN.count,
    name="first_tokens",
    title="First tokens",
    question="How many requests got their first token?",
    unit=Unit.REQUESTS_PER_SECOND,
    record="vllm_time_to_first_token_seconds_count",
    empty=SILENT,
)
wasted_tokens = Signal(
    name="wasted_tokens",
    title="Wasted tokens",
    question="How much verification is thrown away?",
    description="Drafted tokens that the target model verified and rejected. Per second.",
    unit=Unit.TOKENS_PER_SECOND,
    better=Better.LOWER,
    expr=draft_tokens - accepted_tokens,
    empty="speculation is off",
)
