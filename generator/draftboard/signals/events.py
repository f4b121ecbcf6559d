"""What happened: marked on every graph."""

from draftboard.catalogue import around, serving
from draftboard.expr.scope import Level, Matcher, Scope
from draftboard.expr.tree import Expr, Function, Given, Raw, first_of, over_level, setting
from draftboard.signals.presence import of_servers, remembered
from draftboard.signals.signal import Better, Signal, Unit, good_under

WATCHDOG = "DraftboardWatchdog"  # Fires always, so that it needs no attention.
OURS = "(SpecDecode|VLLM|Draftboard).+"


def _restarts(s: Scope) -> Expr:
    """Counters that start anew; of a server also a process that does, which shows before there was any traffic."""
    resets = Function("resets", Raw(serving.GENERATION_TOKENS, window=remembered))
    if s.level is Level.MODEL:
        return over_level("sum", resets)
    starts = Function("changes", Raw(around.PROCESS_START_TIME, window=remembered))
    return of_servers("max", first_of(starts, resets))


restarts = Signal(
    name="restarts",
    title="Restarts",
    question="Has a server restarted?",
    description="Process starts or counter resets while a server is remembered (rules.remember, by default 1h).",
    action="If it was not planned, read the server's log from before it.",
    note="An elastic scale-up resets all counters, too. A server that returns as another instance counts as new.",
    unit=Unit.RESTARTS,
    expr=Given(_restarts),
    record="vllm_restarts:count{remember}",
    levels=(Level.TARGET, Level.MODEL),
    bands=lambda _: good_under(0, good="none", beyond="restarted"),
    empty="no vLLM series",
)
_failed = Function("ceil", Function("changes", Raw(around.UP, window=remembered)) * 0.5)
_answered = Function("avg_over_time", Raw(around.UP, window=remembered))
_failures = of_servers("max", _failed & (_answered < setting(lambda settings: settings.thresholds.answered)))
"""How often a server failed its scrapes; a single lost scrape now and then is none."""
interruptions = Signal(
    name="interruptions",
    title="Interruptions",
    question="Does a server fail again and again?",
    description="Restarts, or times that a server stopped answering scrapes, within rules.remember (by default "
    "1h): the larger number.",
    action="If it grows, read the server's log: memory, a failing probe, a change.",
    note="Of a server that answers nearly all scrapes, restarts only.",
    unit=Unit.RESTARTS,
    better=Better.LOWER,
    expr=over_level("max", first_of(_failures >= restarts, restarts)),
    record="vllm_interruptions:count{remember}",
    levels=(Level.TARGET,),
    bands=lambda settings: good_under(settings.thresholds.interruptions, good="steady", beyond="flapping"),
    empty="no vLLM series",
)
firing_alerts = Signal(
    name="firing_alerts",
    title="Firing alerts",
    question="What needs attention?",
    description="Draftboard's alerts that fire now.",
    action="Open the runbook of the same name.",
    unit=Unit.CODE,
    expr=Raw(
        around.ALERTS,
        matchers=lambda _: (
            Matcher("alertname", "=~", OURS),
            Matcher("alertname", "!=", WATCHDOG),
            Matcher("alertstate", "=", "firing"),
        ),
    ),
    empty="no alert fires, or no alerting rules are loaded",
)
