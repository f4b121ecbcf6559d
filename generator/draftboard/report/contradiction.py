"""What a model's numbers and those of its baseline cannot be at once."""

from collections.abc import Sequence

from draftboard.evidence import Lengths, Measured, Range, refutations
from draftboard.intervals import Estimate
from draftboard.reading import Numbers
from draftboard.report.bound import per
from draftboard.signals import Signal
from draftboard.signals.acceptance import tokens_per_step
from draftboard.signals.capacity import prompt_tokens
from draftboard.signals.costs import step_cost
from draftboard.signals.traffic import first_tokens, generation_tokens
from draftboard.signals.users import measured_speedup

_SLACK = 0.05  # Of a measurement without an interval: what rounding and windows a scrape apart may amount to.


def contradictions(numbers: Numbers, interval: Estimate | None, baselines: Sequence[Numbers]) -> tuple[str, ...]:
    """Sentences on what disproves a measurement; empty where nothing does.

    `interval`: of the measured speedup, if it is known; `baselines`: the numbers of all servers without speculation.
    """
    speedup = Range(interval.low, interval.high) if interval else _about(numbers, measured_speedup)
    # Of one measurement, the baseline's days of steps say only that its machine was busier or idler then.
    disproves = numbers.settings.dialect.times_steps_apart or speedup is None
    found = Measured(
        tokens_per_step=numbers.value(tokens_per_step),
        speedup=speedup,
        step_cost=_about(numbers, step_cost) if disproves else None,
        variant=_lengths([numbers]),
        baseline=_lengths(baselines),
    )
    return tuple(refutations(found, numbers.settings.thresholds.load))


def _about(numbers: Numbers, signal: Signal) -> Range | None:
    value = numbers.value(signal)
    return None if value is None else Range(value * (1 - _SLACK), value * (1 + _SLACK))


def _lengths(servers: Sequence[Numbers]) -> Lengths:
    answered, prompts, generated = (
        sum(server.value(signal) or 0.0 for server in servers)
        for signal in (first_tokens, prompt_tokens, generation_tokens)
    )
    return Lengths(prompt=per(prompts or None, answered), answer=per(generated or None, answered))
