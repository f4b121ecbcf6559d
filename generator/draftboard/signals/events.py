"""What happened: marked on every graph."""

from draftboard.catalogue import around, probe, serving
from draftboard.expr.nodes import (
    LEVEL,
    Aggregate,
    AtLevel,
    Carrying,
    CountValues,
    Expr,
    Function,
    If,
    IsSet,
    LabelJoin,
    LabelReplace,
    Labels,
    Match,
    Now,
    Number,
    OverTime,
    Raw,
    constant,
    first_of,
    ignoring,
    on,
    over_level,
)
from draftboard.expr.scope import Level
from draftboard.quantity import EVALUATION, Setting
from draftboard.signals.drafting import configured_k, lowest_k, runs
from draftboard.signals.presence import REMEMBERED, known, last_known, of_servers
from draftboard.signals.signal import Better, Code, Signal, Unit, good_under
from draftboard.signals.traffic import generation_tokens
from draftboard.status import Status

WATCHDOG = "DraftboardWatchdog"  # Fires always, so that it needs no attention.
OURS = "(SpecDecode|VLLM|Draftboard).+"


_resets = OverTime("resets", Raw(serving.GENERATION_TOKENS), REMEMBERED)
# A process starts later each time. `changes` would count the first sample of a series in VictoriaMetrics.
_starts = OverTime("resets", 0 - Raw(around.PROCESS_START_TIME), REMEMBERED)
restarts = Signal(
    name="restarts",
    title="Restarts",
    question="Has a server restarted?",
    description="Process starts or counter resets within rules.remember (by default 1h).",
    action="If it was not planned, read the server's log from before it.",
    note="An elastic scale-up resets all counters, too. A server that returns as another instance counts as new.",
    unit=Unit.RESTARTS,
    better=Better.LOWER,
    # Of a server also a process that starts anew, which shows before there was any traffic.
    expr=If(AtLevel(Level.MODEL), over_level("sum", _resets), of_servers("max", first_of(_starts, _resets))),
    record="vllm_restarts:count{remember}",
    levels=(Level.TARGET, Level.MODEL),
    bands=good_under(0, good="none", beyond="restarted"),
    empty="no vLLM series",
)


def _just_before(figure: Expr) -> Expr:
    """What was known last, an evaluation ago: a server that restarts is silent in between."""
    return last_known(figure, EVALUATION)


def _changed(number: Signal, how: str) -> Expr:
    """Where a number differs from what it was, both as labels."""
    before = _just_before(number)
    changed = CountValues("k", number.combined(how, before))
    return Carrying(changed, "before", CountValues("before", before), (LEVEL,))


k_changed = Signal(
    name="k_changed",
    title="Changes of K",
    question="When did K change?",
    description="1 at the evaluation at which K (num_speculative_tokens) changed, with K before and after as labels.",
    action="Compare what graphs show before and after it.",
    note="The first engine with a longer draft, and the first with a shorter one. Marked on every graph.",
    unit=Unit.CODE,
    # Both numbers look back for a window: each is late in one direction.
    expr=first_of(_changed(configured_k, ">"), _changed(lowest_k, "<")),
    record="vllm_spec_decode_k:changed",
    by=("before", "k"),
    codes=(Code(1, "changed", Status.ODD),),
    empty="K did not change at this evaluation",
)
_known_before = _just_before(generation_tokens)
_SERVICE = on(Labels("scope"), Labels("job"), Labels("model_name"))
new_arm = Signal(
    name="new_arm",
    title="New methods",
    question="When was a model first served in another way?",
    description="1 at the evaluation at which a model had a method or variant that it did not have before.",
    action="Compare both ways on the dashboard for comparisons.",
    note="While it was served in another way. Marked on every graph.",
    unit=Unit.CODE,
    enabled=IsSet("labels.variant_labels"),
    expr=over_level(
        "group", generation_tokens.combined("unless", _known_before).combined("and", _known_before, _SERVICE)
    ),
    record="vllm_drafting:new",
    codes=(Code(1, "new", Status.ODD),),
    empty="no model is served in a new way at this evaluation",
)


def _renamed(label: str) -> Signal:
    """Where what engines run has another name than any that was known last, with the former one as a label."""
    names = over_level("group", runs.without(label, ""), label)
    before = _just_before(names)
    former = LabelReplace(before, "before", "$1", label, "(.*)")
    return Signal(
        name=f"{label}_changed",
        title=f"Changes of {probe.named(label)}",
        question=f"When did the {probe.named(label)} change?",
        description=f"1 at the evaluation at which the {probe.named(label)} changed, with both names as labels.",
        action="Compare what graphs show before and after it.",
        note="Of engines with Draftboard's plugin for vLLM. Marked on every graph.",
        unit=Unit.CODE,
        expr=Carrying(names.combined("unless", before), "before", former, (LEVEL,)),
        record=f"draftboard_spec_{label}:changed",
        by=("before", label),
        codes=(Code(1, "changed", Status.ODD),),
        empty=f"the {probe.named(label)} did not change at this evaluation",
    )


renamed = {label: _renamed(label) for label in (probe.VERSION, probe.DRAFTER)}
"""Of what engines run, what changes most often; `draftboard history` names all."""
_failed = Function("resets", Raw(around.UP, window=REMEMBERED))
_answered = OverTime("avg_over_time", Raw(around.UP), REMEMBERED)
_failures = of_servers("max", _failed & (_answered < Setting("thresholds.answered")))
"""How often a server failed its scrapes; a single lost scrape now and then is none."""
interruptions = Signal(
    name="interruptions",
    title="Interruptions",
    question="Is a server flapping?",
    description="Restarts, or times that a server stopped answering scrapes, within rules.remember (by default "
    "1h): the larger number.",
    action="If it grows, read the server's log: memory, a failing probe, a change.",
    note="For a server that answers nearly all scrapes, only restarts count.",
    unit=Unit.RESTARTS,
    better=Better.LOWER,
    expr=over_level("max", first_of(_failures >= restarts, restarts)),
    record="vllm_interruptions:count{remember}",
    levels=(Level.TARGET,),
    bands=good_under(Setting("thresholds.interruptions"), good="steady", beyond="flapping"),
    empty="no vLLM series",
)
_seen = over_level("count", OverTime("last_over_time", known, REMEMBERED).at(Level.TARGET))
_at_once = OverTime("max_over_time", over_level("count", known.at(Level.TARGET)), REMEMBERED)
replacements = Signal(
    name="replacements",
    title="Replacements of servers",
    question="Are a model's servers replaced again and again?",
    description="How often each server of a model was replaced by one of another address, within rules.remember (by "
    "default 1h): servers seen / most at once - 1.",
    action="If it grows, read the log of a server that left: memory, a failing probe, a preempted node.",
    note="A rolling deployment is one replacement of each server; scaling is none.",
    unit=Unit.RESTARTS,
    better=Better.LOWER,
    expr=_seen / _at_once - 1,
    levels=(Level.SERVICE,),
    bands=good_under(Setting("thresholds.interruptions"), good="steady", beyond="flapping"),
    empty="no vLLM series",
    decimals=1,
)
FIRING = Match("alertstate", "=", "firing")
watchdog = Raw(around.ALERTS, matchers=(Match("alertname", "=", WATCHDOG), FIRING))
"""1 while alerts can fire at all."""
rules_loaded = Aggregate("max", (), Raw(around.ALERTS_FOR_STATE, matchers=watchdog.matchers[:1]))
"""Unix time at which the rules were loaded: when what was so before began, they do not know."""
firing_alerts = Signal(
    name="firing_alerts",
    title="Firing alerts",
    question="What needs attention?",
    description="Draftboard's alerts that fire now.",
    action="Open the runbook of the same name.",
    unit=Unit.CODE,
    expr=Raw(around.ALERTS, matchers=(Match("alertname", "=~", OURS), Match("alertname", "!=", WATCHDOG), FIRING)),
    empty="Prometheus does not answer",
)


def _about(alerts: Expr) -> Expr:
    """With what an alert is about, in a label: its model without the organisation, its server, or both."""
    named = LabelJoin(
        alerts, "about", " ", (Labels("model_name"), Labels("variant"), Labels("instance"), Labels("scope"))
    )
    return LabelReplace(named, "about", "$1", "about", "(?:[^ ]*/)?(.+?) *")


def _of_each_alert(how: str, alerts: Expr) -> Expr:
    return over_level(how, _about(alerts), "alertname", "about")


def of_severity(severity: str) -> Expr:
    """The alerts that fire of a severity, by its name in the rules."""
    return firing_alerts.where("severity", Setting(f"severities.{severity}"))


def listed(severity: str) -> Expr:
    """Those of a severity as the table of alerts lists them: of one alert on one thing, each once."""
    return _of_each_alert("max", of_severity(severity))


def _every(alerts: Expr) -> Expr:
    return Aggregate("max", (), alerts)


def _saying(text: str, code: int, where: Expr) -> Expr:
    """A row that says in words that no alert fires, and whether one could."""
    return LabelReplace(constant(code, where), "about", text, "about", "")


_SEVERITIES = ("critical", "warning", "info")
alert_severity = Signal(
    name="alert_severity",
    title="Severity of each alert",
    short="Severity",
    question="Which alert is the most urgent?",
    description="Severity of each alert that fires, with what it is about.",
    action="Open the runbook of the most urgent one.",
    unit=Unit.CODE,
    expr=_of_each_alert(
        "min",
        first_of(
            *(constant(rank, of_severity(name)) for rank, name in enumerate(_SEVERITIES)),
            constant(len(_SEVERITIES), firing_alerts),
        ),
    )
    | _saying("nothing fires; the rules are loaded", 4, _every(watchdog).combined("unless", _every(firing_alerts)))
    | _saying(
        "no alerting rules are loaded: run draftboard doctor",
        5,
        # The watchdog waits for samples: where they stop, an alert says so.
        Function("vector", Number(1)).combined("unless", _every(watchdog)).combined("unless", _every(firing_alerts)),
    ),
    levels=(Level.FLEET,),
    by=("alertname", "about"),
    codes=(
        Code(0, "critical", Status.BAD),
        Code(1, "warning", Status.DUE),
        Code(2, "info", Status.NEUTRAL),
        Code(3, "none", Status.NEUTRAL),
        Code(4, "no alert", Status.GOOD),
        Code(5, "unknown", Status.ODD),
    ),
    empty="Prometheus does not answer",
)
alert_age = Signal(
    name="alert_age",
    title="Age of each alert",
    short="True for",
    question="How long has an alert been true?",
    description="Time since the condition of each alert that fires began to hold.",
    action="Use it to find what happened at that time.",
    unit=Unit.AGE,
    expr=_of_each_alert(
        "max", Now() - Raw(around.ALERTS_FOR_STATE).combined("and", firing_alerts, ignoring("alertstate"))
    ),
    levels=(Level.FLEET,),
    by=("alertname", "about"),
    decimals=1,
    empty="no alert fires",
)
