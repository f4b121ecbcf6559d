"""Why a model's figures changed most in a range: what its engines counted in each window, from raw series."""

import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import replace

from draftboard.attribution import Counted, Explanation, Moment, shift
from draftboard.attribution.causes import VERIFICATION
from draftboard.attribution.counted import LEAST, by_position
from draftboard.attribution.explaining import explain
from draftboard.catalogue import latency, lens, probe, serving
from draftboard.catalogue.probe import named
from draftboard.durations import Duration
from draftboard.expr.nodes import Expr, Function, Raw, over_level, rate
from draftboard.expr.reads import exists
from draftboard.expr.vector import Labels, kept, value_of
from draftboard.history.runs import RUNS, of_runs
from draftboard.output import Progress, no_progress
from draftboard.prometheus import Client
from draftboard.reading.past import Past, of_model
from draftboard.settings import Settings
from draftboard.signals import Edition, Level, Scope, traffic
from draftboard.signals.classes import ONE
from draftboard.signals.drafting import draft_tokens_per_pos

SIX_HOURS = Duration(6 * 3600)
"""What is looked through where no range is given: enough windows, and no daily pattern."""
_TWO_WINDOWS = 2
_AMOUNTS: Mapping[str, Expr] = {
    "drafts": traffic.drafts,
    "draft_tokens": traffic.draft_tokens,
    "accepted": traffic.accepted_tokens_per_pos,
    "drafted": draft_tokens_per_pos,
    "steps": traffic.decode_steps,
    "seconds": rate(latency.STEP_LATENCY.sum),
    "computed": rate(serving.PROMPT_TOKENS_BY_SOURCE, ()).where("source", "local_compute"),
    "begun": traffic.first_tokens,
    "iterations": rate(latency.STEP_TOKENS.count),
}
"""By field of `Counted`."""
_DRAFTS, _TOKENS, _ACCEPTED = (metric.name for metric in (lens.DRAFTS, lens.DRAFT_TOKENS, lens.ACCEPTED_TOKENS))
_CLASSES: Mapping[str, Expr] = {
    metric.name: rate(metric) for metric in (lens.DRAFTS, lens.DRAFT_TOKENS, lens.ACCEPTED_TOKENS)
}
_RESTARTS = "restarts"
_POSITION = re.compile("[0-9]{1,4}")
"""As vLLM writes it."""


def explanations(
    client: Client, settings: Settings, past: Past, model: str = "", progress: Progress = no_progress
) -> Mapping[Labels, Explanation]:
    """Of each model whose figures changed, by the labels of its service; of one, if it is named."""
    moments = _Moments(settings, past.step)
    for scope, expressions in queried(settings, past.step):
        for one in past.read(client, of_model(scope, model), expressions, progress):
            moments.add(one.name, one.labels, one.at, one.value)
    found = ((labels, _explained(_seen(several, settings))) for labels, several in moments.by_model())
    return {labels: explanation for labels, explanation in found if explanation}


def queried(settings: Settings, seconds: float) -> Iterator[tuple[Scope, Mapping[str, Expr]]]:
    """What is read, of engines and of models, in windows of so many seconds."""
    resets = Function("resets", Raw(serving.GENERATION_TOKENS, Duration(int(_TWO_WINDOWS * seconds))))
    engines, models = (Scope(settings, level, Edition.ONCE) for level in (Level.ENGINE, Level.MODEL))
    of_engines = {**_AMOUNTS, _RESTARTS: over_level("max", resets)}
    for scope, expressions in ((engines, of_engines), (models, {**_CLASSES, RUNS: of_runs})):
        yield scope, {name: one for name, one in expressions.items() if exists(one, scope)}


def _explained(moments: Sequence[Moment]) -> Explanation | None:
    """The clearest change; windows beside it may look over it, and are left out where enough are left."""
    split = shift(moments)
    if split is None:
        return None
    around = moments[max(0, split - _TWO_WINDOWS) : split + _TWO_WINDOWS]
    before, after = moments[:split], moments[split:]
    before = before[:-1] if len(before) > LEAST else before
    after = after[1:] if len(after) > LEAST else after
    restarted = frozenset[str]().union(*(moment.restarted for moment in around))
    return explain(before, [replace(after[0], restarted=restarted), *after[1:]])


class _Moments:
    """What was counted in each window, by service and way to draft."""

    def __init__(self, settings: Settings, seconds: float) -> None:
        self._settings, self._seconds = settings, seconds
        self._amounts: dict[tuple[Labels, float], dict[str, dict[str, list[tuple[int, float]]]]] = {}
        self._classes: dict[tuple[Labels, float], dict[tuple[str, str], dict[str, float]]] = {}
        self._facts: dict[tuple[Labels, float], dict[str, set[str]]] = {}

    def add(self, name: str, labels: Labels, at: float, value: float) -> None:
        """One value of an expression."""
        names = self._settings.labels
        key = kept(labels, names.model_level), at
        if name == RUNS:
            facts = self._facts.setdefault(key, {})
            for label, text in labels:
                if label in probe.RUNS:
                    facts.setdefault(named(label), set()).add(text)
        elif name in _CLASSES:
            of = value_of(labels, "dimension"), value_of(labels, "class")
            self._classes.setdefault(key, {}).setdefault(of, {})[name] = value * self._seconds
        else:
            engine = f"engine {value_of(labels, names.engine)} of {value_of(labels, names.instance)}"
            amounts = self._amounts.setdefault(key, {}).setdefault(engine, {})
            place = value_of(labels, "position")
            if place and not _POSITION.fullmatch(place):
                return
            counted = value if name == _RESTARTS else value * self._seconds
            amounts.setdefault(name, []).append((int(place or 0), counted))

    def by_model(self) -> Iterator[tuple[Labels, list[Moment]]]:
        """The windows of each service in order; of ways to draft that serve side by side, each by itself."""
        service = Level.SERVICE.labels(self._settings)
        ways: dict[Labels, dict[Labels, dict[float, Moment]]] = {}
        for model, at in sorted(self._amounts, key=lambda key: (key[1], sorted(key[0]))):
            moment = self._moment(model, at)
            if moment.whole.steps:
                ways.setdefault(kept(model, service), {}).setdefault(model, {})[at] = moment
        for of_service, by_way in ways.items():
            times = [at for moments in by_way.values() for at in moments]
            if len(times) - len(set(times)) > LEAST:
                yield from ((way, list(moments.values())) for way, moments in by_way.items())
                continue
            # The last to come at a time is what a change leads to.
            together = {at: moment for moments in by_way.values() for at, moment in moments.items()}
            yield of_service, [together[at] for at in sorted(together)]

    def _moment(self, model: Labels, at: float) -> Moment:
        names, key = self._settings.labels, (model, at)
        engines = {name: _counted(amounts) for name, amounts in self._amounts[key].items()}
        found = self._facts.get(key, {})
        facts = {name: " and ".join(sorted(found[name])) for name in map(named, probe.RUNS) if name in found}
        positions = max((len(one.accepted) for one in engines.values()), default=0)
        way = value_of(model, names.spec_verification)
        own = {
            VERIFICATION: way if way in self._settings.methods.adaptive else "",
            "K": str(positions),
            "method": value_of(model, names.spec_method),
            "variant": value_of(model, names.variant),
        }
        return Moment(
            at=at,
            engines=engines,
            classes={
                of: (amounts.get(_DRAFTS, 0.0), amounts.get(_TOKENS, 0.0), amounts.get(_ACCEPTED, 0.0))
                for of, amounts in self._classes.get(key, {}).items()
            },
            facts={**{name: text for name, text in own.items() if text and text != "0"}, **facts},
            restarted=frozenset(
                name for name, amounts in self._amounts[key].items() if any(n for _, n in amounts.get(_RESTARTS, ()))
            ),
        )


def _counted(amounts: Mapping[str, Iterable[tuple[int, float]]]) -> Counted:
    positions = {name: by_position(amounts.get(name, ())) for name in ("accepted", "drafted")}
    sums = {name: sum(value for _, value in amounts.get(name, ())) for name in _AMOUNTS if name not in positions}
    return Counted(**positions, **sums)  # type: ignore[arg-type]


def _seen(moments: list[Moment], settings: Settings) -> list[Moment]:
    """Without classes where the lens sees too little of what is drafted."""
    counted = sum(tokens for one in moments for (by, _), (_, tokens, _) in one.classes.items() if by == ONE)
    if counted >= settings.thresholds.lens_coverage * sum(one.whole.draft_tokens for one in moments):
        return moments
    return [replace(one, classes={}) for one in moments]
