"""Whom speculation helps: acceptance, length and time per token by class of request, where the lens runs."""

from functools import partial

from draftboard.catalogue import lens
from draftboard.expr.nodes import Expr, InWindow, OfOneMoment, ignoring, rate
from draftboard.quantity import Setting
from draftboard.signals.costs import CHEAP, DEAR, Case
from draftboard.signals.economics import expected_speedup_high, expected_speedup_low
from draftboard.signals.signal import Band, Better, Signal, Unit
from draftboard.signals.traffic import LEAST_DRAFTS, draft_tokens

ONE, BOTH = "temperature", "temperature and prompt"
"""Two of the dimensions in each of which a request has one class."""
CLASS = lens.DRAFTS.own_labels
_EACH_CLASS = ignoring(*CLASS, group="left")
lens_coverage = Signal(
    name="lens_coverage",
    title="Coverage of the lens",
    question="Does the lens see all requests?",
    description="Draft tokens of requests that the lens measured / all that vLLM counts: below "
    "thresholds.lens_coverage no class is judged.",
    action="If it is low, see why requests are missed.",
    note="The lens counts a request when it ends, so that long requests shift it within the window.",
    better=Better.HIGHER,
    expr=OfOneMoment(rate(lens.DRAFT_TOKENS, ()).where("dimension", ONE) / draft_tokens),
    record="draftboard_spec_lens_coverage:ratio_rate{window}",
    empty="no server has the lens, or idle",
)
REASONS = {
    "absent": "whose answers have no metrics: streams without usage (--enable-force-include-usage), or n above 1",
    "cut": "that ended early: the client left, or vLLM failed",
    "large": "whose answers are too large to read",
    "failed": "on which the lens failed: vLLM's log has the first failure",
}
"""Why the lens counts requests in no class."""
lens_missed = Signal(
    name="lens_missed",
    title="Requests that the lens misses",
    question="Why does the lens see too little?",
    description="Requests a second without class, whose answers have no metrics (absent), are cut off or too large, or "
    "on which the lens failed.",
    action="If absent, serve with --enable-force-include-usage; if failed, read vLLM's log.",
    unit=Unit.REQUESTS_PER_SECOND,
    better=Better.LOWER,
    expr=rate(lens.UNMEASURED),
    record="draftboard_spec_lens_unmeasured:rate{window}",
    by=lens.UNMEASURED.own_labels,
    empty="no server has the lens, or it missed nothing",
)
_seen = lens_coverage >= Setting("thresholds.lens_coverage")
_drafts = rate(lens.DRAFTS)
_class = partial(Signal, by=CLASS, empty="no lens, or it sees too little of the traffic")


def _judged(figure: Expr) -> Expr:
    """Of classes with enough drafts, where the lens sees nearly all."""
    return (figure & (InWindow(_drafts) >= LEAST_DRAFTS)).combined("and", _seen, ignoring(*CLASS))


def _whole(amount: Expr) -> Expr:
    """Of a class, as a share of its dimension."""
    share = amount.ratio(amount.sum("class"), ignoring("class", group="left"))
    return share.combined("and", _seen, ignoring(*CLASS))


_requests = rate(lens.REQUESTS)
class_share = _class(
    name="class_share",
    title="Share of requests by class",
    short="Requests",
    question="Where do a model's requests go?",
    description="Requests of a class / all that the lens measured in the same dimension.",
    action="Use it to see how much a class weighs.",
    expr=_whole(_requests),
    record="draftboard_spec_class_share:ratio_rate{window}",
)
class_tokens = _class(
    name="class_tokens",
    title="Share of output tokens by class",
    question="Whose tokens are generated?",
    description="Generated tokens of a class's requests / all that the lens measured in the same dimension.",
    action="Look first at the class that makes most tokens.",
    expr=_whole(rate(lens.GENERATION_TOKENS)),
    record="draftboard_spec_class_generation_tokens:ratio_rate{window}",
)
class_prompt = _class(
    name="class_prompt",
    title="Prompt length by class",
    question="Whose prompts are long?",
    description="Prompt tokens / requests of a class.",
    action="Where long prompts are accepted badly, train the drafter on such contexts.",
    unit=Unit.TOKENS,
    expr=(rate(lens.PROMPT_TOKENS) / _requests).combined("and", _seen, ignoring(*CLASS)),
    record="draftboard_spec_class_prompt_tokens:mean_rate{window}",
    decimals=0,
)
class_acceptance = _class(
    name="class_acceptance",
    title="Draft acceptance by class",
    short="Accepted",
    question="Which requests are accepted badly?",
    description="Accepted / drafted tokens of the requests of a class that ended in the window.",
    action="Where it is low, serve the class without speculation, or train the drafter on its text.",
    better=Better.HIGHER,
    expr=_judged(rate(lens.ACCEPTED_TOKENS) / rate(lens.DRAFT_TOKENS)),
    record="draftboard_spec_class_acceptance:ratio_rate{window}",
)
class_length = _class(
    name="class_length",
    title="Mean acceptance length by class",
    short="Length",
    question="How many tokens does a speculative step of each class yield?",
    description="1 + accepted tokens / drafts of the requests of a class that ended in the window.",
    action="Compare with the model's break-even length.",
    unit=Unit.TOKENS,
    better=Better.HIGHER,
    expr=_judged(1 + rate(lens.ACCEPTED_TOKENS) / _drafts),
    record="draftboard_spec_class_length:mean_rate{window}",
    decimals=2,
)


def _speedup(name: str, extreme: str, case: Case, bands: tuple[Band, ...]) -> Signal:
    cost = (
        (rate(lens.DRAFT_TOKENS) / _drafts).combined("*", case.token, _EACH_CLASS).combined("+", case.base, _EACH_CLASS)
    )
    return _class(
        name=f"class_speedup_{name}",
        title=f"Expected speedup by class, at {extreme}",
        short=f"Expected, {extreme}",
        question=f"How much do requests gain from speculation at {extreme}?",
        description=f"Mean acceptance length of a class / what a step with its drafts costs, at {extreme}: below 1 its "
        "speculative steps lose.",
        action="Below 1 at most, serve the class without speculation, or measure it against a baseline.",
        note="Of speculative steps alone.",
        unit=Unit.TIMES,
        better=Better.HIGHER,
        bands=bands,
        expr=class_length.per(cost),
        record=f"draftboard_spec_class_speedup_{name}:ratio_rate{{window}}",
        decimals=2,
    )


class_speedup_low = _speedup("low", "least", DEAR, expected_speedup_low.bands)
class_speedup_high = _speedup("high", "most", CHEAP, expected_speedup_high.bands)
class_time_per_token = _class(
    name="class_time_per_token",
    title="Time per output token by class",
    short="TPOT",
    question="Whose tokens come slowly?",
    description="Time from first to last token / tokens after the first, of streams and of answers that vLLM timed.",
    action="Compare classes of like prompts.",
    unit=Unit.SECONDS,
    better=Better.LOWER,
    expr=(rate(lens.DECODE_SECONDS) / rate(lens.DECODE_TOKENS)).combined("and", _seen, ignoring(*CLASS)),
    record="draftboard_spec_class_time_per_token:mean_rate{window}",
)
