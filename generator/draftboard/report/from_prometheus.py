"""A report of a Prometheus: what its records say, or its raw series where rules are not loaded."""

from collections.abc import Callable
from dataclasses import dataclass
from time import time

from draftboard.errors import DraftboardError
from draftboard.expr.scope import Level
from draftboard.expr.vector import Labels, Vector, dropped, value_of
from draftboard.prometheus import Client
from draftboard.reading.counted import Numbers, Reader
from draftboard.reading.sources import Recorded
from draftboard.report.asked import Question
from draftboard.report.entries import engine_report, model_report
from draftboard.report.judge import Case, missing_positions
from draftboard.report.objects import SCHEMA_VERSION, Broken, EngineReport, ModelReport, Origin, Report
from draftboard.settings import Settings
from draftboard.signals.comparison import acceptance_change
from draftboard.signals.decisions import state
from draftboard.signals.integrity import IDENTITIES
from draftboard.signals.traffic import drafts, generation_tokens

_OVERLAP = (
    f"{acceptance_change.title} is not known: it compares with {{before}} ago, and {{span}} then and {{span}} now "
    "overlap. Ask over a shorter --range."
)
_UNKNOWN = "the counters contradict each other, in a way that the record does not name"


def of_prometheus(
    source: Recorded, settings: Settings, method: str, *, engines: bool, progress: Callable[[str, int, int], None]
) -> Report:
    """Every model that Prometheus knows of, or the one that is asked for.

    Raises:
        DraftboardError: it does not answer, or knows of none.
    """
    at = time() if source.at is None else source.at
    with Client(source.url, source.access) as client:
        span = source.span or settings.rules.rate_window
        question = Question(client, settings, span, at, source.model, method).of_last_evaluation()
        counts = question.ask((Level.MODEL, Level.ENGINE) if engines else (Level.MODEL,), progress)
        models = Reader(counts, Level.MODEL)
        by_engine = Reader(counts, Level.ENGINE) if engines else None
        answer = _Answer(settings, span.seconds, models, by_engine, question.broken())
        url = client.url
    keys = models.keys(state, drafts, generation_tokens)
    if not keys:
        of = f" of {source.model}" if source.model else ""
        raise DraftboardError(
            f"{url}: no vLLM series{of} in the last {span}: is a vLLM server scraped, and twice in that time?"
        )
    return Report(
        schema_version=SCHEMA_VERSION,
        origin=Origin.PROMETHEUS,
        sources=(url,),
        taken_at=question.at,
        seconds=span.seconds,
        models=tuple(answer.model(key) for key in keys),
        notes=() if question.compares else (_OVERLAP.format(span=span, before=settings.rules.compare_with),),
    )


@dataclass(frozen=True)
class _Answer:
    """What Prometheus said, and what it is judged by."""

    settings: Settings
    seconds: float
    models: Reader
    by_engine: Reader | None
    broken: Vector

    def model(self, key: Labels) -> ModelReport:
        """The entry of a model."""
        names, labels = self.settings.labels, dict(key)
        method, model = labels.pop(names.spec_method, ""), labels.pop(names.model_name, "")
        case = self._case(self.models.of(key), "its engines together")
        engines = self._engines(case.numbers, self.by_engine) if self.by_engine else ()
        return model_report(case, model, method, labels=labels, engines=engines)

    def _engines(self, model: Numbers, engines: Reader) -> tuple[EngineReport, ...]:
        names = self.settings.labels
        return tuple(
            engine_report(
                self._case(engines.of(key), self._place(key)),
                model,
                value_of(key, names.engine),
                value_of(key, names.instance),
            )
            for key in engines.keys(state, drafts, generation_tokens)
            if self._model_of(key) == model.labels
        )

    def _case(self, numbers: Numbers, name: str) -> Case:
        broken = (*missing_positions(numbers, name), *self._broken(numbers.labels))
        return Case(numbers, self.seconds, broken)

    def _broken(self, key: Labels) -> tuple[Broken, ...]:
        """Of an engine, or of all engines of a model."""
        found = []
        for labels, error in sorted(self.broken.items(), key=lambda pair: sorted(pair[0])):
            engine, name = dropped(labels, ("identity",)), value_of(labels, "identity")
            if key in {engine, self._model_of(engine)}:
                says = IDENTITIES.get(name, _UNKNOWN)
                found.append(Broken(identity=name, says=says, error=error, engine=self._place(engine)))
        return tuple(found)

    def _model_of(self, engine: Labels) -> Labels:
        return dropped(engine, (self.settings.labels.instance, self.settings.labels.engine))

    def _place(self, engine: Labels) -> str:
        names = self.settings.labels
        return f"engine {value_of(engine, names.engine)} of {value_of(engine, names.instance)}"
