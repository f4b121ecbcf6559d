"""Ways to draft for the same model beside each other and their baseline: what users gain, and at what price."""

from draftboard.dashboards.page import Page, row
from draftboard.dashboards.panels import bars, note, percentiles, table, trend, trends
from draftboard.signals import Edition, acceptance, capacity, costs, economics, requests, steps, users, versus
from draftboard.signals.latency import end_to_end, first_token, per_token

PAGE = Page(
    question="Which way to draft is best for a model, by how much, and how sure is that?",
    worst=per_token.p99,
    with_baseline=True,
    # Intervals reach back for days, which raw series cannot afford.
    editions=(Edition.RECORDS,),
    rows=(
        row(
            "",
            note(
                "**Choose one model**, the methods or variants to compare, and the baseline beside them. **Measured** "
                "speedup and its 95 % interval are against servers with `{labels.spec_method}={methods.baseline}`, "
                "whatever is shown; a dash where there are none, where load per engine differs (thresholds.load, by "
                "default 20 %), or where too few requests finish. **Expected** rests on the costs c and v. Latencies "
                "and cost are of what each arm does now: they compare at like load only, which the last row shows."
            ),
            table(
                "Arms by measured speedup",
                *(versus.ranked_speedup, users.speedup_low, users.speedup_high, economics.expected_speedup),
                *(acceptance.tokens_per_step, costs.step_cost),
                *(capacity.kv_cache_usage, versus.tokens_per_engine, versus.cost_of_tokens),
                worst=(versus.ranked_speedup,),
                best_first=True,
                says="What each way to draft gains, with the interval of a window, and what its tokens cost.",
                action="Take the first whose low end is above the next one's high end; else measure longer.",
            ),
            *trends(users.measured_speedup, users.speedup_uncertainty),
        ),
        row(
            "How long do users wait?",
            table(
                "Token latency of each arm",
                *(each for time in (per_token, first_token) for each in (time.p50, time.p95, time.p99)),
                worst=(per_token.p50,),
                best_first=True,
                says="P50, P95 and P99, estimated within a bucket, of the arms and the baseline.",
                action="Where P50 is better and P99 worse, some requests draft badly.",
            ),
            table(
                "End-to-end latency and load of each arm",
                *(end_to_end.p50, end_to_end.p95, end_to_end.p99),
                *(capacity.batch, requests.request_rate, requests.requests_waiting),
                worst=(end_to_end.p50,),
                best_first=True,
                says="P50, P95 and P99, estimated within a bucket, and the load under which they were measured.",
                action="Compare arms whose batch or request rate is alike.",
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
            "Is their load alike, and how much room is left?",
            *trends(capacity.batch, requests.request_rate, capacity.kv_cache_usage, versus.cost_of_tokens),
        ),
    ),
)
