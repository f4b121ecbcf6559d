"""Whether to speculate at all: checks before anything is measured, and what they add up to."""

from dataclasses import dataclass
from enum import StrEnum
from typing import ClassVar

from draftboard.plan.check import Check, Outcome
from draftboard.plan.checks_models import judge_ratio, model_checks, size_ratio
from draftboard.plan.checks_traffic import traffic_checks
from draftboard.plan.formula import Formula
from draftboard.plan.situation import Situation
from draftboard.plan.terms import require_method
from draftboard.settings import Settings


class Decision(StrEnum):
    """What the checks add up to."""

    USE = "use"
    MEASURE = "measure first"
    LEAVE_OFF = "leave off"


@dataclass(frozen=True)
class Example:
    """A pair of models that the sources judge, with the ratio that their sizes really have."""

    draft: str
    target: str
    ratio: float
    outcome: Outcome
    """Of the size-ratio check here."""
    said: str
    """By the sources, which contradict each other."""


@dataclass(frozen=True)
class DecidePlan:
    """Checks and what they add up to. Rules of thumb: none has been measured on your traffic."""

    name: ClassVar[str] = "decide"
    formulas: ClassVar[tuple[Formula, ...]] = (
        Formula("size ratio", "parameters of the target / parameters of the draft", "definition"),
        Formula("draft headroom", "draft parameters x bytes each / (GPUs x GB)", "a published guide, rule of thumb"),
        Formula("draft speed", "c = time of drafting one token / time of one target step", "Leviathan 2023"),
        Formula("leave off", "a check fails that forbids by itself", "rule of thumb"),
        Formula("use", "every check that applies passes", "rule of thumb"),
        Formula("measure first", "all else", "rule of thumb"),
    )

    decision: Decision
    checks: tuple[Check, ...]
    examples: tuple[Example, ...]
    verdict: str
    notes: tuple[str, ...]


_PAIRS = (
    (8, 70, "good at about 1:9 (guide)"),
    (7, 72, "good at about 1:10 (guide); 7B drafts are accepted at .70 to .80, unsourced (course)"),
    (13, 70, "too costly at about 1:5 (guide); 1.8 to 2.2x at .80 to .90, unsourced (course)"),
    (1, 70, "too small, seldom pays (guide); 1.1B: 1.8x at .50 to .65, unsourced (course)"),
    (0.5, 70, "1.5x with few requests (the guide's own example)"),
    (8, 405, "weak at about 1:50 (guide)"),
)
"""Billions of parameters of draft and target, and what is said of them."""


def decide(settings: Settings, situation: Situation) -> DecidePlan:
    """Hold what is known against the rules of thumb.

    Raises:
        DraftboardError: a method that is not known.
    """
    require_method(settings, situation.method)
    limits = settings.planning
    checks = (*model_checks(situation, limits), *traffic_checks(situation, limits))
    decision = _decision(checks)
    return DecidePlan(
        decision=decision,
        checks=checks,
        examples=tuple(
            Example(
                f"{draft:g}B", f"{target:g}B", (ratio := size_ratio(target, draft)), judge_ratio(ratio, limits), said
            )
            for draft, target, said in _PAIRS
        ),
        verdict=_verdict(decision, checks),
        notes=(
            "These are rules of thumb, not measurements: where they and your load test differ, the test is right.",
            "How many requests run at a time matters more than the size ratio: with many, verifying is no longer free.",
        ),
    )


def _decision(checks: tuple[Check, ...]) -> Decision:
    if any(check.forbids and check.outcome is Outcome.FAIL for check in checks):
        return Decision.LEAVE_OFF
    if all(check.outcome in {Outcome.PASS, Outcome.SKIPPED} for check in checks):
        return Decision.USE
    return Decision.MEASURE


def _verdict(decision: Decision, checks: tuple[Check, ...]) -> str:
    if decision is Decision.USE:
        return "Use it: every check that applies passes. Watch it, and compare with a baseline."
    if decision is Decision.LEAVE_OFF:
        forbidding = (check for check in checks if check.forbids and check.outcome is Outcome.FAIL)
        return f"Leave off: {'; '.join(f'{check.name} ({check.reason})' for check in forbidding)}."
    open_checks = (check.name for check in checks if check.outcome not in {Outcome.PASS, Outcome.SKIPPED})
    return f"Measure first: {', '.join(open_checks)}."
