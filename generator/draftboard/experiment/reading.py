"""Reads the blocks of a plan from a Prometheus: what users waited in each, and what the arms differ by."""

from collections.abc import Mapping
from dataclasses import dataclass

from draftboard.catalogue import Histogram, latency
from draftboard.durations import Duration
from draftboard.errors import DraftboardError
from draftboard.experiment.effect import effect
from draftboard.experiment.plan import Block, Experiment
from draftboard.expr.nodes import rate
from draftboard.expr.to_promql import promql_of
from draftboard.intervals import Estimate
from draftboard.output import Described, Progress, no_progress
from draftboard.prometheus import Client
from draftboard.reading import Recorded
from draftboard.reading.past import of_model
from draftboard.settings import Settings
from draftboard.signals import Edition, Level, Scope

TIMES: Mapping[str, Histogram] = {
    "per_token": latency.TIME_PER_OUTPUT_TOKEN,
    "end_to_end": latency.END_TO_END_LATENCY,
    "first_token": latency.TIME_TO_FIRST_TOKEN,
}
Measured = Mapping[str, float]
"""By name, the mean seconds of a block."""


@dataclass(frozen=True, kw_only=True)
class Result(Described):
    """What an experiment shows so far."""

    schema_version: int = 1
    pairs: int
    """Pairs of blocks that are over, and in which enough requests finished."""
    planned: int
    per_token: Estimate | None
    """Time per output token of the baseline over that of the other arm: over 1, tokens come sooner. None with too few
    pairs for an interval."""
    end_to_end: Estimate | None
    """The same of whole answers."""
    first_token: Estimate | None
    """The same of first tokens."""
    says: str
    """What users gain, or that nothing is shown yet."""
    stop: bool
    """Whether more blocks would not change it."""
    notes: tuple[str, ...]


def result_of(experiment: Experiment, blocks: Mapping[Block, Measured], settings: Settings) -> Result:
    """Judge what was measured in blocks; one without its partner does not count."""
    by_pair: dict[int, dict[int, Measured]] = {}
    for block, measured in blocks.items():
        by_pair.setdefault(block.pair, {})[block.arm] = measured
    whole = [both for _, both in sorted(by_pair.items()) if len(both) == len(experiment.arms)]
    found = {
        name: effect([(both[0][name], both[1][name]) for both in whole if name in both[0] and name in both[1]])
        for name in TIMES
    }
    says, stop = _judged(found["per_token"], found["end_to_end"], settings.thresholds.gain)
    lost = len(experiment.first) - len(whole)
    notes = (f"{lost} of {len(experiment.first)} pairs are not over, or have too few requests",) if lost else ()
    return Result(
        pairs=len(whole),
        planned=len(experiment.first),
        per_token=found["per_token"],
        end_to_end=found["end_to_end"],
        first_token=found["first_token"],
        says=says,
        stop=stop,
        notes=notes,
    )


def _judged(per_token: Estimate | None, end_to_end: Estimate | None, gain: float) -> tuple[str, bool]:
    """Users gain where tokens come sooner and whole answers do, and lose where either comes later."""
    known = [one for one in (per_token, end_to_end) if one]
    if any(one.high < 1 for one in known):
        return "users wait longer", True
    if known == [per_token, end_to_end] and all(one.low > 1 for one in known):
        return "users wait less", True
    if len(known) == len((per_token, end_to_end)) and all(1 - gain < one.low <= one.high < 1 + gain for one in known):
        return f"about even: within {gain:.0%}", True
    return "nothing is shown yet", False


def read(
    experiment: Experiment, source: Recorded, settings: Settings, now: float, progress: Progress = no_progress
) -> Result:
    """Ask a Prometheus for every block that is over; DraftboardError where it knows no request of any."""
    over = [block for block in experiment.blocks() if block.end <= now]
    found: dict[Block, Measured] = {}
    with Client(source.url, source.access) as client:
        for done, block in enumerate(over):
            progress("querying Prometheus", done, len(over))
            if measured := _measured(client, block, source.model, settings):
                found[block] = measured
        if over and not found:
            raise DraftboardError(f"{client.url}: no requests of {source.model or 'any model'} in the blocks so far")
    return result_of(experiment, found, settings)


def _measured(client: Client, block: Block, model: str, settings: Settings) -> Measured:
    """Means over the whole fleet of a model, whatever its labels say; empty with too few requests."""
    span = Duration(int(block.end - block.counted))
    scope = of_model(Scope(settings, Level.MODEL, Edition.ONCE, span=span), model)

    def total(name: str) -> float:
        return sum(one.samples[0][1] for one in client.query(name, block.end))

    sums = {
        name: [total(promql_of(rate(metric), scope)) * span.seconds for metric in (histogram.sum, histogram.count)]
        for name, histogram in TIMES.items()
    }
    _, requests = sums["per_token"]
    if not requests >= settings.traffic.requests_to_compare:
        return {}
    return {name: seconds / count for name, (seconds, count) in sums.items() if count > 0 and seconds > 0}
