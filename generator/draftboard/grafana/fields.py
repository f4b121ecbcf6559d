"""How the values of a signal are shown: unit, thresholds, words for codes, and what an empty panel means."""

from collections.abc import Mapping
from itertools import zip_longest
from typing import Any

from draftboard.grafana.colours import COLOURS
from draftboard.grafana.panels import by_ending, by_query
from draftboard.settings import Settings
from draftboard.signals import Signal
from draftboard.signals.signal import Band, Unit
from draftboard.status import Status

NO_THRESHOLDS: dict[str, Any] = {
    "mode": "absolute",
    "steps": [{"color": COLOURS[Status.NEUTRAL], "value": None}],
}


def defaults(signal: Signal, settings: Settings) -> dict[str, Any]:
    """`fieldConfig.defaults` of a panel that shows one signal."""
    fields: dict[str, Any] = {
        "unit": signal.unit.grafana,
        "noValue": signal.empty,
        "mappings": mappings(signal, settings),
        "thresholds": thresholds(signal, settings),
    }
    if signal.decimals is not None:
        fields["decimals"] = signal.decimals
    if signal.least is not None:
        fields["min"] = signal.least
    if signal.most is not None:
        fields["max"] = signal.most
    return fields


def axis(signal: Signal) -> str:
    """An axis' label: the unit in words, where the numbers beside it do not tell it already."""
    return signal.unit.words if signal.unit.grafana == "short" else ""


def drawn(signal: Signal, settings: Settings, style: dict[str, Any], *, coloured: bool = False) -> dict[str, Any]:
    """The same of a panel that tells series apart by colour; its thresholds stay where they are drawn too."""
    shown = defaults(signal, settings) | {"color": {"mode": "palette-classic"}, "custom": style}
    return shown if coloured else shown | {"thresholds": NO_THRESHOLDS}


def thresholds(signal: Signal, settings: Settings) -> dict[str, Any]:
    """The signal's bands, in Grafana's form; the lowest has no bound."""
    steps = [{"color": COLOURS[band.status], "value": band.at} for band in signal.bands(settings)]
    return {"mode": "absolute", "steps": steps}


def mappings(signal: Signal, settings: Settings) -> list[dict[str, Any]]:
    """Words for the values of a signal that stands for a state, or for the ranges of one that is a verdict."""
    if not signal.codes:
        return _range_mappings(signal, settings) if signal.unit is Unit.CODE else []
    options = {
        str(code.value): {"text": code.says, "color": COLOURS[code.status], "index": index}
        for index, code in enumerate(signal.codes)
    }
    return [{"type": "value", "options": options}]


def _range_mappings(signal: Signal, settings: Settings) -> list[dict[str, Any]]:
    bands = signal.bands(settings) if has_steps(signal, settings) else ()
    bounds = zip_longest(bands, bands[1:])
    return [_range(index, band, above) for index, (band, above) in enumerate(bounds)]


def _range(index: int, band: Band, above: Band | None) -> dict[str, Any]:
    # Of two ranges that share a bound the first listed would win it; the band that starts there has it, so the
    # range below ends just under.
    end = None if above is None or above.at is None else above.at - 1e-9
    result = {"text": band.says, "color": COLOURS[band.status], "index": index}
    return {"type": "range", "options": {"from": band.at, "to": end, "result": result}}


def decimals_of(signals: Mapping[str, Signal]) -> list[dict[str, Any]]:
    """Overrides for the queries whose signal is written with other decimals than the panel's first."""
    panel, *others = signals.values()
    differing = {ref: one.decimals for ref, one in signals.items() if one.decimals not in {None, panel.decimals}}
    return [by_query(ref, decimals=decimals) for ref, decimals in differing.items()] if others else []


def colours_of(signal: Signal) -> list[dict[str, Any]]:
    """Overrides that colour series by what their own label means; a longer word wins over one that it ends with."""
    kinds = sorted(signal.kinds, key=lambda kind: len(kind[0]))
    return [by_ending(word, color={"mode": "fixed", "fixedColor": COLOURS[status]}) for word, status in kinds]


def has_steps(signal: Signal, settings: Settings) -> bool:
    """Whether the signal changes its meaning anywhere."""
    return len(signal.bands(settings)) > 1
