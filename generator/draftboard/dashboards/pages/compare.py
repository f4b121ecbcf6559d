"""Variants of a model beside each other and their baseline: what users gain, and at what price."""

from draftboard.dashboards.page import Page, row
from draftboard.dashboards.panels import bars, note, percentiles, table, trend, trends
from draftboard.signals import Edition, acceptance, capacity, costs, economics, requests, steps, users, versus
from draftboard.signals.latency import end_to_end, first_token, per_token

PAGE = Page(
    question="Which variant of a model is best, by how much, and how certain is that?",
    worst=per_token.p99,
    with_baseline=True,
    # Intervals reach back for days, which raw series cannot afford.
    editions=(Edition.RECORDS,),
    rows=(
        row(
            "",
            note(
                "**Choose one model**, the methods or variants to compare, and the baseline beside them. **Measured** "
                "speedup and its 95 % interval compare with servers that have "
                "`{labels.spec_method}={methods.baseline}`, whatever is selected. A dash means that there are none, "
                "that load per engine differs (thresholds.load, by default 20 %), or that too few requests finished. "
                "**Expected** speedup follows from the costs c and v. Latencies and costs are current values: compare "
                "them at like load only, which the last row shows."
            ),
            table(
                "Variants by measured speedup",
                *(versus.ranked_speedup, users.speedup_low, users.speedup_high, economics.expected_speedup),
                *(acceptance.tokens_per_step, costs.step_cost),
                *(capacity.kv_cache_usage, versus.tokens_per_engine, versus.cost_of_tokens),
                worst=(versus.ranked_speedup,),
                best_first=True,
                description="What each variant gains, with the 95 % interval of a window, and what its tokens cost.",
                action="Choose the first one if its interval lies above the next one's; else measure longer.",
            ),
            *trends(users.measured_speedup, users.speedup_uncertainty),
        ),
        row(
            "How long do users wait?",
            table(
                "Token latency by variant",
                *(each for time in (per_token, first_token) for each in (time.p50, time.p95, time.p99)),
                worst=(per_token.p50,),
                best_first=True,
                description="P50, P95 and P99 of the variants and the baseline, estimated within a bucket.",
                action="Where P50 is better and P99 worse, some requests draft badly.",
            ),
            table(
                "End-to-end latency and load by variant",
                *(end_to_end.p50, end_to_end.p95, end_to_end.p99),
                *(capacity.batch, requests.request_rate, requests.requests_waiting),
                worst=(end_to_end.p50,),
                best_first=True,
                description="P50, P95 and P99, estimated within a bucket, and the load under which they were measured.",
                action="Compare variants at like load only.",
            ),
            *percentiles(first_token, per_token, end_to_end),
            trend(requests.requests_waiting),
        ),
        row(
            "What does a step cost at each batch?",
            *bars(steps.step_time_by_batch, versus.step_cost_by_batch, versus.verify_inflation_by_batch),
            trend(acceptance.tokens_per_step),
        ),
        row(
            "Is the load alike, and how much capacity is left?",
            *trends(capacity.batch, requests.request_rate, capacity.kv_cache_usage, versus.cost_of_tokens),
        ),
    ),
)
