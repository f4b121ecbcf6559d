"""What happened: marked on every graph."""

from draftboard.metrics import around, serving
from draftboard.promql import aggregate, call
from draftboard.signals.signal import Signal, Unit

restarts = Signal(
    name="restarts",
    title="Engine restarts",
    question="Did counters start anew?",
    description="Counter resets within the window: a restart, or an elastic scale-up that resets all counters. A "
    "server that comes back under another instance is a new one, and no restart.",
    unit=Unit.RESTARTS,
    expr=lambda s: aggregate("sum", s.labels, call("resets", s.raw(serving.GENERATION_TOKENS, window=s.window))),
    record="vllm_generation_tokens:resets{window}",
    empty="no vLLM series",
)
firing_alerts = Signal(
    name="firing_alerts",
    title="Alerts that fire",
    question="What needs a look?",
    description="Alerts on speculation that fire now, each with a runbook of its own name.",
    unit=Unit.CODE,
    expr=lambda s: s.raw(around.ALERTS, matchers=('alertname=~"SpecDecode.+"', 'alertstate="firing"')),
    empty="no alert fires, or no alerting rules are loaded",
)

SIGNALS = (restarts, firing_alerts)
