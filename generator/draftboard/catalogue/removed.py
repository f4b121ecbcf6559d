"""Series of vLLM's V0 engine, gone since 0.10.0: known so that an old server is recognised, never read.

The gauge of acceptance counted tokens behind the first rejection, and since the server's start: it is not the ratio of
today's counters, and limits that were found for it do not carry over.
"""

from draftboard.catalogue.metric import Kind, Metric, Presence

V0_ACCEPTANCE = Metric(
    name="vllm:spec_decode_draft_acceptance_rate",
    kind=Kind.GAUGE,
    unit="ratio",
    meaning="Accepted over drafted tokens since the server's start, tokens behind a rejection included.",
    presence=Presence.SPECULATING,
)
V0_EFFICIENCY = Metric(
    name="vllm:spec_decode_efficiency",
    kind=Kind.GAUGE,
    unit="ratio",
    meaning="Emitted tokens over the most that could have been emitted, since the server's start.",
    presence=Presence.SPECULATING,
)
V0_EMITTED = Metric(
    name="vllm:spec_decode_num_emitted_tokens_total",
    kind=Kind.COUNTER,
    unit="tokens",
    meaning="Tokens that speculative steps put out: today, drafts + accepted tokens.",
    presence=Presence.SPECULATING,
)
V0 = (V0_ACCEPTANCE, V0_EFFICIENCY, V0_EMITTED)
