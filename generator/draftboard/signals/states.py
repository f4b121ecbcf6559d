"""Whether servers are down, idle or drafting, and how many of a model are in each state."""

from draftboard.catalogue import Presence, speculation
from draftboard.expr.nodes import (
    CountValues,
    Exposed,
    Expr,
    If,
    LabelReplace,
    MetricOfDialect,
    Raw,
    constant,
    first_of,
    over_level,
)
from draftboard.expr.scope import Level
from draftboard.quantity import Setting
from draftboard.signals.baseline import METHOD
from draftboard.signals.decision import Choice, Decision
from draftboard.signals.presence import NO_SERVER, down, known_down, known_up, silent, starting
from draftboard.signals.signal import Better, Code, Signal, Unit, good_under
from draftboard.signals.traffic import BOTH_LEVELS, drafts, generation_tokens
from draftboard.status import Status

_positions = over_level("group", Raw(speculation.ACCEPTED_TOKENS_PER_POS))
_labelled = drafts.without(METHOD, "", Setting("methods.baseline"))
# Some engines count no drafts whether they speculate or not: there a draft, or the label, says that they do.
_speculates = If(Exposed(speculation.DRAFTS, Presence.ALWAYS), first_of(drafts & _positions, _labelled), drafts)
# Where series come with the first increment, a server without any has done nothing yet.
_nothing_yet = If(Exposed(MetricOfDialect("seen_by"), Presence.COUNTED), silent)

# A rate outlives its target by a window, so `down` comes first.
STATES = Decision(
    {
        "down": Choice(Code(0, "down", Status.DOWN), down, "the server does not answer"),
        "drafting": Choice(Code(4, "drafting", Status.NEUTRAL), drafts > 0),
        "not drafting": Choice(
            Code(3, "serving without drafting", Status.WARN, "not-drafting"),
            (generation_tokens > 0) & _speculates,
            "tokens were generated without drafts: no text repeats (n-gram, suffix), or K is 0 under load",
        ),
        "idle": Choice(Code(2, "idle", Status.QUIET), first_of(_speculates, _nothing_yet), "no tokens were generated"),
        "off": Choice(
            Code(1, "speculation off", Status.OFF),
            generation_tokens,
            "no series of speculation is exposed: the server was started without a speculative configuration",
        ),
        "silent": Choice(
            Code(5, "answers without vLLM metrics", Status.ODD),
            silent,
            "no vLLM series is exposed: started with --disable-log-stats, or not a vLLM server",
        ),
        "starting": Choice(Code(6, "starting", Status.STARTING), starting, "the server has not answered yet"),
    }
)

state = Signal(
    name="state",
    title="Speculation state",
    question="Does the engine draft, and if not, why?",
    description="Whether an engine drafts, and if not, why; for a model, the state of its busiest engine.",
    action="If it is down, restart it; if it serves without drafting, check K and method.",
    note="Down: the target does not answer. Starting: it is new and has not answered yet. Speculation off: no "
    "speculative series. Idle: no tokens are generated. Serving without drafting: tokens, but no drafts. Answers "
    "without vLLM metrics: labelled as vLLM, but started with --disable-log-stats.",
    unit=Unit.CODE,
    expr=over_level("max", STATES.expr.at(Level.ENGINE)),
    record="vllm_spec_decode_state:enum_rate{window}",
    levels=BOTH_LEVELS,
    rollup="max",
    codes=STATES.codes,
    empty=NO_SERVER,
)

_counts: Expr = CountValues("state", state.at(Level.ENGINE))
for _code in STATES.codes:
    _counts = LabelReplace(_counts, "state", _code.says, "state", str(_code.value))

engines_by_state = Signal(
    name="engines_by_state",
    title="Engines by state",
    question="How many engines are in each state?",
    description="Number of engines in each speculation state.",
    action="Restart those that are down; check K and method of those that serve without drafting.",
    unit=Unit.ENGINES,
    expr=_counts,
    record="vllm_spec_decode_engines:count_rate{window}",
    by=("state",),
    kinds=tuple((code.says, code.status) for code in STATES.codes),
    empty=NO_SERVER,
    decimals=0,
)

target_up = Signal(
    name="target_up",
    title="Servers up",
    question="Can the server be reached?",
    description="1 if the target answered a scrape lately (rules.down_after, by default 2m30s) or is new, else 0.",
    action="If it is 0, read the server's log, and check the network from Prometheus to it.",
    note="Covers targets that have exposed vLLM metrics or have a method label.",
    unit=Unit.CODE,
    better=Better.HIGHER,
    expr=over_level("min", state.at(Level.ENGINE).combined("> bool", STATES["down"].value)),
    record="vllm_up:bool",
    levels=(Level.TARGET,),
    codes=(STATES["down"], Code(1, "answers, or starts", Status.GOOD)),
    empty=NO_SERVER,
)

servers_down = Signal(
    name="servers_down",
    title="Servers down",
    question="Which share of a model's servers is down?",
    description="Servers that do not answer / all servers of the model that are scrape targets.",
    action="Restart them, or add servers before the others are overloaded.",
    better=Better.LOWER,
    expr=over_level("avg", first_of(constant(1, known_down), constant(0, known_up))),
    record="vllm_servers_down:ratio",
    levels=(Level.SERVICE,),
    bands=good_under(Setting("thresholds.servers_down"), good="few", beyond="too-many-down", status=Status.BAD),
    empty=NO_SERVER,
)
