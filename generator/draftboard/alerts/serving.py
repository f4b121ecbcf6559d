"""Alerts on serving: those that mean users without answers page by default."""

from draftboard.alerts.alert import LEAST_REQUESTS, Alert, enough_requests, enough_tokens
from draftboard.expr.nodes import ByLabel, If, IsSet, Labels
from draftboard.quantity import Setting
from draftboard.signals import Level, capacity, requests, responses, slo, steps, users
from draftboard.signals.verdicts import REFUTED, VERDICT, verdict

_enough_arrivals = requests.requests_rejected.sum("reason") + requests.request_rate > LEAST_REQUESTS
"""Rejected requests are traffic too, even where none is served."""

_CANCELLED = Setting("thresholds.unfinished_of_model")
_by_design = ByLabel(_CANCELLED, Setting("thresholds.unfinished"), Labels("model_name"), requests.unfinished)
_ON_ERRORS = Setting("thresholds.errors") / 2
"""A page on errors ends below it: what moves around the limit is one page."""

_INTERMITTENT = "20m"
"""What fails for minutes, is well for a quarter of an hour and fails again is one page."""

_BURNS = (
    "${who}: the error budget of the SLO {{ $labels.slo }} burns at ${value} times the sustainable rate"
    "{{ with ${beside} }}{{ with . | first | value }} and is exhausted in {{ . | humanizeDuration }} at "
    "this rate{{ else }} and is exhausted{{ end }}{{ end }}."
)

ON_SERVING = (
    Alert(
        name="VLLMRequestsAbandoned",
        signal=requests.unfinished,
        beyond="given-up",
        for_="10m",
        keep_firing_for="10m",
        guard=None,  # The signal itself asks for enough requests.
        watched=If(IsSet(_CANCELLED.path), requests.unfinished > _by_design, requests.unfinished),
        when="clients give up more than ${limit} of their requests, before the first token or after it",
        summary="Clients abandon requests.",
        description="${who}: clients give up ${value} of their requests before the answer ends. No error counter shows "
        "them.",
        dashboard="latency",
        inhibited_by=("VLLMRequestsUnanswered", "VLLMModelDown"),
    ),
    Alert(
        name="VLLMErrors",
        signal=requests.error_ratio,
        beyond="too-many-errors",
        for_="5m",
        keep_firing_for=_INTERMITTENT,
        severity="critical",
        guard=None,  # What is watched asks for enough requests.
        watched=requests.ERRORS.lately_or_in_hours,
        followed=requests.ERRORS.last_known,
        until=_ON_ERRORS,
        when="more than ${limit} of finished requests end in an error",
        summary="Requests fail inside the engine.",
        description="${who}: ${value} of finished requests ended in an error inside the engine.",
        dashboard="latency",
    ),
    Alert(
        name="VLLMHTTPErrors",
        signal=responses.http_failure_ratio,
        beyond="too-many-errors",
        for_="5m",
        keep_firing_for=_INTERMITTENT,
        severity="critical",
        level=Level.SERVICE,
        guard=None,  # What is watched asks for enough requests.
        watched=responses.FAULTS.lately_or_in_hours,
        followed=responses.FAULTS.last_known,
        until=_ON_ERRORS,
        when="more than ${limit} of the HTTP responses of a model's servers are 5xx, other than requests rejected by a "
        "queue limit",
        summary="vLLM servers answer with 5xx.",
        description="${who}: ${value} of the HTTP responses are 5xx, not counting requests rejected by a queue limit.",
        dashboard="latency",
        inhibited_by=("VLLMModelDown",),  # What still counts within the window of a rate.
    ),
    Alert(
        name="VLLMAdmissionRejected",
        signal=requests.rejection_ratio,
        beyond="rejected",
        for_="5m",
        keep_firing_for="10m",
        guard=_enough_arrivals,
        when="more than ${limit} of requests are rejected by a limit of the queue",
        summary="Requests are rejected by a queue limit.",
        description="${who}: ${value} of requests are rejected because the queue is at its limit.",
        dashboard="capacity",
    ),
    Alert(
        name="VLLMErrorBudgetBurnsFast",
        signal=slo.burning_fast,
        beyond="burns",
        for_="2m",
        keep_firing_for="15m",
        severity="critical",
        level=Level.SERVICE,
        guard=None,  # The signal asks for enough bad events.
        when="an error budget of ${slo.window} loses 2 % within 1h or 5 % within 6h, and still burns",
        summary="An error budget burns fast.",
        description=_BURNS,
        beside=slo.time_left,
        dashboard="latency",
        inhibited_by=("VLLMModelDown", "VLLMModelGone"),  # An outage burns it.
    ),
    Alert(
        name="VLLMErrorBudgetBurnsSlowly",
        signal=slo.burning_slowly,
        beyond="burns",
        for_="1h",
        keep_firing_for="1h",
        level=Level.SERVICE,
        guard=None,
        when="an error budget of ${slo.window} loses 10 % within 1d or 3d, and still burns",
        summary="An error budget burns too fast to last.",
        description=_BURNS,
        beside=slo.time_left,
        dashboard="latency",
        inhibited_by=("VLLMErrorBudgetBurnsFast",),  # The same, sooner.
    ),
    Alert(
        name="VLLMSpeculationSlowsUsers",
        signal=users.measured_speedup,
        beyond="slower",
        for_="30m",  # So long below the limit is no chance: it waits for no interval.
        keep_firing_for="15m",
        guard=enough_requests.combined("unless", VERDICT.any_of(verdict, *REFUTED)),
        when="the measured speedup over the model's baseline is below ${limit}, and no other number disproves it",
        summary="Users wait longer for tokens than without speculation.",
        description="${who} generates tokens at ${value} of the speed of the model's baseline.",
        dashboard="capacity",
        explained=True,
    ),
    Alert(
        name="VLLMKVCachePressure",
        signal=capacity.kv_cache_usage,
        beyond="nearly-full",
        for_="10m",
        keep_firing_for="10m",
        guard=requests.requests_waiting > 0,  # A full cache is well used while nobody waits.
        when="more than ${limit} of the KV cache of an engine is in use, and requests wait",
        summary="The KV cache is nearly full.",
        description="${who}: the fullest engine uses ${value} of its KV cache. The next long request waits or preempts "
        "another.",
        dashboard="capacity",
        inhibited_by=("VLLMPreemptions",),  # Pressure that has become harm.
    ),
    Alert(
        name="VLLMPreemptions",
        signal=capacity.preemptions_per_request,
        beyond="thrashing",
        for_="10m",
        keep_firing_for="10m",
        guard=enough_tokens,  # Not by requests: the more are thrown out, the fewer finish.
        when="there are more than ${limit} preemptions for each finished request",
        summary="Running requests are preempted.",
        description="${who}: ${value} preemptions per finished request. Prompts of preempted requests are computed "
        "again.",
        dashboard="capacity",
    ),
    Alert(
        name="VLLMUsersWait",
        signal=capacity.queue_wait,
        beyond="long",
        for_="10m",
        keep_firing_for="5m",
        guard=None,  # Requests that wait are the traffic.
        when="a request that arrives is estimated to wait more than ${limit} seconds in the queue",
        summary="Users wait long for their first token.",
        description="${who}: a request that arrives now waits about ${value} s in the queue.",
        dashboard="capacity",
        inhibited_by=("VLLMEngineStuck",),
    ),
    Alert(
        name="VLLMQueueGrowing",
        signal=capacity.queue_growth,
        beyond="grows",
        for_="10m",
        keep_firing_for="5m",
        guard=None,  # An engine that hangs generates nothing while its queue grows.
        when="the queue is more than ${limit} request per engine longer than ${rules.rate_window} ago",
        summary="More requests arrive than are served.",
        description="${who}: the queue is ${value} requests per engine longer than ${rules.rate_window} ago and grows.",
        dashboard="capacity",
        inhibited_by=("VLLMEngineStuck", "VLLMPreemptions"),  # An engine or a full cache is why it does not move.
    ),
    Alert(
        name="VLLMStepsSlow",
        signal=steps.step_time_change,
        beyond="slower-than-usual",
        for_="15m",
        keep_firing_for="15m",
        level=Level.ENGINE,
        guard=enough_requests,  # One request may be slower than the one before.
        when="the mean decode step takes more than ${limit} times its ${rules.baseline} mean at batches of the same "
        "size",
        summary="Decode steps take longer than usual at the same batch size.",
        description="${who}: a decode step takes ${value} times as long as usual at the same batch size.",
        dashboard="latency",
        explained=True,
        inhibited_by=("VLLMPreemptions",),  # A preempted request waits between two of its tokens.
    ),
)
