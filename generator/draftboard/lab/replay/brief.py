"""A replay on one screen: when speculation paid, and which alerts would have fired."""

from collections.abc import Iterator
from functools import partial

from draftboard.lab.replay.story import Chapter, Story, clock, in_words, numbers_of
from draftboard.output import Block, Document, Heading, Note, Table, Text, columns
from draftboard.signals.acceptance import tokens_per_step
from draftboard.signals.economics import step_cost_high, step_cost_low
from draftboard.signals.signal import NOTHING
from draftboard.signals.users import measured_speedup
from draftboard.signals.verdicts import verdict

_COST = (step_cost_low, step_cost_high)


def brief(story: Story) -> Document:
    """A line for each window of each model that drafted, then one for each alert."""
    at = partial(clock, story.start)
    rows = tuple((at(one.since), at(one.until), one.severity, one.alert, in_words(one.labels)) for one in story.firings)
    return Document.of(
        (
            *(block for chapter in story.chapters for block in _chapter(chapter, story)),
            Heading("Alerts that would have fired", Text("" if rows else "none")),
            Table(columns("From", "To", "Severity", "Alert", "Of"), rows),
            Note("--details has every table: speedups, depth, latencies, and what each alert means."),
        )
    )


def _chapter(chapter: Chapter, story: Story) -> Iterator[Block]:
    if not any(moment.drafts for moment in chapter.moments):
        return
    rows = tuple(
        (
            clock(story.start, now.at),
            f"{now.drafts:,.0f}",
            *numbers_of(now, (tokens_per_step,)),
            " to ".join(dict.fromkeys(map(str, numbers_of(now, _COST)))),
            *numbers_of(now, (measured_speedup,)),
            f"{now.verdict or NOTHING}" if now.drafts else now.state,
        )
        for now in chapter.moments
    )
    titles = ("Drafts", "Tokens per step", "Break-even", measured_speedup.title)
    yield Heading(in_words(chapter.model), Text("did it pay?"))
    yield Table((*columns("Until"), *columns(numbers=titles), *columns(verdict.title)), rows)
