"""Calibration from windows: ratios at each load, where speculation stops paying, and the settings."""

import math
import re
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from contextlib import suppress
from itertools import groupby, pairwise
from operator import attrgetter, itemgetter
from statistics import fmean
from typing import Literal

from draftboard.calibrate import fit, slo
from draftboard.calibrate.result import AtContext, Calibration, Costs, Fragment, Point, Row, Stop
from draftboard.calibrate.windows import BASELINE, Cell, Measured, Window
from draftboard.errors import DraftboardError
from draftboard.settings import Settings
from draftboard.settings.fields import METHOD_NAME

LEAST = 3  # Windows of a variant at a load.
_MISFIT = 0.05  # Relative, from which a straight line in L is named as too simple. Heuristic.
_DIGITS = 4


def calibrated(measured: Measured, settings: Settings) -> Calibration:
    """Fit the windows. DraftboardError where no load has enough of the baseline and of a candidate."""
    windows, dropped = _comparable(measured.windows)
    fitted, rows = fit.costs(windows), _rows(windows)
    points = _points(fitted, _batches(windows))
    costs = Costs(fitted.c, fitted.why or None, points, _misfit(rows, fitted) if fitted.c else None)
    fragment = (
        _fragment(measured.method, costs, settings)
        if points and re.fullmatch(METHOD_NAME[0], measured.method)
        else None
    )
    return Calibration(
        origin=measured.origin,
        model=measured.model,
        method=measured.method or None,
        sources=measured.sources,
        taken_at=measured.taken_at,
        windows=len(windows),
        steps=sum(one.steps for one in windows),
        rows=rows,
        stops=tuple(_stop(list(group)) for _, group in groupby(rows, attrgetter("candidate"))),
        costs=costs,
        settings=fragment,
        notes=(*measured.notes, *dropped, *_notes(costs, fragment)),
        contexts=tuple(_contexts(measured.windows, fragment)),
        # Requests of history are not known to be equal.
        savings=slo.savings(windows, settings) if measured.origin == "load" else (),
    )


def _contexts(windows: Sequence[Window], fragment: Fragment | None) -> Iterator[AtContext]:
    """Of each context that has enough of the baseline and of a candidate by itself; of one alone nothing."""
    by_context: dict[int, list[Window]] = {}
    for one in windows:
        by_context.setdefault(one.context, []).append(one)
    for context, own in sorted(by_context.items()) if len(by_context) > 1 else ():
        with suppress(DraftboardError):
            kept, _ = _comparable(own)
            points = _points(fit.costs(kept), _batches(kept))
            yield AtContext(context, _rows(kept), _by_batch(points, fragment.draft_cost) if fragment else {})


def _rows(windows: Sequence[Window]) -> tuple[Row, ...]:
    """Each candidate at each load."""
    means, batches = fit.means(windows), _batches(windows)
    return tuple(_row(cell, windows, means, batches) for cell in sorted(fit.cells_of(windows), key=itemgetter(1, 0)))


def _points(fitted: fit.Costs, batches: Mapping[int, float]) -> tuple[Point, ...]:
    return tuple(
        Point(batches[load], length, fitted.sums[load], fitted.inflation[load] if fitted.inflation else None)
        for load, length in fitted.lengths.items()
    )


def _comparable(windows: Sequence[Window]) -> tuple[list[Window], tuple[str, ...]]:
    """Windows of loads with enough of the baseline and of a candidate, and a note on the others."""
    counts = Counter(one.cell for one in windows)
    plain = {load for (load, variant), count in counts.items() if variant == BASELINE and count >= LEAST}
    cells = {cell for cell, count in counts.items() if cell[1] != BASELINE and cell[0] in plain and count >= LEAST}
    if not cells:
        raise DraftboardError(
            f"no load has {LEAST} windows of the baseline and of a candidate (load, number of windows: "
            f"{_listed(counts)}): measure longer, or baseline and candidate under the same load"
        )
    loads = {load for load, _ in cells}
    kept = [one for one in windows if one.cell in cells or (one.is_baseline and one.load in loads)]
    lost = {cell: count for cell, count in counts.items() if cell not in {one.cell for one in kept}}
    note = f"Left out: loads with under {LEAST} windows of baseline or candidate (windows): {_listed(lost)}"
    return kept, (note,) if lost else ()


def _listed(counts: Mapping[Cell, int]) -> str:
    loads: dict[str, list[str]] = {}
    for (load, variant), count in sorted(counts.items()):
        loads.setdefault(variant or "baseline", []).append(f"{load} ({count})")
    return "; ".join(f"{variant} at {', '.join(own)}" for variant, own in sorted(loads.items())) or "none"


def _batches(windows: Sequence[Window]) -> dict[int, float]:
    """The mean batch of each load, with equal weight for every variant."""
    by_load: dict[int, dict[str, list[float]]] = {}
    for one in windows:
        by_load.setdefault(one.load, {}).setdefault(one.variant, []).append(one.batch)
    return {load: fmean(map(fmean, variants.values())) for load, variants in sorted(by_load.items())}


def _row(cell: Cell, windows: Sequence[Window], means: fit.Means, batches: Mapping[int, float]) -> Row:
    load, variant = cell
    plain = [one for one in windows if one.load == load and one.is_baseline]
    own = [one for one in windows if one.cell == cell]
    return Row(
        candidate=variant,
        load=load,
        batch=batches[load],
        baseline_windows=len(plain),
        candidate_windows=len(own),
        baseline_steps=sum(one.steps for one in plain),
        candidate_steps=sum(one.steps for one in own),
        plain_step_seconds=means.plain_seconds[load],
        step_cost=means.step_cost[cell],
        tokens_per_step=means.tokens_per_step[cell],
        speedup=means.speedup[cell],
        coverage=fmean(one.coverage for one in own),
        draft_length=fmean(one.draft_length for one in own),
    )


def _misfit(rows: Sequence[Row], costs: fit.Costs) -> float:
    """Largest relative difference of c and v from the measured step costs."""
    c = costs.c.value if costs.c else 0.0
    misfits = [0.0]
    for row in rows:
        if row.load in costs.sums:
            drafting = costs.sums[row.load].value + (row.draft_length - costs.lengths[row.load]) * c
            misfits.append(abs((1 - row.coverage + row.coverage * drafting) / row.step_cost.value - 1))
    return max(misfits)


def _stop(rows: Sequence[Row]) -> Stop:
    """Where the speedup and the ends of its interval cross 1, by log-log interpolation between batches."""
    batch = _falls([(row.batch, row.speedup.value) for row in rows])
    low = _falls([(row.batch, row.speedup.low) for row in rows])
    high = _falls([(row.batch, row.speedup.high) for row in rows])
    first, last = rows[0].batch, rows[-1].batch
    if batch is None:
        says = f"pays at all batches measured, up to {last:.3g}"
        says += "" if low is None else f"; the interval holds 1 from {low:.3g} on"
    elif batch == first:
        says = f"does not pay at a batch of {first:.3g}, the smallest measured"
        says += "" if high == first else ", though the interval holds 1"
    else:
        end = f"{high:.3g}" if high is not None else f"beyond {last:.3g}, the largest measured"
        says = f"stops paying at a batch of {batch:.3g} (95 %: {low:.3g} to {end})"
    return Stop(rows[0].candidate, batch, low, high, says)


def _falls(points: Sequence[tuple[float, float]]) -> float | None:
    """The batch at which a speedup first falls below 1; None where it never does."""
    if points[0][1] < 1:
        return points[0][0]
    for (before, high), (after, low) in pairwise(points):
        if low < 1:
            share = math.log(high) / (math.log(high) - math.log(low))
            return before * float((after / before) ** share)
    return None


def _fragment(method: str, costs: Costs, settings: Settings) -> Fragment:
    """The settings, which require c >= 0 and v >= 1 at every batch."""
    assumed = settings.draft_cost.by_method.get(method, settings.draft_cost.default)
    wanted = max(0.0, costs.draft_cost.value) if costs.draft_cost else assumed
    room = min((point.together.value - 1) / point.draft_length for point in costs.points)
    c = _rounded(max(0.0, min(wanted, room)))
    source: Literal["fitted", "settings", "lowered"] = "fitted" if costs.draft_cost else "settings"
    if c < _rounded(wanted):
        source = "lowered"
    return Fragment(method, c, source, _by_batch(costs.points, c))


def _by_batch(points: Sequence[Point], c: float) -> dict[int, float]:
    """The v that leaves this c."""
    by_batch: dict[int, float] = {}
    for point in points:
        # Of two loads in batches of one size the larger says no more than the smaller.
        by_batch.setdefault(
            max(1, round(point.batch)), _rounded(max(1.0, point.together.value - point.draft_length * c))
        )
    return by_batch


def _rounded(number: float) -> float:
    return float(f"{number:.{_DIGITS}g}")


def _notes(costs: Costs, fragment: Fragment | None) -> Iterator[str]:
    if costs.not_told_apart and costs.points:
        yield (
            f"c and v are known as a sum only: {costs.not_told_apart}. Break-even at this draft length needs no more; "
            "to separate them, measure candidates of different K"
        )
    if fragment:
        yield from _on_fragment(costs, fragment)
    elif costs.points:
        yield "No settings: name the drafting method with --method"
    if costs.misfit is not None and costs.misfit > _MISFIT:
        yield (
            f"v + L * c is up to {costs.misfit:.1%} from the step costs measured: at other draft lengths it is a rough "
            "guide only"
        )
    yield (
        "Step latency is that of the servers' pages: steps that also compute prompts lengthen all of them. Intervals "
        "rest on the scatter between windows: other prompts, lengths or machines are not in them"
    )


def _on_fragment(costs: Costs, fragment: Fragment) -> Iterator[str]:
    cheapest = min(point.together.value for point in costs.points)
    if fragment.draft_cost_source == "settings":
        yield f"c = {fragment.draft_cost:g} of the settings is kept, and v is the sum less L * c"
    elif fragment.draft_cost_source == "lowered":
        yield f"c is lowered to {fragment.draft_cost:g}, so that v is 1 or more at every batch; the sums stay right"
    if cheapest < 1:
        yield f"A step with a draft takes as little as {cheapest:.2f} plain steps: the settings hold 1"
    if len(fragment.verify_inflation) < len(costs.points):
        yield "Some loads ran in batches of the same size: does --max-num-seqs bound them?"
    yield f"Beyond a batch of {max(fragment.verify_inflation)} v stays constant; it applies to every method"
