"""How each of many engines does, and how far the engines of a model are apart: what a page on a whole fleet asks."""

from functools import partial

from draftboard.expr.nodes import LEVEL, Binary, Expr, Spread, merged
from draftboard.expr.scope import Level
from draftboard.signals import acceptance, capacity, costs, traffic
from draftboard.signals.comparison import BESIDE
from draftboard.signals.latency import per_token
from draftboard.signals.signal import Band, Better, Signal, Unit, within
from draftboard.signals.traffic import enough_drafts
from draftboard.status import Status


def _of_its_model(signal: Signal, how: str, figure: Expr) -> Expr:
    """A figure of each engine, combined with its model's value of the signal."""
    return Binary(signal.at(Level.MODEL), how, figure, BESIDE)


def _above(case: costs.Case) -> Expr:
    """An engine's acceptance length, less what its mean draft costs."""
    cost_of_tokens = _of_its_model(case.token, "*", acceptance.draft_length)
    return acceptance.acceptance_length - _of_its_model(case.base, "+", cost_of_tokens)


length_margin = Signal(
    name="length_margin",
    title="Acceptance length above break-even, at most",
    short="Margin, tokens",
    question="Does an engine's acceptance length pay?",
    description="Acceptance length of an engine - its break-even length at its model's least costs: draft length x "
    "cost of a drafted token + base cost.",
    action="Below 0, compare the engine's traffic and arguments with the others'.",
    note="Of speculative steps alone, and as good as costs are known: the verdict on the load is the model's.",
    unit=Unit.TOKENS,
    better=Better.HIGHER,
    expr=_above(costs.CHEAP),
    levels=(Level.ENGINE,),
    bands=(Band("below-break-even", None, Status.DUE), Band("above-break-even", 0, Status.NEUTRAL)),
    decimals=2,
    least=None,
)
judged_margin = length_margin & enough_drafts
"""Of engines with enough drafts."""
pays_at_any_cost = (_above(costs.DEAR) >= 0) & enough_drafts


def _spread(signal: Signal, *, action: str) -> Signal:
    """Percentiles of a figure over the engines of a model, which count alike."""
    shares = {str(percent): percent / 100 for percent in (10, 50, 90)}
    over_engines = partial(Spread, by=(LEVEL,), argument=signal.at(Level.ENGINE))
    return Signal(
        name=f"{signal.name}_spread",
        title=f"{signal.title} over engines",
        question=f"How far apart are the engines of a model in {within(signal.title)}?",
        description=f"{signal.title}: P10, P50 and P90 of the engines of a model, unweighted.",
        action=action,
        unit=signal.unit,
        better=signal.better,
        expr=merged("percentile", {name: over_engines(share) for name, share in shares.items()}),
        by=("percentile",),
        codes=signal.codes,
        empty=signal.empty,
        decimals=signal.decimals,
    )


SPREADS = {
    signal.name: _spread(signal, action=action)
    for signal, action in (
        (acceptance.acceptance_length, "If they are far apart, check routing: some engines get different text."),
        (traffic.generation_tokens, "If they are far apart, look at routing, and at GPUs that differ."),
        (capacity.kv_cache_usage, "If they are far apart, route requests to the engines with room."),
        (per_token.mean, "If they are far apart, look for a slow GPU or host among the table's worst."),
    )
}
"""By the name of the figure."""
