"""The two sides of a comparison: where they come from, and whether they are comparable."""

import math
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, fields, replace
from functools import cached_property
from pathlib import Path
from typing import Any, Literal

from draftboard.access import Access
from draftboard.catalogue.dialects import DIALECTS
from draftboard.durations import READING, Duration
from draftboard.errors import DraftboardError
from draftboard.intervals import Ratio
from draftboard.output import Progress, no_progress, shortened
from draftboard.reading import MIXED, Recorded, Servers, is_saved
from draftboard.report import (
    APPEARED,
    RESTARTED,
    ModelReport,
    Origin,
    Report,
    Sampling,
    load_report,
    named,
    ratios,
    report,
    report_each,
)
from draftboard.settings import Settings

_SMALLEST = 1e-15
_LONGEST, _MOST_NAMED = 60, 5
_LOADS = {"requests/s": "request_rate", "in the batch": "batch"}
_IN_FLIGHT = {"in flight": "requests_in_flight"}
_LENGTHS = {"prompt": "model.traffic.prompt_length", "answer": "model.traffic.answer_length"}
_COMPUTED = ("prompt_length", "answer_length", "prefix_cache_hits")
_SAMPLING = {field.name: f"report.sampling.{field.name}" for field in fields(Sampling)}


@dataclass(frozen=True)
class Side:
    """One model of one report."""

    report: Report
    model: ModelReport

    def at(self, path: str) -> float | None:
        """A number by its path of attributes, such as `model.latency.step.mean`; None where a part is unknown."""
        value: Any = self
        for name in path.split("."):
            value = None if value is None else getattr(value, name)
        return None if value is None else float(value)

    def without_parts(self) -> "Side":
        """As a whole, whose scatter nobody knows."""
        return replace(self, model=replace(self.model, parts=()))

    @property
    def computed(self) -> float | None:
        """Mean tokens that a request computes: without those of its prompt that the prefix cache holds."""
        prompt, answer, hits = (self.at(f"model.traffic.{name}") for name in _COMPUTED)
        return None if prompt is None or answer is None or hits is None else prompt * (1 - hits) + answer

    @property
    def sample(self) -> Literal["requests", "tokens"]:
        """What its times per output token are counted by: tokens, where the engine does not count requests."""
        return DIALECTS[self.report.dialect].sample

    @property
    def samples(self) -> float:
        """Finished requests with a known time per output token, or tokens."""
        return self.at("model.latency.per_token.count") or 0.0

    @property
    def requests(self) -> float | None:
        """The requests; None where the engine does not count them."""
        return self.samples if self.sample == "requests" else None

    @property
    def tokens(self) -> float | None:
        """The tokens, where they are counted instead."""
        return self.samples if self.sample == "tokens" else None

    @property
    def drafts(self) -> float:
        """Drafts verified."""
        return self.at("model.sample.drafts") or 0.0

    @property
    def engines(self) -> int | None:
        """Number of engines; None where a report does not say."""
        return round(self.at("model.traffic.engines") or 0) or len(self.model.engines) or None

    @cached_property
    def ratios(self) -> dict[str, Ratio]:
        """Ratios whose scatter is known, by name of the signal."""
        return ratios(self.model.parts)

    def per_engine(self, path: str) -> float | None:
        """A number divided by the engines."""
        return over(self.at(path), self.engines)

    @property
    def request_rate(self) -> float | None:
        """Finished requests per second and engine."""
        return self.per_engine("model.traffic.request_rate")

    @property
    def requests_in_flight(self) -> float | None:
        """Mean requests of an engine between arrival and last token: rate x latency (Little's law)."""
        rate, latency = self.request_rate, self.at("model.latency.end_to_end.mean")
        return None if rate is None or latency is None else rate * latency

    @property
    def batch(self) -> float | None:
        """Mean number of running requests per engine; None for pages, which know one moment only."""
        return self.at("model.traffic.batch") or None if self.report.origin is Origin.PROMETHEUS else None


Sides = tuple[Side, Side]


def sides(
    names: tuple[str, str],
    settings: Settings,
    *,
    model: str = "",
    methods: tuple[str, str] = ("", ""),
    window: Duration = READING,
    access: Access | None = None,
    progress: Progress = no_progress,
    sleep: Callable[[float], None] = time.sleep,
) -> Sides:
    """Baseline and candidate, each a saved report or a server, which is read within `window`.

    `methods` are the servers' drafting methods; `model` selects one of several. DraftboardError: not one model.
    """
    live = [(name, method) for name, method in zip(names, methods, strict=True) if not is_saved(name)]
    if any(methods) and [method for _, method in live if method] != [method for method in methods if method]:
        raise DraftboardError("--method and --baseline-method apply to servers: a saved report contains its method")
    read: dict[str, Side] = {}
    if live:
        servers = Servers(tuple(name for name, _ in live), window, access or Access())
        reports = report_each(servers, settings, [method for _, method in live], progress=progress, sleep=sleep)
        read = {name: _only(each, model, each.sources[0]) for (name, _), each in zip(live, reports, strict=True)}
    first, second = (read.get(name) or saved(Path(name), model) for name in names)
    return first, second


def saved(path: Path, model: str = "") -> Side:
    """The model of a saved report; its name is required where there are several."""
    return _only(load_report(path), model, str(path))


def recorded(
    source: Recorded, selectors: tuple[str, str], settings: Settings, progress: Progress = no_progress
) -> Sides:
    """Baseline and candidate from one Prometheus, each selected by LABEL=VALUE, several joined with commas."""
    whole, labels, chosen = report(source, settings, progress=progress), settings.labels, []
    own = [(model, model.labels | {labels.spec_method: model.method or ""}) for model in whole.models]
    for selector in selectors:
        wanted = [part.partition("=") for part in selector.split(",")]
        if not all(name and equals and text.strip() for name, equals, text in wanted):
            raise DraftboardError(
                f"{_quoted(selector)} is not a selector: with --prometheus, a side is {labels.variant}=VALUE or "
                f"{labels.spec_method}=VALUE, several joined with commas"
            )
        pairs = {(name.strip(), text.strip()) for name, _, text in wanted}
        fitting = [model for model, carried in own if pairs <= carried.items()]
        chosen.append(_one(whole, fitting, selector, whole.sources[0]))
    baseline, candidate = chosen
    for side in chosen:
        if side.model.verdict.withheld == MIXED:
            raise DraftboardError(f"{_quoted(named(side.model))}: {side.model.verdict.reasons[0]}")
    if baseline.model is candidate.model:
        raise DraftboardError(f"{_quoted(selectors[0])} and {_quoted(selectors[1])} are one model: select two")
    return baseline, candidate


def _only(whole: Report, model: str, where: str) -> Side:
    return _one(whole, [one for one in whole.models if model in {"", one.model}], model, where)


def _one(whole: Report, fitting: Sequence[ModelReport], wanted: str, where: str) -> Side:
    if len(fitting) == 1:
        return Side(whole, fitting[0])
    listed = fitting or whole.models
    names = shortened([_quoted(named(model)) for model in listed], _MOST_NAMED) or "none"
    count = f"{len(fitting) or 'no'} model{'s' if fitting else ''}" + (f" for {_quoted(wanted)}" if wanted else "")
    hint = "add a label that only one has, or select it with --model" if "=" in wanted else "select one with --model"
    raise DraftboardError(f"{where}: {count} (available: {names}): {hint}")


def _quoted(name: str) -> str:
    return repr(name if len(name) <= _LONGEST else name[:_LONGEST] + "...")


def engines_in_words(engines: int | None) -> str:
    """The number of engines in words."""
    return "an unknown number of engines" if engines is None else f"{engines} engine{'' if engines == 1 else 's'}"


def over(part: float | None, whole: float | None) -> float | None:
    """The ratio; None unless both numbers are known and positive."""
    if part is None or whole is None or part < _SMALLEST or whole < _SMALLEST:
        return None
    return part / whole


def trend(first: float, second: float, settings: Settings) -> int:
    """1 where the first is larger by more than noise, -1 where it is smaller, else 0."""
    noise = settings.thresholds.slower
    return -1 if first < noise * second else 1 if second < noise * first else 0


def conditions(sides: Sides, settings: Settings) -> tuple[tuple[str, ...], tuple[str, ...]]:
    """Differences that forbid a comparison, and conditions that are unknown on a side."""
    tolerance = settings.thresholds.load
    names, loads = [side.model.model for side in sides], _known(_LOADS, sides)
    loads |= {} if "in the batch" in loads else _known(_IN_FLIGHT, sides)
    lengths, sampling = _known(_LENGTHS, sides), _known(_SAMPLING, sides)
    unlike = [f"model {_quoted(names[0])} against {_quoted(names[1])}"] if names[0] != names[1] else []
    unlike += _unlabelled(sides, settings)
    if any(note.endswith((RESTARTED, APPEARED)) for side in sides for note in side.model.notes):
        unlike.append("all of the time against a part of it: a server restarted or appeared in between")
    if sides[0].sample != sides[1].sample:
        unlike.append("times by request against times by token, of different engines")
    # Clients send at a fixed rate or keep a fixed number in flight; a faster server changes the other one.
    if loads and not any(math.isclose(a, b, rel_tol=tolerance) for a, b in loads.values()):
        loads_in_words = " and ".join(f"{a:.3g} against {b:.3g} {unit}" for unit, (a, b) in loads.items())
        unlike.append(f"load per engine {loads_in_words}")
    far = {what: pair for what, pair in lengths.items() if not math.isclose(*pair, rel_tol=tolerance)}
    unlike += [f"{what}s of {a:,.0f} against {b:,.0f} tokens" for what, (a, b) in far.items()]
    computed = _known({"computed": "computed"}, sides)
    if not far and any(not math.isclose(*pair, rel_tol=tolerance) for pair in computed.values()):
        unlike += ["requests that compute {:,.0f} against {:,.0f} tokens".format(*pair) for pair in computed.values()]
    unlike += [f"{name} {a:g} against {b:g}" for name, (a, b) in sampling.items() if a != b]
    unknown = [] if loads else ["load per engine (no rate without a time and requests)"]
    unknown += [f"{what} length" for what in _LENGTHS if what not in lengths]
    unknown += [] if "temperature" in sampling else ["temperature"]
    return tuple(unlike), tuple(unknown)


def _unlabelled(sides: Sides, settings: Settings) -> list[str]:
    """A server without a method label may be of either kind: it cannot be compared with a baseline."""
    methods = [side.model.method for side in sides if side.report.origin is Origin.PROMETHEUS]
    if None not in methods or settings.methods.baseline not in methods:
        return []
    return [f"a baseline against a server without the label {settings.labels.spec_method}"]


def _known(paths: Mapping[str, str], sides: Sides) -> dict[str, tuple[float, float]]:
    pairs = {name: (sides[0].at(path), sides[1].at(path)) for name, path in paths.items()}
    return {name: (a, b) for name, (a, b) in pairs.items() if a is not None and b is not None}
