"""What every operator of vLLM looks at, from raw series alone: the page to import first."""

from draftboard.dashboards.fields import PLAIN
from draftboard.dashboards.page import Page, row
from draftboard.dashboards.panels import bar_chart, percentile_table, ranges, tiles, trends
from draftboard.signals import Edition, acceptance, capacity, depth, lengths, requests, traffic
from draftboard.signals.latency import end_to_end, first_token, per_token

_WAITS = (first_token, per_token, end_to_end)

PAGE = Page(
    question="Does speculation work, do users wait, and is there room? Needs no rules, labels or settings.",
    editions=(Edition.RAW,),
    exported_labels=True,
    rows=(
        row(
            "",
            tiles(
                "Drafts and tokens now",
                *(acceptance.acceptance, acceptance.acceptance_length),
                *(capacity.prompt_length, capacity.answer_length),
                width=12,
                colours=PLAIN,
                description="All selected models and servers together.",
                action="Choose a model or an engine to see its own.",
            ),
            tiles(
                "Load now",
                *(traffic.generation_tokens, capacity.kv_cache_usage),
                *(requests.requests_running, requests.requests_waiting),
                width=12,
                colours=PLAIN,
                description="All selected models and servers together; of the KV cache the fullest engine.",
                action="If requests wait, see whether the KV cache is full.",
            ),
        ),
        row(
            "Does speculation work?",
            *trends(acceptance.acceptance, acceptance.acceptance_length, width=8, zones=()),
            bar_chart(depth.survival, width=8),
        ),
        row("How long do users wait?", percentile_table(*_WAITS), *map(ranges, _WAITS)),
        row(
            "Is there room?",
            *trends(capacity.kv_cache_usage, requests.requests_running, requests.requests_waiting, width=8),
        ),
        row(
            "How much work is there?",
            *trends(traffic.generation_tokens, capacity.prompt_length, capacity.answer_length, width=8),
        ),
        row(
            "How long are prompts and answers, the longest too?",
            *(ranges(one, width=12) for one in (lengths.prompts, lengths.answers)),
            collapsed=True,
        ),
    ),
)
