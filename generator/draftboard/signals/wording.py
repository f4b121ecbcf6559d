"""Values as people read them: what a signal's number looks like on a terminal or in a sentence."""

from draftboard.signals.signal import Signal, Unit

NOTHING = "-"
_FEW = 100  # Below it, a number has three digits.


def worded(signal: Signal, value: float | None) -> str:
    """The value in the signal's own unit and precision, without the unit's words; a code by what it says."""
    if value is None:
        return NOTHING
    if in_words := [code.says for code in signal.codes if code.value == value]:
        return in_words[0]
    if signal.unit is Unit.RATIO:
        return f"{value:.1%}"
    if signal.unit is Unit.SECONDS:
        return f"{value * 1000:.1f} ms" if value < 1 else f"{value:.2f} s"
    if signal.decimals is None and 0 < abs(value) < _FEW:
        return f"{value:.3g}"
    return f"{value:,.{signal.decimals or 0}f}"
