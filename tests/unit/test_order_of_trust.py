"""Of all that may tell what a step costs, the nearest counts: whatever else is known beside it."""

from dataclasses import dataclass, field, replace

import pytest

from draftboard.expr.vector import kept
from draftboard.reading import Growth, Reader, counts_of, labels_of
from draftboard.report.own import Stretch, of_growth
from draftboard.report.verdict import Case, verdict_of
from draftboard.settings import Settings
from draftboard.signals import Level, Signal
from draftboard.signals.costs import step_cost
from draftboard.signals.users import measured_speedup
from draftboard.signals.verdicts import VERDICT, verdict
from unit.test_report_of_own_steps import day, part, seconds, stretches

BATCH = 8.0
WHOLE = part(BATCH, seconds(BATCH), plugin=False)


@dataclass(frozen=True)
class Known:
    """What is known of a server beside its counters."""

    settings: Settings = field(default_factory=Settings)
    steps: tuple[Stretch, ...] = ()
    measured: tuple[tuple[Signal, float], ...] = ()


def profile(known: Known) -> Known:
    costs = {"by_method": {"eagle3": 0.2}, "calibrated": ["eagle3"]}
    return replace(known, settings=Settings.model_validate({"draft_cost": costs}))


def own_curve(known: Known) -> Known:
    return replace(known, steps=(*known.steps, *of_growth([Growth((one,), 10.0) for one in day(1)], [WHOLE])))


def own_plain_steps(known: Known) -> Known:
    return replace(known, steps=(*known.steps, *stretches(1.4)))


def steps_of_a_baseline(known: Known) -> Known:
    return replace(known, measured=(*known.measured, (step_cost, 1.4)))


def users_of_a_baseline(known: Known) -> Known:
    return replace(known, measured=(*known.measured, (measured_speedup, 1.9)))


ORDER = {
    profile: "calibrated",
    own_curve: "own step times",
    own_plain_steps: "own steps without a draft",
    steps_of_a_baseline: "measured by steps",
    users_of_a_baseline: "measured",
}
"""From the weakest to the strongest, what the verdict rests on where it is the strongest."""
OF_A_REPORT = {own_curve, own_plain_steps}
"""Rules do not read their own steps."""


def spoken_by(*sources: object) -> tuple[str | None, str]:
    """The basis of a report's verdict, and of that of the records, with these sources."""
    known = Known()
    for add in ORDER:
        known = add(known) if add in sources else known
    counts = counts_of([WHOLE], known.settings, "eagle3")
    labels = kept(labels_of(WHOLE, known.settings, "eagle3"), Level.MODEL.labels(known.settings))
    answers = {(signal.name, Level.MODEL): {labels: number} for signal, number in known.measured}
    numbers = Reader(replace(counts, answers=answers), Level.MODEL).of(labels)
    recorded = VERDICT.of(numbers.value(verdict))
    assert recorded
    return verdict_of(Case(numbers, 600.0, steps=known.steps)).basis, recorded.basis


@pytest.mark.parametrize("count", range(len(ORDER) + 1))
def test_each_source_outranks_all_that_are_weaker(count: int) -> None:
    sources = [*ORDER][:count]
    by_records = [ORDER[one] for one in sources if one not in OF_A_REPORT]
    assert spoken_by(*sources) == (
        ORDER[sources[-1]] if sources else "assumed",
        by_records[-1] if by_records else "assumed",
    )


@pytest.mark.parametrize("source", ORDER)
def test_each_source_speaks_alone_too(source: object) -> None:
    basis = next(basis for one, basis in ORDER.items() if one is source)
    assert spoken_by(source) == (basis, "assumed" if source in OF_A_REPORT else basis)
