"""What the plugin of `deploy/vllm/probe` exposes: how engines draft, tokens drafted by position, pure decode steps."""

from functools import partial

from draftboard.catalogue.metric import Kind, Metric, Presence

PREFIX = "draftboard_spec_"
DRAFTING = ("method", "k", "adaptive", "rejection")
VERSION, DRAFTER = "vllm_version", "draft_model"
STAGES = "pipeline_parallel_size"
RUNS = (
    *(VERSION, DRAFTER, "draft_model_revision", "k_schedule", "model_revision", "model_runner"),
    *("attention_backend", "quantization", "kv_cache_dtype"),
    *("tensor_parallel_size", STAGES, "data_parallel_size", "expert_parallel"),
)
"""Labels of what changes with a server's release or arguments only."""


def named(label: str) -> str:
    """Such a label in words: version, drafter revision ..."""
    return label.removeprefix("vllm_").replace("draft_model", "drafter").replace("_", " ")


INFO = Metric(
    name="draftboard_spec_info",
    kind=Kind.GAUGE,
    unit="info",
    meaning="Always 1; how the engine drafts and what it runs is in the labels, as vLLM resolved its configuration.",
    help="How the engine drafts, and what it runs; method none without speculation.",
    presence=Presence.PROBE,
    own_labels=(*DRAFTING, *RUNS),
    values={"adaptive": ("true", "false")},
)
DRAFT_TOKENS_PER_POS = Metric(
    name="draftboard_spec_draft_tokens_per_pos_total",
    unit="tokens",
    meaning="Draft tokens, by position from 0: position i counts drafts of more than i tokens.",
    help="Draft tokens, by position.",
    presence=Presence.PROBE,
    own_labels=("position",),
)
_step_counter = partial(Metric, presence=Presence.PROBE, own_labels=("batch", "k"))
DECODE_STEPS = _step_counter(
    name="draftboard_spec_decode_steps_total",
    unit="steps",
    meaning="Pure decode steps of an engine, each once, by the size of its batch and the length of its drafts.",
    help="Pure decode steps.",
)
DECODE_STEP_SECONDS = _step_counter(
    name="draftboard_spec_decode_step_seconds_total",
    unit="seconds",
    meaning="Time of pure decode steps, on the clock of the engine.",
    help="Time of pure decode steps.",
)
