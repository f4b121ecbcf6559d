"""Bounds of a server's histograms, or of its `--custom-histogram-buckets`, against `[buckets]` of the settings."""

import json
import re
from collections.abc import Iterable, Iterator
from typing import Annotated, Any

from annotated_types import Predicate
from pydantic import Field, TypeAdapter

from draftboard.catalogue import CATALOGUE, Histogram
from draftboard.doctor.configuration import fits, read_object
from draftboard.doctor.finding import Finding, problem, shown, warning
from draftboard.settings import Settings
from draftboard.settings.objectives import HISTOGRAMS

FLAG = "custom_histogram_buckets"
FAMILIES = {histogram.custom: histogram for histogram in HISTOGRAMS.values()}
"""By family of `[buckets]`: the histogram whose bounds are compared."""
FINER: dict[str, tuple[float, ...]] = {family: tuple(bounds) for family, bounds in json.loads("""{
"time_to_first_token": [0.001, 0.005, 0.01, 0.02, 0.04, 0.06, 0.08, 0.1, 0.15, 0.2, 0.3, 0.5, 0.75, 1, 1.5, 2.5,
  5, 10, 20, 40, 80, 160],
"inter_token_latency": [0.001, 0.002, 0.003, 0.004, 0.006, 0.008, 0.01, 0.015, 0.02, 0.025, 0.03, 0.04, 0.05, 0.075,
  0.1, 0.15, 0.25, 0.5, 1, 2.5, 10],
"request_latency": [0.05, 0.1, 0.2, 0.3, 0.5, 0.75, 1, 1.5, 2.5, 5, 10, 15, 20, 30, 45, 60, 120, 240, 480, 1920]
}""").items()}  # fmt: skip
"""Bounds for a fast server. README, compose file and the stack's settings repeat them; tests compare."""
_WRITTEN = "--custom-histogram-buckets"
_UNREAD = {"kv_cache_residency", "request_num_preemptions", "request_params_n", "request_tokens"}
_CUSTOM = {metric.custom for metric in CATALOGUE if isinstance(metric, Histogram) and metric.custom} | _UNREAD
_Bound = Annotated[float, Field(strict=True, gt=0, lt=1e9)]
_BOUNDS = TypeAdapter[Any](Annotated[list[_Bound], Field(min_length=1), Predicate(lambda b: b == sorted(set(b)))])
_VLLMS_OWN: dict[str, tuple[float, ...]] = Settings().buckets.model_dump()


def lint(value: str | None, settings: Settings) -> Iterator[Finding]:
    """What is wrong with the flag's value, or with leaving the flag out."""
    try:
        given = {} if value is None else read_object(value)
    except ValueError as error:
        yield problem(_WRITTEN, str(error), "give one JSON object of lists, in single quotes")
        return
    known, rising = f"write one of {', '.join(sorted(_CUSTOM))}", "bounds must be rising numbers over 0"
    wrong = [problem(_WRITTEN, f"{shown(name)} is not a histogram family", known) for name in given.keys() - _CUSTOM]
    unfit = [name for name, bounds in given.items() if not fits(bounds, _BOUNDS)]
    wrong += [problem(_WRITTEN, f"{shown(name)}: {rising}", "give a list of them") for name in unfit]
    yield from wrong
    for family, usual in _VLLMS_OWN.items() if not wrong else ():
        yield from against(_WRITTEN, family, set(map(float, given.get(family, usual))), family, settings)


def flag(settings: Settings) -> str:
    """The flag with the settings' bounds; where those are vLLM's own, with finer bounds and one at each SLO."""
    declared = settings.buckets.model_dump().items()
    own = {family: {*bounds} for family, bounds in declared if bounds != _VLLMS_OWN[family]}
    finer = {family: {*bounds, *_objectives(family, settings).values()} for family, bounds in FINER.items()}
    return f"{_WRITTEN} '{json.dumps({family: _sorted(bounds) for family, bounds in (own or finer).items()})}'"


def against(where: str, name: str, bounds: set[float], family: str, settings: Settings) -> Iterator[Finding]:
    """What is wrong with the bounds of a series `name`, whose family in the settings is `family`."""
    declared: tuple[float, ...] = getattr(settings.buckets, family)
    lists = {"the server lacks": {*declared} - bounds, "the settings lack": bounds - {*declared}}
    words = {lacks: ", ".join(f"{bound:g}" for bound in sorted(missing)) for lacks, missing in lists.items() if missing}
    differ = "; ".join(f"{lacks} {missing}" for lacks, missing in words.items())
    fix = "declare the server's bounds in the settings, as below"
    paste = f"[buckets]\n{family} = {json.dumps(_sorted(bounds))}"
    if declared != _VLLMS_OWN[family]:
        fix, paste = "start the server with the flag below, or declare its bounds in the settings", flag(settings)
    objectives = [f"{slo} ({s:g} s)" for slo, s in _objectives(family, settings).items() if s not in bounds]
    if differ and objectives:
        what = f"{name} has no bound at an SLO: {', '.join(objectives)}; the SLO leaves the server out ({differ})"
        fix = f"add that bound to the server; or {fix}, and set the SLO to one of them"
        yield problem(where, what, fix, paste=paste)
    elif differ:
        yield warning(where, f"{name} has other bounds than the settings declare: {differ}", fix, paste=paste)


def finite(texts: Iterable[str]) -> set[float]:
    """Bounds in seconds, without +Inf and without text that is not a number."""
    return {float(text) for text in texts if re.fullmatch(r"[0-9]+(\.[0-9]*)?(e[+-]?[0-9]{1,2})?", text)}


def _objectives(family: str, settings: Settings) -> dict[str, float]:
    """The SLOs that these buckets measure, in seconds."""
    names = [name for name in settings.slo.watched if name in HISTOGRAMS and HISTOGRAMS[name].custom == family]
    return {name: settings.slo.threshold(name) for name in names}


def _sorted(bounds: Iterable[float]) -> list[float]:
    """Rising; whole numbers without a fraction."""
    return [int(bound) if bound == int(bound) else bound for bound in sorted(bounds)]
