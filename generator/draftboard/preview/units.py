"""Numbers in units, as Grafana humanises them."""

import math
from collections.abc import Callable, Sequence

Format = Callable[[float, int | None], str]

_SECONDS = (
    (1e-6, 1e-9, " ns"),
    (1e-3, 1e-6, " µs"),
    (1, 1e-3, " ms"),
    (60, 1, " s"),
    (3600, 60, " mins"),
    (86_400, 3600, " hours"),
    (604_800, 86_400, " days"),
    (31_536_000, 604_800, " weeks"),
    (math.inf, 31_536_000, " years"),
)
_THOUSANDS = ("", " K", " Mil", " Bil", " Tri")


def humanised(value: float, unit: str, decimals: int | None = None) -> str:
    """The value as Grafana writes it; decimals are chosen by its size unless given. An unknown unit is a suffix."""
    if math.isnan(value):
        return "NaN"
    if math.isinf(value):
        return "∞" if value > 0 else "-∞"
    return _FORMATS.get(unit, _suffixed(unit))(value, decimals)


def trimmed(value: float, unit: str) -> str:
    """The same for an axis: without zeros that say nothing."""
    text = humanised(value, unit)
    number, space, suffix = text.partition(" ")
    percent = "%" if number.endswith("%") else ""
    number = number.removesuffix("%")
    if "." in number:
        number = number.rstrip("0").rstrip(".")
    return number + percent + space + suffix


def fixed(value: float, decimals: int | None) -> str:
    """With so many decimals; else with about three significant digits, and none on a whole number."""
    places = _decimals(value) if decimals is None else decimals
    factor = 10**places
    rounded = math.floor(value * factor + 0.5) / factor
    return f"{rounded + 0.0:.{places}f}"


def _decimals(value: float) -> int:
    if value % 1 == 0:
        return 0
    digits = 2 if value > 0 else 1
    return max(0, digits - math.floor(math.log10(abs(value))))


def _percent(value: float, decimals: int | None) -> str:
    return fixed(100 * value, decimals) + "%"


def _seconds(value: float, decimals: int | None) -> str:
    if value == 0:
        return "0 s"
    size, name = next((size, name) for below, size, name in _SECONDS if abs(value) < below)
    return fixed(value / size, decimals) + name


def _scaled(base: int, names: Sequence[str], smaller: Sequence[str] = ()) -> Format:
    """By powers of a base; `names` from the power 0 up, `smaller` from the power -1 down."""

    def format_(value: float, decimals: int | None) -> str:
        power = math.floor(math.log(abs(value), base) + 1e-12) if value else 0
        power = max(-len(smaller), min(power, len(names) - 1))
        name = names[power] if power >= 0 else smaller[-power - 1]
        return fixed(value / base**power, decimals) + name

    return format_


def _suffixed(unit: str) -> Format:
    return lambda value, decimals: fixed(value, decimals) + (f" {unit}" if unit else "")


_FORMATS: dict[str, Format] = {
    "none": fixed,
    "percentunit": _percent,
    "s": _seconds,
    "short": _scaled(1000, _THOUSANDS),
    "bytes": _scaled(1024, (" B", " KiB", " MiB", " GiB", " TiB", " PiB")),
    "reqps": _scaled(1000, (" req/s", " K req/s", " M req/s", " B req/s")),
    "watt": _scaled(1000, (" W", " kW", " MW", " GW"), (" mW", " µW")),
}
