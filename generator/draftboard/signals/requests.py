"""How requests fare: how many run, wait and end, and how many fail or are rejected."""

from dataclasses import dataclass, replace

from draftboard.catalogue import around, latency, serving
from draftboard.expr.nodes import (
    Expr,
    Function,
    InWindow,
    Match,
    OfOneMoment,
    Raw,
    Window,
    constant,
    first_of,
    merged,
    over_level,
    rate,
)
from draftboard.expr.scope import Level
from draftboard.quantity import Setting
from draftboard.signals.hours import HOUR, in_hour, in_hours
from draftboard.signals.presence import of_known
from draftboard.signals.signal import Better, Signal, Unit, good_under
from draftboard.signals.traffic import BOTH_LEVELS, SILENT, in_flight, rate_of, while_idle
from draftboard.status import Status

_HOURS, _LAST = HOUR * 6, HOUR * 3

_LIMIT = Setting("thresholds.errors")
_ENOUGH_ERRORS = Setting("traffic.errors_to_judge")
_FEW = _ENOUGH_ERRORS * 12
"""Requests in an hour or three, under which a span without any is no end of what fails."""
_MUCH = 1.5
_CHANCE = Setting("thresholds.chance")
_FEW_FOR_CHANCE = _CHANCE * _CHANCE / (_LIMIT * (_MUCH - 1) ** 2)
"""Requests of which chance makes so many times the limit: where a window holds no more, a longer span is judged."""
ERROR_BANDS = good_under(_LIMIT, good="normal", beyond="too-many-errors", status=Status.BAD)

requests_running = Signal(
    name="requests_running",
    title="Requests running",
    short="Running",
    question="How many requests are running?",
    description="Requests in the running batch, engines together.",
    action="If requests wait as well, add engines or admit fewer.",
    unit=Unit.REQUESTS,
    expr=while_idle(over_level("sum", Raw(serving.REQUESTS_RUNNING)), over_level("sum", in_flight())),
    record="vllm_num_requests_running:sum",
    levels=BOTH_LEVELS,
    rollup="sum",
    empty=SILENT,
)
NONE_RUNS = requests_running.equals(0)
requests_waiting = Signal(
    name="requests_waiting",
    title="Requests waiting",
    short="Waiting",
    question="How long is the queue?",
    description="Requests that wait to be scheduled, for any reason, engines together.",
    action="If they do not get fewer, add engines or admit fewer requests.",
    unit=Unit.REQUESTS,
    better=Better.LOWER,
    expr=while_idle(over_level("sum", Raw(serving.REQUESTS_WAITING)), constant(0, rate(serving.GENERATION_TOKENS))),
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
    # vLLM never counts one, whatever its clients do: a 0 would read as if no client disconnected.
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
# Paths that are answered by generated tokens.
GENERATING = (
    "/(v1/|inference/v1/)?(chat/)?(completions|responses|messages|generate|invocations)"
    "|/v1/chat/completions/batch|/v1/audio/(transcriptions|translations)|/cohere/v2/chat"
)
ACCEPTED = Raw(around.HTTP_REQUESTS, Window.RATE, (Match("handler", "=~", GENERATING), Match("status", "=", "2xx")))
"""Requests that their server accepted, counted as their connection ends, whoever ends it."""


def _of_targets(counted: Expr) -> Expr:
    """Over all models of a server: HTTP knows none."""
    return over_level("sum", of_known("sum", counted).at(Level.TARGET))


_ENOUGH = Setting("traffic.requests_to_judge")
_started, _accepted = (
    InWindow(rate(latency.TIME_TO_FIRST_TOKEN.count)),
    InWindow(_of_targets(Function("rate", ACCEPTED))),
)
_left_running = 1 - (InWindow(request_rate) + OfOneMoment(requests_running)).per(_started >= _ENOUGH)
_left_at_all = 1 - InWindow(_of_targets(request_rate.at(Level.ENGINE))).per(_accepted >= _ENOUGH)
unfinished = Signal(
    name="unfinished",
    title="Unfinished requests",
    question="Do clients disconnect before the response ends?",
    description="The larger of (requests with a first token - finished - running) / requests with a first token and "
    "(HTTP 2xx - finished) / HTTP 2xx: a lower bound of those that clients abandoned.",
    action="If it is high, find who closes the connection: often a timeout.",
    note='Within the window. vLLM does not count them: finished_reason="abort" stays 0, and HTTP counts them as 2xx. A '
    "request with several choices counts as several that finish.",
    better=Better.LOWER,
    expr=merged("of", {"started": _left_running, "accepted": _left_at_all}).max("of"),
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
    bands=ERROR_BANDS,
    empty="no request finished in the window",
)


rate_in_hour = in_hour(request_rate, "Finished requests")
errors_in_hour = in_hour(errors, "Finished requests whose finished_reason is error")


@dataclass(frozen=True)
class Failing:
    """What fails of what is counted: rates per second, and what they counted in an hour."""

    bad: Signal
    every: Signal
    bad_in_hour: Signal
    every_in_hour: Signal

    @property
    def lately_or_in_hours(self) -> Expr:
        """The ratio of the window; of an hour or six where the shorter span holds too few to tell chance.

        A bad one must be new: in the window, or in the last of six hours.
        """
        now, in_six = InWindow(self.every), in_hours(self.every_in_hour, _HOURS)
        of_hour = more_than_chance(self.bad_in_hour, self.every_in_hour) & ((self.bad > 0) & (now <= _FEW_FOR_CHANCE))
        of_hours = more_than_chance(in_hours(self.bad_in_hour, _HOURS), in_six) & (
            (self.bad_in_hour > 0) & (self.every_in_hour < _ENOUGH_ERRORS)
        )
        return first_of(more_than_chance(InWindow(self.bad), now), of_hour, of_hours)

    @property
    def last_known(self) -> Expr:
        """The ratio of the window; of an hour or three where the shorter span holds nothing, and the longer one few.

        Where three requests an hour all fail, an hour without one is no recovery.
        """
        bad_before, every_before = (in_hours(one, _LAST) for one in (self.bad_in_hour, self.every_in_hour))
        return first_of(
            self.bad / self.every, self.bad_in_hour / (self.every_in_hour < _FEW), bad_before.per(every_before < _FEW)
        )


ERRORS = Failing(errors, request_rate, errors_in_hour, rate_in_hour)


def failing(bad: Expr, every: Expr) -> Expr:
    """The ratio of the window, where it is beyond its limit by more than chance."""
    return more_than_chance(InWindow(bad), InWindow(every))


def more_than_chance(bad: Expr, every: Expr) -> Expr:
    """A ratio of two numbers, where enough are bad, and more than chance makes of its limit."""
    mean = every * _LIMIT  # Of numbers, whose standard deviation is its root.
    return ((bad >= _ENOUGH_ERRORS) > mean + mean.combined("^", 0.5) * _CHANCE).per(every)


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
finished_of_service, rejected_of_service = (
    over_level("sum", one.at(Level.MODEL)) for one in (request_rate, requests_rejected)
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
