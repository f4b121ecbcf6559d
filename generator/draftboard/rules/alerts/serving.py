"""Alerts on serving: whether users get answers, in time, and whether there is room for more.

Those that mean users without answers page by default.
"""

from draftboard.expr.tree import setting
from draftboard.rules.alerts.alert import LEAST_REQUESTS, Alert, enough_requests, enough_tokens
from draftboard.signals import Level
from draftboard.signals.capacity import kv_cache_usage, preemptions_per_request, queue_growth
from draftboard.signals.decisions import STATES
from draftboard.signals.events import heartbeat, restarts
from draftboard.signals.requests import (
    error_ratio,
    http_error_ratio,
    http_requests,
    rejection_ratio,
    request_rate,
    requests_rejected,
)
from draftboard.signals.slo import burning_fast, burning_slowly, events
from draftboard.signals.state import target_up
from draftboard.signals.users import measured_speedup, tail_change

WATCHDOG = "DraftboardWatchdog"


_enough_for_a_tail = request_rate > setting(lambda settings: settings.traffic.requests_per_second_for_tail)
_enough_promises = events.max("slo") > LEAST_REQUESTS
"""Requests of the objective that has most: finished ones, or where hardly any is finished, rejected ones."""
_enough_answers = http_requests.sum("status") > LEAST_REQUESTS
_enough_arrivals = requests_rejected.sum("reason") + request_rate > LEAST_REQUESTS
"""Rejected requests are traffic too, even where none is served."""

ON_SERVING = (
    Alert(
        name="VLLMTargetDown",
        signal=target_up,
        operator="==",
        limit=lambda _: STATES["down"].value,
        level=Level.TARGET,
        guard=None,
        summary="A vLLM server does not answer.",
        description="{who}: it does not answer its scrapes. Its users get no answers, or those of its siblings, later.",
        dashboard="latency",
    ),
    Alert(
        name="VLLMRestarted",
        signal=restarts,
        operator=">",
        limit=lambda _: 0,
        level=Level.TARGET,
        guard=None,
        summary="A vLLM server has started anew.",
        description="{who}: it started anew {value} time(s) within {remember}. Requests in flight may be lost.",
        dashboard="latency",
        # While it is down, that is what matters.
        explained_by=("VLLMTargetDown",),
    ),
    Alert(
        name="VLLMErrors",
        signal=error_ratio,
        operator=">",
        limit=lambda settings: settings.thresholds.errors,
        guard=enough_requests,
        summary="Requests end in an error.",
        description="{who}: {value} of finished requests ended in an error inside the engine.",
        dashboard="latency",
    ),
    Alert(
        name="VLLMHTTPErrors",
        signal=http_error_ratio,
        operator=">",
        limit=lambda settings: settings.thresholds.errors,
        level=Level.TARGET,
        guard=_enough_answers,
        watched=http_error_ratio.where("status", "5xx"),
        summary="A vLLM server answers with 5xx.",
        description="{who}: {value} of its HTTP answers are 5xx.",
        dashboard="latency",
        # What still counts within the window of a rate.
        explained_by=("VLLMTargetDown",),
    ),
    Alert(
        name="VLLMAdmissionRejected",
        signal=rejection_ratio,
        operator=">",
        limit=lambda settings: settings.thresholds.rejections,
        guard=_enough_arrivals,
        summary="Requests are turned away by a limit of the queue.",
        description="{who}: {value} of requests are turned away because the queue is at its limit.",
        dashboard="capacity",
    ),
    Alert(
        name="VLLMErrorBudgetBurnsFast",
        signal=burning_fast,
        operator=">",
        limit=lambda _: 0,
        guard=_enough_promises,
        summary="An error budget will be gone within days.",
        description="{who}: {value} of requests miss the objective {{{{ $labels.slo }}}}. At this pace the budget of "
        "{slo} is spent in days.",
        dashboard="latency",
    ),
    Alert(
        name="VLLMErrorBudgetBurnsSlowly",
        signal=burning_slowly,
        operator=">",
        limit=lambda _: 0,
        guard=_enough_promises,
        summary="An error budget will not last.",
        description="{who}: {value} of requests miss the objective {{{{ $labels.slo }}}}. At this pace the budget of "
        "{slo} is spent before its time.",
        dashboard="latency",
        # The same, sooner.
        explained_by=("VLLMErrorBudgetBurnsFast",),
    ),
    Alert(
        name="VLLMTailLatency",
        signal=tail_change,
        operator=">",
        limit=lambda settings: settings.thresholds.tail,
        guard=_enough_for_a_tail,
        summary="Slow requests have grown apart from the others.",
        description="{who}: P99 over P50 of the time per output token is {value} times its own {baseline} mean. Often "
        "the workload is mixed, and speculation helps only part of it.",
        dashboard="latency",
        # A queue or preemptions slow some requests more than others.
        explained_by=("VLLMPreemptions", "VLLMQueueGrowing"),
    ),
    Alert(
        name="VLLMSpeculationSlowsUsers",
        signal=measured_speedup,
        operator="<",
        limit=lambda settings: settings.thresholds.slower,
        guard=enough_requests,
        summary="Users get their tokens later than without speculation.",
        description="{who}: its users get tokens at {value} of the pace of the model's baseline.",
        dashboard="capacity",
    ),
    Alert(
        name="VLLMKVCachePressure",
        signal=kv_cache_usage,
        operator=">",
        limit=lambda settings: settings.thresholds.kv_cache,
        guard=enough_tokens,
        summary="The KV cache is nearly full.",
        description="{who}: the fullest engine holds {value} of its KV cache. The next long request waits or preempts.",
        dashboard="capacity",
        # Pressure that has become harm.
        explained_by=("VLLMPreemptions",),
    ),
    Alert(
        name="VLLMPreemptions",
        signal=preemptions_per_request,
        operator=">",
        limit=lambda settings: settings.thresholds.preemptions,
        # Not by requests: the more are thrown out, the fewer finish.
        guard=enough_tokens,
        summary="Running requests are thrown out of the KV cache.",
        description="{who}: {value} preemptions for each finished request. Their prompts are computed again.",
        dashboard="capacity",
    ),
    Alert(
        name="VLLMQueueGrowing",
        signal=queue_growth,
        operator=">",
        limit=lambda settings: settings.thresholds.queue_growth,
        # An engine that hangs generates nothing while its queue grows.
        guard=None,
        summary="More requests arrive than are served.",
        description="{who}: the queue holds {value} requests more than {window} ago, and grows.",
        dashboard="capacity",
        # Full caches are why the queue does not move.
        explained_by=("VLLMPreemptions",),
    ),
    Alert(
        name=WATCHDOG,
        signal=heartbeat,
        operator="==",
        limit=lambda _: 1,
        level=Level.FLEET,
        guard=None,
        summary="Always fires: its silence is the alarm.",
        description="The rules are evaluated and alerts arrive. A dead man's switch that stops getting this one should "
        "wake somebody.",
        dashboard="overview",
    ),
)
