"""A comparison in words: what a terminal and Markdown show alike."""

from collections.abc import Iterator

from draftboard.compare.objects import Arm, Comparison, Group, Row, Value
from draftboard.compare.rows import FIGURES
from draftboard.compare.tail import CODES
from draftboard.report import time_in_words
from draftboard.settings import Settings
from draftboard.signals.signal import Better, Unit, within
from draftboard.signals.users import measured_speedup
from draftboard.signals.wording import NOTHING
from draftboard.status import Status

UNKNOWN = "no verdict"
_NAMED_UNITS = (Unit.TOKENS, Unit.TOKENS_PER_SECOND, Unit.REQUESTS_PER_SECOND)
"""Others stand at the number, or in the title."""
REST = (
    "Measured speedup is mean time per output token, baseline over candidate. Percentiles are estimated within a "
    "bucket: a change smaller than a bucket may be none. Only runs of the same load say something of each other."
)


def arm_in_words(arm: Arm) -> str:
    """Whose numbers these are, of what time, and on how much they rest."""
    sampled = [f"temperature {arm.sampling.temperature:g}"] if arm.sampling.temperature is not None else []
    counts = (
        f"{arm.requests:,.0f} requests, {arm.drafts:,.0f} drafts" if arm.drafts else f"{arm.requests:,.0f} requests"
    )
    when = time_in_words(arm.seconds, arm.taken_at)
    return ", ".join((f"{arm.name}: {arm.origin} ({', '.join(arm.sources)})", *when, *sampled, counts, arm.state))


def headline(comparison: Comparison, settings: Settings) -> tuple[str, Status]:
    """The verdict."""
    speedup = comparison.measured.speedup
    if comparison.verdict.says is None or speedup is None:
        return UNKNOWN, Status.QUIET
    step = measured_speedup.step_of(speedup, settings)
    return f"{comparison.verdict.says}: {within(measured_speedup.title)} {speedup:.2f}", step.status


def tail_headline(comparison: Comparison) -> tuple[str, Status]:
    """What became of the slowest."""
    status = next((code.status for code in CODES if code.says == comparison.tail.says), Status.QUIET)
    return comparison.tail.says or UNKNOWN, status


def tail_reasons(comparison: Comparison) -> tuple[str, ...]:
    """Why, and what to do next."""
    return (*comparison.tail.reasons, *([comparison.tail.next] if comparison.tail.next else []))


def samples(group: Group) -> tuple[str, str]:
    """How much a group's numbers rest on."""

    def told(count: float | None) -> str:
        return f"{count:,.0f} {group.counted}" if count else f"no {group.counted}"

    return told(group.baseline_samples), told(group.candidate_samples)


def cells(row: Row) -> tuple[str, str, str, str]:
    """Title, both sides, and the change."""
    unit = FIGURES[row.name].unit
    named = unit in _NAMED_UNITS and unit.words not in row.title.lower()
    title = f"{row.title}, {unit.words}" if named else row.title
    return title, _value(row, row.baseline), _value(row, row.candidate), _change(row)


def change_status(row: Row, settings: Settings) -> Status:
    """Whether it went the good way, by more than noise."""
    if row.ratio is None or row.better == Better.NEITHER.value:
        return Status.NEUTRAL
    gain = row.ratio if row.better == Better.HIGHER.value else 1 / row.ratio
    noise = settings.thresholds.slower
    if gain < noise:
        return Status.BAD
    return Status.GOOD if gain * noise > 1 else Status.NEUTRAL


def figures(comparison: Comparison) -> Iterator[tuple[str, str, str]]:
    """Title, value and meaning of what the two say of each other."""
    found, cost = comparison.measured, comparison.cost
    numbers = (
        (measured_speedup.title, found.speedup, "mean time per output token, baseline / candidate"),
        ("Speedup by decode steps", found.speedup_by_steps, "tokens per step, candidate / baseline, / step cost"),
        ("Throughput", found.throughput, "generated tokens/s, candidate / baseline: follows the load"),
        ("Step cost", found.step_cost, "mean step latency, candidate / baseline"),
        ("Implied v", found.implied_v, _of_v(comparison)),
    )
    for title, number, means in numbers:
        yield title, NOTHING if number is None else f"{number:.2f}", means
    if cost:
        both = (NOTHING if money is None else f"{money:,.2f}" for money in (cost.baseline, cost.candidate))
        told = (
            f"at the throughput seen, {cost.gpus} GPU{'s' if cost.gpus > 1 else ''} at {cost.gpu_hour_price:g} an hour"
        )
        yield "Cost of a million tokens", " / ".join(both), f"baseline / candidate, {told}"
    if found.saving is not None:
        means = "1 - 1 / measured speedup, of a token's cost on the same GPUs while they are kept busy"
        yield "Saving", f"{found.saving:.1%}", means + (": a loss" if found.saving < 0 else "")


def _of_v(comparison: Comparison) -> str:
    if comparison.measured.implied_v is not None:
        return f"step cost - mean draft length x c, with c = {comparison.measured.draft_cost:g} assumed"
    if comparison.baseline.drafts:
        return "known only against a baseline without speculation"
    return "known only of a candidate that drafts, where steps are timed"


def _value(row: Row, value: Value) -> str:
    figure = FIGURES[row.name]
    if value.under is not None:
        return f"< {figure.words(value.under)}"
    return NOTHING if value.value is None else figure.words(value.value)


def _change(row: Row) -> str:
    if row.baseline.under is not None or row.candidate.under is not None:
        return "not compared"
    if FIGURES[row.name].unit is Unit.RATIO and row.difference is not None:
        return f"{row.difference * 100:+.1f} points"
    return NOTHING if row.ratio is None else f"{row.ratio - 1:+.1%}"
