"""What happened: marked on every graph. And whether anybody is watching."""

from draftboard.catalogue import around, serving
from draftboard.expr.promql import aggregate, call, first_of
from draftboard.signals.scope import Scope
from draftboard.signals.signal import Code, Level, Signal, Unit, good_under
from draftboard.signals.state import of_servers
from draftboard.status import Status

WATCHED_ALERTS = "SpecDecode.+|VLLM.+"


def _restarts(s: Scope) -> str:
    """Counters that start anew; of a server also a process that does, which shows before there was any traffic."""
    lately = str(s.settings.rules.remember)
    resets = call("resets", s.raw(serving.GENERATION_TOKENS, window=lately))
    if s.level is Level.MODEL:
        return aggregate("sum", s.labels, resets)
    starts = call("changes", s.raw(around.PROCESS_START_TIME, window=lately))
    return of_servers(s, aggregate("max", s.labels, first_of(starts, resets)))


restarts = Signal(
    name="restarts",
    title="Restarts",
    question="Did counters start anew?",
    description="Starts of the process, or resets of its counters, within the time that a server is remembered: a "
    "restart, or an elastic scale-up that resets all counters. A server that comes back under another instance is a "
    "new one, and no restart.",
    unit=Unit.RESTARTS,
    expr=_restarts,
    record="vllm_restarts:count{remember}",
    levels=(Level.TARGET, Level.MODEL),
    bands=lambda _: good_under(0, good="none", beyond="restarted"),
    empty="no vLLM series",
)
firing_alerts = Signal(
    name="firing_alerts",
    title="Alerts that fire",
    question="What needs a look?",
    description="Alerts that fire now, each with a runbook of its own name.",
    unit=Unit.CODE,
    expr=lambda s: s.raw(around.ALERTS, matchers=(f'alertname=~"{WATCHED_ALERTS}"', 'alertstate="firing"')),
    empty="no alert fires, or no alerting rules are loaded",
)
heartbeat = Signal(
    name="heartbeat",
    title="Heartbeat",
    question="Are the rules evaluated, and do alerts arrive?",
    description="Always 1: where its alert falls silent, Prometheus, its rules or Alertmanager are down.",
    unit=Unit.CODE,
    expr=lambda _: "vector(1)",
    record="draftboard_heartbeat:bool",
    levels=(Level.FLEET,),
    codes=(Code(1, "evaluated", Status.GOOD),),
    empty="no rules are evaluated",
)

SIGNALS = (restarts, firing_alerts, heartbeat)
