"""A story on paper: tables for people, the same as JSON for programs."""

import json
from collections.abc import Sequence
from dataclasses import asdict
from datetime import UTC, datetime

from rich.box import SIMPLE_HEAD
from rich.console import Console
from rich.table import Table

from draftboard.lab.replay.story import FELT, IN_DEPTH, JUDGED_BY, Chapter, Moment, Story
from draftboard.signals import Signal
from draftboard.signals.decisions import advice, verdict
from draftboard.signals.depth import survival
from draftboard.signals.requests import request_rate
from draftboard.signals.users import measured_speedup
from draftboard.signals.wording import NOTHING, worded

_HEADING_WIDTH = 12


_SCHEMA_VERSION = 1
"""Grows whenever a field is removed or means something else."""


def as_json(story: Story) -> str:
    """The story as JSON: times in Unix seconds, shares from 0 to 1."""
    return json.dumps({"schema_version": _SCHEMA_VERSION} | asdict(story), indent=2, sort_keys=True)


def show(story: Story, console: Console) -> None:
    """Print the story: two tables a model, then the alerts, then what the numbers do not say."""
    begun, ended = (datetime.fromtimestamp(at, UTC).strftime("%Y-%m-%d %H:%M:%S") for at in (story.start, story.end))
    console.print(f"Replayed from {begun} to {ended} UTC. Each line is the {story.window:g} s up to its time.\n")
    for chapter in story.chapters:
        _show_chapter(chapter, story.start, console)
    _show_alerts(story, console)
    console.print(
        f"Verdict and break-even rest on an assumed verify inflation of {story.verify_inflation:g}, and on the draft "
        "cost that the settings give each method. Expected speedup is of speculative steps alone; measured speedup "
        "compares with the model's baseline, as far as the load of both is alike: slower, it outweighs any verdict. "
        "Advice is a rule of thumb.",
    )


def _show_chapter(chapter: Chapter, start: float, console: Console) -> None:
    name = _named(chapter.model)
    if not any(moment.drafts for moment in chapter.moments):
        states = ", ".join(dict.fromkeys(moment.state for moment in chapter.moments))
        console.print(f"[bold]{name}[/bold]: no drafts in all this time ({states}).\n")
    else:
        _show_speculation(chapter, start, console)
    _show_what_users_feel(chapter, start, console)


def _show_speculation(chapter: Chapter, start: float, console: Console) -> None:
    name = _named(chapter.model)
    judged = _table(f"{name}: does it pay?", ("Until", "State"), ("Drafts", *_titles(JUDGED_BY)))
    for title in (verdict.title, advice.title):
        judged.add_column(title)
    deep = _table(f"{name}: how deep?", ("Until",), (*_titles(IN_DEPTH),))
    deep.add_column(survival.title)
    for moment in chapter.moments:
        until, style = _clock(moment.at - start), None if moment.drafts else "dim"
        told = (moment.verdict or NOTHING, moment.advice or NOTHING)
        numbers = _with_slower(_cells(moment, JUDGED_BY), moment)
        judged.add_row(until, moment.state, f"{moment.drafts:,.0f}", *numbers, *told, style=style)
        shares = " ".join(f"{share:.2f}" for share in moment.survival) or NOTHING
        deep.add_row(until, *_cells(moment, IN_DEPTH), shares, style=style)
    console.print(judged)
    console.print(deep)


def _show_what_users_feel(chapter: Chapter, start: float, console: Console) -> None:
    if not any(moment.numbers[request_rate.name] for moment in chapter.moments):
        return
    table = _table(f"{_named(chapter.model)}: do users wait?", ("Until",), _titles(FELT))
    for moment in chapter.moments:
        busy = moment.numbers[request_rate.name]
        table.add_row(_clock(moment.at - start), *_cells(moment, FELT), style=None if busy else "dim")
    console.print(table)


def _show_alerts(story: Story, console: Console) -> None:
    if not story.firings:
        console.print("No alert would have fired.\n")
        return
    table = _table("Alerts that would have fired", ("From", "To", "Severity", "Alert"), ("Value",))
    for heading in ("Of", "Summary"):
        table.add_column(heading)
    for firing in story.firings:
        span = (_clock(firing.since - story.start), _clock(firing.until - story.start))
        value = f"{firing.value:.3g}"
        table.add_row(*span, firing.severity, firing.alert, value, _named(firing.labels), firing.summary)
    console.print(table)


def _table(title: str, words: Sequence[str], numbers: Sequence[str]) -> Table:
    table = Table(title=title, title_justify="left", title_style="bold", box=SIMPLE_HEAD, pad_edge=False)
    for heading in words:
        table.add_column(heading, no_wrap=True)
    for heading in numbers:
        table.add_column(heading, justify="right", max_width=_HEADING_WIDTH)
    return table


def _titles(signals: Sequence[Signal]) -> tuple[str, ...]:
    return tuple(signal.title for signal in signals)


def _cells(moment: Moment, signals: Sequence[Signal]) -> tuple[str, ...]:
    return tuple(worded(signal, moment.numbers[signal.name]) for signal in signals)


def _with_slower(cells: Sequence[str], moment: Moment) -> tuple[str, ...]:
    """The cells, the measured one marked where it speaks against what is expected: the verdict is the record's own."""
    marked = JUDGED_BY.index(measured_speedup)
    return tuple(
        f"[bold red]{cell} slower[/bold red]" if moment.slower and place == marked else cell
        for place, cell in enumerate(cells)
    )


def _named(labels: dict[str, str]) -> str:
    """What a series is of, by the values of its labels."""
    return " ".join(value for _, value in sorted(labels.items()))


def _clock(seconds: float) -> str:
    minutes, rest = divmod(round(seconds), 60)
    return f"{minutes:02d}:{rest:02d}"
