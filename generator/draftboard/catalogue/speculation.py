"""vLLM's four counters of speculative decoding: all that it exports about it; and one that it counts and may export."""

from draftboard.catalogue.metric import Metric, Presence

DRAFTS = Metric(
    name="vllm:spec_decode_num_drafts_total",
    unit="drafts",
    meaning="Drafts, one for each request and step that had at least one draft token.",
    help="Number of spec decoding drafts.",
    presence=Presence.SPECULATING,
)
DRAFT_TOKENS = Metric(
    name="vllm:spec_decode_num_draft_tokens_total",
    unit="tokens",
    meaning="Tokens that the drafter proposed and the target model verified.",
    help="Number of draft tokens.",
    presence=Presence.SPECULATING,
)
ACCEPTED_TOKENS = Metric(
    name="vllm:spec_decode_num_accepted_tokens_total",
    unit="tokens",
    meaning="Draft tokens accepted, without the bonus token; counted before a stop or max_tokens cuts them off.",
    help="Number of accepted tokens.",
    presence=Presence.SPECULATING,
)
ACCEPTED_TOKENS_PER_POS = Metric(
    name="vllm:spec_decode_num_accepted_tokens_per_pos_total",
    unit="tokens",
    meaning="Draft tokens accepted, by position from 0: position i counts drafts accepted at least i + 1 deep.",
    help="Accepted tokens per draft position.",
    presence=Presence.SPECULATING,
    own_labels=("position",),
)
DRAFT_TOKENS_PER_POS = Metric(
    name="vllm:spec_decode_num_draft_tokens_per_pos_total",
    unit="tokens",
    meaning="Draft tokens, by position from 0: position i counts drafts of more than i tokens.",
    help="Draft tokens per draft position.",
    presence=Presence.PROPOSED,
    own_labels=("position",),
)
