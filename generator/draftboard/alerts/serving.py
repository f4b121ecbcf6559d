"""Alerts on serving: those that mean users without answers page by default."""

from draftboard.alerts.alert import LEAST_REQUESTS, Alert, enough_requests, enough_tokens
from draftboard.expr.tree import setting
from draftboard.signals import Level, capacity, decisions, events, requests, slo, users

WATCHDOG = events.WATCHDOG
_enough_for_a_tail = requests.request_rate > setting(lambda settings: settings.traffic.requests_per_second_for_tail)
_enough_slo_requests = slo.events.max("slo") > LEAST_REQUESTS
"""Requests of the objective that has most: finished ones, or where hardly any is finished, rejected ones."""
_enough_answers = requests.http_requests.sum("status") > LEAST_REQUESTS
_enough_arrivals = requests.requests_rejected.sum("reason") + requests.request_rate > LEAST_REQUESTS
"""Rejected requests are traffic too, even where none is served."""

ON_SERVING = (
    Alert(
        name="VLLMTargetDown",
        signal=decisions.target_up,
        beyond="down",
        for_="3m",
        severity="critical",
        level=Level.TARGET,
        guard=None,
        when="a server fails two consecutive scrapes and stays away",
        summary="A vLLM server does not answer.",
        description="{who} does not answer scrapes. Requests fail or are served by other replicas with higher latency.",
        dashboard="latency",
    ),
    Alert(
        name="VLLMRestarted",
        signal=events.restarts,
        beyond="restarted",
        for_="1m",
        severity="info",
        level=Level.TARGET,
        guard=None,
        when="a server has restarted within the last {remember}",
        summary="A vLLM server restarted.",
        description="{who} restarted {value} time(s) within {remember}. Requests in flight may be lost.",
        dashboard="latency",
        explained_by=("VLLMTargetDown",),  # While it is down, that is what matters.
    ),
    Alert(
        name="VLLMErrors",
        signal=requests.error_ratio,
        beyond="too-many-errors",
        for_="5m",
        keep_firing_for="10m",
        severity="critical",
        guard=enough_requests,
        when="more than {limit} of finished requests end in an error",
        summary="Requests end in an error.",
        description="{who}: {value} of finished requests ended in an error inside the engine.",
        dashboard="latency",
    ),
    Alert(
        name="VLLMHTTPErrors",
        signal=requests.http_error_ratio,
        beyond="too-many-errors",
        for_="5m",
        keep_firing_for="10m",
        severity="critical",
        level=Level.TARGET,
        guard=_enough_answers,
        watched=requests.http_error_ratio.where("status", "5xx"),
        when="more than {limit} of the HTTP responses of a server are 5xx",
        summary="A vLLM server answers with 5xx.",
        description="{who}: {value} of its HTTP responses are 5xx.",
        dashboard="latency",
        explained_by=("VLLMTargetDown",),  # What still counts within the window of a rate.
    ),
    Alert(
        name="VLLMAdmissionRejected",
        signal=requests.rejection_ratio,
        beyond="rejected",
        for_="5m",
        keep_firing_for="10m",
        guard=_enough_arrivals,
        when="more than {limit} of requests are rejected by a limit of the queue",
        summary="Requests are rejected by a queue limit.",
        description="{who}: {value} of requests are rejected because the queue is at its limit.",
        dashboard="capacity",
    ),
    Alert(
        name="VLLMErrorBudgetBurnsFast",
        signal=slo.burning_fast,
        beyond="burns",
        for_="2m",
        keep_firing_for="15m",
        severity="critical",
        guard=_enough_slo_requests,
        when="an error budget of {slo} loses 2 % in 1h or 5 % in 6h, and still burns",
        summary="An error budget will be exhausted within days.",
        description="{who}: {value} of requests miss the SLO {{{{ $labels.slo }}}}. At this rate the error budget of "
        "{slo} is exhausted within days.",
        dashboard="latency",
    ),
    Alert(
        name="VLLMErrorBudgetBurnsSlowly",
        signal=slo.burning_slowly,
        beyond="burns",
        for_="1h",
        keep_firing_for="1h",
        guard=_enough_slo_requests,
        when="an error budget of {slo} loses 10 % in 1d or in 3d, and still burns",
        summary="An error budget will be exhausted early.",
        description="{who}: {value} of requests miss the SLO {{{{ $labels.slo }}}}. At this rate the error budget of "
        "{slo} is exhausted before its window ends.",
        dashboard="latency",
        explained_by=("VLLMErrorBudgetBurnsFast",),  # The same, sooner.
    ),
    Alert(
        name="VLLMTailLatency",
        signal=users.tail_change,
        beyond="wider-than-usual",
        for_="15m",
        keep_firing_for="15m",
        guard=_enough_for_a_tail,
        when="P99 over P50 of the time per output token is above {limit} times its own {baseline} mean",
        summary="Slow requests have become slower relative to the others.",
        description="{who}: P99 over P50 of the time per output token is {value} times its own {baseline} mean. Often "
        "the workload is mixed, and speculation helps only part of it.",
        dashboard="latency",
        # A queue or preemptions slow some requests more than others.
        explained_by=("VLLMPreemptions", "VLLMQueueGrowing"),
    ),
    Alert(
        name="VLLMSpeculationSlowsUsers",
        signal=users.measured_speedup,
        beyond="slower",
        for_="30m",
        keep_firing_for="15m",
        guard=enough_requests,
        when="the measured speedup over the model's baseline is below {limit}",
        summary="Users wait longer for tokens than without speculation.",
        description="{who} generates tokens at {value} of the speed of the model's baseline.",
        dashboard="capacity",
    ),
    Alert(
        name="VLLMKVCachePressure",
        signal=capacity.kv_cache_usage,
        beyond="nearly-full",
        for_="10m",
        keep_firing_for="10m",
        guard=enough_tokens,
        when="more than {limit} of the KV cache of an engine is in use",
        summary="The KV cache is nearly full.",
        description="{who}: the fullest engine holds {value} of its KV cache. The next long request waits or preempts.",
        dashboard="capacity",
        explained_by=("VLLMPreemptions",),  # Pressure that has become harm.
    ),
    Alert(
        name="VLLMPreemptions",
        signal=capacity.preemptions_per_request,
        beyond="thrashing",
        for_="10m",
        keep_firing_for="10m",
        guard=enough_tokens,  # Not by requests: the more are thrown out, the fewer finish.
        when="there are more than {limit} preemptions for each finished request",
        summary="Running requests are preempted.",
        description="{who}: {value} preemptions per finished request. Prompts of preempted requests are computed "
        "again.",
        dashboard="capacity",
    ),
    Alert(
        name="VLLMQueueGrowing",
        signal=capacity.queue_growth,
        beyond="grows",
        for_="10m",
        keep_firing_for="5m",
        guard=None,  # An engine that hangs generates nothing while its queue grows.
        when="the queue is more than {limit} request longer than {window} ago",
        summary="More requests arrive than are served.",
        description="{who}: the queue is {value} requests longer than {window} ago and grows.",
        dashboard="capacity",
        explained_by=("VLLMPreemptions",),  # Full caches are why the queue does not move.
    ),
    Alert(
        name=WATCHDOG,
        signal=events.heartbeat,
        beyond="evaluated",
        for_="1m",
        severity="none",  # Inhibitions of others, such as kube-prometheus' of infos, leave it alone.
        level=Level.FLEET,
        guard=None,
        when="the rules are evaluated, which is always",
        summary="Alerting works.",
        description="Rules are evaluated and alerts arrive. A dead man's switch that stops receiving this alert must "
        "page.",
        dashboard="overview",
    ),
)
