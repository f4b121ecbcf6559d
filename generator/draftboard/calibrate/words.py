"""A calibration as a document: where speculation stops paying, what was measured, costs, and the settings."""

from collections.abc import Iterator
from itertools import groupby
from operator import attrgetter

from draftboard.calibrate.fragment import toml
from draftboard.calibrate.result import Calibration, Row
from draftboard.intervals import Estimate
from draftboard.output import Block, Bullets, Document, Heading, Sentence, Table, Text, Verbatim, columns
from draftboard.signals.acceptance import draft_length, tokens_per_step
from draftboard.signals.signal import NOTHING
from draftboard.status import Status

_SEVERAL = 2
_ORIGINS = {"load": "in turns under the same load", "history": "from history"}


def document(calibration: Calibration) -> Document:
    """The calibration as a document."""
    method = f", method {calibration.method}" if calibration.method else ""
    opening = (
        f"{calibration.model}{method}: {' against '.join(calibration.sources)}, {_ORIGINS[calibration.origin]}; "
        f"{calibration.windows} windows, {calibration.steps:,.0f} decode steps; intervals are of 95 %"
    )
    return Document.of(
        (
            Sentence(opening, Status.QUIET),
            *(*_measured(calibration), *_costs(calibration), *_contexts(calibration), *_savings(calibration)),
            Bullets(calibration.notes),
        )
    )


def _contexts(calibration: Calibration) -> Iterator[Block]:
    """What a context changes, and the options of `plan schedule` for it."""
    if len(calibration.contexts) < _SEVERAL:
        return
    rows = (
        (f"up to {each.context:,}", row.candidate, f"{row.batch:.3g}", *map(str, (row.step_cost, row.speedup)))
        for each in calibration.contexts
        for row in each.rows
    )
    yield Heading("By context: tokens of the prompt and half of the response")
    yield Table(columns("Context", "Candidate", numbers=("Batch", "Step cost", "Speedup")), tuple(rows))
    curves = [(each.context, each.verify_inflation.items()) for each in calibration.contexts if each.verify_inflation]
    if curves:
        yield Sentence("Add these options to `draftboard plan schedule`, for K by batch and context:")
        options = (f"--inflation {at}:{','.join(f'{size}={v:g}' for size, v in curve)}" for at, curve in curves)
        yield Verbatim(" ".join(options))


def _savings(calibration: Calibration) -> Iterator[Block]:
    """GPUs at the declared objectives of time."""
    if calibration.savings:
        yield Heading("Saving at the SLO")
        yield Bullets(tuple(f"{one.candidate}: {one.says}" for one in calibration.savings))


def _measured(calibration: Calibration) -> Iterator[Block]:
    for stop, (candidate, rows) in zip(
        calibration.stops, groupby(calibration.rows, attrgetter("candidate")), strict=True
    ):
        status = Status.BAD if stop.low is not None and stop.batch is not None else Status.GOOD
        yield Heading(candidate, Text(stop.says, status))
        words = ("Windows", "Decode steps", "Plain step, ms", "Step cost", tokens_per_step.title, "Speedup")
        yield Table(columns("Batch", numbers=words), tuple(_cells(row) for row in rows), "Against the baseline")


def _cells(row: Row) -> tuple[str, ...]:
    counts = f"{row.baseline_windows} + {row.candidate_windows}", f"{row.baseline_steps + row.candidate_steps:,.0f}"
    plain = (
        1000 * part for part in (row.plain_step_seconds.value, row.plain_step_seconds.low, row.plain_step_seconds.high)
    )
    numbers = (Estimate(*plain), row.step_cost, row.tokens_per_step, row.speedup)
    return (f"{row.batch:.3g}", *counts, *map(str, numbers))


def _costs(calibration: Calibration) -> Iterator[Block]:
    costs = calibration.costs
    if not costs.points:
        return
    c = (
        f"draft cost c = {costs.draft_cost.value:.3f} ({costs.draft_cost.low:.3f} to {costs.draft_cost.high:.3f})"
        if costs.draft_cost
        else "c and v are known as a sum only"
    )
    yield Heading("Cost of a step with a draft, in plain steps", Text(c))
    rows = (
        (
            f"{p.batch:.3g}",
            f"{p.draft_length:.2f}",
            str(p.together),
            str(p.verify_inflation) if p.verify_inflation else NOTHING,
        )
        for p in costs.points
    )
    yield Table(columns("Batch", numbers=(draft_length.title, "v + L * c", "Verify inflation v")), tuple(rows))
    if calibration.settings:
        yield Sentence("Settings, which --write puts into a file:")
        yield Verbatim(toml(calibration))
