"""A history as a document: what each change did, from how many windows, and what limits that."""

from collections.abc import Iterator, Mapping

from draftboard.attribution import Explanation
from draftboard.durations import Duration, minute
from draftboard.history.result import Change, Effect, History, Side
from draftboard.output import Block, Bullets, Document, Heading, Note, Sentence, Table, Text, columns
from draftboard.signals.acceptance import acceptance_length
from draftboard.signals.latency import per_token
from draftboard.signals.signal import Signal, worded
from draftboard.signals.steps import pure_step_time_by_batch, step_time_by_batch
from draftboard.status import Status

_SPEED = "Decode speed of a request, tokens/s"
_ANY_BATCH = "Batches of all sizes: at an equal request rate sooner answers make them smaller"

_READ = (
    "At like load: in batches of as many running requests per engine, to a power of two, with contexts as long, to a "
    "power of four; each load is weighted by its decode steps after the change. 95 % intervals use the scatter between "
    "windows and do not cover other prompts or lengths. Windows next to a change are excluded."
)

_PARTS = (
    "Parts add up to the change: each is the mean, over all orders, of what it adds when it changes. Standard errors "
    "are of the scatter between {before} + {after} windows. A cause at the time of a change may be a coincidence."
)


def document(history: History) -> Document:
    """The history as a document."""
    return Document.of(_blocks(history))


def _blocks(history: History) -> Iterator[Block]:
    span = f"{minute(history.since)} to {minute(history.until)}"
    opening = f"{history.source}, {span}, windows of {Duration(int(history.window))}"
    yield Sentence(opening, Status.QUIET)
    for model in history.models:
        count = len(model.changes)
        yield Heading(
            named(model.model, model.labels),
            Text(f"{count} change{'s' if count != 1 else ''}" if count else "no change"),
        )
        if model.now and model.since:
            yield Sentence(
                f"Last seen with: {model.now}, {'since' if count else 'in all records, from'} {minute(model.since)}"
            )
        yield Bullets(model.notes, Status.WARN)
        yield from _explanation(model.explanation)
        for change in model.changes:
            yield from _change(change)
    yield from map(Note, history.notes)
    if any(change.loads for model in history.models for change in model.changes):
        yield Note(_READ)


def _explanation(why: Explanation | None) -> Iterator[Block]:
    """Why figures changed: a sentence for each that did, and the parts that add up to its change."""
    if why is None:
        return
    changed = [figure for figure in why.figures if figure.changed]
    when = f"Between {minute(why.seen_before)} and {minute(why.at)}"
    yield Heading(f"{when}, why did it change?", Text(", ".join(why.causes) or "no clear change"))
    for figure in changed:
        yield Sentence(f"{figure}.")
        rows = [(part.cause, part.detail, f"{part.amount:+.3f}", _error(part.error)) for part in figure.parts]
        rows.append(("together", "", f"{figure.after - figure.before:+.3f}", _error(figure.error)))
        yield Table(columns(figure.title, "", numbers=("Adds", "Standard error")), tuple(rows))
    if changed:
        before, after = why.windows
        yield Note(_PARTS.format(before=before, after=after))


def _error(error: float | None) -> str:
    return "unknown" if error is None else f"{error:.3f}"


def _change(change: Change) -> Iterator[Block]:
    yield Heading(f"{minute(change.at)}: {change.before.changes_to(change.after)}", Text(*_judged(change)))
    yield Bullets(change.notes, Status.WARN)
    if change.withheld:
        yield Sentence(f"{change.withheld[0].upper()}{change.withheld[1:]}.")
        return
    of_steps = pure_step_time_by_batch if change.steps_of == "pure decode steps" else step_time_by_batch
    latency = "Pure decode step" if of_steps is pure_step_time_by_batch else "Step latency"
    rows = [
        _row(acceptance_length.title, acceptance_length, change.acceptance_length),
        _row(latency, of_steps, change.step_latency),
        _row(_SPEED, None, change.decode_speed),
        _row(per_token.mean.title, per_token.mean, change.time_per_token),
    ]
    yield Table(
        columns(f"At {change.compared_at}", numbers=("Before", "After", "Change (95 %)")), tuple(filter(None, rows))
    )
    sides = (f"{name}: {_sample(side)}" for name, side in (("Before", change.earlier), ("After", change.later)))
    batches = f"Batches of {', '.join(map(str, change.loads))}" if change.loads else _ANY_BATCH
    yield Bullets((batches, *sides), Status.QUIET)


def _row(title: str, signal: Signal | None, effect: Effect | None) -> tuple[str, ...]:
    if effect is None:
        return ()
    ends = (f"{value:.1f}" if signal is None else worded(signal, value) for value in (effect.before, effect.after))
    return (title, *ends, _percent(effect))


def _percent(effect: Effect) -> str:
    change = f"{effect.ratio - 1:+.1%}"
    return (
        change
        if effect.low is None or effect.high is None
        else f"{change} ({effect.low - 1:+.1%} to {effect.high - 1:+.1%})"
    )


def _judged(change: Change) -> tuple[str, Status]:
    """The effect on decode speed: about even where the interval contains 1."""
    speed = change.decode_speed
    if speed is None:
        return "effect unknown", Status.NEUTRAL
    if speed.low is None or speed.high is None:
        return f"speedup {speed.ratio:.2f}, no interval", Status.NEUTRAL
    speedup = f"speedup {speed.ratio:.2f} ({speed.low:.2f} to {speed.high:.2f})"
    if speed.low <= 1 <= speed.high:
        return f"about even: {speedup}", Status.WARN
    return (f"faster: {speedup}", Status.GOOD) if speed.low > 1 else (f"slower: {speedup}", Status.BAD)


def _sample(side: Side) -> str:
    parts = [f"{side.like} windows", f"{side.steps:,.0f} decode steps", f"{side.drafts:,.0f} drafts"]
    parts += [f"{left} windows without like load left out"] if (left := side.windows - side.like) else []
    parts += [f"restarts: {side.restarts}"] if side.restarts else []
    return ", ".join(parts)


def quoted(change: Change) -> str:
    """The change in one line, for the report."""
    opening = f"Last change {minute(change.at)}: {change.before.changes_to(change.after)}"
    if change.withheld:
        return f"{opening}; its effect is unknown: {change.withheld}"
    windows = f"{change.earlier.like} + {change.later.like} windows"
    return f"{opening}, {_judged(change)[0]} at {change.compared_at} ({windows})"


def named(model: str, labels: Mapping[str, str]) -> str:
    """A model by its name and the further labels of its records."""
    further = ", ".join(f"{name}={text}" for name, text in labels.items())
    return (model or "a server without a model name") + (f" ({further})" if further else "")
