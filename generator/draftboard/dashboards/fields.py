"""How the values of a signal are shown: unit, thresholds, text for codes, colours, and the text of an empty panel."""

from collections.abc import Collection, Mapping
from functools import reduce
from itertools import zip_longest
from typing import Any

from draftboard.dashboards.grafana import PALETTE, override
from draftboard.quantity import Quantity, largest, leaf, smallest, value
from draftboard.settings import Settings
from draftboard.signals import Signal
from draftboard.signals.signal import Better, Unit
from draftboard.status import Status

# Named colours change their meaning in the light theme. What users pay for is bright, machines are dark; blue and not
# green, because colour-blind people can distinguish it from red.
COLOURS = {
    Status.DOWN: "#A3122A",
    Status.BAD: "#E02F44",
    Status.DUE: "#E8710A",
    Status.WARN: "#F2CC0C",
    Status.GOOD: "#1F60C4",
    Status.BEST: "#5AA9E6",
    Status.ODD: "#8F3BB8",
    Status.QUIET: "#6E7681",
    Status.OFF: "#484E57",
    Status.STARTING: "#9AA1AB",
    Status.NEUTRAL: "#4A6785",
}
"""Colours by meaning: a panel never chooses one itself. Reds, orange and yellow say how bad it is."""
BUTTON = "#3D71D9"
"""Of what is there to be clicked: that of Grafana's own buttons."""
PERCENTILES = {0: "#E69F00", 50: "#56B4E9", 95: "#009E73", 99: "#CC79A7"}
"""Of the mean and of percentiles: apart for colour-blind people, and none that asks to act."""
ZONES = frozenset({Status.BAD, Status.DUE, Status.WARN})
"""Bands that are drawn behind lines: where somebody should act."""
TEXT_AS_IT_IS = override("byType", "string", unit="string", noValue="")
"""A panel's unit is no unit of its labels: position 1 is not 100 %."""
_BEYOND = 1.25  # How much of an axis lies beyond the last limit.
_SMALL_SHARE = 0.1  # End of an axis of failures, where no limit is set.
_NO_ACTION = (Status.GOOD, Status.BEST, Status.QUIET, Status.OFF, Status.STARTING, Status.NEUTRAL)
"""What nobody needs to act on."""
IN_CELLS = COLOURS | dict.fromkeys(_NO_ACTION, "text")
ON_TILES = COLOURS | dict.fromkeys(_NO_ACTION, "transparent")
IN_STATES = COLOURS | {Status.GOOD: "#1B3A5C"}
"""States fill cells, bars and tiles: what is well is the same dark blue everywhere, and never louder than red."""
PLAIN = dict.fromkeys(Status, "transparent")
NO_THRESHOLDS: dict[str, Any] = {"mode": "absolute", "steps": [{"color": "text", "value": None}]}


def thresholds(signal: Signal, settings: Settings, colours: Mapping[Status, str] = COLOURS) -> dict[str, Any]:
    """The signal's bands."""
    steps = [
        {"color": colours[step.status], "value": step.at and leaf(step.at, settings)}
        for step in signal.enabled_bands(settings)
    ]
    return {"mode": "absolute", "steps": steps}


def defaults(signal: Signal, settings: Settings, colours: Mapping[Status, str] = COLOURS) -> dict[str, Any]:
    """`fieldConfig.defaults` of a panel that shows one signal."""
    optional = {"decimals": signal.decimals, "min": signal.least, "max": signal.most}
    return {
        "unit": signal.unit.grafana,
        "noValue": signal.empty,
        "mappings": mappings(signal, settings, colours),
        "thresholds": thresholds(signal, settings, colours),
    } | {key: value for key, value in optional.items() if value is not None}


def of_lines(signal: Signal, settings: Settings, zones: Collection[Status] = ()) -> dict[str, Any]:
    """`fieldConfig.defaults` of a panel with a colour for each series, and for those bands that are drawn as zones."""
    coloured = {status: colour if status in zones else "transparent" for status, colour in COLOURS.items()}
    shown = defaults(signal, settings) | {"thresholds": thresholds(signal, settings, coloured)}
    if signal.unit is Unit.RATIO:
        shown.pop("decimals", None)  # For cells of a table; an axis would read 10.00 %.
    return shown | {"color": {"mode": PALETTE}}


def soft_range(signal: Signal, settings: Settings) -> dict[str, Quantity | float]:
    """Where an axis ends at least: limits are in sight, and small values of a share look small."""
    limits = [band.at for band in signal.enabled_bands(settings) if band.at and value(band.at, settings)]
    top: Quantity | float = _BEYOND * reduce(largest, limits) if limits else 0.0
    size, small = value(top, settings), signal.better is Better.LOWER
    if signal.unit is Unit.RATIO:
        top = smallest(top if size else _SMALL_SHARE, 1) if small else 1
    elif not (small and limits) and signal.unit is not Unit.SECONDS and size >= 0:
        top = largest(top, 1)
    least = _BEYOND * reduce(smallest, limits) if size < 0 else 0
    ends = {"axisSoftMin": leaf(least, settings)} if signal.least is None else {}
    return ends | ({"axisSoftMax": leaf(top, settings)} if value(top, settings) > 0 and signal.most is None else {})


def by_threshold(signal: Signal, settings: Settings, colours: Mapping[Status, str]) -> dict[str, Any]:
    """`fieldConfig.defaults` of a panel whose values are coloured by their band."""
    return defaults(signal, settings, colours) | {"color": {"mode": "thresholds"}}


def of_states(signal: Signal, settings: Settings) -> dict[str, Any]:
    """`fieldConfig.defaults` of states over time."""
    # With colours by threshold Grafana would write the threshold for each state.
    shown = defaults(signal, settings, IN_STATES) | {"color": {"mode": "fixed", "fixedColor": COLOURS[Status.QUIET]}}
    del shown["thresholds"]
    return shown


def axis(signal: Signal) -> str:
    """Label of an axis: the unit in words, unless the numbers beside it say all of it."""
    return signal.unit.words if signal.unit.grafana in {"short", "locale", "suffix:x"} else ""


def has_steps(signal: Signal, settings: Settings) -> bool:
    """Whether the signal has a threshold."""
    return len(signal.enabled_bands(settings)) > 1


def mappings(signal: Signal, settings: Settings, colours: Mapping[Status, str] = COLOURS) -> list[dict[str, Any]]:
    """Text for the values of a state, or for the ranges of a verdict."""
    if signal.codes:
        options = {
            str(code.value): {"text": code.says, "color": colours[code.status], "index": index}
            for index, code in enumerate(signal.codes)
        }
        return [{"type": "value", "options": options}]
    return _ranges(signal, settings, colours) if signal.unit is Unit.CODE and has_steps(signal, settings) else []


def _ranges(signal: Signal, settings: Settings, colours: Mapping[Status, str]) -> list[dict[str, Any]]:
    steps, ranges = signal.enabled_bands(settings), []
    for index, (step, above) in enumerate(zip_longest(steps, steps[1:])):
        # Of two ranges that share a bound, Grafana takes the first. The bound belongs to the upper range, so the lower
        # one ends just below it.
        end = leaf(above.at - 1e-9, settings) if above and above.at is not None else None
        least = None if step.at is None else leaf(step.at, settings)
        result = {"text": step.says, "color": colours[step.status], "index": index}
        ranges.append({"type": "range", "options": {"from": least, "to": end, "result": result}})
    return ranges


NO_VALUE = "\N{EN DASH}"


def no_sample(colour: str, *also: str, text: str = NO_VALUE) -> list[dict[str, Any]]:
    """Mappings of what has no value, and of numbers that stand for it."""
    result = {"text": text, "color": colour, "index": 90}
    numbers = [{"type": "value", "options": {number: result}} for number in also]
    return [*numbers, {"type": "special", "options": {"match": "null+nan", "result": result}}]


def colours_of(signal: Signal) -> list[dict[str, Any]]:
    """Overrides that colour series by the meaning of the signal's own label.

    The last override that matches wins, so a longer value comes after a shorter one that it contains.
    """
    kinds = sorted(signal.kinds, key=lambda kind: len(kind[0]))
    return [
        override("byRegexp", f"/(^| ){word}( |$)/", color={"mode": "fixed", "fixedColor": COLOURS[status]})
        for word, status in kinds
    ]
