"""How requests fare: how many come and end, and how many end badly or are turned away."""

from dataclasses import replace

from draftboard.catalogue import around, latency, serving
from draftboard.expr.scope import Level
from draftboard.expr.tree import InWindow, Raw, Where, ignoring, over_level, rate, setting
from draftboard.settings import Settings
from draftboard.signals.presence import of_servers
from draftboard.signals.signal import Band, Better, Signal, Unit, good_under
from draftboard.signals.traffic import BOTH_LEVELS, SILENT, rate_of
from draftboard.status import Status

_CLASSES = (("2xx", Status.GOOD), ("3xx", Status.QUIET), ("4xx", Status.WARN), ("5xx", Status.BAD))


def _of_errors(settings: Settings) -> tuple[Band, ...]:
    return good_under(settings.thresholds.errors, good="normal", beyond="too-many-errors", status=Status.BAD)


requests_running = Signal(
    name="requests_running",
    title="Requests running",
    question="How many requests are running?",
    description=f"{serving.REQUESTS_RUNNING.meaning} Engines together.",
    unit=Unit.REQUESTS,
    expr=over_level("sum", Raw(serving.REQUESTS_RUNNING)),
    record="vllm_num_requests_running:sum",
    levels=BOTH_LEVELS,
    rollup="sum",
    empty=SILENT,
)
requests_waiting = Signal(
    name="requests_waiting",
    title="Requests waiting",
    question="How long is the queue?",
    description=f"{serving.REQUESTS_WAITING.meaning} Engines together.",
    unit=Unit.REQUESTS,
    better=Better.LOWER,
    expr=over_level("sum", Raw(serving.REQUESTS_WAITING)),
    record="vllm_num_requests_waiting:sum",
    levels=BOTH_LEVELS,
    rollup="sum",
    empty=SILENT,
)
requests_finished = replace(
    rate_of(
        serving.REQUESTS_FINISHED,
        "requests_finished",
        "Requests finished",
        "How do requests end?",
        unit=Unit.REQUESTS_PER_SECOND,
        kinds=(("stop", Status.GOOD), ("length", Status.BEST), ("repetition", Status.ODD), ("error", Status.BAD)),
    ),
    # vLLM never counts one, whatever its clients do: a 0 there would read as if nobody gave up.
    expr=Where(rate(serving.REQUESTS_FINISHED), lambda _: "finished_reason", lambda _: ("abort",), negated=True),
)
request_rate = Signal(
    name="request_rate",
    title="Request rate",
    question="How many requests are served?",
    description="Finished requests per second, whatever their end. Requests aborted by the client are not counted.",
    unit=Unit.REQUESTS_PER_SECOND,
    expr=requests_finished.sum("finished_reason"),
    record="vllm_requests_finished:rate{window}",
    empty=SILENT,
)
_started = InWindow(rate(latency.TIME_TO_FIRST_TOKEN.count))
unfinished = Signal(
    name="unfinished",
    title="Requests that never finish",
    question="Do clients give up while they are being answered?",
    description="(Requests that received a first token - finished requests - requests still running) / requests that "
    "received a first token, within the window: at least so many were given up by their clients. vLLM counts them "
    'nowhere: finished_reason="abort" stays 0, and HTTP counts them as 2xx.',
    better=Better.LOWER,
    expr=((_started - InWindow(request_rate) - requests_running) / _started)
    & (_started >= setting(lambda settings: settings.traffic.requests_to_judge)),
    record="vllm_requests_unfinished:ratio_rate{window}",
    bands=lambda settings: good_under(settings.thresholds.unfinished, good="normal", beyond="given-up"),
    empty="too few requests in the window",
    least=None,
)
error_ratio = Signal(
    name="error_ratio",
    title="Requests that end in an error",
    question="Do requests fail inside the engine?",
    description="Share of finished requests whose finished_reason is error. Requests refused by the HTTP server are "
    "not included.",
    better=Better.LOWER,
    expr=requests_finished.where("finished_reason", "error").sum("finished_reason") / request_rate,
    record="vllm_request_errors:ratio_rate{window}",
    bands=_of_errors,
    empty="no request finished in the window",
)
requests_rejected = Signal(
    name="requests_rejected",
    title="Requests rejected",
    question="Which limit rejects requests?",
    description=f"{serving.ADMISSION_REJECTIONS.meaning} Per second, by limit.",
    unit=Unit.REQUESTS_PER_SECOND,
    better=Better.LOWER,
    expr=rate(serving.ADMISSION_REJECTIONS),
    record="vllm_admission_rejections:rate{window}",
    by=("reason",),
    empty="no limit on the queue is exported: vLLM older than 0.32, or no vLLM series",
)
rejection_ratio = Signal(
    name="rejection_ratio",
    title="Share of requests rejected",
    question="Are requests rejected?",
    description="Rejected requests / (rejected + finished requests).",
    better=Better.LOWER,
    expr=requests_rejected.sum("reason") / (requests_rejected.sum("reason") + request_rate),
    record="vllm_admission_rejections:ratio_rate{window}",
    bands=lambda settings: good_under(settings.thresholds.rejections, good="admitted", beyond="rejected"),
    empty="no request in the window, or vLLM older than 0.32",
)
http_requests = Signal(
    name="http_requests",
    title="HTTP responses by status",
    question="Which status classes does the HTTP server return?",
    description=f"{around.HTTP_REQUESTS.meaning} Per second, by class of status.",
    unit=Unit.REQUESTS_PER_SECOND,
    expr=of_servers(rate(around.HTTP_REQUESTS, by=("status",))),
    record="vllm_http_requests:rate{window}",
    levels=(Level.TARGET,),
    by=("status",),
    kinds=_CLASSES,
    empty="no response yet",
)
http_error_ratio = Signal(
    name="http_error_ratio",
    title="HTTP errors",
    question="Which HTTP requests fail, and on which side?",
    description="Share of HTTP responses that are 4xx (client error) or 5xx (server error). By server: these series "
    "have no model label.",
    better=Better.LOWER,
    expr=http_requests.where("status", "4xx", "5xx").ratio(
        http_requests.sum("status"), ignoring("status", group="left")
    ),
    record="vllm_http_errors:ratio_rate{window}",
    levels=(Level.TARGET,),
    by=("status",),
    kinds=_CLASSES,
    bands=_of_errors,
    empty="no HTTP error",
)
