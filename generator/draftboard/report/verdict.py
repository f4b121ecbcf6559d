"""The verdict on a model or an engine, and its reasons in words."""

from dataclasses import dataclass
from string import Formatter

from draftboard.intervals import Estimate
from draftboard.quantity import value
from draftboard.reading import Numbers
from draftboard.report import objects
from draftboard.settings import Settings
from draftboard.signals import ALL, Signal
from draftboard.signals.decisions import ADVICE, MEASURED, VERDICT, Choice, advice, verdict
from draftboard.signals.economics import LEAST_GAIN, affordable_inflation, best_k, shorter_gain
from draftboard.signals.signal import within, worded
from draftboard.signals.users import measured_speedup, speedup_high, speedup_low

_BY_NAME = {signal.name: signal for signal in ALL}


@dataclass(frozen=True)
class Case:
    """A model or an engine to be judged, and what is known beside its numbers."""

    numbers: Numbers
    seconds: float | None = None  # How long was counted; None where nobody knows: then there are no rates.
    broken: tuple[objects.Broken, ...] = ()  # Identities of its counters that do not hold.
    v0: bool = False  # Whether vLLM's V0 engine exposes it.

    @property
    def settings(self) -> Settings:
        """Thresholds and costs."""
        return self.numbers.settings


def interval_of(case: Case) -> Estimate | None:
    """The measured speedup with its interval, where both are known."""
    speedup, *bounds = (case.numbers.value(signal) for signal in (measured_speedup, speedup_low, speedup_high))
    low, high = bounds
    return None if speedup is None or low is None or high is None else Estimate(speedup, low, high)


def verdict_of(case: Case) -> objects.Verdict:
    """The verdict of the records, unless counters contradict each other; with reasons, or why it is withheld."""
    chosen = VERDICT.of(case.numbers.value(verdict)) or VERDICT.choices["unknown"]
    if case.broken:
        chosen = VERDICT.choices["contradiction"]
    if not chosen.basis:
        return objects.Verdict(
            says=None, advice=None, reasons=(filled(chosen.reason, case),), withheld=chosen.code.says
        )
    advised = ADVICE.of(case.numbers.value(advice))
    return objects.Verdict(
        says=chosen.code.says,
        advice=advised.code.says if advised else None,
        reasons=tuple(
            filled(reason, case)
            for reason in (
                chosen.reason + _told(case, chosen),
                *_margin(case),
                *((advised.reason,) if advised else ()),
                *_of_best_k(case),
            )
        ),
        basis=chosen.basis,
    )


def _told(case: Case, chosen: Choice) -> str:
    interval = interval_of(case) if chosen.basis == MEASURED else None
    return f" (95 %: {interval.low:.2f} to {interval.high:.2f})" if interval else ""


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
    told = "{best_k.title} is {best_k}, the smallest within {thresholds.gain:.0%} of that"
    return () if best is None or gain is None or gain <= value(LEAST_GAIN, case.settings) else (told,)


class _Said:
    def __init__(self, signal: Signal, value: float | None) -> None:
        self.title, self.within = signal.title, within(signal.title)
        self._signal, self._value = signal, value

    def __format__(self, spec: str) -> str:
        return format(self._value, spec) if spec else worded(self._signal, self._value)


def filled(template: str, case: Case) -> str:
    """A template of reasons with its fields filled in: signals by name, `thresholds` and `least` of the settings."""
    names = {field.partition(".")[0] for _, field, _, _ in Formatter().parse(template) if field} & _BY_NAME.keys()
    values = {name: _Said(_BY_NAME[name], case.numbers.value(_BY_NAME[name])) for name in names}
    settings = case.settings
    known = {"thresholds": settings.thresholds, "least": settings.traffic}
    return template.format(**values, **known)
