"""What each engine is doing: five different pictures that must never look the same."""

from draftboard import metrics
from draftboard.promql import aggregate, binary, call, constant, count_values, first_of, labelled_if, on
from draftboard.signals.scope import Scope
from draftboard.signals.signal import Code, Level, Signal, Status, Unit
from draftboard.signals.traffic import BOTH_LEVELS, drafts, generation_tokens

STATES = {
    "down": Code(0, "down", Status.BAD),
    "off": Code(1, "speculation off", Status.NEUTRAL),
    "idle": Code(2, "idle", Status.NEUTRAL),
    "not drafting": Code(3, "serving without drafting", Status.WARN),
    "drafting": Code(4, "drafting", Status.GOOD),
}


def _state(s: Scope) -> str:
    return aggregate("max", s.labels, _engine_state(s.at(Level.ENGINE)))


def _engine_state(s: Scope) -> str:
    """The first that holds; a rate outlives its target by a window, so that `down` is asked first."""
    holding = {
        "down": _down(s),
        "drafting": binary(s(drafts), ">", "0"),
        "not drafting": binary(binary(s(generation_tokens), ">", "0"), "and", s(drafts)),
        "idle": s(drafts),
        "off": s(generation_tokens),
    }
    return first_of(*(constant(STATES[name].value, condition) for name, condition in holding.items()))


def _down(s: Scope) -> str:
    """Engines seen lately on a target that does not answer, and labelled targets that have never answered."""
    target = s.settings.labels.target
    seen = call("last_over_time", s.raw(metrics.REQUESTS_RUNNING, window=str(s.settings.rules.remember)))
    silent = binary(s.raw(metrics.UP), "==", "0")
    never_seen = binary(
        binary(s.raw(metrics.UP, matchers=(f'{s.settings.labels.spec_method}!=""',)), "==", "0"),
        "unless",
        seen,
        on(target),
    )
    return first_of(
        aggregate("group", s.labels, binary(seen, "and", silent, on(target))),
        aggregate("max", s.settings.labels.target_level, never_seen),
    )


def _engines_by_state(s: Scope) -> str:
    """Counted by the state's number, which is then put in words."""
    counts = count_values("state", s.labels, s.at(Level.ENGINE)(state))
    for code in STATES.values():
        counts = labelled_if(counts, "state", code.says, "state", str(code.value))
    return counts


state = Signal(
    name="state",
    title="Speculation state",
    question="Is it drafting, and if not, why?",
    description="Down: the target does not answer. Speculation off: it answers, without speculative series. Idle: "
    "nothing is generated. Serving without drafting: tokens, but no drafts. Drafting. Of a model: its busiest "
    "engine's.",
    unit=Unit.CODE,
    expr=_state,
    record="vllm_spec_decode_state:enum_rate{window}",
    levels=BOTH_LEVELS,
    rollup="max",
    codes=tuple(STATES.values()),
    empty="no vLLM target is scraped",
)
engines_by_state = Signal(
    name="engines_by_state",
    title="Engines by state",
    question="How many engines are doing what?",
    description="Number of engines in each speculation state.",
    unit=Unit.ENGINES,
    expr=_engines_by_state,
    record="vllm_spec_decode_engines:count_rate{window}",
    by=("state",),
    empty="no vLLM target is scraped",
)
restarts = Signal(
    name="restarts",
    title="Engine restarts",
    question="Did counters start anew?",
    description="Counter resets within the window: a restart, or an elastic scale-up that resets all counters.",
    unit=Unit.RESTARTS,
    expr=lambda s: aggregate("sum", s.labels, call("resets", s.raw(metrics.GENERATION_TOKENS, window=s.window))),
    record="vllm_generation_tokens:resets{window}",
    empty="no vLLM series",
)
firing_alerts = Signal(
    name="firing_alerts",
    title="Alerts that fire",
    question="What needs a look?",
    description="Alerts on speculation that fire now, each with a runbook of its own name.",
    unit=Unit.CODE,
    expr=lambda s: s.raw(metrics.ALERTS, matchers=('alertname=~"SpecDecode.+"', 'alertstate="firing"')),
    empty="no alert fires, or no alerting rules are loaded",
)

SIGNALS = (state, engines_by_state, restarts, firing_alerts)
