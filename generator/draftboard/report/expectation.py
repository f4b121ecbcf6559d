"""What to expect of speculation: ranges from the server's own steps, else from published measurements."""

from collections.abc import Sequence

from draftboard.evidence import (
    Change,
    Depth,
    Drafting,
    LengthAdvice,
    Load,
    Own,
    Range,
    assumed,
    expected_speedup,
    length_advice,
)
from draftboard.expr.vector import value_of
from draftboard.quantity import Setting, value
from draftboard.reading import Numbers
from draftboard.report.bound import per
from draftboard.report.numbers import Expectation
from draftboard.report.own import Stretch, own_of
from draftboard.signals.acceptance import acceptance_length, coverage, draft_length, tokens_per_step
from draftboard.signals.advice import ADVICE, advice
from draftboard.signals.capacity import prompt_tokens
from draftboard.signals.costs import decode_batch, pipelined
from draftboard.signals.depth import draft_length_at, next_position_accepted, tokens_per_step_at
from draftboard.signals.drafting import configured_k
from draftboard.signals.economics import expected_speedup_high, expected_speedup_low, step_cost_high, step_cost_low
from draftboard.signals.gains import (
    LEAST_GAIN,
    fastest_k,
    longer_gain,
    longer_gain_high,
    slower_k,
    speedup_at_high,
    speedup_at_low,
)
from draftboard.signals.traffic import first_tokens
from draftboard.signals.verdicts import ASSUMED

OWN_STEPS = "own steps without a draft"
"""The basis of a verdict on a server whose steps with and without a draft were timed."""
OWN_CURVE = "own step times"
"""The basis of a verdict on a server whose steps were timed at different loads."""


def expectation_of(numbers: Numbers, steps: Sequence[Stretch] = ()) -> Expectation | None:
    """Of a model or an engine, from its own steps where they tell a cost; None where none are counted."""
    batch = numbers.value(decode_batch) or None  # An idle moment tells no batch.
    if (drafting := _drafting(numbers, max(1.0, batch or 0.0))) is None:
        return None
    own = own_of(steps, _load(drafting)) if batch else None
    return _by_own_steps(numbers, drafting, own) if own else _assumed(numbers, drafting, batch)


def _assumed(numbers: Numbers, drafting: Drafting, batch: float | None) -> Expectation:
    """The ends that records have, and what widens them."""
    method = value_of(numbers.labels, numbers.settings.labels.spec_method)
    answered = numbers.value(first_tokens)
    prompts = per(numbers.value(prompt_tokens), answered) if answered else None
    stages = numbers.value(pipelined) is not None
    wider = assumed(method, prompt_tokens=prompts, pipeline=stages).wider
    lows, highs = numbers.by(speedup_at_low), numbers.by(speedup_at_high)
    speedup_at = tuple(_in_order(lows[k], highs[k]) for k in sorted(lows.keys() & highs.keys(), key=int))
    return Expectation(
        batch=batch and drafting.batch,
        step_cost=_range(numbers.value(step_cost_low), numbers.value(step_cost_high)),
        speedup=_range(numbers.value(expected_speedup_low), numbers.value(expected_speedup_high)),
        speedup_at=speedup_at if batch else (),
        length=_length(numbers, speedup_at) if batch else None,
        wider=wider if batch else (*wider, "the batch is unknown"),
        basis=ASSUMED,
    )


def _length(numbers: Numbers, speedup_at: Sequence[Range]) -> LengthAdvice | None:
    """The change of K that the records advise, with both ends of its gain."""
    row = ADVICE.of(numbers.value(advice))
    k, best = numbers.value(configured_k), numbers.value(fastest_k)
    if row is None or k is None:
        return None
    if row is ADVICE.choices[Change.SHORTER] and best is not None:
        shorter, now = speedup_at[int(best) - 1], speedup_at[-1]
        return LengthAdvice(Change.SHORTER, int(best), _in_order(shorter.low / now.low, shorter.high / now.high))
    if row is ADVICE.choices[Change.LONGER]:
        low, high = numbers.value(longer_gain), numbers.value(longer_gain_high)
        return LengthAdvice(Change.LONGER, int(k) + 1, _in_order(low or 0.0, high or 0.0))
    unchanged = [change for change in (Change.OFF, Change.KEEP) if row is ADVICE.choices[change]]
    return LengthAdvice(unchanged[0], int(k), Range(1.0, 1.0)) if unchanged else None


def _in_order(one: float, other: float) -> Range:
    return Range(min(one, other), max(one, other))


def _range(low: float | None, high: float | None) -> Range | None:
    return None if low is None or high is None else Range(low, high)


def _by_own_steps(numbers: Numbers, drafting: Drafting, own: Own) -> Expectation:
    costs = assumed(drafting.method, own=own)
    step_cost = costs.step_cost(_load(drafting))
    by_length = bool(numbers.by(tokens_per_step_at))
    return Expectation(
        batch=drafting.batch,
        step_cost=step_cost,
        speedup=expected_speedup(drafting.tokens_per_step, step_cost) if step_cost else None,
        speedup_at=tuple(drafting.speedups(depth, costs) for depth in drafting.depths) if by_length else (),
        length=length_advice(drafting, costs, value(LEAST_GAIN, numbers.settings)) if by_length else None,
        wider=costs.wider,
        basis=OWN_STEPS if own.step_cost else OWN_CURVE,
    )


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
    # Drafts that end by themselves would not become longer with K, and a longer K that was slower is no choice.
    full = drafted >= value(Setting("thresholds.full_drafts"), numbers.settings) * k
    following = numbers.value(next_position_accepted) if full and numbers.value(slower_k) is None else None
    return Drafting(
        method=value_of(numbers.labels, numbers.settings.labels.spec_method),
        batch=of_batch,
        coverage=min(1.0, share),
        tokens_per_step=per_step,
        depths=(*shorter, Depth(round(k), drafted, length)),
        longer=None if following is None else Depth(round(k) + 1, drafted + 1, length + following),
    )
