"""How the values of a signal are shown: unit, thresholds, text for codes, colours, and the text of an empty panel."""

from collections.abc import Collection
from itertools import zip_longest
from typing import Any

from draftboard.dashboards.panels import override
from draftboard.settings import Settings
from draftboard.signals import Signal
from draftboard.signals.signal import Better, Unit
from draftboard.status import Status

COLOURS = {
    Status.BAD: "red",
    Status.WARN: "orange",
    Status.GOOD: "green",
    Status.BEST: "blue",
    Status.ODD: "purple",
    Status.QUIET: "super-light-blue",
    Status.NEUTRAL: "text",
}
"""Colours by meaning: a panel never chooses one itself."""
ZONES = frozenset({Status.BAD, Status.WARN})
"""Bands that are drawn behind lines: where somebody should act."""
TEXT_AS_IT_IS = override("byType", "string", unit="string", noValue="")
"""A panel's unit is no unit of its labels: position 1 is not 100 %."""
_BEYOND = 1.25  # How much of an axis lies beyond the last limit.
_FEW = 0.1  # End of an axis of failures, where no limit is set.
NO_THRESHOLDS: dict[str, Any] = {"mode": "absolute", "steps": [{"color": COLOURS[Status.NEUTRAL], "value": None}]}


def defaults(signal: Signal, settings: Settings) -> dict[str, Any]:
    """`fieldConfig.defaults` of a panel that shows one signal."""
    steps = [{"color": COLOURS[step.status], "value": step.at} for step in signal.bands(settings)]
    optional = {"decimals": signal.decimals, "min": signal.least, "max": signal.most}
    return {
        "unit": signal.unit.grafana,
        "noValue": signal.empty,
        "mappings": mappings(signal, settings),
        "thresholds": {"mode": "absolute", "steps": steps},
    } | {key: value for key, value in optional.items() if value is not None}


def drawn(signal: Signal, settings: Settings, zones: Collection[Status] = ()) -> dict[str, Any]:
    """The same for a panel that gives each series a colour; of its bands those are coloured that are drawn as zones."""
    steps = [
        {"color": COLOURS[band.status] if band.status in zones else "transparent", "value": band.at}
        for band in signal.bands(settings)
    ]
    shown = defaults(signal, settings) | {"thresholds": {"mode": "absolute", "steps": steps}}
    if signal.unit is Unit.RATIO:
        shown.pop("decimals", None)  # For cells of a table; an axis would read 10.00 %.
    return shown | {"color": {"mode": "palette-colorblind"}}  # Has no red, which would make a healthy line look bad.


def soft_range(signal: Signal, settings: Settings) -> dict[str, float]:
    """Where an axis ends at least: limits are in sight, and small values of a share look small."""
    limits = [band.at for band in signal.bands(settings) if band.at]
    top, small = _BEYOND * max(limits, default=0.0), signal.better is Better.LOWER
    if signal.unit is Unit.RATIO:
        top = min(top or _FEW, 1) if small else 1
    elif not (small and limits) and signal.unit is not Unit.SECONDS and top >= 0:
        top = max(top, 1)
    ends = {"axisSoftMin": _BEYOND * min(limits, default=0.0) if top < 0 else 0} if signal.least is None else {}
    return ends | ({"axisSoftMax": top} if top > 0 and signal.most is None else {})


def by_threshold(signal: Signal, settings: Settings) -> dict[str, Any]:
    """The same for a panel whose values are coloured by their band."""
    return defaults(signal, settings) | {"color": {"mode": "thresholds"}}


def axis(signal: Signal) -> str:
    """Label of an axis: the unit in words, unless the numbers beside it carry the unit."""
    return signal.unit.words if signal.unit.grafana == "short" else ""


def has_steps(signal: Signal, settings: Settings) -> bool:
    """Whether the signal has a threshold."""
    return len(signal.bands(settings)) > 1


def mappings(signal: Signal, settings: Settings) -> list[dict[str, Any]]:
    """Text for the values of a state, or for the ranges of a verdict."""
    if signal.codes:
        options = {
            str(code.value): {"text": code.says, "color": COLOURS[code.status], "index": index}
            for index, code in enumerate(signal.codes)
        }
        return [{"type": "value", "options": options}]
    return _ranges(signal, settings) if signal.unit is Unit.CODE and has_steps(signal, settings) else []


def _ranges(signal: Signal, settings: Settings) -> list[dict[str, Any]]:
    steps, found = signal.bands(settings), []
    for index, (step, above) in enumerate(zip_longest(steps, steps[1:])):
        # Of two ranges that share a bound, Grafana takes the first. The bound belongs to the upper range, so the lower
        # one ends just below it.
        end = above.at - 1e-9 if above and above.at is not None else None
        result = {"text": step.says, "color": COLOURS[step.status], "index": index}
        found.append({"type": "range", "options": {"from": step.at, "to": end, "result": result}})
    return found


def colours_of(signal: Signal) -> list[dict[str, Any]]:
    """Overrides that colour series by the meaning of the signal's own label.

    The last override that matches wins, so a longer value comes after a shorter one that it contains.
    """
    kinds = sorted(signal.kinds, key=lambda kind: len(kind[0]))
    return [
        override("byRegexp", f"/(^| ){word}( |$)/", color={"mode": "fixed", "fixedColor": COLOURS[status]})
        for word, status in kinds
    ]
