"""A replay as data, and as a document: each model window by window, and which alerts would have fired."""

import math
from collections import defaultdict
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from functools import partial

from draftboard.alerts import ALERTS, WATCHDOG
from draftboard.expr.to_promql import promql_of
from draftboard.lab.replay.evaluate import Replay
from draftboard.lab.replay.holds import stretches
from draftboard.output import (
    Block,
    Bullets,
    Cell,
    Column,
    Described,
    Document,
    Heading,
    Note,
    Sentence,
    Table,
    Text,
    columns,
)
from draftboard.rules import AlertingRule, alerting_groups
from draftboard.settings import Settings
from draftboard.signals import Scope, Signal
from draftboard.signals.acceptance import acceptance, acceptance_length, draft_length, tokens_per_step
from draftboard.signals.advice import advice
from draftboard.signals.depth import survival
from draftboard.signals.economics import expected_speedup_high, expected_speedup_low, step_cost_high, step_cost_low
from draftboard.signals.gains import best_k
from draftboard.signals.latency import end_to_end, first_token, per_token, step
from draftboard.signals.requests import request_rate, requests_waiting
from draftboard.signals.signal import NOTHING, worded
from draftboard.signals.states import state
from draftboard.signals.traffic import drafts
from draftboard.signals.users import measured_speedup
from draftboard.signals.verdicts import verdict

_MOST_MOMENTS = 60
_SPEEDUP = (
    *(tokens_per_step, step_cost_low, step_cost_high, expected_speedup_low, expected_speedup_high),
    measured_speedup,
)
_DEPTH = (acceptance, acceptance_length, draft_length, best_k)
_LATENCY = (request_rate, requests_waiting, first_token.mean, per_token.mean, step.mean, end_to_end.mean)
_NUMBERS = (*_SPEEDUP, *_DEPTH, *_LATENCY)
_Model = tuple[tuple[str, str], ...]
_Read = dict[tuple[str, float, _Model], dict[str, float]]  # by signal, time and model; then by the signal's own label


@dataclass(frozen=True)
class Firing(Described):
    """One alert for one series, from its first to its last evaluation (Unix seconds), and its value at the first."""

    alert: str
    severity: str
    summary: str
    labels: dict[str, str]
    since: float
    until: float
    value: float


@dataclass(frozen=True)
class Moment(Described):
    """A model over the window that ends `at` (Unix seconds). A number without a sample is null: the state says why."""

    at: float
    state: str
    drafts: float
    """In the window: the size of the sample."""
    numbers: dict[str, float | None]
    """By signal; shares from 0 to 1, times in seconds."""
    survival: tuple[float, ...]
    """By position: share of drafts accepted at least so deep."""
    verdict: str | None
    """With what it rests on, or why it is withheld."""
    advice: str | None


@dataclass(frozen=True)
class Chapter(Described):
    """One model, by its labels, in the order of time."""

    model: dict[str, str]
    moments: tuple[Moment, ...]


@dataclass(frozen=True)
class Story(Described):
    """All models, and the alerts that would have fired; times are Unix seconds, the window is in seconds."""

    start: float
    end: float
    window: float
    chapters: tuple[Chapter, ...]
    firings: tuple[Firing, ...]
    schema_version: int = 1
    """Grows whenever a field is removed or its meaning changes."""


def story_of(replay: Replay) -> Story:
    """Read the records at the end of every window; of a long recording, at the end of some."""
    settings = replay.settings
    window = settings.rules.rate_window.seconds
    stride = window * max(1, math.ceil((replay.end - replay.start) / window / _MOST_MOMENTS))
    times = [replay.start + stride * number for number in range(1, int((replay.end - replay.start) // stride) + 1)]
    read: _Read = defaultdict(dict)
    for signal in (*_NUMBERS, drafts, survival, state, verdict, advice) if times else ():
        own = signal.by[0] if signal.by else ""
        for series in replay.client.query_range(promql_of(signal, Scope(settings)), times[0], times[-1], stride):
            model = tuple(sorted((name, text) for name, text in series.labels.items() if name not in {"__name__", own}))
            for at, value in series.samples:
                nearest = times[round((at - times[0]) / stride)]
                read[signal.name, nearest, model][series.labels.get(own, "")] = value
    models = sorted({model for name, _, model in read if name == state.name})
    chapters = tuple(
        Chapter(dict(model), tuple(_moment(settings, read, at, model) for at in times)) for model in models
    )
    return Story(replay.start, replay.end, window, chapters, tuple(firings(replay)))


def _moment(settings: Settings, read: _Read, at: float, model: _Model) -> Moment:
    def value(signal: Signal) -> float | None:
        return read[signal.name, at, model].get("")

    def words(signal: Signal) -> str | None:
        return next((code.says for code in signal.codes if code.value == value(signal)), None)

    by_position = read[survival.name, at, model]
    return Moment(
        at=at,
        state=words(state) or "unknown",
        drafts=(value(drafts) or 0.0) * settings.rules.rate_window.seconds,
        numbers={signal.name: value(signal) for signal in _NUMBERS},
        survival=tuple(by_position[position] for position in sorted(by_position, key=int)),
        verdict=words(verdict),
        advice=words(advice),
    )


def firings(replay: Replay) -> list[Firing]:
    """All but the watchdog's, in the order in which they would have fired."""
    count = round((replay.end - replay.start) / replay.step) + 1
    evaluations = [replay.start + index * replay.step for index in range(count)]
    rules = (rule for group in alerting_groups(replay.settings) for rule in group.rules)
    summaries = {alert.name: alert.summary for alert in ALERTS}  # Those of rules are templates.
    result = []
    for rule in (rule for rule in rules if isinstance(rule, AlertingRule) and rule.alert != WATCHDOG):
        of_rule = rule.alert, rule.labels["severity"], summaries[rule.alert]
        for series in replay.client.query_range(rule.expr, replay.start, replay.end, replay.step):
            values = dict(series.samples)
            for since, until in stretches(values, evaluations, rule.pending_period, rule.keep_firing_for):
                result.append(Firing(*of_rule, series.unnamed, since, until, values[since]))
    return sorted(result, key=lambda firing: (firing.since, firing.alert, sorted(firing.labels.items())))


def summary(story: Story) -> Document:
    """Tables for each model, then the alerts, then what limits the figures."""
    start = story.start
    begun, ended = (datetime.fromtimestamp(at, UTC).strftime("%Y-%m-%d %H:%M:%S") for at in (start, story.end))
    time = partial(clock, start)
    alerts = tuple(
        (
            time(firing.since),
            time(firing.until),
            firing.severity,
            firing.alert,
            f"{firing.value:.3g}",
            in_words(firing.labels),
        )
        for firing in story.firings
    )
    headings = columns("From", "To", "Severity", "Alert", numbers=["Value"]) + columns("Of")
    meanings = dict.fromkeys(f"{firing.alert}: {firing.summary}" for firing in story.firings)
    return Document.of(
        (
            Sentence(f"Replayed from {begun} to {ended} UTC. Each line is the {story.window:g} s up to its time."),
            *(block for chapter in story.chapters for block in _chapter(chapter, start)),
            Heading("Alerts that would have fired", Text("" if alerts else "none")),
            Table(headings, alerts),
            Bullets(tuple(meanings)),
            Note(
                "Expected speedup and break-even rest on the draft cost of the settings. The verify inflation is "
                "measured where a baseline had batches of the same size, else it is the settings'. Measured speedup "
                "compares with the model's baseline at like load, and outranks what is expected. Advice is a rule of "
                "thumb."
            ),
        )
    )


def _chapter(chapter: Chapter, start: float) -> Iterator[Block]:
    drafted = any(moment.drafts for moment in chapter.moments)
    states = ", ".join(dict.fromkeys(moment.state for moment in chapter.moments))
    yield Heading(in_words(chapter.model), Text("" if drafted else f"no drafts in all this time ({states})"))

    def table(question: str, headings: tuple[Column, ...], rows: Sequence[tuple[Cell, ...]]) -> Table:
        times = ((clock(start, moment.at),) for moment in chapter.moments)
        until = tuple(time + row for time, row in zip(times, rows, strict=True))
        return Table((Column("Until"), *headings), until, question)

    moments = chapter.moments
    if drafted:
        yield table(
            "Does it pay?",
            columns("State", numbers=["Drafts"]) + columns(verdict.title, advice.title),
            [(now.state, f"{now.drafts:,.0f}", now.verdict or NOTHING, now.advice or NOTHING) for now in moments],
        )
        yield table("How much?", _titles(_SPEEDUP), [numbers_of(now, _SPEEDUP) for now in moments])
        shares = (" ".join(f"{share:.2f}" for share in now.survival) or NOTHING for now in moments)
        depths = [(*numbers_of(now, _DEPTH), text) for now, text in zip(moments, shares, strict=True)]
        yield table("How deep?", _titles(_DEPTH) + columns(survival.title), depths)
    if any(moment.numbers[request_rate.name] for moment in moments):
        yield table("Do users wait?", _titles(_LATENCY), [numbers_of(now, _LATENCY) for now in moments])


def _titles(signals: Sequence[Signal]) -> tuple[Column, ...]:
    return columns(numbers=[signal.title for signal in signals])


def numbers_of(moment: Moment, signals: Sequence[Signal]) -> tuple[Cell, ...]:
    """The values of signals, each with its unit."""
    return tuple(worded(signal, moment.numbers[signal.name]) for signal in signals)


def in_words(labels: dict[str, str]) -> str:
    """The values of labels, in the order of their names."""
    return " ".join(value for _, value in sorted(labels.items()))


def clock(start: float, at: float) -> str:
    """Minutes and seconds since the start."""
    minutes, rest = divmod(round(at - start), 60)
    return f"{minutes:02d}:{rest:02d}"
