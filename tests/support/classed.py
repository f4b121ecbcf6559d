"""A recording of a server with the lens, whose acceptance of 0.34 hides four classes of requests."""

from collections.abc import Iterator

from draftboard.lab.openmetrics import series

SERVER = {"job": "vllm", "instance": "a", "model_name": "m", "spec_method": "ngram"}
MINUTES = range(21)
ACCEPTED = {"0, up to 1024": 2720, "0, up to 16384": 1284, "over 1.2, up to 1024": 1060, "over 1.2, up to 16384": 372}
"""Each minute, of 4,000 draft tokens in 1,000 drafts."""
POSITIONS = (2400, 1500, 900, 636)
START = 1795200000
END = START + 60 * MINUTES[-1]


def recording(*, seen: float, missed: float = 0.0) -> Iterator[str]:
    """A lens that sees this part of the traffic, and this many answers without metrics each minute."""
    engine = SERVER | {"engine": "0"}
    grows: list[tuple[str, dict[str, str], float]] = [
        ("vllm:spec_decode_num_drafts_total", engine, 4000),
        ("vllm:spec_decode_num_draft_tokens_total", engine, 16000),
        ("vllm:spec_decode_num_accepted_tokens_total", engine, sum(ACCEPTED.values())),
        ("vllm:generation_tokens_total", engine, 4100 + sum(ACCEPTED.values())),
        ("vllm:inter_token_latency_seconds_count", engine, 4000),
        ("vllm:inter_token_latency_seconds_sum", engine, 80),
        ("vllm:time_to_first_token_seconds_count", engine, 100),
    ]
    for position, count in enumerate(POSITIONS):
        own = engine | {"position": str(position)}
        grows.append(("vllm:spec_decode_num_accepted_tokens_per_pos_total", own, count))
    for name, accepted in ACCEPTED.items():
        for dimension, of in (("temperature and prompt", name), ("temperature", name.partition(",")[0])):
            own = SERVER | {"dimension": dimension, "class": of}
            amounts = {"requests": 25, "drafts": 1000, "draft_tokens": 4000, "accepted_tokens": accepted}
            for what, each in amounts.items():
                grows.append((f"draftboard_spec_class_{what}_total", own, each * seen))
    if missed:
        grows.append(("draftboard_spec_lens_unmeasured_total", SERVER | {"reason": "absent"}, missed))
        grows.append(("draftboard_spec_lens_unmeasured_total", SERVER | {"reason": "cut"}, 6))
    rates: dict[str, float] = {}
    for metric, labels, amount in grows:
        rates[series(metric, labels)] = rates.get(series(metric, labels), 0) + amount
    for each_series, rate in rates.items():
        for minute in MINUTES:
            yield f"{each_series} {rate * minute} {START + 60 * minute}\n"
    yield "# EOF\n"
