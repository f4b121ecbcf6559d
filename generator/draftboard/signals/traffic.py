"""How much is drafted, accepted and generated: the counters as rates, from which every ratio is made."""

from draftboard.catalogue import Metric, Presence, latency, serving, speculation
from draftboard.expr.nodes import (
    Aggregate,
    AtLevel,
    Carrying,
    Exposed,
    Expr,
    Function,
    If,
    InDialect,
    InWindow,
    LabelReplace,
    Labels,
    MetricOfDialect,
    OfOneMoment,
    Raw,
    Window,
    first_of,
    over_level,
    rate,
)
from draftboard.expr.scope import Level
from draftboard.quantity import Setting
from draftboard.signals.signal import Better, Signal, Unit, within
from draftboard.status import Status

SILENT = "no vLLM series: server down, or started with --disable-log-stats"
BOTH_LEVELS = (Level.ENGINE, Level.MODEL)


def rate_of(
    metric: Metric,
    name: str,
    title: str,
    question: str,
    action: str,
    *,
    description: str = "",
    unit: Unit = Unit.TOKENS_PER_SECOND,
    empty: str = "",
    short: str = "",
    kinds: tuple[tuple[str, Status], ...] = (),
    levels: tuple[Level, ...] = BOTH_LEVELS,
) -> Signal:
    """A counter as a rate: recorded by engine, summed by model; or at the levels that are read."""
    record = metric.name.replace("vllm:", "vllm_").replace("spec_decode_num_", "spec_decode_").removesuffix("_total")
    return Signal(
        name=name,
        title=title,
        short=short,
        question=question,
        description=description or f"Per second: {within(metric.meaning)}",
        action=action,
        unit=unit,
        expr=rate(metric),
        record=f"{record}:rate{{window}}",
        levels=levels,
        by=metric.own_labels,
        kinds=kinds,
        rollup="sum",
        empty=empty or ("speculation is off" if "spec_decode" in record else SILENT),
    )


def over_window(function: str, gauge: Metric | MetricOfDialect) -> Expr:
    """Over the window of rates or of a single evaluation; on panels too, whose own window may hold no scrape."""
    return Function(function, Raw(gauge, Window.FIXED))


def while_idle(gauge: Expr, idle: Expr) -> Expr:
    """A gauge; of engines that expose none while they are idle, the other value then."""
    return If(Exposed(serving.REQUESTS_RUNNING, Presence.BUSY), first_of(gauge, idle), gauge)


_whose = over_level("group", rate(serving.GENERATION_TOKENS)).at(Level.ENGINE)


ONE_ENGINE = (Labels("target"), Labels("engine"))


def by_replica(over: str, metric: MetricOfDialect) -> Expr:
    """Of what runs engines, within the window: its replica is the engine, its deployment stands for the model."""
    each = over_window(over, metric)
    for label, source in (("engine", "replica"), ("model_name", "deployment")):
        each = LabelReplace(each, Labels(label), "$1", source, "(.*)")
    return Aggregate("max", (Labels("target_series"), Labels("engine"), Labels("model_name")), each)


def in_flight(over: str = "last_over_time") -> Expr:
    """Requests inside each engine, within the window, where something beside the engine counts them by replica."""
    return Carrying(by_replica(over, MetricOfDialect("in_flight")), Labels("model_name"), _whose, ONE_ENGINE)


drafts = rate_of(
    speculation.DRAFTS,
    "drafts",
    "Drafts",
    "How often is a draft verified?",
    "If there are none while tokens are generated, check K, and whether text repeats (n-gram, suffix).",
    unit=Unit.DRAFTS_PER_SECOND,
)
drafts_in_window = Signal(
    name="drafts_in_window",
    title="Drafts in the window",
    short="Drafts",
    question="On how many drafts does a verdict rest?",
    description="Drafts verified within the window of the rates: below traffic.drafts_to_judge there is no verdict.",
    action="If there are too few, wait for traffic, or lengthen rules.window.",
    unit=Unit.DRAFTS,
    expr=InWindow(drafts),
    empty="speculation is off",
    decimals=0,
)
LEAST_DRAFTS = Setting("traffic.drafts_to_judge")
enough_drafts = drafts_in_window >= LEAST_DRAFTS
draft_tokens = rate_of(
    speculation.DRAFT_TOKENS,
    "draft_tokens",
    "Drafted tokens",
    "How many tokens does the drafter propose?",
    "Compare with accepted tokens: the rest is wasted.",
)
accepted_tokens = rate_of(
    speculation.ACCEPTED_TOKENS,
    "accepted_tokens",
    "Accepted tokens",
    "How many drafted tokens are kept?",
    "If more is wasted on a busy GPU, shorten K or change the drafter.",
)
accepted_tokens_per_pos = rate_of(
    speculation.ACCEPTED_TOKENS_PER_POS,
    "accepted_tokens_per_pos",
    "Accepted tokens by position",
    "How many drafts are accepted this deep?",
    "Shorten K where deep positions are rarely accepted.",
)
generation_tokens = rate_of(
    serving.GENERATION_TOKENS,
    "generation_tokens",
    "Generated tokens",
    "How many tokens are generated?",
    "Use it as the load when you compare ratios.",
    short="Tokens/s",
)
decode_steps = rate_of(
    latency.STEP_LATENCY.count,
    "decode_steps",
    "Decode steps",
    "How many steps does the engine take, over all requests?",
    "Compare with drafts: their ratio is the coverage.",
    description="Per second: decode steps, each counted for every request in it.",
    unit=Unit.STEPS_PER_SECOND,
    empty="no vLLM series: server down, older than 0.10.2, or started with --disable-log-stats",
)
step_seconds = rate_of(
    latency.STEP_LATENCY.sum,
    "step_seconds",
    "Time of decode steps",
    "How long do the engine's steps take, over all requests?",
    "Compare with decode steps: the ratio is the mean step latency.",
    description="Per second: seconds of decode steps, each counted for every request in it.",
    unit=Unit.SECONDS_PER_SECOND,
    empty=decode_steps.empty,
)
first_tokens = rate_of(
    latency.TIME_TO_FIRST_TOKEN.count,
    "first_tokens",
    "First tokens",
    "How many requests received their first token?",
    "Compare with finished requests: the difference, without running requests, was abandoned by clients.",
    description="Per second: requests that received their first token.",
    unit=Unit.REQUESTS_PER_SECOND,
    levels=(Level.MODEL,),
)


def of_one_moment(counted: Expr) -> Expr:
    """Of models from records that are made together; of engines from series, as not all counters are recorded."""
    return If(AtLevel(Level.MODEL), counted, OfOneMoment(counted))


def decoded(generated: Expr, first: Expr) -> Expr:
    """Tokens of decode steps: without the first ones, which prefills yield, where these are counted."""
    return If(InDialect(latency.TIME_TO_FIRST_TOKEN.count), generated - first, generated)


decoded_tokens = decoded(generation_tokens, first_tokens)
wasted_tokens = Signal(
    name="wasted_tokens",
    title="Wasted tokens",
    short="Wasted/s",
    question="How much verification is wasted?",
    description="Drafted tokens that the target model verified and rejected, per second.",
    action="If it is high on a busy GPU, shorten K or change the drafter.",
    unit=Unit.TOKENS_PER_SECOND,
    better=Better.LOWER,
    expr=draft_tokens - accepted_tokens,
    empty="speculation is off",
)
