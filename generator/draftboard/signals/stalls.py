"""Servers and engines that accept requests and do not work on them."""

from draftboard.catalogue import Metric, latency, serving
from draftboard.expr.nodes import (
    Expr,
    Function,
    If,
    InDialect,
    InWindow,
    MetricOfDialect,
    first_of,
    on,
    over_level,
    rate,
)
from draftboard.expr.scope import Level
from draftboard.quantity import RATE_WINDOW, Setting
from draftboard.signals.presence import of_known
from draftboard.signals.requests import ACCEPTED, request_rate
from draftboard.signals.signal import Better, Signal, Unit, good_under
from draftboard.signals.traffic import BOTH_LEVELS, ONE_ENGINE, by_replica, in_flight, over_window
from draftboard.status import Status

_first_tokens = rate(latency.TIME_TO_FIRST_TOKEN.count, by=())
_accepted = (of_known("sum", InWindow(Function("rate", ACCEPTED))), InWindow(_first_tokens))
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
    expr=first_of(*(count >= Setting("traffic.requests_unanswered") for count in _accepted))
    & _only_first_tokens
    & over_level("sum", request_rate.at(Level.ENGINE)).equals(0),
    record="vllm_requests_unanswered:increase{window}",
    levels=(Level.TARGET,),
    bands=good_under(0, good="answered", beyond="unanswered", status=Status.BAD),
    empty="requests are answered, or none comes in",
)


def _steps_of(gauge: Metric) -> Expr:
    """0 for a gauge that stayed as it is. To `changes` of VictoriaMetrics a new series has changed."""
    return over_window("max_over_time", gauge) - over_window("min_over_time", gauge)


def _held(gauge: Metric) -> Expr:
    """The least in the window, whatever the evaluation."""
    return over_level("min", over_window("min_over_time", gauge))


def _before_first_token() -> Expr:
    """Requests of a replica that has finished none and whose engine has never exposed a token, for a whole window."""
    inside = MetricOfDialect("in_flight")
    held = (by_replica("min_over_time", inside) > 0) & (by_replica("last_over_time", inside).ago(RATE_WINDOW) > 0)
    served = first_of(
        by_replica("last_over_time", MetricOfDialect("finished")),
        over_level("max", over_window("last_over_time", serving.GENERATION_TOKENS)).at(Level.ENGINE),
    )
    return over_level("min", held.combined("unless", served, on(*ONE_ENGINE)))


stuck = Signal(
    name="stuck",
    title="Stuck requests",
    question="Does an engine hold requests without working on them?",
    description="Least number of running requests in the window, or of waiting ones where none runs, of an engine that "
    "generated no token and whose KV cache did not change.",
    action="Remove the server from rotation, and restart it.",
    note="A long prompt that is being computed fills the cache.",
    unit=Unit.REQUESTS,
    better=Better.LOWER,
    expr=If(
        InDialect(MetricOfDialect("in_flight")),
        first_of(
            (over_level("min", in_flight("min_over_time")) > 0) & rate(serving.GENERATION_TOKENS).equals(0),
            _before_first_token(),
        ),
        first_of(*(_held(gauge) > 0 for gauge in (serving.REQUESTS_RUNNING, serving.REQUESTS_WAITING)))
        & rate(serving.GENERATION_TOKENS).equals(0)
        & over_level("max", _steps_of(serving.KV_CACHE_USAGE)).equals(0),
    ),
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
    description="Engines with running or waiting requests, without a token or a change of the KV cache in the window.",
    action="Remove their servers from rotation, and restart them.",
    unit=Unit.ENGINES,
    better=Better.LOWER,
    expr=over_level("count", stuck.at(Level.ENGINE)),
    record="vllm_engines_stuck:count{window}",
    bands=good_under(1, good="none", beyond="some", status=Status.BAD),
    empty=stuck.empty,
    decimals=0,
)
