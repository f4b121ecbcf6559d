"""A replay as a document: tables for each model, the alerts, and what limits the figures."""

from collections.abc import Callable, Iterator, Sequence
from datetime import UTC, datetime

from draftboard.lab.replay.story import DEPTH, LATENCY, SPEEDUP, Chapter, Firing, Moment, Story
from draftboard.output import Block, Bullets, Cell, Column, Document, Heading, Note, Sentence, Table, Text, columns
from draftboard.signals import Signal
from draftboard.signals.decisions import advice, verdict
from draftboard.signals.depth import survival
from draftboard.signals.requests import request_rate
from draftboard.signals.users import measured_speedup
from draftboard.signals.wording import NOTHING, worded
from draftboard.status import Status


def summary(story: Story) -> Document:
    """Tables for each model, then the alerts, then what limits the figures."""
    start = story.start
    begun, ended = (datetime.fromtimestamp(at, UTC).strftime("%Y-%m-%d %H:%M:%S") for at in (start, story.end))
    alerts = tuple(_alert(firing, start) for firing in story.firings)
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
                f"Verdict and break-even rest on an assumed verify inflation of {story.verify_inflation:g} and on the "
                "draft cost that the settings give each method. Expected speedup is of speculative steps alone. "
                "Measured speedup compares with the model's baseline, as far as the load of both is alike: if slower, "
                "it outweighs any verdict. Advice is a rule of thumb."
            ),
        )
    )


def _chapter(chapter: Chapter, start: float) -> Iterator[Block]:
    drafted = any(moment.drafts for moment in chapter.moments)
    states = ", ".join(dict.fromkeys(moment.state for moment in chapter.moments))
    yield Heading(_named(chapter.model), Text("" if drafted else f"no drafts in all this time ({states})"))

    def table(question: str, headings: tuple[Column, ...], cells: Callable[[Moment], tuple[Cell, ...]]) -> Table:
        rows = tuple((_clock(start, moment.at), *cells(moment)) for moment in chapter.moments)
        return Table((Column("Until"), *headings), rows, question)

    if drafted:
        yield table(
            "Does it pay?",
            columns("State", numbers=["Drafts"]) + columns(verdict.title, advice.title),
            lambda now: (now.state, f"{now.drafts:,.0f}", now.verdict or NOTHING, now.advice or NOTHING),
        )
        yield table("How much?", _titles(SPEEDUP), lambda now: _numbers(now, SPEEDUP))
        yield table(
            "How deep?",
            _titles(DEPTH) + columns(survival.title),
            lambda now: (*_numbers(now, DEPTH), " ".join(f"{share:.2f}" for share in now.survival) or NOTHING),
        )
    if any(moment.numbers[request_rate.name] for moment in chapter.moments):
        yield table("Do users wait?", _titles(LATENCY), lambda now: _numbers(now, LATENCY))


def _titles(signals: Sequence[Signal]) -> tuple[Column, ...]:
    return columns(numbers=[signal.title for signal in signals])


def _numbers(moment: Moment, signals: Sequence[Signal]) -> tuple[Cell, ...]:
    """In words; a measured slowdown is marked, because it outweighs the verdict."""
    words = {signal: worded(signal, moment.numbers[signal.name]) for signal in signals}
    slower = measured_speedup if moment.slower else None
    return tuple(Text(f"{word} slower", Status.BAD) if signal is slower else word for signal, word in words.items())


def _alert(one: Firing, start: float) -> tuple[Cell, ...]:
    since, until = _clock(start, one.since), _clock(start, one.until)
    return (since, until, one.severity, one.alert, f"{one.value:.3g}", _named(one.labels))


def _named(labels: dict[str, str]) -> str:
    """The values of the labels of a series."""
    return " ".join(value for _, value in sorted(labels.items()))


def _clock(start: float, at: float) -> str:
    minutes, rest = divmod(round(at - start), 60)
    return f"{minutes:02d}:{rest:02d}"
