"""The catalogue: every raw series that Draftboard reads.

Names, labels, units and the version that first exports a series were read from vLLM's source and from the
`/metrics` page of a running vLLM 0.32.0. A selector is built from an entry here and nowhere else, so a renamed series
is mended in one place.
"""

from dataclasses import dataclass
from enum import Enum


class Kind(Enum):
    """What a series is, hence what may be done with it."""

    COUNTER = "counter"  # only rate() and increase() of it mean anything
    GAUGE = "gauge"
    HISTOGRAM = "histogram"  # exposes _bucket, _sum and _count


class Presence(Enum):
    """When a server exposes the series."""

    ALWAYS = "always, unless --disable-log-stats"
    SPECULATING = "only with a speculative configuration; then from the start, at 0"
    PROMETHEUS = "made by Prometheus for every target"


class Owner(Enum):
    """Which labels every series of the metric carries."""

    ENGINE = "engine"  # target labels, model_name, engine
    MODEL = "model"  # job, model_name and the labels that users add
    TARGET = "target"  # target labels only


@dataclass(frozen=True, kw_only=True)
class Metric:
    """One raw series family as Prometheus stores it."""

    name: str
    kind: Kind
    unit: str
    help: str
    presence: Presence = Presence.ALWAYS
    since: str = "0.8.5"
    """First vLLM release known to export it (0.8.5 is the oldest one read)."""
    own_labels: tuple[str, ...] = ()
    """Labels beyond those of its owner."""
    owner: Owner = Owner.ENGINE


DRAFTS = Metric(
    name="vllm:spec_decode_num_drafts_total",
    kind=Kind.COUNTER,
    unit="drafts",
    help="Drafts: one for each request and step that had at least one draft token.",
    presence=Presence.SPECULATING,
)
DRAFT_TOKENS = Metric(
    name="vllm:spec_decode_num_draft_tokens_total",
    kind=Kind.COUNTER,
    unit="tokens",
    help="Tokens that the drafter proposed and the target model verified.",
    presence=Presence.SPECULATING,
)
ACCEPTED_TOKENS = Metric(
    name="vllm:spec_decode_num_accepted_tokens_total",
    kind=Kind.COUNTER,
    unit="tokens",
    help="Draft tokens accepted, without the bonus token; counted before a stop or max_tokens cuts them off.",
    presence=Presence.SPECULATING,
)
ACCEPTED_TOKENS_PER_POS = Metric(
    name="vllm:spec_decode_num_accepted_tokens_per_pos_total",
    kind=Kind.COUNTER,
    unit="tokens",
    help="The same by position in the draft, from 0: position i counts drafts accepted at least i+1 deep.",
    presence=Presence.SPECULATING,
    own_labels=("position",),
)
GENERATION_TOKENS = Metric(
    name="vllm:generation_tokens_total",
    kind=Kind.COUNTER,
    unit="tokens",
    help="Tokens generated.",
)
DECODE_STEPS = Metric(
    name="vllm:inter_token_latency_seconds_count",
    kind=Kind.HISTOGRAM,
    unit="steps",
    help="Engine outputs after a request's first: decode steps. Under speculation one step carries several tokens.",
    since="0.10.2",
)
FIRST_TOKENS = Metric(
    name="vllm:time_to_first_token_seconds_count",
    kind=Kind.HISTOGRAM,
    unit="requests",
    help="First outputs; they come from prefill, not from a decode step.",
)
REQUESTS_RUNNING = Metric(
    name="vllm:num_requests_running",
    kind=Kind.GAUGE,
    unit="requests",
    help="Requests in the running batch.",
)
UP = Metric(
    name="up",
    kind=Kind.GAUGE,
    unit="bool",
    help="1 when the last scrape of the target succeeded, else 0.",
    presence=Presence.PROMETHEUS,
    owner=Owner.TARGET,
)
ALERTS = Metric(
    name="ALERTS",
    kind=Kind.GAUGE,
    unit="bool",
    help="1 for each alert that is pending or firing.",
    presence=Presence.PROMETHEUS,
    own_labels=("alertname", "alertstate", "severity"),
    owner=Owner.MODEL,
)

CATALOGUE: tuple[Metric, ...] = (
    DRAFTS,
    DRAFT_TOKENS,
    ACCEPTED_TOKENS,
    ACCEPTED_TOKENS_PER_POS,
    GENERATION_TOKENS,
    DECODE_STEPS,
    FIRST_TOKENS,
    REQUESTS_RUNNING,
    UP,
    ALERTS,
)
