"""What each engine is doing: pictures that must never look the same."""

from draftboard.catalogue import Metric, around, serving
from draftboard.expr.promql import aggregate, binary, call, constant, count_values, first_of, labelled_if, on
from draftboard.signals.scope import Scope
from draftboard.signals.signal import Better, Code, Level, Signal, Unit
from draftboard.signals.traffic import BOTH_LEVELS, drafts, generation_tokens
from draftboard.status import Status

DOWN = Code(0, "down", Status.BAD)
STATES = {
    "down": DOWN,
    "off": Code(1, "speculation off", Status.NEUTRAL),
    "idle": Code(2, "idle", Status.QUIET),
    "not drafting": Code(3, "serving without drafting", Status.WARN, "not-drafting"),
    "drafting": Code(4, "drafting", Status.GOOD),
    "silent": Code(5, "answers without vLLM metrics", Status.WARN),
    "starting": Code(6, "starting", Status.QUIET),
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
        "silent": _silent(s),
        "starting": _starting(s),
    }
    return first_of(*(constant(STATES[name].value, condition) for name, condition in holding.items()))


def _answers(s: Scope, *matchers: str) -> str:
    """1 for targets that answered one of the last two scrapes, else 0: a single failed scrape is no outage."""
    return call("max_over_time", s.raw(around.UP, window=_lately(s), matchers=matchers))


def _lately(s: Scope) -> str:
    """Two scrapes."""
    return str(s.settings.rules.scrape_interval * 2)


def answers_without(s: Scope, metric: Metric, *matchers: str) -> str:
    """1 for targets that answer and do not expose a metric, in the same scrapes."""
    labels = s.settings.labels
    exposed = call("last_over_time", s.raw(metric, window=_lately(s), chosen_by=labels.target_level))
    return binary(binary(_answers(s, *matchers), "==", "1"), "unless", exposed, on(labels.target))


def _down(s: Scope) -> str:
    """Engines seen lately on a target that does not answer, and labelled targets that ought to have answered by now."""
    labels = s.settings.labels
    seen = call("last_over_time", s.raw(serving.REQUESTS_RUNNING, window=str(s.settings.rules.remember)))
    silent = binary(_answers(s), "==", "0")
    overdue = binary(_never_seen(s), "and", _ought_to_answer(s), on(labels.target))
    return first_of(
        aggregate("group", s.labels, binary(seen, "and", silent, on(labels.target))),
        aggregate("max", labels.target_level, overdue),
    )


def _starting(s: Scope) -> str:
    """Those that have never answered; the ones that ought to have are down, which is asked before."""
    return aggregate("max", s.settings.labels.target_level, _never_seen(s))


def _never_seen(s: Scope) -> str:
    """Labelled targets that do not answer and have not lately: only a label tells them from other exporters."""
    labelled = binary(_answers(s, _labelled(s)), "==", "0")
    return binary(labelled, "unless", _seen_lately(s), on(s.settings.labels.target))


def of_servers(s: Scope, vector: str) -> str:
    """Of a vector by target: what belongs to vLLM servers, seen lately or labelled; others expose it too."""
    servers = first_of(_seen_lately(s), s.raw(around.UP, matchers=(_labelled(s),)))
    return binary(vector, "and", servers, on(s.settings.labels.target))


def _seen_lately(s: Scope) -> str:
    """Engines of the chosen targets, of whatever model: a server of another model was seen too."""
    lately, target = str(s.settings.rules.remember), s.settings.labels.target_level
    return call("last_over_time", s.raw(serving.REQUESTS_RUNNING, window=lately, chosen_by=target))


def _labelled(s: Scope) -> str:
    """Matches targets that are said to be vLLM servers."""
    return f'{s.settings.labels.spec_method}!=""'


def _ought_to_answer(s: Scope) -> str:
    """Targets that once answered, and those that were scraped in vain before a new server's time to start."""
    rules = s.settings.rules
    answered = call("max_over_time", s.raw(around.UP, window=str(rules.startup)))
    known = call("last_over_time", s.ago(rules.startup).raw(around.UP, window=str(rules.remember)))
    return first_of(binary(answered, "==", "1"), known)


def _silent(s: Scope) -> str:
    """Labelled targets that answer, but say nothing of an engine: only a label tells them from other exporters."""
    silent = answers_without(s, serving.REQUESTS_RUNNING, _labelled(s))
    return aggregate("max", s.settings.labels.target_level, silent)


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
    description="Down: the target does not answer. Starting: it is new and has not answered yet. Speculation off: "
    "it answers, without speculative series. Idle: nothing is generated. Serving without drafting: tokens, but no "
    "drafts. Drafting. Answers without vLLM metrics: labelled as vLLM, but started with --disable-log-stats. Of a "
    "model: its busiest engine's.",
    unit=Unit.CODE,
    expr=_state,
    record="vllm_spec_decode_state:enum_rate{window}",
    levels=BOTH_LEVELS,
    rollup="max",
    codes=tuple(STATES.values()),
    empty="no vLLM target is scraped",
)
target_up = Signal(
    name="target_up",
    title="Servers that answer",
    question="Can the server be reached?",
    description="1 while the target answers one of two scrapes or is new, 0 while it does not. Of targets that "
    "served vLLM metrics lately, or whose method label says that they ought to.",
    unit=Unit.CODE,
    better=Better.HIGHER,
    expr=lambda s: aggregate("min", s.labels, binary(s.at(Level.ENGINE)(state), "> bool", str(STATES["down"].value))),
    record="vllm_up:bool",
    levels=(Level.TARGET,),
    codes=(DOWN, Code(1, "answers, or starts", Status.GOOD)),
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
    kinds=tuple((code.says, code.status) for code in STATES.values()),
    empty="no vLLM target is scraped",
    decimals=0,
)
SIGNALS = (state, engines_by_state, target_up)
