"""A picture of a report: how acceptance decays with depth, and what each draft length is expected to gain."""

from pathlib import Path
from typing import Any

from draftboard import pictures
from draftboard.errors import DraftboardError
from draftboard.output import escape
from draftboard.report.document import named
from draftboard.report.numbers import Speculation
from draftboard.report.objects import ModelReport, Report
from draftboard.settings import Settings
from draftboard.signals.depth import conditional_acceptance, survival
from draftboard.signals.economics import BREAK_EVEN
from draftboard.signals.gains import speedup_at

_WIDTH, _HEIGHT = 11.0, 3.6  # Inches: of the picture, of each model.
_MOST_MODELS = 12


def draw(report: Report, settings: Settings, path: Path) -> None:
    """Draw every model that drafts into a file, which appears whole or not at all."""
    pictures.require_drawable(path)
    drafting = [model for model in report.models if model.speculation]
    if not drafting:
        raise DraftboardError(f"{path}: nothing was drafted, so there is nothing to draw")
    models = [model for model in drafting if model.speculation and model.speculation.survival][:_MOST_MODELS]
    if not models:
        raise DraftboardError(f"{path}: acceptance by position is not known (see the report), so nothing can be drawn")
    pictures.save(_drawn(models, settings), path)


def _drawn(models: list[ModelReport], settings: Settings) -> Any:  # noqa: ANN401  (matplotlib is imported only when drawing)
    figure = pictures.figure(_WIDTH, _HEIGHT * len(models))
    for (left, right), model in zip(figure.subplots(len(models), 2, squeeze=False), models, strict=True):
        if model.speculation and model.sample:
            _decay(left, model.speculation)
            _gain(right, model.speculation, settings)
            left.set_title(escape.picture(named(model)), loc="left", fontweight="bold")
            right.set_title(f"{model.sample.drafts:,.0f} drafts", loc="right")
    return figure


def _decay(axes: Any, speculation: Speculation) -> None:  # noqa: ANN401
    positions = range(len(speculation.survival))
    axes.bar(positions, speculation.survival, color="#7aa6d6", label=survival.title)
    given = speculation.conditional_acceptance
    axes.plot(range(len(given)), given, "o-", color="#d1495b", label=conditional_acceptance.title)
    axes.set_xlabel("position in the draft")
    axes.set_xticks(positions)
    axes.set_ylim(0, 1.05)
    axes.yaxis.set_major_formatter("{x:.0%}")
    axes.legend(loc="upper right", frameon=False)


def _gain(axes: Any, speculation: Speculation, settings: Settings) -> None:  # noqa: ANN401
    ks = range(1, len(speculation.speedup_at) + 1)
    axes.plot(ks, speculation.speedup_at, "o-", color="#2e7d4f", label=speedup_at.title)
    if speculation.best_k and speculation.speedup_at:
        best = speculation.speedup_at[speculation.best_k - 1]
        axes.plot(speculation.best_k, best, "o", markersize=11, color="#2e7d4f", label=f"best k: {speculation.best_k}")
    axes.axhline(BREAK_EVEN, color="#d1495b", linestyle="--", linewidth=1, label="break-even")
    axes.axhline(settings.thresholds.pays_clearly, color="#999999", linestyle=":", linewidth=1, label="pays")
    axes.set_xlabel(f"k, drafted tokens a step (c = {speculation.draft_cost:g}, v = {speculation.verify_inflation:g})")
    axes.set_ylabel(f"{speedup_at.unit.words}")
    axes.set_xticks(ks)
    axes.legend(loc="best", frameon=False)
