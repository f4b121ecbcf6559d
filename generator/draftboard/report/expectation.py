"""What to expect of speculation: ranges from the server's own steps, else from published measurements."""

from collections.abc import Sequence
from functools import partial

from draftboard.evidence import Assumed, Depth, Drafting, Load, Range, assumed, expected_speedup, length_advice
from draftboard.expr.vector import value_of
from draftboard.quantity import Setting, value
from draftboard.reading import Numbers
from draftboard.report.bound import per
from draftboard.report.numbers import Expectation
from draftboard.report.own import Stretch, own_of
from draftboard.signals.acceptance import acceptance_length, coverage, draft_length, tokens_per_step
from draftboard.signals.capacity import batch, engines, prompt_tokens
from draftboard.signals.costs import decode_batch
from draftboard.signals.depth import draft_length_at, next_position_accepted, tokens_per_step_at
from draftboard.signals.drafting import configured_k
from draftboard.signals.economics import LEAST_GAIN
from draftboard.signals.latency import FELT
from draftboard.signals.traffic import decode_steps, first_tokens
from draftboard.signals.verdicts import ASSUMED

OWN_STEPS = "own steps without a draft"
"""The basis of a verdict on a server whose steps with and without a draft were timed."""
OWN_CURVE = "own step times"
"""The basis of a verdict on a server whose steps were timed at different loads."""


def expectation_of(numbers: Numbers, seconds: float | None, steps: Sequence[Stretch] = ()) -> Expectation | None:
    """Of a model or an engine, from its own steps where they tell a cost; None where its steps or drafts are unknown.

    `seconds`: how long was counted, if that is known.
    """
    answered = numbers.value(first_tokens)
    prompts = per(numbers.value(prompt_tokens), answered) if answered else None
    costs = partial(assumed, value_of(numbers.labels, numbers.settings.labels.spec_method), prompt_tokens=prompts)
    # Each reads low: an idle moment tells no batch. Where the batch is unknown, it is any that was measured.
    known = [one for one in (numbers.value(decode_batch), numbers.value(batch), _in_flight(numbers, seconds)) if one]
    batches = (max(1.0, *known),) if known else (1.0, costs().largest_batch)
    drafts = [drafting for one in batches if (drafting := _drafting(numbers, one))]
    if not drafts:
        return None
    own = own_of(steps, _load(drafts[0])) if known else None
    basis = ASSUMED if own is None else OWN_STEPS if own.step_cost else OWN_CURVE
    return _expected(numbers, drafts, costs(own=own), basis, known=bool(known))


def _expected(numbers: Numbers, drafts: Sequence[Drafting], costs: Assumed, basis: str, *, known: bool) -> Expectation:
    found = [(drafting, costs.step_cost(_load(drafting))) for drafting in drafts]
    drafting, *_ = drafts
    ranges = [step_cost for _, step_cost in found if step_cost]
    if not ranges:
        return Expectation(batch=drafting.batch, wider=costs.wider, basis=basis)
    step_cost = Range(min(one.low for one in ranges), max(one.high for one in ranges))
    by_length = known and numbers.by(tokens_per_step_at)
    return Expectation(
        batch=drafting.batch if known else None,
        step_cost=step_cost,
        speedup=expected_speedup(drafting.tokens_per_step, step_cost),
        speedup_at=tuple(drafting.speedups(depth, costs) for depth in drafting.depths) if by_length else (),
        length=length_advice(drafting, costs, value(LEAST_GAIN, numbers.settings)) if by_length else None,
        wider=costs.wider if known else (*costs.wider, "the batch is unknown"),
        basis=basis,
    )


def _in_flight(numbers: Numbers, seconds: float | None) -> float | None:
    """Requests of an engine that decode at once, on average: their steps, times how long one takes, over the time."""
    steps, step = numbers.value(decode_steps), numbers.value(FELT["step"].mean)
    if steps is None or step is None or not seconds:
        return None
    return steps * step / seconds / (numbers.value(engines) or 1.0)


def _load(drafting: Drafting) -> Load:
    drafted = drafting.coverage * drafting.depths[-1].drafted
    return Load(batch=drafting.batch, drafted=drafted, coverage=drafting.coverage)


def _drafting(numbers: Numbers, of_batch: float) -> Drafting | None:
    share, per_step = numbers.value(coverage), numbers.value(tokens_per_step)
    drafted, length = numbers.value(draft_length), numbers.value(acceptance_length)
    if share is None or per_step is None or drafted is None or length is None:
        return None
    k = numbers.value(configured_k) or drafted
    lengths, tokens = numbers.by(draft_length_at), numbers.by(tokens_per_step_at)
    shorter = [Depth(int(at), lengths[at], tokens[at]) for at in lengths if at in tokens and float(at) < k]
    # Drafts that end by themselves would not become longer with K.
    full = drafted >= value(Setting("thresholds.full_drafts"), numbers.settings) * k
    following = numbers.value(next_position_accepted) if full else None
    return Drafting(
        method=value_of(numbers.labels, numbers.settings.labels.spec_method),
        batch=of_batch,
        coverage=min(1.0, share),
        tokens_per_step=per_step,
        depths=(*shorter, Depth(round(k), drafted, length)),
        longer=None if following is None else Depth(round(k) + 1, drafted + 1, length + following),
    )
