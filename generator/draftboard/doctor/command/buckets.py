"""The bounds of the servers' histograms: `--custom-histogram-buckets` against what the settings declare."""

import json
from collections.abc import Iterator
from typing import Any

from draftboard.catalogue import CATALOGUE, Histogram
from draftboard.doctor.command.text import read_object
from draftboard.doctor.finding import Finding, problem, shown, warning
from draftboard.settings import Settings
from draftboard.settings.objectives import HISTOGRAMS, Buckets

FLAG = "custom_histogram_buckets"
WRITTEN = "--custom-histogram-buckets"
SINCE = "0.32.0"
_LARGEST = 1e9
_UNREAD = {"kv_cache_residency", "request_num_preemptions", "request_params_n", "request_tokens"}
FAMILIES = frozenset({metric.custom for metric in CATALOGUE if isinstance(metric, Histogram)}) | _UNREAD
"""Names that the flag takes."""
FINER: dict[str, tuple[float, ...]] = {
    "time_to_first_token": (
        *(0.001, 0.005, 0.01, 0.02, 0.04, 0.06, 0.08, 0.1, 0.15, 0.2, 0.3, 0.5, 0.75, 1.0, 1.5, 2.5),
        *(5.0, 10.0, 20.0, 40.0, 80.0, 160.0),
    ),
    "inter_token_latency": (
        *(0.001, 0.002, 0.003, 0.004, 0.006, 0.008, 0.01, 0.015, 0.02, 0.025, 0.03, 0.04, 0.05, 0.075, 0.1),
        *(0.15, 0.25, 0.5, 1.0, 2.5, 10.0),
    ),
    "request_latency": (
        *(0.05, 0.1, 0.2, 0.3, 0.5, 0.75, 1.0, 1.5, 2.5, 5.0, 10.0, 15.0, 20.0, 30.0, 45.0, 60.0, 120.0),
        *(240.0, 480.0, 1920.0),
    ),
}
"""Bounds that resolve a fast server, as the README recommends them and the compose file sets them."""


def lint(value: str | None, settings: Settings) -> Iterator[Finding]:
    """What is wrong with the flag's value, or with leaving it out."""
    if value is None:
        yield from _against(dict[str, Any](), settings)
        return
    try:
        given = read_object(value)
    except ValueError as error:
        yield problem(WRITTEN, str(error), "give one JSON object of lists, in single quotes")
        return
    wrong = [*_unknown(given), *_not_bounds(given)]
    yield from wrong
    if not wrong:
        yield from _against(given, settings)


def flag(settings: Settings) -> str:
    """The flag with the bounds that the settings declare; finer ones where they declare vLLM's own."""
    own = {family: bounds for family, bounds in _declared(settings).items() if bounds != _USUAL[family]}
    return f"{WRITTEN} '{_json(own or _finer(settings))}'"


def against(where: str, name: str, bounds: set[float], family: str, settings: Settings) -> Iterator[Finding]:
    """What is wrong with a server's bounds of a family, by the series' name, as the settings see it."""
    declared = set(_declared(settings)[family])
    if bounds == declared:
        return
    lacks, more = _numbers(declared - bounds), _numbers(bounds - declared)
    told = "; ".join(
        [*([f"the server lacks {lacks}"] if lacks else []), *([f"the settings lack {more}"] if more else [])]
    )
    if _declared(settings)[family] != _USUAL[family]:
        fix, paste = "start the server with the flag below, or declare its bounds in the settings", flag(settings)
    else:
        fix, paste = "declare the server's bounds in the settings, as below", _as_settings(family, bounds)
    if promises := _unmeasured(bounds, family, settings):
        what = (
            f"{name} has no bound at what is promised: {', '.join(promises)}; it is left out of the objective ({told})"
        )
        yield problem(where, what, f"add that bound to the server's; or {fix}, and promise one of them", paste)
    else:
        yield warning(where, f"{name} has other bounds than the settings declare: {told}", fix, paste)


def _unmeasured(bounds: set[float], family: str, settings: Settings) -> list[str]:
    """The promises that these bounds of a family cannot measure, with their thresholds."""
    promised = [promise for promise in settings.slo.watched if promise in HISTOGRAMS]
    return [
        f"{promise} ({settings.slo.threshold(promise):g} s)"
        for promise in promised
        if HISTOGRAMS[promise].custom == family and settings.slo.threshold(promise) not in bounds
    ]


def _unknown(given: dict[str, Any]) -> Iterator[Finding]:
    for family in given:
        if family not in FAMILIES:
            known = ", ".join(sorted(FAMILIES))
            yield problem(WRITTEN, f"{shown(family)} is no family of histograms", f"write one of {known}")


def _not_bounds(given: dict[str, Any]) -> Iterator[Finding]:
    for family, bounds in given.items():
        numbers = isinstance(bounds, list) and all(
            isinstance(bound, int | float) and not isinstance(bound, bool) and 0 < bound < _LARGEST for bound in bounds
        )
        if not numbers or not bounds or bounds != sorted(set(bounds)):
            yield problem(WRITTEN, f"{shown(family)}: bounds must be numbers over 0 that rise", "give a list of them")


def _against(given: dict[str, Any], settings: Settings) -> Iterator[Finding]:
    for family, usual in _USUAL.items():
        bounds = {float(bound) for bound in given.get(family, usual)}
        yield from against(WRITTEN, family, bounds, family, settings)


def _declared(settings: Settings) -> dict[str, tuple[float, ...]]:
    return {family: getattr(settings.buckets, family) for family in Buckets.model_fields}


_USUAL = _declared(Settings())
"""vLLM's own."""


def _as_settings(family: str, bounds: set[float]) -> str:
    return f"[buckets]\n{family} = {_json(sorted(bounds))}"


def _finer(settings: Settings) -> dict[str, tuple[float, ...]]:
    """With a bound at each promise."""
    promised = {family: set(bounds) for family, bounds in FINER.items()}
    for promise in settings.slo.watched:
        if promise in HISTOGRAMS and HISTOGRAMS[promise].custom in promised:
            promised[HISTOGRAMS[promise].custom].add(settings.slo.threshold(promise))
    return {family: tuple(sorted(bounds)) for family, bounds in promised.items()}


def _json(value: Any) -> str:  # noqa: ANN401  (JSON)
    def plain(part: Any) -> Any:  # noqa: ANN401
        if isinstance(part, dict):
            return {key: plain(inner) for key, inner in part.items()}
        if isinstance(part, list | tuple):
            return [plain(inner) for inner in part]
        return int(part) if part == int(part) else part

    return json.dumps(plain(value))


def _numbers(bounds: set[float]) -> str:
    return ", ".join(f"{bound:g}" for bound in sorted(bounds))
