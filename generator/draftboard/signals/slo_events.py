"""Requests that SLOs cover, those outside them, and the share that may be."""

from collections.abc import Callable
from functools import partial

from draftboard.expr.nodes import (
    Before,
    Bound,
    Evaluator,
    Expr,
    If,
    IsSet,
    OfDeclared,
    Ref,
    constant,
    first_of,
    ignoring,
    merged,
    over_level,
    rate_of_each,
)
from draftboard.expr.scope import Level
from draftboard.quantity import Setting
from draftboard.settings.objectives import HISTOGRAMS, SLO_NAMES, SloName
from draftboard.signals import absence, requests, responses, states
from draftboard.signals.presence import REMEMBERED
from draftboard.signals.signal import Better, Signal, Unit

slo_signal = partial(Signal, by=("slo",), levels=(Level.SERVICE,), enabled=IsSet("slo.declared"))


def each_objective(part: Callable[[SloName], Expr]) -> Expr:
    """A part of an expression for each declared objective, its name in the label `slo`."""
    return OfDeclared("slo", tuple((name, part(name)) for name in SLO_NAMES))


def _events(name: SloName) -> Expr:
    if name == "errors":
        return _with_unserved(_ended)
    # A server without a bucket at the threshold cannot tell: it is left out, not counted as late.
    every = rate_of_each(HISTOGRAMS[name].count)
    return over_level("sum", every.combined("and", _in_time(name), ignoring("le")))


def _bad_events(name: SloName) -> Expr:
    if name == "errors":
        return _with_unserved(_failed)
    return _recorded_events(name) - over_level("sum", _in_time(name))


def _recorded_events(name: SloName) -> Expr:
    return If(Evaluator.RECORDS_AT_ONCE, events.where("slo", name).sum("slo"), _events(name))


_finished, _rejected = (one.at(Level.MODEL) for one in (requests.requests_finished, requests.requests_rejected))
# Together: what a release does not count does not silence the other.
_ended = over_level("sum", first_of(_finished, _rejected))
_counted = over_level("sum", first_of(_finished.where("finished_reason", "error"), _rejected))
_failed = first_of(_counted, constant(0, requests.finished_of_service))  # Old releases count neither.


def _with_unserved(counted: Expr) -> Expr:
    return merged("source", {"engine": counted, "unserved": unserved}).sum("source")


refused = slo_signal(
    name="slo_refused",
    title="Refused requests",
    question="How many requests failed outside the engines?",
    description="Requests per second answered with 5xx, without the errors and rejections that engines counted.",
    action="Check the servers and the network to them.",
    unit=Unit.REQUESTS_PER_SECOND,
    better=Better.LOWER,
    # An error and a rejection inside the engine are a 5xx as well.
    expr=(responses.http_failures - first_of(_counted, constant(0, responses.http_failures))) > 0,
    record="vllm_slo_refused:rate{window}",
    by=(),
    enabled=IsSet("slo.declared", "errors"),
    empty="no request failed outside the engines",
)


def _unserved() -> Expr:
    """What the engines' counters miss: what was refused, and while no server answers, what came in the hour before."""
    # The record of an outage holds what was usual, and so does its mean, however long it lasts.
    usual = Before(Ref("slo_events"), REMEMBERED, "avg_over_time")
    nobody = first_of(states.servers_down.equals(1), absence.gone)
    # What was counted before the outage still counts within the window of a rate.
    counted = first_of(requests.finished_of_service > 0, requests.rejected_of_service > 0)
    lost = (usual.where("slo", "errors").sum("slo") & nobody).combined("unless", counted)
    return If(Evaluator.RECORDS, merged("source", {"refused": refused, "lost": lost}).sum("source"), refused)


def _in_time(name: SloName) -> Expr:
    within = rate_of_each(HISTOGRAMS[name].bucket)
    return within.where("le", Bound(Setting(f"slo.thresholds.{name}")))


def _allowed(name: SloName) -> Expr:
    # Whose it is: the record costs a sample for each service.
    whose = If(Evaluator.RECORDS_AT_ONCE, events.where("slo", name), _events(name))
    return constant(Setting(f"slo.declared.{name}.allowed"), whose)


unserved = slo_signal(
    name="slo_unserved",
    title="Unserved requests",
    question="How many requests failed before an engine counted them?",
    description="Requests per second answered with 5xx outside the engines; while no server answers, as many as "
    "came in the hour before on average.",
    action="Check the servers and the network to them.",
    note="Not the errors and rejections of an engine.",
    unit=Unit.REQUESTS_PER_SECOND,
    better=Better.LOWER,
    expr=_unserved(),
    record="vllm_slo_unserved:rate{window}",
    by=(),
    enabled=IsSet("slo.declared", "errors"),
    empty="every request reached an engine",
)
events = slo_signal(
    name="slo_events",
    title="Requests covered by an SLO",
    question="How many requests does an SLO cover?",
    description="Requests per second that an SLO covers.",
    action="Use it as the load behind the share that missed the SLO.",
    unit=Unit.REQUESTS_PER_SECOND,
    expr=each_objective(_events),
    record="vllm_slo_events:rate{window}",
    empty="no vLLM series",
)
bad_events = slo_signal(
    name="slo_bad_events",
    title="Requests outside an SLO",
    question="How many requests missed an SLO?",
    description="Requests per second that took longer than the SLO allows, failed, were rejected or found no server.",
    action="See which SLO is missed, then look at that latency or at errors.",
    unit=Unit.REQUESTS_PER_SECOND,
    better=Better.LOWER,
    expr=each_objective(_bad_events),
    record="vllm_slo_bad_events:rate{window}",
    empty="no vLLM series, or the histogram has no bucket at the threshold: declare the servers' bounds",
)
budget = slo_signal(
    name="error_budget",
    title="Error budget",
    question="Which share of requests may miss the SLO?",
    description="1 - objective of the SLO: the share of requests that may miss it.",
    action="Compare with the share that misses it.",
    expr=each_objective(_allowed),
    record="vllm_slo_error_budget:ratio",
    empty="no vLLM series",
    decimals=2,
)
