"""Bounds of histograms: vLLM's `--custom-histogram-buckets` against the settings and their SLOs."""

import json
import re
from collections.abc import Iterable, Iterator
from typing import Annotated, Any

from annotated_types import Predicate
from pydantic import Field, TypeAdapter

from draftboard.catalogue import CATALOGUE, Histogram
from draftboard.doctor.configuration import fits, read_object
from draftboard.doctor.finding import Finding, shown
from draftboard.doctor.names import VLLM
from draftboard.doctor.releases import FLAGS
from draftboard.settings import Settings
from draftboard.settings.objectives import HISTOGRAMS

BUCKETS = "custom_histogram_buckets"
FAMILIES = {histogram.custom: histogram for histogram in HISTOGRAMS.values()}
FINER: dict[str, tuple[float, ...]] = {family: tuple(bounds) for family, bounds in VLLM["finer_buckets"].items()}
_BUCKETS = "--custom-histogram-buckets"
_UNREAD = {"kv_cache_residency", "request_num_preemptions", "request_params_n", "request_tokens"}
_CUSTOM = {metric.custom for metric in CATALOGUE if isinstance(metric, Histogram) and metric.custom} | _UNREAD
_Bound = Annotated[float, Field(strict=True, gt=0, lt=1e9)]


def _rises(bounds: list[float]) -> bool:
    return bounds == sorted(set(bounds))


_BOUNDS = TypeAdapter[Any](Annotated[list[_Bound], Field(min_length=1), Predicate(_rises)])
_VLLMS_OWN: dict[str, tuple[float, ...]] = Settings().buckets.model_dump()


def lint_buckets(value: str | None, settings: Settings) -> Iterator[Finding]:
    """What is wrong with the flag's value, or with leaving the flag out."""
    try:
        given = {} if value is None else read_object(value)
    except ValueError as error:
        yield Finding.of("buckets-not-json", _BUCKETS, error=error)
        return
    known, unknown = ", ".join(sorted(_CUSTOM)), given.keys() - _CUSTOM
    wrong = [Finding.of("buckets-family", _BUCKETS, family=shown(name), known=known) for name in unknown]
    wrong += [
        Finding.of("buckets-bounds", _BUCKETS, family=shown(name)) for name in given if not fits(given[name], _BOUNDS)
    ]
    yield from wrong
    for family, usual in _VLLMS_OWN.items() if not wrong else ():
        yield from other_bounds(
            _BUCKETS, family, {float(bound) for bound in given.get(family, usual)}, family, settings
        )


def buckets_flag(settings: Settings) -> str:
    """The flag with the settings' bounds; where those are vLLM's own, with finer bounds and one at each SLO."""
    declared = settings.buckets.model_dump().items()
    own = {family: {*bounds} for family, bounds in declared if bounds != _VLLMS_OWN[family]}
    finer = {family: {*bounds, *_objectives(family, settings).values()} for family, bounds in FINER.items()}
    return f"{_BUCKETS} '{json.dumps({family: _sorted(bounds) for family, bounds in (own or finer).items()})}'"


def other_bounds(where: str, name: str, bounds: set[float], family: str, settings: Settings) -> Iterator[Finding]:
    """What is wrong with the bounds of a series `name`, whose family in the settings is `family`."""
    declared: tuple[float, ...] = getattr(settings.buckets, family)
    lists = {"the server lacks": {*declared} - bounds, "the settings lack": bounds - {*declared}}
    words = (
        f"{who} {', '.join(f'{bound:g}' for bound in sorted(missing))}" for who, missing in lists.items() if missing
    )
    fix = "declare the server's bounds in the settings, as below"
    paste = f"[buckets]\n{family} = {json.dumps(_sorted(bounds))}"
    if declared != _VLLMS_OWN[family]:
        fix, paste = (
            f"start the server ({FLAGS[BUCKETS]}) with the flag below, or declare its bounds in the settings",
            buckets_flag(settings),
        )
    unmet = ", ".join(f"{slo} ({s:g} s)" for slo, s in _objectives(family, settings).items() if s not in bounds)
    if differ := "; ".join(words):
        kind = "no-bound-at-slo" if unmet else "other-bounds"
        yield Finding.of(kind, where, name=name, objectives=unmet, differ=differ, fix=fix, paste=paste)


def finite(texts: Iterable[str]) -> set[float]:
    """Bounds in seconds, without +Inf and without text that is not a number."""
    return {float(text) for text in texts if re.fullmatch(r"[0-9]+(\.[0-9]*)?(e[+-]?[0-9]{1,2})?", text)}


def _objectives(family: str, settings: Settings) -> dict[str, float]:
    return {name: s for name, s in settings.slo.thresholds.items() if HISTOGRAMS[name].custom == family}


def _sorted(bounds: Iterable[float]) -> list[float]:
    return [int(bound) if bound == int(bound) else bound for bound in sorted(bounds)]
