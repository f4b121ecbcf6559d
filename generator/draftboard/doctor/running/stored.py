"""What a Prometheus holds of vLLM, asked in few questions."""

import re
from collections.abc import Iterable
from dataclasses import dataclass

from draftboard.catalogue import Presence, around, serving
from draftboard.doctor.running.names import OLD
from draftboard.doctor.running.readers import SAMPLES
from draftboard.doctor.running.series import NAMES
from draftboard.doctor.running.server import Server, place
from draftboard.expr.promql import aggregate, selector
from draftboard.prometheus import Client, Series
from draftboard.reading.page import RAY, VLLM
from draftboard.settings import Settings
from draftboard.signals import Level, Signal
from draftboard.signals.decisions import state

_NAME = "__name__"
_WINDOW = "[0-9a-z]+"
_BESIDE = (*NAMES[Presence.GPU_EXPORTER], around.ALERTS.name)


@dataclass(frozen=True)
class Stored:
    """What is there at one time."""

    servers: tuple[Server, ...]
    jobs_by_instance: dict[str, frozenset[str]]
    """Of vLLM servers: the jobs that scrape each instance."""
    beside: frozenset[str]
    """Names of series that other exporters, or Prometheus, make."""
    state_records: frozenset[str]
    """Names of the state's record, which has a sample wherever a vLLM server is scraped, for any window."""


def look(client: Client, settings: Settings, time: float) -> Stored:
    """Ask for all of it.

    Raises:
        DraftboardError: Prometheus gives no answer.
    """
    up = client.query(_grouped("max", _selected(settings, {around.UP.name}), settings, named=False), time)
    seen = client.query(_grouped("group", _selected(settings, _of_servers()), settings), time)
    beside = client.query(f"group by ({_NAME}) ({_named([*map(re.escape, _BESIDE), record_pattern(state)])})", time)
    found = {series.labels.get(_NAME, "") for series in beside} - {""}
    return Stored(
        _servers(up, seen, settings),
        _jobs(seen, settings),
        frozenset(found & set(_BESIDE)),
        frozenset(found - set(_BESIDE)),
    )


def record_pattern(signal: Signal) -> str:
    """A regular expression for the signal's record on models, whatever the window in its name."""
    return f"{Level.MODEL.value}:{(signal.record or '').format(window=_WINDOW)}"


def _of_servers() -> set[str]:
    """Names that a vLLM server has, or had, or has in Ray's spelling."""
    elsewhere = {*_BESIDE, around.UP.name}
    old = {f"{re.escape(old.name)}(_count)?" for old in OLD}
    ray = {re.escape(prefix + serving.REQUESTS_RUNNING.name.removeprefix(VLLM)) for prefix in RAY}
    return {re.escape(name) for name in SAMPLES - elsewhere} | old | ray


def _selected(settings: Settings, patterns: Iterable[str]) -> str:
    return _named(patterns, settings.selector)


def _named(patterns: Iterable[str], *matchers: str) -> str:
    # RE2's escapes are PromQL's text, in which a backslash is doubled.
    text = "|".join(sorted(patterns)).replace("\\", "\\\\")
    return selector("", [f'{_NAME}=~"{text}"', *(matcher for matcher in matchers if matcher)])


def _grouped(operator: str, vector: str, settings: Settings, *, named: bool = True) -> str:
    return aggregate(operator, (*([_NAME] if named else []), *settings.labels.target_level), vector)


def _servers(up: list[Series], seen: list[Series], settings: Settings) -> tuple[Server, ...]:
    """Targets that have series of vLLM, or whose method label says that they ought to."""
    labels = settings.labels
    names: dict[tuple[str, ...], set[str]] = {}
    for series in seen:
        names.setdefault(_target(series, settings), set()).add(series.labels.get(_NAME, ""))
    vllm = {target for target, own in names.items() if any(name.startswith((VLLM, *RAY)) for name in own)}
    answers = {_target(series, settings): series.samples[-1][1] == 1 for series in up}
    method_at = labels.target_level.index(labels.spec_method)
    chosen = vllm | {target for target in answers if target[method_at]}
    return tuple(
        Server(
            where=place(dict(zip(labels.target_level, target, strict=True)), settings),
            names=frozenset(names.get(target, ())),
            answers=answers.get(target, True),
            ray=any(name.startswith(RAY) for name in names.get(target, ())),
            method=target[method_at],
        )
        for target in sorted(chosen)
    )


def _target(series: Series, settings: Settings) -> tuple[str, ...]:
    return tuple(series.labels.get(label, "") for label in settings.labels.target_level)


def _jobs(seen: list[Series], settings: Settings) -> dict[str, frozenset[str]]:
    labels = settings.labels
    found: dict[str, set[str]] = {}
    for series in seen:
        if series.labels.get(_NAME) == serving.REQUESTS_RUNNING.name:
            instance, job = (series.labels.get(label, "") for label in (labels.instance, labels.job))
            found.setdefault(instance, set()).add(job)
    return {instance: frozenset(jobs) for instance, jobs in found.items()}
