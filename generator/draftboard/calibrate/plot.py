"""Plot of a calibration: step cost, tokens per step and speedup over the batch, with intervals."""

from collections.abc import Sequence
from itertools import groupby
from operator import attrgetter
from pathlib import Path
from typing import Any

from draftboard import pictures
from draftboard.calibrate.result import Calibration, Row
from draftboard.output import escape
from draftboard.signals.acceptance import tokens_per_step

_WIDTH, _HEIGHT = 12.0, 4.0  # Inches.
_COLOURS = ("#2e7d4f", "#7aa6d6", "#d1495b", "#8a6d3b", "#6a4c93", "#999999")
_PARTS = {
    "step_cost": "Step cost (plain steps)",
    "tokens_per_step": f"{tokens_per_step.title} (tokens)",
    "speedup": "Speedup (times plain decoding)",
}


def draw(calibration: Calibration, path: Path) -> None:
    """Draw into a file, atomically."""
    pictures.require_drawable(path)
    figure = pictures.figure(_WIDTH, _HEIGHT)
    for axes, (part, title) in zip(figure.subplots(1, len(_PARTS)), _PARTS.items(), strict=True):
        for number, (candidate, rows) in enumerate(groupby(calibration.rows, attrgetter("candidate"))):
            _line(axes, list(rows), part, candidate, _COLOURS[number % len(_COLOURS)])
        batches = sorted({round(row.batch) for row in calibration.rows})
        axes.set_xscale("log", base=2)
        axes.set_xticks(batches, [str(batch) for batch in batches])
        axes.minorticks_off()
        axes.set_xlabel("batch, requests in a step")
        axes.set_title(title, loc="left")
        axes.axhline(1, color="#999999", linestyle="--", linewidth=1)
    axes.legend(loc="best", frameon=False)
    figure.suptitle(f"{escape.picture(calibration.model)}: {calibration.windows} windows, 95 % intervals")
    pictures.save(figure, path)


def _line(axes: Any, rows: Sequence[Row], part: str, name: str, colour: str) -> None:  # noqa: ANN401
    batches = [row.batch for row in rows]
    estimates = [getattr(row, part) for row in rows]
    bounds = [one.low for one in estimates], [one.high for one in estimates]
    axes.fill_between(batches, *bounds, color=colour, alpha=0.2, linewidth=0)
    axes.plot(batches, [one.value for one in estimates], "o-", color=colour, label=escape.picture(name))
