"""A report of a Prometheus: every base signal from raw series, over one window that ends at one moment.

Ratios, verdict and advice are computed from the answers. Records are not read, but for the uncertainty of the measured
speedup where parts of the window are too few to tell it, for the step cost, which needs days of a baseline, and for
health, which needs alerts and the past: each group of rules is evaluated at a time of its own, and counts would stand
beside steps of another.
"""

import time
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, replace
from functools import cached_property

from draftboard.attribution import Explanation
from draftboard.durations import Duration
from draftboard.errors import DraftboardError
from draftboard.expr.vector import Labels, Vector, dropped, kept, value_of
from draftboard.history import Change
from draftboard.history.explained import SIX_HOURS, explanations
from draftboard.history.finding import MOST_MODELS
from draftboard.output import Progress
from draftboard.prometheus import Client
from draftboard.reading import Numbers, Reader, Recorded
from draftboard.reading.apart import kept_apart, plain_among, separated
from draftboard.reading.past import Past, other_models
from draftboard.report.classes import classes_of
from draftboard.report.judge import engine_report, missing_of_dialect, missing_positions, model_report
from draftboard.report.lensed import Lensed
from draftboard.report.objects import SCHEMA_VERSION, Broken, EngineReport, ModelReport, Origin, Report
from draftboard.report.own import Stretch
from draftboard.report.queries import Queries
from draftboard.report.scatter import Parts, sides, why_not
from draftboard.report.standardised import standardised
from draftboard.report.verdict import Case
from draftboard.settings import Settings
from draftboard.signals import Level, traffic
from draftboard.signals.alike import objection
from draftboard.signals.comparison import acceptance_change
from draftboard.signals.drafting import configured_k, lowest_k
from draftboard.signals.integrity import IDENTITIES
from draftboard.signals.states import state
from draftboard.signals.users import measured_speedup, speedup_low

_KEYS = (state, traffic.drafts, traffic.generation_tokens)
_WITH_POSITIONS = (lowest_k, configured_k)
"""What every server that counts accepted tokens by position has."""
_OVERLAP = (
    f"{acceptance_change.title} is not known: it compares with {{before}} ago, and {{span}} then and {{span}} now "
    "overlap. Ask over a shorter --range."
)
_NO_INTERVAL = f"{measured_speedup.title} has no 95 % interval: {{}}"
_UNEXPLAINED = "Why acceptance dropped is not known: {}"
_YOUNG = (
    "Its series began {age:,.0f} s ago, and rates are means over {span}, as those of records: the load since then was "
    "{times:.1f} times as high"
)
_APART = (
    "No record keeps the target labels that separate servers of one model ({}): they are reported apart here, while "
    "rules and dashboards add them up. `draftboard doctor --prometheus` prints the fix."
)
_SPELLED = (
    "The target label {} is, or was within {}, written in several ways for {}: what each way counted is reported "
    "apart. Write one in the scrape job"
)
_UNKNOWN = "the counters contradict each other, in a way that the record does not name"


def of_prometheus(source: Recorded, settings: Settings, method: str, *, engines: bool, progress: Progress) -> Report:
    """Every model that Prometheus knows of, or the one that is asked for."""
    # By default of a moment whose scrapes have all arrived: one that arrives between two queries would part them.
    at = time.time() - settings.rules.scrape_interval.seconds if source.at is None else source.at
    with Client(source.url, source.access) as client:
        span = source.span or settings.rules.rate_window
        blended = separated(client, settings, at, source.model)
        settings = kept_apart(settings, (one.label for one in blended))
        queries = Queries(client, settings, span, at, source.model, method)
        parts = queries.parts()
        counts = queries.ask((Level.MODEL, Level.ENGINE) if engines else (Level.MODEL,), parts, progress)
        models, by_engine = Reader(counts, Level.MODEL), Reader(counts, Level.ENGINE) if engines else None
        for reader in (models, by_engine) if by_engine else (models,):
            _check(reader, queries)
        changes, unread = queries.changes()
        plain = plain_among(client, settings, at, since=at - span.seconds)
        answer = _Answer(
            *(settings, span.seconds, models, by_engine, queries.broken(), parts, changes),
            lived=queries.lived(),
            steps=queries.steps(),
            lensed=queries.lensed(),
            plain=plain,
            still_plain=plain_among(client, settings, at) if plain else {},
        )
        url, spelled_apart = client.url, tuple(_spelled(queries))
        keys = models.keys(*_KEYS)
        if not keys:
            if others := other_models(client, settings, source.model, span, at):
                raise DraftboardError(f"{url}: no series of {source.model} in the last {span}{others}")
            of, dialect = f" of {source.model}" if source.model else "", settings.dialect
            raise DraftboardError(
                f"{url}: no {dialect.engine} series{of} in the last {span}: is a server scraped, and twice in that "
                f"time? Looked for {dialect.prefixes[0]}...; settings, [series] dialect = "
                f'"{dialect.name}", choose other names'
            )
        reports = {key: answer.model(key) for key in keys}
        why, unexplained = explained(queries, ((one.model, one.acceptance_change) for one in reports.values()))
    return Report(
        schema_version=SCHEMA_VERSION,
        origin=Origin.PROMETHEUS,
        sources=(url,),
        taken_at=queries.at,
        seconds=span.seconds,
        models=tuple(
            replace(one, explanation=why.get(kept(key, Level.SERVICE.labels(settings)), why.get(key)))
            for key, one in reports.items()
        ),
        dialect=settings.dialect.name,
        notes=(
            *missing_of_dialect(settings.dialect),
            *(() if queries.compares else (_OVERLAP.format(span=span, before=settings.rules.compare_with),)),
            *unread,
            *unexplained,
            *spelled_apart,
            *(_APART.format(", ".join(sorted({one.label for one in blended}))) for _ in blended[:1]),
        ),
    )


def _check(reader: Reader, queries: Queries) -> None:
    """DraftboardError for a server that answers one query and not another, which the same series answer."""
    positions = traffic.accepted_tokens_per_pos
    for key in reader.keys(positions):
        for signal in (signal for signal in _WITH_POSITIONS if reader.of(key).value(signal) is None):
            of = value_of(key, reader.counts.settings.labels.model_name) or "a model without a name"
            pace = queries.settings.rules.evaluation_interval
            raise DraftboardError(
                f"{queries.client.url}: too few samples of {of} yet: its first scrapes are not {pace} old. Repeat then"
                if queries.begins(positions, pace)
                else f"{queries.client.url}: no answer to {signal.title!r} of {of}, but to {positions.title!r}, which "
                "the same series give: is that a Prometheus, and does a proxy before it drop answers?"
            )


def explained(
    queries: Queries, changes: Iterable[tuple[str, float | None]]
) -> tuple[Mapping[Labels, Explanation], tuple[str, ...]]:
    """Why figures changed in the last hours, of models whose acceptance dropped; what cannot be read is a note.

    `changes`: names of models, and their acceptance / that of `rules.compare_with` ago. By the labels of a service or
    of a way to draft.
    """
    settings, found = queries.settings, dict[Labels, Explanation]()
    dropped = {model for model, change in changes if change is not None and change < settings.thresholds.drop}
    past = Past.before(queries.at, SIX_HOURS, settings.rules.rate_window)
    try:
        for model in sorted(dropped)[:MOST_MODELS]:
            found |= explanations(queries.client, settings, past, model)
    except DraftboardError as error:
        return found, (_UNEXPLAINED.format(error),)
    return found, ()


def _spelled(queries: Queries) -> Iterator[str]:
    """A note on labels that name one method in several ways."""
    names = queries.settings.labels
    if models := sorted({value_of(labels, names.model_name) for labels in queries.several_spellings}):
        yield _SPELLED.format(names.spec_method, queries.looks_back, ", ".join(models))


def _led_to(change: Change, key: Labels, settings: Settings) -> bool:
    """Whether a change ended in this way to draft; `--method` may name what no label does."""
    names, after = settings.labels, change.after
    return after.method in {None, value_of(key, names.spec_method)} and (after.variant or "") == value_of(
        key, names.variant
    )


@dataclass(frozen=True)
class _Answer:
    settings: Settings
    seconds: float
    models: Reader
    engines: Reader | None
    broken: Vector
    parts: Parts
    changes: Mapping[Labels, Change]
    lived: Mapping[Labels, float]
    steps: Mapping[Labels, tuple[Stretch, ...]]
    lensed: Lensed
    plain: Mapping[Labels, tuple[str, ...]]
    still_plain: Mapping[Labels, tuple[str, ...]]

    def model(self, key: Labels) -> ModelReport:
        """The entry of a model."""
        names, labels = self.settings.labels, dict(key)
        method, model = labels.pop(names.spec_method, ""), labels.pop(names.model_name, "")
        baselines = self._baselines.get(kept(key, (*names.scope, names.model_name)), ())
        case = self._case(self.models.of(key), "its engines together")
        measured = case.numbers.value(measured_speedup) is not None
        both = sides(self.parts, key, self.settings) if measured or case.numbers.value(objection) else ((), ())
        case = replace(
            case,
            baselines=baselines,
            standardised=standardised(*both, self.settings),
            steps=self.steps.get(key, ()),
            plain=self.still_plain.get(key) or self.plain.get(key, ()),
            plain_has_left=key not in self.still_plain,
        )
        engines = tuple(self._engines(case.numbers, self.engines)) if self.engines else ()
        own = self.parts.get(key, ())
        notes: tuple[str, ...] = (
            (_NO_INTERVAL.format(why_not(self.parts, key, self.settings)),)
            if measured and case.numbers.value(speedup_low) is None
            else ()
        )
        if age := self.lived.get(key):
            span = Duration(round(self.seconds))
            notes += (_YOUNG.format(age=age, span=span, times=self.seconds / age),)
        if (unjudged := self.lensed.unjudged.get(key)) and case.numbers.value(traffic.drafts):
            notes += (unjudged,)
        change = self.changes.get(kept(key, Level.SERVICE.labels(self.settings)))
        result = model_report(case, model, method, labels=labels, engines=engines, parts=own, notes=notes)
        return replace(
            result,
            last_change=change if change and _led_to(change, key, self.settings) else None,
            classes=classes_of(*self.lensed.classes.get(key, ({}, {}, {})), result.speculation),
        )

    @cached_property
    def _baselines(self) -> dict[Labels, tuple[Numbers, ...]]:
        """The numbers of servers without speculation, by model."""
        names, found = self.settings.labels, dict[Labels, tuple[Numbers, ...]]()
        for key in self.models.keys(traffic.generation_tokens):
            if value_of(key, names.spec_method) == self.settings.methods.baseline:
                model = kept(key, (*names.scope, names.model_name))
                found[model] = (*found.get(model, ()), self.models.of(key))
        return found

    def _engines(self, model: Numbers, engines: Reader) -> Iterator[EngineReport]:
        names = self.settings.labels
        for key in self._keys_of_engines.get(model.labels, ()):
            case = self._case(engines.of(key), self._place(key))
            yield engine_report(case, model, value_of(key, names.engine), value_of(key, names.instance))

    @cached_property
    def _keys_of_engines(self) -> dict[Labels, list[Labels]]:
        """By model, so that a fleet of many models is gone through once."""
        result: dict[Labels, list[Labels]] = {}
        for key in self.engines.keys(*_KEYS) if self.engines else ():
            result.setdefault(self._model_of(key), []).append(key)
        return result

    def _case(self, numbers: Numbers, name: str) -> Case:
        """With the identities that an engine, or any engine of a model, breaks."""
        broken = [*missing_positions(numbers, name)]
        for labels in sorted(self.broken, key=sorted):
            engine, identity = dropped(labels, ("identity",)), value_of(labels, "identity")
            if numbers.labels in {engine, self._model_of(engine)}:
                says = IDENTITIES.get(identity, _UNKNOWN)
                broken.append(
                    Broken(identity=identity, says=says, error=self.broken[labels], engine=self._place(engine))
                )
        return Case(numbers, self.seconds, tuple(broken))

    def _model_of(self, engine: Labels) -> Labels:
        return dropped(engine, (self.settings.labels.instance, self.settings.labels.engine))

    def _place(self, engine: Labels) -> str:
        names = self.settings.labels
        return f"engine {value_of(engine, names.engine)} of {value_of(engine, names.instance)}"
