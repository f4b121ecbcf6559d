"""What HTTP servers respond, by class of status."""

from draftboard.catalogue import around
from draftboard.expr.nodes import AtLeast, AtLevel, If, Ref, constant, first_of, ignoring, over_level, rate_of_each
from draftboard.expr.scope import Level
from draftboard.signals.hours import in_hour
from draftboard.signals.presence import of_servers
from draftboard.signals.requests import ERROR_BANDS, Failing, rejected_of_service
from draftboard.signals.signal import Better, Signal, Unit
from draftboard.status import Status

_CLASSES = (("2xx", Status.GOOD), ("3xx", Status.QUIET), ("4xx", Status.WARN), ("5xx", Status.BAD))

http_requests = Signal(
    name="http_requests",
    title="HTTP responses by status",
    question="Which status classes does the HTTP server return?",
    description="HTTP responses per second by class of status, without health checks and scrapes.",
    action="If 4xx rise, look at the clients' requests; if 5xx, at the servers' logs.",
    unit=Unit.REQUESTS_PER_SECOND,
    expr=If(
        AtLevel(Level.TARGET),
        of_servers("sum", rate_of_each(around.HTTP_REQUESTS), "status"),
        over_level("sum", Ref("http_requests").at(Level.TARGET), "status"),
    ),
    record="vllm_http_requests:rate{window}",
    levels=(Level.TARGET, Level.SERVICE),
    by=("status",),
    kinds=_CLASSES,
    empty="no response yet",
)
http_error_ratio = Signal(
    name="http_error_ratio",
    title="HTTP errors",
    question="Which HTTP requests fail, and on which side?",
    description="Share of HTTP responses that are 4xx (client error) or 5xx (server error).",
    action="For 4xx look at the clients' requests, for 5xx at the servers' logs.",
    better=Better.LOWER,
    expr=http_requests.where("status", "4xx", "5xx").ratio(
        http_requests.sum("status"), ignoring("status", group="left")
    ),
    record="vllm_http_errors:ratio_rate{window}",
    levels=(Level.TARGET,),
    by=("status",),
    kinds=_CLASSES,
    bands=ERROR_BANDS,
    empty="no HTTP error",
)
http_failures = Signal(
    name="http_failures",
    title="HTTP server errors",
    question="How many HTTP requests fail on the server's side?",
    description="HTTP responses per second that are 5xx.",
    action="Read the servers' logs.",
    unit=Unit.REQUESTS_PER_SECOND,
    better=Better.LOWER,
    expr=http_requests.where("status", "5xx").sum("status"),
    record="vllm_http_failures:rate{window}",
    levels=(Level.SERVICE,),
    empty="no HTTP error",
)
http_faults = Signal(
    name="http_faults",
    title="HTTP server errors without rejections",
    question="How many HTTP requests fail on the server's side, other than by a queue limit?",
    description="HTTP responses per second that are 5xx, less the requests that a limit of the queue rejected.",
    action="Read the servers' logs.",
    note="A rejected request is answered with 503. Releases before 0.32 count no rejections, and have no such limit.",
    unit=Unit.REQUESTS_PER_SECOND,
    better=Better.LOWER,
    expr=AtLeast(http_failures - first_of(rejected_of_service, constant(0, http_failures)), 0),
    record="vllm_http_faults:rate{window}",
    levels=(Level.SERVICE,),
    empty="no HTTP error",
)
http_responses = Signal(
    name="http_responses",
    title="HTTP responses",
    question="How many HTTP requests are answered?",
    description="HTTP responses per second, of every status.",
    action="Use it as the load behind the share of errors.",
    unit=Unit.REQUESTS_PER_SECOND,
    expr=http_requests.sum("status"),
    record="vllm_http_responses:rate{window}",
    levels=(Level.SERVICE,),
    empty="no response yet",
)
http_faults_in_hour = in_hour(http_faults, "HTTP responses that are 5xx, less the requests that a limit rejected")
http_responses_in_hour = in_hour(http_responses, "HTTP responses, of every status")
FAULTS = Failing(http_faults, http_responses, http_faults_in_hour, http_responses_in_hour)
http_failure_ratio = Signal(
    name="http_failure_ratio",
    title="Share of HTTP server errors",
    question="Do HTTP requests fail on the server's side?",
    description="Share of HTTP responses that are 5xx, of all servers of the model.",
    action="If it is high, read the log of the server that causes it.",
    better=Better.LOWER,
    expr=http_failures / http_responses,
    levels=(Level.SERVICE,),
    bands=ERROR_BANDS,
    empty="no HTTP error",
)
