"""From windows to a calibration: what each load shows, where speculation stops paying, and the settings."""

import math
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from itertools import pairwise
from statistics import fmean
from typing import Literal

from draftboard.calibrate import fit
from draftboard.calibrate.result import Calibration, Costs, Fragment, Point, Row, Stop
from draftboard.calibrate.windows import BASELINE, Measured, Window
from draftboard.errors import DraftboardError
from draftboard.settings import Settings

LEAST = 3  # Windows of an arm at a load.
_MISFIT = 0.05  # Relative, from which a straight line in L is named as too simple. HEUR
_DIGITS = 4


def calibrated(measured: Measured, settings: Settings) -> Calibration:
    """Fit the windows of both arms. DraftboardError where no load has enough of both."""
    windows, dropped = _comparable(measured.windows)
    means, costs, batches = fit.means(windows), fit.costs(windows), _batches(windows)
    rows = tuple(_row(cell, windows, means, batches) for cell in sorted(fit.cells_of(windows), key=_by_arm))
    points = tuple(
        Point(batches[load], length, costs.sums[load], costs.inflation[load] if costs.inflation else None)
        for load, length in costs.lengths.items()
    )
    found = Costs(costs.c, costs.why or None, points, _misfit(rows, costs) if costs.c else None)
    fragment = _fragment(measured.method, found, settings) if measured.method and points else None
    return Calibration(
        origin=measured.origin,
        model=measured.model,
        method=measured.method or None,
        sources=measured.sources,
        taken_at=measured.taken_at,
        windows=len(windows),
        steps=sum(one.steps for one in windows),
        rows=rows,
        stops=tuple(_stop([row for row in rows if row.candidate == arm]) for arm in _arms(rows)),
        costs=found,
        settings=fragment,
        notes=(*measured.notes, *dropped, *_notes(found, fragment, measured.method)),
    )


def _by_arm(cell: fit.Cell) -> tuple[str, int]:
    return cell[1], cell[0]


def _arms(rows: Sequence[Row]) -> list[str]:
    return list(dict.fromkeys(row.candidate for row in rows))


def _comparable(windows: Sequence[Window]) -> tuple[list[Window], tuple[str, ...]]:
    """The windows of loads that both arms had often enough, and a note on the others."""
    counts = Counter((one.load, one.arm) for one in windows)
    plain = {load for (load, arm), count in counts.items() if arm == BASELINE and count >= LEAST}
    cells = {cell for cell, count in counts.items() if cell[1] != BASELINE and cell[0] in plain and count >= LEAST}
    if not cells:
        raise DraftboardError(
            f"no load has {LEAST} windows of the baseline and of a candidate (load, number of windows: "
            f"{_listed(counts)}): measure longer, or both arms under the same load"
        )
    loads = {load for load, _ in cells}
    kept = [one for one in windows if (one.load, one.arm) in cells or (one.arm == BASELINE and one.load in loads)]
    lost = {cell: count for cell, count in counts.items() if cell not in {(one.load, one.arm) for one in kept}}
    note = f"Left out, for want of {LEAST} windows of both arms (load, number of windows): {_listed(lost)}"
    return kept, (note,) if lost else ()


def _listed(counts: Mapping[fit.Cell, int]) -> str:
    told: dict[str, list[str]] = {}
    for (load, arm), count in sorted(counts.items(), key=lambda pair: _by_arm(pair[0])):
        told.setdefault(arm or "baseline", []).append(f"{load} ({count})")
    return "; ".join(f"{arm} at {', '.join(loads)}" for arm, loads in told.items()) or "none at all"


def _batches(windows: Sequence[Window]) -> dict[int, float]:
    """The mean batch of each load, every arm counting alike."""
    by_load: dict[int, dict[str, list[float]]] = {}
    for one in windows:
        by_load.setdefault(one.load, {}).setdefault(one.arm, []).append(one.batch)
    return {load: fmean(map(fmean, arms.values())) for load, arms in sorted(by_load.items())}


def _row(cell: fit.Cell, windows: Sequence[Window], means: fit.Means, batches: Mapping[int, float]) -> Row:
    load, arm = cell
    plain = [one for one in windows if one.load == load and one.arm == BASELINE]
    own = [one for one in windows if (one.load, one.arm) == cell]
    return Row(
        candidate=arm,
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
    """How far c and v are from the step costs measured, at worst."""
    c = costs.c.value if costs.c else 0.0
    misfits = [0.0]
    for row in rows:
        if row.load in costs.sums:
            drafting = costs.sums[row.load].value + (row.draft_length - costs.lengths[row.load]) * c
            misfits.append(abs((1 - row.coverage + row.coverage * drafting) / row.step_cost.value - 1))
    return max(misfits)


def _stop(rows: Sequence[Row]) -> Stop:
    """On straight lines between batches, both axes logarithmic; bounds where the bounds of the speedup cross 1."""
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
    """The batch at which a speedup first falls below 1; the first where it is below 1 there."""
    if points[0][1] < 1:
        return points[0][0]
    for (before, high), (after, low) in pairwise(points):
        if low < 1:
            share = math.log(high) / (math.log(high) - math.log(low))
            return before * float((after / before) ** share)
    return None


def _fragment(method: str, costs: Costs, settings: Settings) -> Fragment:
    """What settings can hold: c of at least 0, and v of at least 1 at every batch."""
    assumed = settings.draft_cost.by_method.get(method, settings.draft_cost.default)
    wanted = max(0.0, costs.draft_cost.value) if costs.draft_cost else assumed
    room = min((point.together.value - 1) / point.draft_length for point in costs.points)
    c = _rounded(max(0.0, min(wanted, room)))
    source: Literal["fitted", "settings", "lowered"] = "fitted" if costs.draft_cost else "settings"
    if c < _rounded(wanted):
        source = "lowered"
    by_batch: dict[int, float] = {}
    for point in costs.points:
        # Of two loads in batches of one size the larger says no more than the smaller.
        by_batch.setdefault(
            max(1, round(point.batch)), _rounded(max(1.0, point.together.value - point.draft_length * c))
        )
    return Fragment(method, c, source, by_batch)


def _rounded(number: float) -> float:
    return float(f"{number:.{_DIGITS}g}")


def _notes(costs: Costs, fragment: Fragment | None, method: str) -> Iterator[str]:
    if costs.not_told_apart and costs.points:
        yield (
            f"c and v are one sum: {costs.not_told_apart}. Their sum is all that break-even at this draft length "
            "needs; to tell them apart, measure candidates of different K"
        )
    if fragment:
        yield from _on_fragment(costs, fragment)
    elif costs.points and not method:
        yield "No settings: name the drafting method with --method"
    if costs.misfit is not None and costs.misfit > _MISFIT:
        yield (
            f"v + L * c is up to {costs.misfit:.1%} from the step costs measured: at other draft lengths it is a rough "
            "guide only"
        )
    yield (
        "Step latency is that of the servers' pages: steps that also compute prompts lengthen both arms. Intervals "
        "rest on the scatter between windows: other prompts, lengths or machines are not in them"
    )


def _on_fragment(costs: Costs, fragment: Fragment) -> Iterator[str]:
    sums = [point.together.value for point in costs.points]
    if fragment.draft_cost_source == "settings":
        yield f"c = {fragment.draft_cost:g} of the settings is kept, and v is the sum less L * c"
    elif fragment.draft_cost_source == "lowered":
        yield f"c is lowered to {fragment.draft_cost:g}, so that v is 1 or more at every batch; the sums stay right"
    if min(sums) < 1:
        yield f"A step with a draft takes {min(sums):.2f} plain steps at the least: the settings hold 1"
    if len(fragment.verify_inflation) < len(costs.points):
        yield "Some loads ran in batches of the same size: does --max-num-seqs bound them?"
    yield f"Beyond a batch of {max(fragment.verify_inflation)} v stays as there; it holds for every method"
