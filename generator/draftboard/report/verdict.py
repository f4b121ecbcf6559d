"""The verdict on a model or an engine, and its reasons in words."""

from dataclasses import dataclass
from functools import cached_property
from string import Formatter

from draftboard.durations import Duration
from draftboard.evidence import SETTLES, Change, Ruling, headline, ruling
from draftboard.intervals import Estimate
from draftboard.quantity import value
from draftboard.reading import MIXED, Numbers
from draftboard.report import objects
from draftboard.report.bound import per
from draftboard.report.expectation import OWN_CURVE, OWN_STEPS, expectation_of
from draftboard.report.felt import Felt, latency_of
from draftboard.report.numbers import Expectation
from draftboard.report.own import Stretch
from draftboard.settings import Settings
from draftboard.signals import ALL, Signal, economics
from draftboard.signals.acceptance import tokens_per_step
from draftboard.signals.advice import ADVICE, advice, fall_age
from draftboard.signals.decision import Choice
from draftboard.signals.economics import affordable_inflation
from draftboard.signals.gains import LEAST_GAIN, best_k, shorter_gain
from draftboard.signals.signal import Code, within, worded
from draftboard.signals.users import measured_speedup, speedup_high, speedup_low
from draftboard.signals.verdicts import ASSUMED, BY_STEPS, MEASURED, UNCLEAR, VERDICT, verdict

_BY_NAME = {signal.name: signal for signal in (*ALL, fall_age)}
_BY_LENGTH = frozenset(ADVICE[row].says for row in (*Change, "drafter", "even", "another", "measure"))
"""Advice that rests on costs, or names the drafter where costs are not known to allow better."""
_PLAIN = 'Of its servers these do not speculate: {}. Label their targets {}="{}", or start them with speculation'
_PLAIN_BEFORE = "Of its servers these did not speculate: {}. They have left it within these {}: repeat after as long"
_NAMED = 3
_RESTS_ON = {
    ASSUMED: "assumed from published measurements",
    OWN_CURVE: "its own steps at different loads; the drafter's time in them is assumed",
    OWN_STEPS: "against its own steps without a draft, whose text repeats less or whose load differed",
}
RANGED = frozenset(_RESTS_ON)
"""Bases of verdicts that rest on a range."""
_AT_EQUAL_LENGTHS = "; {} times the baseline at equal lengths, parts of the time reweighted"
_UNKNOWN_LOAD = VERDICT.choices["unknown load"]
_LOSES, *_, _PAYS = economics.SPEEDUP_BANDS
_RULED = {
    (ruled, basis): Code(code, f"{says} ({basis})", status)
    for ruled, code, says, status in (
        (Ruling.PAYS, -5, _PAYS.says, _PAYS.status),
        (Ruling.COSTS, -6, _LOSES.says, _LOSES.status),
        (Ruling.UNCLEAR, -3, UNCLEAR.says, UNCLEAR.status),
    )
    for basis in (OWN_CURVE, OWN_STEPS)
}
"""What holds in all of a range of its own steps, or that nothing does."""
FURTHER = tuple(_RULED.values())
"""Verdicts that no record has."""


@dataclass(frozen=True)
class Case:
    """A model or an engine to be judged, and what is known beside its numbers."""

    numbers: Numbers
    seconds: float | None = None  # How long was counted; None where nobody knows: then there are no rates.
    broken: tuple[objects.Broken, ...] = ()  # Identities of its counters that do not hold.
    v0: bool = False  # Whether vLLM's V0 engine exposes it.
    baselines: tuple[Numbers, ...] = ()  # Of the model's servers without speculation.
    standardised: Estimate | None = None  # The measured speedup at equal lengths of prompts and answers.
    steps: tuple[Stretch, ...] = ()  # Its own, at as many loads as are known.
    plain: tuple[str, ...] = ()  # Servers without speculation whose numbers are added to those of servers with it.
    plain_has_left: bool = False  # Whether that was within the window only, as before their targets had a label.

    @property
    def settings(self) -> Settings:
        """Thresholds and costs."""
        return self.numbers.settings

    @cached_property
    def assumed(self) -> Expectation | None:
        """Ranges from its own steps, else from published measurements where the settings hold assumed costs alone."""
        is_assumed = self.settings.draft_cost.is_assumed
        found = expectation_of(self.numbers, self.steps) if self.steps or is_assumed else None
        return found if found and (found.basis != ASSUMED or is_assumed) else None


def interval_of(case: Case) -> Estimate | None:
    """The measured speedup with its interval, where both are known."""
    speedup, *bounds = (case.numbers.value(signal) for signal in (measured_speedup, speedup_low, speedup_high))
    low, high = bounds
    return None if speedup is None or low is None or high is None else Estimate(speedup, low, high)


def verdict_of(case: Case) -> objects.Verdict:
    """The verdict of the records, unless counters contradict each other; with reasons, or why it is withheld."""
    chosen = VERDICT.of(case.numbers.value(verdict)) or VERDICT.choices["unknown"]
    if case.plain:
        first, more = ", ".join(case.plain[:_NAMED]), len(case.plain) - _NAMED
        plain = f"{first} and {more} more" if more > 0 else first
        reason = (
            _PLAIN_BEFORE.format(plain, Duration(round(case.seconds)))
            if case.plain_has_left and case.seconds
            else _PLAIN.format(plain, case.settings.labels.spec_method, case.settings.methods.baseline)
        )
        return objects.Verdict(says=None, advice=None, reasons=(reason,), withheld=MIXED)
    if case.broken:
        chosen = VERDICT.choices["contradiction"]
    if not chosen.basis and not (chosen is _UNKNOWN_LOAD and case.steps):
        alike = _AT_EQUAL_LENGTHS.format(case.standardised) if case.standardised else ""
        reason = filled(chosen.reason, case) + alike
        return objects.Verdict(says=None, advice=None, reasons=(reason,), withheld=chosen.code.says)
    advised = ADVICE.of(case.numbers.value(advice))
    if chosen.basis not in {MEASURED, BY_STEPS} and (expected := case.assumed) and expected.speedup:
        return _of_ranges(case, expected, chosen, advised)
    felt = _felt(case) if chosen.basis == MEASURED else None
    return objects.Verdict(
        says=chosen.code.says,
        advice=advised.code.says if advised else None,
        reasons=tuple(
            filled(reason, case)
            for reason in (
                chosen.reason + _interval_in_words(case, chosen),
                *(felt.reasons(case.settings) if felt else ()),
                *_margin(case),
                *((reason_of(advised, case),) if advised else ()),
                *_of_best_k(case),
            )
        ),
        basis=chosen.basis,
    )


def _felt(case: Case) -> Felt:
    """Means of the variant beside those of its baselines together."""

    def both(name: str) -> tuple[float | None, float | None]:
        times = [one for one in (latency_of(numbers, name) for numbers in case.baselines) if one]
        requests = sum(one.count for one in times)
        own = latency_of(case.numbers, name)
        return per(sum(one.mean * one.count for one in times), requests), own.mean if own else None

    return Felt(end_to_end=both("end_to_end"), first_token=both("first_token"))


def _of_ranges(case: Case, expected: Expectation, chosen: Choice, advised: Choice | None) -> objects.Verdict:
    """What holds in all of the range of the costs."""
    speedup, step_cost = expected.speedup, expected.step_cost
    if speedup is None or step_cost is None:
        raise ValueError("there is no range")
    says = ruling(speedup, case.settings.thresholds.pays_clearly)
    tokens = case.numbers.value(tokens_per_step) or 0.0
    at = "" if expected.batch is None else f" in a batch of {expected.batch:,.0f}"
    costs = f"a step costs {step_cost} plain ones{at} ({_RESTS_ON[expected.basis]})"
    advice, why = _advised(case, expected, says, advised)
    return objects.Verdict(
        says=chosen.code.says if expected.basis == ASSUMED else _RULED[says, expected.basis].says,
        advice=advice,
        reasons=(
            filled("{tokens_per_step.title} {tokens_per_step}, and ", case)
            + f"{costs}: {speedup} times plain decoding",
            f"It pays while a decode step takes less time than {tokens:.2f} plain ones",
            *(f"The range is wide: {why}" for why in expected.wider),
            *((why,) if why else ()),
            *((_settling(case),) if says is Ruling.UNCLEAR else ()),
        ),
        basis=expected.basis,
        headline=headline(says, speedup, expected.basis),
    )


def _settling(case: Case) -> str:
    """What narrows an assumed range: to run a baseline, or to wait for the one that runs."""
    if not case.baselines:
        return f"To settle it, {SETTLES}"
    sample = case.settings.dialect.sample
    return (
        f"A baseline runs, and measures it once both have {case.settings.traffic.to_compare(sample):,.0f} {sample} "
        "finished in a window, of like lengths and at like load"
    )


def _advised(case: Case, expected: Expectation, says: Ruling, advised: Choice | None) -> tuple[str | None, str]:
    """The advice of the records, and its reason; where its own steps tell costs, that which they support."""
    if expected.basis == ASSUMED or (advised and advised.code.says not in _BY_LENGTH):
        return (advised.code.says, filled(reason_of(advised, case), case)) if advised else (None, "")
    return _length(expected, says) if expected.speedup_at else (None, "")


def _length(expected: Expectation, says: Ruling) -> tuple[str | None, str]:
    """Advice on K, and its reason."""
    advised_length = expected.length
    if says is Ruling.UNCLEAR and (advised_length is None or advised_length.change is Change.KEEP):
        return None, ""
    if advised_length is None:
        return None, "Which K is best depends on what a step costs: measure it before you change K"
    advised = ADVICE[advised_length.change].says
    if advised_length.change in {Change.SHORTER, Change.LONGER}:
        return advised, f"K = {advised_length.k} is expected to be {advised_length.gain} times as fast as now"
    if advised_length.change is Change.OFF:
        return advised, "No K is expected to reach what plain decoding gives, at any of these costs"
    return advised, "No other K is expected to gain, at any of these costs"


def _interval_in_words(case: Case, chosen: Choice) -> str:
    if chosen.basis != MEASURED:
        return ""
    interval, alike = interval_of(case), case.standardised
    bounds = f" (95 %: {interval.low:.2f} to {interval.high:.2f})" if interval else ""
    return bounds + (f", and {alike} at equal lengths of prompts and answers" if alike else "")


def _margin(case: Case) -> tuple[str, ...]:
    """How far the verdict is from turning over."""
    margin = case.numbers.value(affordable_inflation)
    if margin is None:
        return ()
    pays = "It pays while a verify step costs" if margin > 1 else "It would pay only if a verify step cost"
    never = "" if margin > 1 else ", which none does"
    return (
        f"{pays} under {{affordable_inflation}} plain steps (v){never}, if a drafted token costs {{draft_cost:g}} (c)",
    )


def _of_best_k(case: Case) -> tuple[str, ...]:
    """Of a best k under K."""
    best, gain = case.numbers.value(best_k), case.numbers.value(shorter_gain)
    template = "{best_k.title} is {best_k}, the smallest within {thresholds.gain:.0%} of that"
    return () if best is None or gain is None or gain <= value(LEAST_GAIN, case.settings) else (template,)


class _Value:
    def __init__(self, signal: Signal, value: float | None) -> None:
        self.title, self.within = signal.title, within(signal.title)
        self._signal, self._value = signal, value

    def __format__(self, spec: str) -> str:
        return format(self._value, spec) if spec else worded(self._signal, self._value)


def _names_in(template: str) -> set[str]:
    """Of the signals that a template names."""
    return _BY_NAME.keys() & {field.partition(".")[0] for _, field, _, _ in Formatter().parse(template) if field}


def reason_of(choice: Choice, case: Case) -> str:
    """The template of its reason, with the details of which every signal has a value."""
    known = [
        one for one in choice.details if all(case.numbers.value(_BY_NAME[name]) is not None for name in _names_in(one))
    ]
    return choice.reason + (f": {', '.join(known)}" if known else "")


def filled(template: str, case: Case) -> str:
    """A template of reasons with its fields filled in: signals by name, `thresholds` and `least` of the settings."""
    values = {name: _Value(_BY_NAME[name], case.numbers.value(_BY_NAME[name])) for name in _names_in(template)}
    settings = case.settings
    known = {"thresholds": settings.thresholds, "least": settings.traffic}
    return template.format(**values, **known)
