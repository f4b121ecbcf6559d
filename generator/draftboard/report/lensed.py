"""What the lens counts of each model, from a Prometheus: its classes, or why they are not judged."""

import math
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass

from draftboard.expr.nodes import Expr
from draftboard.expr.vector import Labels
from draftboard.prometheus import Series
from draftboard.report.classes import Figures
from draftboard.settings import Settings
from draftboard.signals.classes import (
    CLASS,
    REASONS,
    class_acceptance,
    class_length,
    class_share,
    lens_coverage,
    lens_missed,
)
from draftboard.signals.signal import worded

_UNJUDGED = "Classes of requests are not judged: the lens sees {seen} of the draft tokens, at least {least} are needed"
Ask = Callable[[Expr], Iterable[tuple[dict[str, str], Series]]]
"""Answers an expression: labels, and the series that has them."""


@dataclass(frozen=True)
class Lensed:
    """By model."""

    classes: Mapping[Labels, tuple[Figures, Figures, Figures]]
    """Share, acceptance and length of each class."""
    unjudged: Mapping[Labels, str]
    """Why classes are not judged, in a sentence, where a lens runs and sees too little."""


def lensed(ask: Ask, settings: Settings) -> Lensed:
    """What it counts; one query where no lens runs."""
    if not lens_coverage.exists(settings):
        return Lensed({}, {})
    coverage: dict[Labels, float] = {}
    missed: dict[Labels, dict[str, float]] = {}
    for labels, series in ask(lens_coverage | lens_missed):
        reason = labels.pop(lens_missed.by[0], "")
        of_model = missed.setdefault(frozenset(labels.items()), {})
        if reason:
            of_model[reason] = series.samples[0][1]
        else:
            coverage[frozenset(labels.items())] = series.samples[0][1]
    least = settings.thresholds.lens_coverage
    # Of an idle model neither is there, of one whose every request is missed the first is not.
    seen = {model: coverage.get(model, 0.0) for model in missed if model in coverage or any(missed[model].values())}
    low = {model: _unjudged(part, least, missed[model]) for model, part in seen.items() if part < least}
    return Lensed(_classes(ask) if len(seen) > len(low) else {}, low)


def _classes(ask: Ask) -> Mapping[Labels, tuple[Figures, Figures, Figures]]:
    found: dict[Labels, tuple[Figures, Figures, Figures]] = {}
    for place, signal in enumerate((class_share, class_acceptance, class_length)):
        for labels, series in ask(signal):
            key = labels.pop(CLASS[0], ""), labels.pop(CLASS[1], "")
            of_model = found.setdefault(frozenset(labels.items()), ({}, {}, {}))
            if math.isfinite(value := series.samples[0][1]):
                of_model[place][key] = value
    return found


def _unjudged(seen: float, least: float, missed: Mapping[str, float]) -> str:
    opening = _UNJUDGED.format(seen=worded(lens_coverage, seen), least=worded(lens_coverage, least))
    most = sorted((reason for reason in missed if missed[reason] > 0), key=lambda reason: -missed[reason])
    whose = (f"{worded(lens_missed, missed[reason])} requests/s {REASONS.get(reason, reason)}" for reason in most)
    return f"{opening}. Missed: {'; '.join(whose)}" if most else opening
