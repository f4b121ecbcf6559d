"""A server against the model's other servers at the same moment: no past is needed."""

from dataclasses import replace

from draftboard.catalogue import latency, serving
from draftboard.expr.nodes import (
    Binary,
    Expr,
    InWindow,
    Labels,
    Matching,
    OverTime,
    constant,
    first_of,
    merged,
    on,
    over_level,
    rate,
)
from draftboard.expr.scope import Level
from draftboard.quantity import RATE_WINDOW, Setting
from draftboard.signals import requests, responses, traffic
from draftboard.signals.signal import Better, Code, Signal, Unit
from draftboard.status import Status

_TWICE = 2
"""How many times the share or the wait of the others a server's must be."""
_OF_SERVICE = on(Labels("scope"), Labels("job"), Labels("model_name"), group="right")
_OF_MODEL = Matching((Labels("instance"),), group="right")


def _of_server(figure: Expr) -> Expr:
    """A sum over the engines of a server."""
    return over_level("sum", figure.at(Level.ENGINE))


def _others(figure: Expr, level: Level, beside: Matching) -> Expr:
    """A server's figure taken from the sum over all servers, of a service or of those that draft as it does."""
    return Binary(figure.at(level), "-", figure, beside)


def _fails(bad: Expr, every: Expr) -> Expr:
    others = _others(bad, Level.SERVICE, _OF_SERVICE).per(_others(every, Level.SERVICE, _OF_SERVICE))
    return requests.failing(bad, every) > others * _TWICE


# From the servers' records: a service's own may be of another moment.
_responses = over_level("sum", responses.http_requests.at(Level.TARGET))
_failures = over_level("sum", responses.http_requests.where("status", "5xx").at(Level.TARGET))
# A limit of the queue that rejects requests, with 503, does what it is for.
_rejects = rate(serving.ADMISSION_REJECTIONS, by=()) > 0
_steps, _step_seconds = _of_server(traffic.decode_steps), _of_server(traffic.step_seconds)
_step_of_others = _others(_step_seconds, Level.MODEL, _OF_MODEL).per(_others(_steps, Level.MODEL, _OF_MODEL))


def _mean(figure: Expr) -> Expr:
    """Of the servers of a model that draft alike."""
    return over_level("avg", figure.at(Level.TARGET)).at(Level.MODEL)


def _no_more_than_others(figure: Expr) -> Expr:
    return Binary(_mean(figure) * (1 + Setting("thresholds.load")), ">=", figure, _OF_MODEL)


# More work makes batches larger and steps longer: a server that does no more than the others has no such excuse.
_slow = (
    (_step_seconds.per(_steps) > _step_of_others * Setting("thresholds.slow_steps"))
    & (InWindow(_steps) >= Setting("traffic.steps_to_judge"))
    & _no_more_than_others(_of_server(traffic.generation_tokens))
    & _no_more_than_others(rate(serving.PROMPT_TOKENS))
)
_started = rate(latency.TIME_TO_FIRST_TOKEN.count)
_holds_none = _of_server(requests.requests_running + requests.requests_waiting).equals(0)
_starved = (_started.equals(0) & _holds_none).combined(
    "and", InWindow(_mean(_started)) >= Setting("traffic.requests_to_compare"), replace(_OF_MODEL, group="")
)
_waiting = _of_server(OverTime("avg_over_time", requests.requests_waiting, RATE_WINDOW))
_wait_of_others = _others(_waiting, Level.MODEL, _OF_MODEL).per(_others(_started, Level.MODEL, _OF_MODEL))
_waits = ((_waiting >= 1).per(_started) > Setting("thresholds.queue_wait")) > _wait_of_others * _TWICE
server_outlier = Signal(
    name="server_outlier",
    title="Servers unlike the others",
    question="Does one server do worse than the model's other servers?",
    description="1 for a server whose requests fail, whose decode steps are slow, that gets no request or lets "
    "requests wait, unlike the model's other servers now.",
    action="Take it out of rotation, and compare its log, GPU and arguments with the others'.",
    note="Fails: over thresholds.errors, and twice the share of the others; 5xx do not count while a limit of the "
    "queue rejects requests. Slow: over thresholds.slow_steps times the others' mean step while it generates and reads "
    "no more tokens than they do. No request: where servers get traffic.requests_to_compare each on average. Waits: "
    "over thresholds.queue_wait, and twice as long as the others. Steps and traffic are compared between servers of "
    "one method and variant.",
    unit=Unit.CODE,
    better=Better.LOWER,
    expr=merged(
        "symptom",
        {
            "requests fail": constant(
                1,
                first_of(
                    _fails(_failures, _responses).combined("unless", _rejects),
                    _fails(
                        _of_server(requests.requests_finished.where("finished_reason", "error")),
                        _of_server(requests.request_rate),
                    ),
                ),
            ),
            "decode steps are slow": constant(1, _slow),
            "no request arrives": constant(1, _starved),
            "requests wait": over_level("group", _waits),  # Where none starts, the wait is infinite.
        },
    ),
    record="vllm_server_outlier:bool",
    levels=(Level.TARGET,),
    by=("symptom",),
    codes=(Code(1, "unlike the others", Status.WARN, "outlier"),),
    empty="every server does as the others do, or the model has one",
)
