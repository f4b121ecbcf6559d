"""vLLM's histograms of time, lengths and work per step, with the bounds of 0.32, unchanged since 0.8.5."""

from draftboard.catalogue.metric import OLDEST, Histogram

_FIRST_TOKEN = (
    *(0.001, 0.005, 0.01, 0.02, 0.04, 0.06, 0.08, 0.1, 0.25, 0.5, 0.75, 1.0, 2.5, 5.0, 7.5, 10.0, 20.0, 40.0, 80.0),
    *(160.0, 640.0, 2560.0),
)
_PER_TOKEN = (
    *(0.01, 0.025, 0.05, 0.075, 0.1, 0.15, 0.2, 0.3, 0.4, 0.5, 0.75, 1.0, 2.5, 5.0, 7.5, 10.0, 20.0, 40.0, 80.0),
)
_PER_REQUEST = (
    *(0.3, 0.5, 0.8, 1.0, 1.5, 2.0, 2.5, 5.0, 10.0, 15.0, 20.0, 30.0, 40.0, 50.0, 60.0, 120.0, 240.0, 480.0, 960.0),
    *(1920.0, 7680.0),
)

TIME_TO_FIRST_TOKEN = Histogram(
    name="vllm:time_to_first_token_seconds",
    meaning="From arrival at the server to the first output; that comes from prefill, not from a decode step.",
    help="Histogram of time to first token in seconds.",
    buckets=_FIRST_TOKEN,
    custom="time_to_first_token",
)
STEP_LATENCY = Histogram(
    name="vllm:inter_token_latency_seconds",
    counts="steps",
    meaning="One sample for each request and step, whatever its number of tokens: under speculation not the latency "
    "that users see.",
    help="Histogram of inter-token latency in seconds.",
    since="0.10.2",
    buckets=_PER_TOKEN,
    custom="inter_token_latency",
)
TIME_PER_OUTPUT_TOKEN = Histogram(
    name="vllm:request_time_per_output_token_seconds",
    meaning="Decode time / (tokens generated - 1), one sample a finished request; 0 where one token was generated.",
    help="Histogram of time_per_output_token_seconds per request.",
    since="0.11.0",
    buckets=_PER_TOKEN,
    custom="inter_token_latency",
)


def request_histogram(name: str, meaning: str, help_: str) -> Histogram:
    """Seconds of requests."""
    return Histogram(name=name, meaning=meaning, help=help_, buckets=_PER_REQUEST, custom="request_latency")


END_TO_END_LATENCY = request_histogram(
    "vllm:e2e_request_latency_seconds",
    "From arrival to the last token, of finished requests; without requests that clients abandoned.",
    "Histogram of e2e request latency in seconds.",
)
QUEUE_TIME = request_histogram(
    "vllm:request_queue_time_seconds",
    "From first queued to first scheduled, of finished requests.",
    "Histogram of time spent in WAITING phase for request.",
)
PREFILL_TIME = request_histogram(
    "vllm:request_prefill_time_seconds",
    "From first scheduled to the first token, of finished requests.",
    "Histogram of time spent in PREFILL phase for request.",
)
DECODE_TIME = request_histogram(
    "vllm:request_decode_time_seconds",
    "From the first token to the last, of finished requests.",
    "Histogram of time spent in DECODE phase for request.",
)
STEP_TOKENS = Histogram(
    name="vllm:iteration_tokens_total",
    unit="tokens",
    counts="steps",
    meaning="Tokens that one engine step processed, over all its requests: prompt tokens and generated tokens.",
    help="Histogram of number of tokens per engine_step.",
    buckets=(1.0, 8.0, 16.0, 32.0, 64.0, 128.0, 256.0, 512.0, 1024.0, 2048.0, 4096.0, 8192.0, 16384.0),
    custom="iteration_tokens",
)
_LENGTHS = tuple(float(digit * 10**power) for power in range(7) for digit in (1, 2, 5))


def length_histogram(name: str, meaning: str, help_: str, since: str = OLDEST) -> Histogram:
    """Tokens of requests, up to the longest that the server takes."""
    return Histogram(
        name=name, unit="tokens", meaning=meaning, help=help_, since=since, buckets=_LENGTHS, within_context=True
    )


REQUEST_PROMPT_TOKENS = length_histogram(
    "vllm:request_prompt_tokens",
    "Tokens of the prompt, cached ones included, of finished requests.",
    "Number of prefill tokens processed.",
)
REQUEST_GENERATION_TOKENS = length_histogram(
    "vllm:request_generation_tokens",
    "Tokens generated, of finished requests.",
    "Number of generation tokens processed.",
)
