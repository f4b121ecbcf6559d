"""Where the two sides come from: saved reports, servers that are read over the same time, or one Prometheus."""

import time
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

from draftboard.access import Access
from draftboard.compare.sides import Side, quoted
from draftboard.durations import Duration
from draftboard.errors import DraftboardError
from draftboard.reading import Recorded, Servers, is_saved
from draftboard.reading.sources import WINDOW
from draftboard.report import ModelReport, Report, load_report, named, report, report_each
from draftboard.settings import Settings

_NOBODY = Access()
_MOST_NAMED = 5


@dataclass(frozen=True, kw_only=True)
class Looking:
    """How servers or a Prometheus are looked at."""

    prometheus: str = ""
    """Its address; the sides are then selectors."""
    span: Duration | None = None
    """How far back Prometheus is asked; None for the window of the rules."""
    at: float | None = None
    """Unix seconds at which the span ends; None for now."""
    window: Duration = WINDOW
    """Between the readings of servers."""
    model: str = ""
    """The one to compare where there are several."""
    methods: tuple[str, str] = ("", "")
    """How servers draft: the baseline's, and the candidate's."""
    access: Access = _NOBODY
    progress: Callable[[str, int, int], None] = lambda *_: None
    sleep: Callable[[float], None] = time.sleep


def sides(baseline: str, candidate: str, settings: Settings, looking: Looking) -> tuple[Side, Side]:
    """Find both sides.

    Raises:
        DraftboardError: one of them cannot be read, or is not one model.
    """
    named_methods = zip((baseline, candidate), looking.methods, strict=True)
    if any(method and (looking.prometheus or is_saved(name)) for name, method in named_methods):
        raise DraftboardError("a method is told of servers only: saved reports and Prometheus know their own")
    if looking.prometheus:
        source = Recorded(looking.prometheus, looking.span, looking.model, looking.at, looking.access)
        found = report(source, settings, progress=looking.progress)
        return _selected(found, baseline, settings), _selected(found, candidate, settings)
    read = _read_live((baseline, candidate), settings, looking)
    first, second = (read.get(name) or saved(Path(name), looking.model) for name in (baseline, candidate))
    return first, second


def saved(path: Path, model: str = "") -> Side:
    """The model of a saved report; its name is needed where there are several.

    Raises:
        DraftboardError: it cannot be read, is no report, or does not hold one such model.
    """
    return _only(load_report(path), model, str(path))


def _read_live(names: tuple[str, str], settings: Settings, looking: Looking) -> dict[str, Side]:
    """Those of the two that are servers, by name."""
    asked = [(name, method) for name, method in zip(names, looking.methods, strict=True) if not is_saved(name)]
    if not asked:
        return {}
    addresses, methods = zip(*asked, strict=True)
    servers = Servers(addresses, looking.window, looking.access)
    found = report_each(servers, settings, methods, progress=looking.progress, sleep=looking.sleep)
    return {name: _only(each, looking.model, each.sources[0]) for name, each in zip(addresses, found, strict=True)}


def _only(found: Report, model: str, where: str) -> Side:
    fitting = [one for one in found.models if model in {"", one.model}]
    if len(fitting) == 1:
        return Side(found, fitting[0])
    if not found.models:
        raise DraftboardError(f"{where}: holds no model")
    if not fitting:
        raise DraftboardError(f"{where}: no model {quoted(model)} there, but {_list(found.models)}")
    raise DraftboardError(f"{where}: {len(fitting)} models, {_list(fitting)}: name one with --model")


def _selected(found: Report, selector: str, settings: Settings) -> Side:
    """The model whose labels a selector such as `variant=a,job=x` names."""
    wanted = [part.partition("=") for part in selector.split(",")]
    if not all(name and equals for name, equals, _ in wanted):
        names = settings.labels
        raise DraftboardError(
            f"{quoted(selector)} selects nothing: with --prometheus, a side is {names.variant}=VALUE or "
            f"{names.spec_method}=VALUE, several with commas"
        )
    pairs = {(name.strip(), text.strip()) for name, _, text in wanted}
    fitting = [one for one in found.models if pairs <= _labels(one, settings).items()]
    if len(fitting) == 1:
        return Side(found, fitting[0])
    if not fitting:
        raise DraftboardError(f"{found.sources[0]}: nothing is {selector!r} there, but {_list(found.models)}")
    raise DraftboardError(
        f"{found.sources[0]}: {selector!r} is {_list(fitting)}: add a label that tells them apart, or --model"
    )


def _labels(model: ModelReport, settings: Settings) -> dict[str, str]:
    return model.labels | {settings.labels.spec_method: model.method or ""}


def _list(models: tuple[ModelReport, ...] | list[ModelReport]) -> str:
    told = ", ".join(quoted(named(model)) for model in models[:_MOST_NAMED])
    more = len(models) - _MOST_NAMED
    return told + (f" and {more} more" if more > 0 else "")
