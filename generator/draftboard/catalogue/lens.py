"""What the middleware of `deploy/vllm/probe` exposes: what vLLM says of each request, added up by class."""

from functools import partial

from draftboard.catalogue.metric import Metric, Owner, Presence

TEMPERATURES = (0.0, 0.4, 0.8, 1.2)
PROMPTS = (1024, 4096, 16384, 65536)
"""Upper bounds of classes, the prompts' in tokens."""


def class_of(number: float | None, bounds: tuple[float, ...]) -> str:
    """The class of a number, as the lens names it; None: the request names none."""
    if number is None:
        return "default"
    bound = next((bound for bound in bounds if number <= bound), None)
    if bound is None:
        return f"over {bounds[-1]:g}"
    return f"up to {bound:g}" if bound else "0"


_counter = partial(Metric, presence=Presence.PROBE, owner=Owner.FRONTEND)
_by_class = partial(_counter, own_labels=("dimension", "class"))
REQUESTS = _by_class(
    name="draftboard_spec_class_requests_total",
    unit="requests",
    meaning="Requests whose answer has metrics of speculation, once in each dimension.",
    help="Requests, by class.",
)
DRAFTS = _by_class(
    name="draftboard_spec_class_drafts_total",
    unit="drafts",
    meaning="Drafts of these requests, counted when they end.",
    help="Drafts, by class of their request.",
)
DRAFT_TOKENS = _by_class(
    name="draftboard_spec_class_draft_tokens_total",
    unit="tokens",
    meaning="Draft tokens of these requests, counted when they end.",
    help="Draft tokens, by class of their request.",
)
ACCEPTED_TOKENS = _by_class(
    name="draftboard_spec_class_accepted_tokens_total",
    unit="tokens",
    meaning="Accepted tokens of these requests, counted when they end.",
    help="Accepted tokens, by class of their request.",
)
PROMPT_TOKENS = _by_class(
    name="draftboard_spec_class_prompt_tokens_total",
    unit="tokens",
    meaning="Prompt tokens of these requests, counted when they end.",
    help="Prompt tokens, by class of their request.",
)
GENERATION_TOKENS = _by_class(
    name="draftboard_spec_class_generation_tokens_total",
    unit="tokens",
    meaning="Generated tokens of these requests, counted when they end.",
    help="Generated tokens, by class of their request.",
)
DECODE_SECONDS = _by_class(
    name="draftboard_spec_class_decode_seconds_total",
    unit="seconds",
    meaning="Time from first to last token of streams, and of plain answers that vLLM timed.",
    help="Time after the first token of timed requests, by class.",
)
DECODE_TOKENS = _by_class(
    name="draftboard_spec_class_decode_tokens_total",
    unit="tokens",
    meaning="Tokens after the first of these timed requests.",
    help="Tokens after the first of timed requests, by class.",
)
UNMEASURED = _counter(
    name="draftboard_spec_lens_unmeasured_total",
    unit="requests",
    meaning="Requests that no class counts, by reason.",
    help="Requests without class, by reason.",
    own_labels=("reason",),
    values={"reason": ("cut", "absent", "large", "failed")},
)
BY_CLASS = (
    *(REQUESTS, DRAFTS, DRAFT_TOKENS, ACCEPTED_TOKENS, PROMPT_TOKENS, GENERATION_TOKENS),
    *(DECODE_SECONDS, DECODE_TOKENS),
)
METRICS = (*BY_CLASS, UNMEASURED)
