"""A story on paper: tables for people, the same as JSON for programs."""

import json
from dataclasses import asdict
from datetime import UTC, datetime

from rich.console import Console, Group, RenderableType
from rich.table import Table

from draftboard.replay.firing import Firing
from draftboard.replay.story import NUMBERS, Chapter, Moment, Story
from draftboard.signals import Signal
from draftboard.signals.signal import Unit

_NOTHING = "-"


def as_json(story: Story) -> str:
    """The story as JSON: times in Unix seconds, shares from 0 to 1."""
    return json.dumps(asdict(story), indent=2, sort_keys=True)


def show(story: Story, console: Console) -> None:
    """Print the story: a table a model, then the alerts, then what the numbers do not say."""
    begun, ended = (datetime.fromtimestamp(at, UTC).strftime("%Y-%m-%d %H:%M:%S") for at in (story.start, story.end))
    console.print(f"Replayed from {begun} to {ended} UTC. Each line is the {story.window:g} s up to its time.\n")
    for chapter in story.chapters:
        console.print(_chapter(chapter, story.start))
    console.print(_alerts(story))
    console.print(_caveats(story))


def _chapter(chapter: Chapter, start: float) -> RenderableType:
    title = "  ".join(f"{name}={value}" for name, value in sorted(chapter.model.items()))
    table = Table(title=title, title_justify="left", title_style="bold")
    table.add_column("Until")
    table.add_column("State")
    table.add_column("Drafts", justify="right")
    for signal in NUMBERS:
        table.add_column(signal.title, justify="right", max_width=12)
    table.add_column("Survival by position")
    table.add_column("Verdict")
    table.add_column("What to do")
    for moment in chapter.moments:
        table.add_row(*_cells(moment, start), style=None if moment.drafts else "dim")
    return Group(table, "")


def _cells(moment: Moment, start: float) -> list[str]:
    numbers = [_number(signal, moment.numbers[signal.name]) for signal in NUMBERS]
    survival = " ".join(f"{share:.2f}" for share in moment.survival) or _NOTHING
    return [
        _clock(moment.at - start),
        moment.state,
        f"{moment.drafts:,.0f}",
        *numbers,
        survival,
        moment.verdict or _NOTHING,
        moment.advice or _NOTHING,
    ]


def _number(signal: Signal, value: float | None) -> str:
    if value is None:
        return _NOTHING
    if signal.unit is Unit.RATIO:
        return f"{value:.1%}"
    return f"{value:.{signal.decimals or 0}f}"


def _alerts(story: Story) -> RenderableType:
    if not story.firings:
        return "No alert would have fired.\n"
    table = Table(title="Alerts that would have fired", title_justify="left", title_style="bold")
    for column in ("From", "To", "Severity", "Alert", "Where", "Value", "Summary"):
        table.add_column(column)
    for firing in story.firings:
        table.add_row(*_firing_cells(firing, story.start))
    return Group(table, "")


def _firing_cells(firing: Firing, start: float) -> list[str]:
    where = " ".join(f"{name}={value}" for name, value in sorted(firing.labels.items()))
    span = [_clock(firing.since - start), _clock(firing.until - start)]
    return [*span, firing.severity, firing.alert, where, f"{firing.value:.3g}", firing.summary]


def _caveats(story: Story) -> str:
    return (
        f"Verdict and break-even rest on an assumed verify inflation of {story.verify_inflation:g} and the draft cost "
        f"that the "
        "settings give each method.\nExpected speedup is of speculative steps alone; only a baseline under the same "
        "load measures the real one. Advice is a rule of thumb."
    )


def _clock(seconds: float) -> str:
    minutes, rest = divmod(round(seconds), 60)
    return f"{minutes:02d}:{rest:02d}"
