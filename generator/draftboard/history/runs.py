"""Runs of one setup in a model's history, from the records that the dashboards' annotations of changes read."""

import re
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import NamedTuple

from draftboard.catalogue import Metric, probe, serving
from draftboard.expr.nodes import Expr, Function, Raw, over_level
from draftboard.expr.nodes import Window as Range
from draftboard.expr.vector import Labels, dropped, kept, value_of
from draftboard.history.result import Setup
from draftboard.reading.past import Remembered
from draftboard.settings import Settings
from draftboard.signals import Level, Signal, acceptance, requests, traffic
from draftboard.signals.drafting import configured_k, lowest_k
from draftboard.signals.events import restarts
from draftboard.signals.latency import per_token
from draftboard.signals.steps import LOAD, pure_step_time_by_batch, step_time_by_batch

_SETUPS = (traffic.generation_tokens, traffic.drafts, configured_k, lowest_k)
_FIGURES = (
    *(traffic.decode_steps, step_time_by_batch, pure_step_time_by_batch, acceptance.tokens_per_step),
    *(acceptance.acceptance_length, per_token.mean, requests.request_rate, restarts),
)
NEEDED = (configured_k, step_time_by_batch)
"""Without them no change can be detected."""
RUNS = "runs"


def _last(metric: Metric, *labels: str) -> Expr:
    return over_level("group", Function("last_over_time", Raw(metric, Range.RATE)), *labels)


# Whoever has no plugin may name the release in the scrape configuration.
of_runs = _last(probe.INFO, *probe.RUNS) | _last(serving.REQUESTS_RUNNING, probe.VERSION)
"""What engines run, in labels."""
_SIZE = re.compile("[0-9]{1,6}")


def of_setups(settings: Settings) -> Mapping[str, Expr]:
    """Records that show changes."""
    return {**_recorded(_SETUPS, settings), RUNS: of_runs}


def of_effects(settings: Settings) -> Mapping[str, Expr]:
    """Records that show changes and their effects."""
    return {**_recorded((*_SETUPS, *_FIGURES), settings), RUNS: of_runs}


def _recorded(signals: Iterable[Signal], settings: Settings) -> Mapping[str, Expr]:
    return {signal.name: signal for signal in signals if signal.record_name(Level.MODEL, settings)}


class Load(NamedTuple):
    """What steps are compared at: requests of a batch, to a power of two, and their tokens, to a power of four."""

    batch: int
    context: int


@dataclass(slots=True)
class Window:
    """Records of one way to draft at one time; rates look back over the window."""

    at: float
    figures: dict[str, float] = field(default_factory=dict)
    load: Load | None = None  # None with too few decode steps.
    runs: dict[str, set[str]] = field(default_factory=dict)  # What its engines run; several values while they differ.


@dataclass
class Run:
    """Windows of one setup, in order, with no other between them."""

    setup: Setup
    windows: list[Window]

    def goes_on(self, setup: Setup, window: Window) -> None:
        """Add a window; a method that a label names once stays known."""
        if setup != self.setup:
            runs = {**self.setup.runs, **setup.runs}
            self.setup = replace(setup, method=setup.method or self.setup.method, runs=runs)
        self.windows.append(window)


@dataclass
class Life:
    """A model of a job: its runs, and times that belong to none."""

    labels: Labels
    runs: list[Run] = field(default_factory=list)
    last_seen: float = 0.0
    several: dict[tuple[str, ...], list[float]] = field(default_factory=dict)
    """When it was served in several ways at once, by these ways."""
    unsettled: list[float] = field(default_factory=list)
    """When engines had different K, or was served in several ways."""


def lives(records: Iterable[Remembered], settings: Settings) -> list[Life]:
    """The life of every model that generated tokens, or was ready to."""
    moments_of: dict[Labels, dict[float, dict[Labels, Window]]] = {}
    service = Level.SERVICE.labels(settings)
    places: dict[Labels, tuple[Labels, Labels, Load | None]] = {}
    for name, labels, at, value in records:
        if labels not in places:
            way = dropped(labels, (*LOAD, *probe.RUNS))
            # Records of before contexts were told apart have none.
            sizes = tuple(value_of(labels, size) or default for size, default in zip(LOAD, ("", "1"), strict=True))
            load = Load(*map(int, sizes)) if all(map(_SIZE.fullmatch, sizes)) else None
            places[labels] = kept(way, service), way, load
        whose, way, load = places[labels]
        ways_at = moments_of.setdefault(whose, {}).setdefault(at, {})
        if (window := ways_at.get(way)) is None:
            window = ways_at[way] = Window(at)
        if name == RUNS:
            for label, text in labels:
                if label in probe.RUNS:
                    window.runs.setdefault(label, set()).add(text)
            continue
        window.figures[name] = value
        window.load = load or window.load
    all_lives = (_life(labels, moments_of[labels], settings) for labels in sorted(moments_of, key=sorted))
    return [life for life in all_lives if life.last_seen]


def _life(labels: Labels, moments: Mapping[float, Mapping[Labels, Window]], settings: Settings) -> Life:
    life = Life(labels)
    mixed = _mixed([window for ways in moments.values() for window in ways.values()])
    for at, ways_at in sorted(moments.items()):
        serving = {way: window for way, window in ways_at.items() if traffic.generation_tokens.name in window.figures}
        if not serving:
            continue
        life.last_seen = at
        setups = {way: _setup(way, window, mixed, settings) for way, window in serving.items()}
        if len(setups) > 1:
            ways = tuple(sorted(str(setup or "several K") for setup in setups.values()))
            life.several.setdefault(ways, []).append(at)
        (way, setup), *others = setups.items()
        if others or setup is None:
            life.unsettled.append(at)
        elif life.runs and not setup.differs(life.runs[-1].setup):
            life.runs[-1].goes_on(setup, serving[way])
        else:
            life.runs.append(Run(setup, [serving[way]]))
    return life


def _mixed(windows: Sequence[Window]) -> frozenset[str]:
    """Of what engines run, that in which they differ for long: it distinguishes engines, and is no change."""
    counts = Counter(name for window in windows for name, texts in window.runs.items() if len(texts) > 1)
    return frozenset(name for name, count in counts.items() if count > len(windows) / 2)


def _setup(way: Labels, window: Window, mixed: frozenset[str], settings: Settings) -> Setup | None:
    """The setup; None where engines have different K or run different things, or K is unknown."""
    figures, known = window.figures, {name: texts for name, texts in window.runs.items() if name not in mixed}
    names, method = settings.labels, value_of(way, settings.labels.spec_method)
    highest, lowest = figures.get(configured_k.name), figures.get(lowest_k.name)
    # Some engines export the counter of drafts without speculation, too.
    drafts = traffic.drafts.name in figures and method != settings.methods.baseline
    if highest != lowest or (highest is None and drafts) or any(len(texts) > 1 for texts in known.values()):
        return None
    return Setup(
        k=int(highest or 0),
        method=method or None,
        variant=value_of(way, names.variant) or None,
        verification=value_of(way, names.spec_verification) or None,
        runs={name: min(known[name]) for name in probe.RUNS if name in known},
    )
