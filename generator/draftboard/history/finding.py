"""Changes of each model and their effects, from a Prometheus' records."""

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import pairwise

from draftboard.attribution import Explanation
from draftboard.attribution.counted import LEAST as FEWEST
from draftboard.catalogue.probe import named
from draftboard.durations import WEEK, Duration
from draftboard.errors import DraftboardError
from draftboard.expr.vector import Labels, dropped, kept, value_of
from draftboard.history import effects
from draftboard.history.explained import SIX_HOURS, explanations
from draftboard.history.result import Change, History, ModelHistory, Side
from draftboard.history.runs import NEEDED, Life, Load, Run, Window, lives, of_effects, of_setups
from draftboard.intervals import LEAST
from draftboard.output import Progress, no_progress
from draftboard.prometheus import Client
from draftboard.reading import Recorded
from draftboard.reading.apart import Apart, separated
from draftboard.reading.past import Past, of_model, other_models
from draftboard.settings import Settings
from draftboard.signals import Level, Scope
from draftboard.signals.events import restarts
from draftboard.signals.signal import within
from draftboard.signals.steps import pure_step_time_by_batch, step_time_by_batch

FORTNIGHT = Duration(14 * 86_400)
_LOOKS = 336  # Points of that time, where only the last change is wanted.
MOST_MODELS = 8
"""Models whose last change, or cause of a drop, a report looks up."""
_NOT_EXPORTED = (
    "Found here: changes of K, spec_method, variant and spec_verification, and speculation on or off. vLLM's version, "
    "drafter and other arguments only where its plugin runs, or the target label vllm_version names the release"
)


_STEADY = (
    f"No change to explain: its figures are steady, or fewer than {2 * FEWEST} windows in this range have decode steps "
    "(a longer --range has more)"
)


def of_past(
    source: Recorded, settings: Settings, *, at: float, explain: bool = False, progress: Progress = no_progress
) -> History:
    """The changes in the range before a time; with `explain` why figures changed, too, of six hours by default.

    Raises:
        DraftboardError: Prometheus does not answer, or has no records of vLLM servers in that range.
    """
    span, window = source.span or (SIX_HOURS if explain else FORTNIGHT), settings.rules.rate_window
    past = Past.before(at, span, window)
    if missing := _missing(settings):
        raise DraftboardError(f"history needs {missing}, which {settings.dialect.engine} does not export")
    since = at - span.seconds
    with Client(source.url, source.access) as client:
        queries = _Queries(client, settings, past, progress)
        models = queries.setups(source.model)
        service = Level.SERVICE.labels(settings)
        blended = {kept(one.model, service): one for one in separated(client, settings, at, source.model, since=since)}
        if not models:
            raise no_records(client, settings, source.model, span, at)
        changes, url = queries.changes([life for life in models if life.labels not in blended]), client.url
        why = explanations(client, settings, past, source.model, progress) if explain else None
    return History(
        source=url,
        since=since,
        until=at,
        window=window.seconds,
        models=tuple(
            _unknown(life, blended[life.labels], settings)
            if life.labels in blended
            else _because(_model(life, changes.get(life.labels, ()), settings, at), why, life.labels)
            for life in models
        ),
        notes=(_NOT_EXPORTED,),
    )


def no_records(client: Client, settings: Settings, model: str, span: Duration, at: float) -> DraftboardError:
    """That no rule recorded anything of a model, or of any."""
    if others := other_models(client, settings, model, span, at):
        return DraftboardError(f"{client.url}: no records of {model} in the last {span}{others}")
    of = f" of {model}" if model else ""
    return DraftboardError(
        f"{client.url}: no records{of} in the last {span}: load the rules that `draftboard build` writes, with the "
        "same settings (--config); `draftboard doctor --prometheus` reports what else is missing"
    )


def last_changes(client: Client, settings: Settings, model: str, at: float) -> Mapping[Labels, Change]:
    """The last change of each model in the week before a time, by labels of its service; empty without records.

    Queries setups at some hundred points, and figures of at most `MOST_MODELS` models.
    """
    if _missing(settings):
        return {}
    step, since = settings.rules.rate_window.seconds, at - WEEK.seconds
    queries = _Queries(client, settings, Past(since, at, step))
    looked = queries.setups(model, step=max(step, WEEK.seconds / _LOOKS))
    return {labels: changes[0] for labels, changes in queries.changes(looked, MOST_MODELS).items() if changes}


@dataclass(frozen=True)
class _Queries:
    """Queries: setups of all models first, then figures of the models whose setup changed, one after the other."""

    client: Client
    settings: Settings
    past: Past
    progress: Progress = no_progress

    def setups(self, model: str, step: float | None = None) -> list[Life]:
        """Setups of one model, or of all; `step` in seconds."""
        past = replace(self.past, step=step or self.past.step)
        scope = of_model(Scope(self.settings), model)
        return lives(past.read(self.client, scope, of_setups(self.settings), self.progress), self.settings)

    def changes(self, looked: Sequence[Life], most: int | None = None) -> Mapping[Labels, tuple[Change, ...]]:
        """Changes of the models that changed (at most `most`), the newest first."""
        name, wanted = self.settings.labels.model_name, of_effects(self.settings)
        names = sorted({value_of(life.labels, name) for life in looked if len(life.runs) > 1})[:most]
        changes: dict[Labels, tuple[Change, ...]] = {}
        for done, model in enumerate(names):
            self.progress(f"querying {model}", done, len(names))
            records = self.past.read(self.client, of_model(Scope(self.settings), model), wanted)
            for life in lives(records, self.settings):
                pairs = reversed(list(pairwise(life.runs)))
                changes[life.labels] = tuple(_change(*pair, life, self.settings) for pair in pairs)
        return changes


def _missing(settings: Settings) -> str:
    """Required signals that the servers' dialect does not export."""
    return " and ".join(within(one.title) for one in NEEDED if not one.record_name(Level.MODEL, settings))


def _model(life: Life, changes: tuple[Change, ...], settings: Settings, at: float) -> ModelHistory:
    name = settings.labels.model_name
    now = life.runs[-1] if life.runs else None
    return ModelHistory(
        model=value_of(life.labels, name),
        labels=dict(sorted(dropped(life.labels, (name,)))),
        now=now.setup if now else None,
        since=now.windows[0].at if now else None,
        last_seen=life.last_seen,
        changes=changes,
        notes=tuple(_notes(life, settings, at)),
    )


def _because(model: ModelHistory, why: Mapping[Labels, Explanation] | None, labels: Labels) -> ModelHistory:
    """With the explanation, where one is wanted; with a note where there is none."""
    if why is None:
        return model
    found = why.get(labels)
    return replace(model, explanation=found) if found else replace(model, notes=(*model.notes, _STEADY))


def _unknown(life: Life, blended: Apart, settings: Settings) -> ModelHistory:
    """Of servers that only together have a past."""
    fix = f"{blended.says}: their changes are not known; `draftboard doctor --prometheus` prints the fix"
    return replace(_model(life, (), settings, life.last_seen), now=None, since=None, notes=(fix,))


def _notes(life: Life, settings: Settings, at: float) -> Iterator[str]:
    window = settings.rules.rate_window.seconds
    rolled = [(before.windows[-1].at, after.windows[0].at) for before, after in pairwise(life.runs)]
    for ways, moments in life.several.items():
        if beside := sum(not any(begin < at < end for begin, end in rolled) for at in moments):
            served = f"Served in several ways at once for {Duration(beside * window)} ({'; '.join(ways)})"
            yield f"{served}: not counted as a change; the overview and `draftboard compare` compare them"
    if life.last_seen < at - settings.rules.remember.seconds:
        yield f"Not seen for the last {_rounded(at - life.last_seen)}"


def _change(before: Run, after: Run, life: Life, settings: Settings) -> Change:
    # Windows of rates next to a change may look over it.
    old = before.windows[before is not life.runs[0] : -1]
    new = after.windows[1 : None if after is life.runs[-1] else -1]
    timed_old, timed_new = _timed(old), _timed(new)
    loads, withheld = effects.like_loads(timed_old, timed_new), _too_little(timed_old, timed_new)
    at_rate = effects.of_any_batch(timed_old, timed_new, settings.thresholds.load)
    if not loads and (loads := effects.like_loads(*at_rate)):
        timed_old, timed_new = at_rate
    step = effects.step_signal(timed_old, timed_new, loads)

    def of(sums: effects.Sums) -> effects.Effect | None:
        return effects.effect(sums, timed_old, timed_new, loads)

    return Change(
        at=after.windows[0].at,
        seen_before=before.windows[-1].at,
        before=before.setup,
        after=after.setup,
        what=after.setup.differs(before.setup),
        earlier=_side(before, old, timed_old, loads, settings),
        later=_side(after, new, timed_new, loads, settings),
        loads=tuple(sorted({load.batch for load in loads if load.batch})),
        steps_of="pure decode steps" if step is pure_step_time_by_batch else "all steps",
        acceptance_length=of(effects.length) if before.setup.k and after.setup.k else None,
        step_latency=of(effects.latency_of(step)),
        decode_speed=of(effects.speed_of(step)),
        time_per_token=of(effects.time_per_token),
        withheld=None if loads else withheld,
        notes=tuple(_on(before, after, life, settings)),
    )


def _timed(windows: Sequence[Window]) -> list[Window]:
    return [one for one in windows if step_time_by_batch.name in one.figures and one.load]


def _side(run: Run, kept: Sequence[Window], timed: Sequence[Window], loads: Sequence[Load], settings: Settings) -> Side:
    window = settings.rules.rate_window.seconds
    like = [one for one in timed if one.load in loads]
    counts = [one.figures.get(restarts.name, 0.0) for one in kept]
    return Side(
        since=run.windows[0].at,
        until=run.windows[-1].at,
        windows=len(timed),
        like=len(like),
        steps=sum(map(effects.steps_of, like)) * window,
        drafts=sum(map(effects.drafts_of, like)) * window,
        # The record counts for as long as the rules remember a server.
        restarts=round(sum(max(0.0, after - before) for before, after in pairwise(counts))),
    )


def _too_little(before: Sequence[Window], after: Sequence[Window]) -> str:
    def sizes(side: Sequence[Window]) -> str:
        counts = Counter(one.load for one in side if one.load)
        found = (f"{load.batch} of {load.context} tokens ({counts[load]})" for load in sorted(counts))
        return ", ".join(found) or "none"

    needed = f"{LEAST} windows of one batch size and context on both sides"
    return f"not enough like load: {needed}; before {sizes(before)}, after {sizes(after)}"


def _on(before: Run, after: Run, life: Life, settings: Settings) -> Iterator[str]:
    window = settings.rules.rate_window.seconds
    begin, end = before.windows[-1].at, after.windows[0].at
    what = after.setup.differs(before.setup)
    if len(what) > 1:
        yield f"{' and '.join(map(named, what))} changed at once: their effects cannot be separated"
    if unsettled := sum(begin < at < end for at in life.unsettled):
        yield (
            f"Left out: {Duration(unsettled * window)} in which engines differed or two ways to draft served at once, "
            "as while a change rolls out"
        )
    if end - begin - unsettled * window > settings.rules.remember.seconds:
        yield f"No records for {_rounded(end - begin - unsettled * window)} in between: the change is within that time"
    lasted = after.windows[-1].at - end + window
    if after is not life.runs[-1] and lasted < (LEAST + 2) * window:
        yield f"Another change followed within {_rounded(lasted)}"


def _rounded(seconds: float) -> Duration:
    return Duration(round(seconds / 60) * 60)
