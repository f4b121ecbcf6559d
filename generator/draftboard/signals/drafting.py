"""How engines draft: method, K, and the positions that they count."""

from draftboard.catalogue import Presence, probe, speculation
from draftboard.expr.nodes import (
    Evaluator,
    Exposed,
    Expr,
    Extreme,
    Function,
    If,
    InDialect,
    IsSet,
    Labels,
    MetricOfDialect,
    Raw,
    Ref,
    first_of,
    ignoring,
    over_level,
    rate,
)
from draftboard.expr.scope import Level
from draftboard.quantity import Setting
from draftboard.signals.signal import Signal, Unit
from draftboard.signals.traffic import BOTH_LEVELS, draft_tokens, drafts

_OF_DIALECT = MetricOfDialect("drafted_by_position")
_by_position = If(InDialect(_OF_DIALECT), Raw(_OF_DIALECT), Raw(speculation.ACCEPTED_TOKENS_PER_POS))
# Raw series are one for each position of an engine already, for what aggregates them later.
_positions = If(Evaluator.RAW_PANEL, _by_position, over_level("max", _by_position, "position"))
drafting = Signal(
    name="drafting",
    title="Drafting by engine",
    question="How does each engine draft?",
    description="Method, K and whether verification is adaptive, as vLLM resolved its configuration at start.",
    action="If the method differs from the label, fix the label.",
    note="Only engines with Draftboard's plugin for vLLM. Under adaptive verification vLLM does not export how many "
    "tokens it verified: acceptance, positions and lengths then depend on the load.",
    unit=Unit.CODE,
    expr=over_level("max", Raw(probe.INFO), *probe.DRAFTING),
    levels=(Level.ENGINE,),
    by=probe.DRAFTING,
    empty="no server has the plugin for vLLM",
)
runs = Signal(
    name="runs",
    title="Release and drafter",
    question="What runs?",
    description="Release, drafter, quantization, parallel sizes ..., as vLLM resolved its configuration at start.",
    action="If several rows differ, look whether a roll-out goes on.",
    note="Only engines with Draftboard's plugin for vLLM; a value that is not set has no label.",
    unit=Unit.CODE,
    expr=over_level("max", Raw(probe.INFO), *probe.RUNS),
    record="draftboard_spec_runs:info",
    by=probe.RUNS,
    empty="no server has the plugin for vLLM",
)
draft_tokens_per_pos = Signal(
    name="draft_tokens_per_pos",
    title="Drafted tokens by position",
    question="How many drafts reach this position?",
    description="Per second: draft tokens by position, which is the number of drafts that are longer than it.",
    action="Shorten K where few drafts are that long.",
    note="From vLLM's own counter where a release exports it, else of engines with Draftboard's plugin for vLLM.",
    unit=Unit.TOKENS_PER_SECOND,
    expr=rate(speculation.DRAFT_TOKENS_PER_POS) | rate(probe.DRAFT_TOKENS_PER_POS),
    record="draftboard_spec_draft_tokens_per_pos:rate{window}",
    by=("position",),
    empty="no plugin, or speculation is off",
)
counted_by_position = draft_tokens_per_pos.sum("position") >= (1 - Setting("thresholds.inconsistent")) * draft_tokens
"""Where the plugin runs in every engine: it then counts by position all that vLLM counts."""
_counted = _positions.count("position")
_length = Function("ceil", rate(speculation.DRAFT_TOKENS) / rate(speculation.DRAFTS))
# A position that no draft was accepted at may not be there yet, and no mean is longer than the longest draft.
_at_least = first_of(_length.combined(">", _counted), _counted, _length)
_GROWS = Exposed(speculation.ACCEPTED_TOKENS_PER_POS, Presence.COUNTED)
current_k = Signal(
    name="current_k",
    title="K of an engine",
    question="How many tokens may this engine draft?",
    description="Number of positions that the engine counts: its num_speculative_tokens.",
    action="Give all engines of a model one K: else their positions cannot be compared.",
    unit=Unit.TOKENS,
    expr=If(_GROWS, _at_least, _counted),
    record="vllm_spec_decode_k:count",
    levels=(Level.ENGINE,),
    empty="speculation is off",
    decimals=0,
)
lowest_k = Signal(
    name="lowest_k",
    title="Lowest K",
    question="Do all engines have the same K?",
    description="The least K of the engines within the window.",
    action="If it is below the configured K, wait until the rollout ends, or give all engines one K.",
    note="Below the configured K, engines differ or K has changed, and positions mix drafts of two lengths.",
    unit=Unit.TOKENS,
    # What is known to be at least so long never shows that lengths differ.
    expr=If(_GROWS, Ref("configured_k"), over_level("min", Extreme("min", current_k).at(Level.ENGINE))),
    record="vllm_spec_decode_lowest_k:count_rate{window}",
    levels=BOTH_LEVELS,
    empty="speculation is off",
    decimals=0,
)
configured_k = Signal(
    name="configured_k",
    title="Configured K",
    short="K",
    question="How long can a draft be?",
    description="The greatest K (num_speculative_tokens) of the engines within the window.",
    in_dialects={
        "ray": "At least so long: the greatest number of positions that were accepted, or the mean draft length "
        "rounded up. Ray exports a position from its first accepted token on."
    },
    action="Compare with the best k.",
    unit=Unit.TOKENS,
    expr=over_level("max", Extreme("max", current_k).at(Level.ENGINE)),
    record="vllm_spec_decode_configured_k:count_rate{window}",
    levels=BOTH_LEVELS,
    empty="speculation is off",
    decimals=0,
)
k_differs = configured_k > lowest_k
"""Where drafts of several lengths are counted together."""
_VERIFICATION, _ADAPTIVE = Labels("spec_verification"), Setting("methods.adaptive")
adaptive = drafts.where(_VERIFICATION, _ADAPTIVE)
"""Where a step may verify fewer tokens than were drafted."""


def of_one_k(figure: Expr, *labels: str) -> Expr:
    """A figure with these labels beyond the level's, where every draft had K tokens to be verified.

    Elsewhere positions measure the mix of lengths, or the load, rather than the drafter.
    """
    fixed = figure.combined("unless", k_differs, ignoring(*labels))
    others = fixed.combined("unless", adaptive, ignoring(*labels))
    # Of raw series the matcher is shorter than another rate. A page without labels cannot know.
    labelled = If(IsSet("labels.variant_labels"), fixed.without(_VERIFICATION, _ADAPTIVE), fixed)
    return If(Evaluator.RAW_PANEL, labelled, others)
