"""How the values of a signal are shown: unit, thresholds, text for codes, colours, and the text of an empty panel."""

from collections.abc import Mapping
from itertools import zip_longest
from typing import Any

from draftboard.dashboards.panels import override
from draftboard.settings import Settings
from draftboard.signals import Signal
from draftboard.signals.signal import Unit
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


def drawn(signal: Signal, settings: Settings, *, coloured: bool = False) -> dict[str, Any]:
    """The same for a panel that gives each series a colour; thresholds only where they are drawn too."""
    shown = defaults(signal, settings) | {"color": {"mode": "palette-classic"}}
    return shown if coloured else shown | {"thresholds": NO_THRESHOLDS}


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


def decimals_of(signals: Mapping[str, Signal]) -> list[dict[str, Any]]:
    """Overrides for queries whose signal has other decimals than the panel's first signal."""
    panel = next(iter(signals.values())).decimals
    others = {ref: one.decimals for ref, one in signals.items() if one.decimals not in {None, panel}}
    return [override("byFrameRefID", ref, decimals=decimals) for ref, decimals in others.items()]


def colours_of(signal: Signal) -> list[dict[str, Any]]:
    """Overrides that colour series by the meaning of the signal's own label.

    The last override that matches wins, so a longer value comes after a shorter one that it ends with.
    """
    kinds = sorted(signal.kinds, key=lambda kind: len(kind[0]))
    return [
        override("byRegexp", f"/(^| ){word}$/", color={"mode": "fixed", "fixedColor": COLOURS[status]})
        for word, status in kinds
    ]
