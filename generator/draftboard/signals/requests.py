"""How requests fare: how many come and end, and how many end badly or are turned away."""

from dataclasses import replace

from draftboard.catalogue import Metric, around, latency, serving
from draftboard.durations import Duration
from draftboard.expr.nodes import (
    AtLevel,
    Expr,
    Function,
    If,
    InWindow,
    Match,
    MetricOfDialect,
    OverTime,
    Raw,
    Ref,
    Window,
    first_of,
    ignoring,
    over_level,
    rate,
    rate_of_each,
)
from draftboard.expr.scope import Level
from draftboard.quantity import EVALUATION, Setting
from draftboard.signals.presence import of_servers
from draftboard.signals.signal import Better, Signal, Unit, good_under
from draftboard.signals.traffic import BOTH_LEVELS, SILENT, rate_of
from draftboard.status import Status

_HOUR = Duration(3600)
# Paths that are answered by generated tokens.
GENERATING = (
    "/(v1/|inference/v1/)?(chat/)?(completions|responses|messages|generate|invocations)"
    "|/v1/chat/completions/batch|/v1/audio/(transcriptions|translations)|/cohere/v2/chat"
)
_CLASSES = (("2xx", Status.GOOD), ("3xx", Status.QUIET), ("4xx", Status.WARN), ("5xx", Status.BAD))


def over_window(function: str, gauge: Metric | MetricOfDialect) -> Expr:
    """Over the window of rates, also on panels, whose own window may hold no scrape; over a question's, where asked."""
    return Function(function, Raw(gauge, Window.FIXED))


_OF_ERRORS = good_under(Setting("thresholds.errors"), good="normal", beyond="too-many-errors", status=Status.BAD)


requests_running = Signal(
    name="requests_running",
    title="Requests running",
    question="How many requests are running?",
    description="Requests in the running batch, engines together.",
    action="If requests wait as well, add engines or admit fewer.",
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
    description="Requests that wait to be scheduled, for any reason, engines together.",
    action="If they do not get fewer, add engines or admit fewer requests.",
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
        "If errors appear, read the servers' logs; if most end by length, check max_tokens.",
        unit=Unit.REQUESTS_PER_SECOND,
        kinds=(("stop", Status.GOOD), ("length", Status.BEST), ("repetition", Status.ODD), ("error", Status.BAD)),
    ),
    # vLLM never counts one, whatever its clients do: a 0 there would read as if nobody gave up.
    expr=rate(serving.REQUESTS_FINISHED).without("finished_reason", "abort"),
)
request_rate = Signal(
    name="request_rate",
    title="Request rate",
    short="Requests/s",
    question="How many requests are served?",
    description="Finished requests per second, whatever their end; those aborted by the client are not counted.",
    action="Use it as the load behind latencies and ratios.",
    unit=Unit.REQUESTS_PER_SECOND,
    expr=requests_finished.sum("finished_reason"),
    record="vllm_requests_finished:rate{window}",
    levels=BOTH_LEVELS,
    empty=SILENT,
)
_started = InWindow(rate(latency.TIME_TO_FIRST_TOKEN.count))
unfinished = Signal(
    name="unfinished",
    title="Unfinished requests",
    question="Do clients disconnect before the response ends?",
    description="(Requests with a first token - finished - running) / requests with a first token: a lower bound of "
    "those that clients abandoned.",
    action="If it is high, find who closes the connection: often a timeout.",
    note='Within the window. vLLM does not count them: finished_reason="abort" stays 0, and HTTP counts them as 2xx.',
    better=Better.LOWER,
    expr=((_started - InWindow(request_rate) - requests_running) / _started)
    & (_started >= Setting("traffic.requests_to_judge")),
    record="vllm_requests_unfinished:ratio_rate{window}",
    bands=good_under(Setting("thresholds.unfinished"), good="normal", beyond="given-up"),
    empty="too few requests in the window",
    least=None,
)
errors = Signal(
    name="errors",
    title="Errors",
    question="How many requests fail inside the engine?",
    description="Finished requests per second whose finished_reason is error.",
    action="Read the servers' logs.",
    unit=Unit.REQUESTS_PER_SECOND,
    better=Better.LOWER,
    expr=requests_finished.where("finished_reason", "error").sum("finished_reason"),
    record="vllm_request_errors:rate{window}",
    empty=SILENT,
)
error_ratio = Signal(
    name="error_ratio",
    title="Share of failed requests",
    short="Errors",
    question="Do requests fail inside the engine?",
    description="Share of finished requests whose finished_reason is error; requests refused by the HTTP server "
    "are not included.",
    action="If it is high, read the log of the server that causes it.",
    better=Better.LOWER,
    expr=errors / request_rate,
    record="vllm_request_errors:ratio_rate{window}",
    bands=_OF_ERRORS,
    empty="no request finished in the window",
)


def _in_an_hour(signal: Signal) -> Expr:
    """What a rate counted in an hour, from its record: one value for each evaluation."""
    return OverTime("sum_over_time", signal, _HOUR) * EVALUATION


def lately_or_in_an_hour(bad: Signal, every: Signal) -> Expr:
    """A ratio of the window; of an hour, with a bad one just now, where the window holds too few to tell chance."""
    of_window = InWindow(every)
    few_come = of_window * Setting("thresholds.errors") <= _by_chance(of_window)
    of_hour = _more_than_chance(_in_an_hour(bad), _in_an_hour(every)) & ((bad > 0) & few_come)
    return first_of(_more_than_chance(InWindow(bad), of_window), of_hour)


def _more_than_chance(bad: Expr, every: Expr) -> Expr:
    """A ratio of two numbers, where enough are bad, and more than chance makes."""
    few = Setting("traffic.errors_to_judge")
    return ((bad >= few) & (bad > _by_chance(every))) / every


def _by_chance(every: Expr) -> Expr:
    """As many bad ones as chance makes of half the limit: the standard deviation is the root of the mean."""
    mean = every * (Setting("thresholds.errors") / 2)
    return mean + mean.combined("^", 0.5) * Setting("thresholds.chance")


requests_rejected = Signal(
    name="requests_rejected",
    title="Rejected requests",
    question="Which limit rejects requests?",
    description="Requests rejected because a limit of the queue was reached, per second, by limit.",
    action="Add a server, or raise a limit that is too low.",
    unit=Unit.REQUESTS_PER_SECOND,
    better=Better.LOWER,
    expr=rate(serving.ADMISSION_REJECTIONS),
    record="vllm_admission_rejections:rate{window}",
    by=("reason",),
    empty="no limit on the queue is exported: vLLM older than 0.32, or no vLLM series",
)
rejection_ratio = Signal(
    name="rejection_ratio",
    title="Share of rejected requests",
    question="Are requests rejected?",
    description="Rejected requests / (rejected + finished requests).",
    action="If it is not 0, add a server, or raise a limit that is too low.",
    better=Better.LOWER,
    expr=requests_rejected.sum("reason") / (requests_rejected.sum("reason") + request_rate),
    record="vllm_admission_rejections:ratio_rate{window}",
    bands=good_under(Setting("thresholds.rejections"), good="admitted", beyond="rejected"),
    empty="no request in the window, or vLLM older than 0.32",
)


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
    bands=_OF_ERRORS,
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
http_failure_ratio = Signal(
    name="http_failure_ratio",
    title="Share of HTTP server errors",
    question="Do HTTP requests fail on the server's side?",
    description="Share of HTTP responses that are 5xx, of all servers of the model.",
    action="If it is high, read the log of the server that causes it.",
    better=Better.LOWER,
    expr=http_failures / http_responses,
    levels=(Level.SERVICE,),
    bands=_OF_ERRORS,
    empty="no HTTP error",
)
cut_off = Signal(
    name="cut_off",
    title="Truncated responses",
    question="Do responses reach their length limit?",
    description="Share of finished requests that end at their length limit, or that vLLM ended because they "
    "repeat themselves.",
    action="If it is high, check max_tokens, and look for repetition loops.",
    expr=requests_finished.where("finished_reason", "length", "repetition").sum("finished_reason") / request_rate,
    empty="no request finished in the window",
)
_answers = Raw(around.HTTP_REQUESTS, Window.RATE, (Match("handler", "=~", GENERATING), Match("status", "=", "2xx")))
_first_tokens = rate(latency.TIME_TO_FIRST_TOKEN.count, by=())
_asked = (of_servers("sum", InWindow(Function("rate", _answers))), InWindow(_first_tokens))
_only_first_tokens = rate(serving.GENERATION_TOKENS, by=()) <= _first_tokens * 1.5  # Rates are not exact.
unanswered = Signal(
    name="unanswered",
    title="Unanswered requests",
    question="Does a server accept requests but finish none?",
    description="Requests in the window that were accepted or received a first token, on a server that finished "
    "none and generated nothing more.",
    action="Remove the server from rotation, and restart it.",
    note="Accepted: HTTP 2xx. Their clients disconnected.",
    unit=Unit.REQUESTS,
    better=Better.LOWER,
    expr=first_of(*(asked >= Setting("traffic.requests_unanswered") for asked in _asked))
    & _only_first_tokens
    & rate(serving.REQUESTS_FINISHED, by=()).equals(0),
    record="vllm_requests_unanswered:increase{window}",
    levels=(Level.TARGET,),
    bands=good_under(0, good="answered", beyond="unanswered", status=Status.BAD),
    empty="requests are answered, or none comes in",
)


def _steps_of(gauge: Metric) -> Expr:
    """0 for a gauge that stayed as it is. To `changes` of VictoriaMetrics a new series has changed."""
    return over_window("max_over_time", gauge) - over_window("min_over_time", gauge)


stuck = Signal(
    name="stuck",
    title="Stuck requests",
    question="Does an engine hold requests without working on them?",
    description="Least number of running requests in the window, of an engine that generated no token and whose "
    "KV cache did not change.",
    action="Remove the server from rotation, and restart it.",
    note="A long prompt that is being computed fills the cache.",
    unit=Unit.REQUESTS,
    better=Better.LOWER,
    expr=(over_level("min", over_window("min_over_time", serving.REQUESTS_RUNNING)) > 0)
    & rate(serving.GENERATION_TOKENS).equals(0)
    & over_level("max", _steps_of(serving.KV_CACHE_USAGE)).equals(0),
    record="vllm_requests_stuck:min{window}",
    levels=BOTH_LEVELS,
    rollup="sum",
    bands=good_under(0, good="moving", beyond="stuck", status=Status.BAD),
    empty="every engine works, or is idle",
)
stuck_engines = Signal(
    name="stuck_engines",
    title="Stuck engines",
    question="How many engines hold requests without working on them?",
    description="Engines with running requests, without a token or a change of the KV cache in the window.",
    action="Remove their servers from rotation, and restart them.",
    unit=Unit.ENGINES,
    better=Better.LOWER,
    expr=over_level("count", stuck.at(Level.ENGINE)),
    record="vllm_engines_stuck:count{window}",
    bands=good_under(1, good="none", beyond="some", status=Status.BAD),
    empty=stuck.empty,
    decimals=0,
)
