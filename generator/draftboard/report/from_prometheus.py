"""A report of a Prometheus: what its records say, or its raw series where rules are not loaded."""

from collections.abc import Callable
from dataclasses import dataclass
from operator import eq
from time import time

from draftboard.errors import DraftboardError
from draftboard.prometheus import Client
from draftboard.reading.sources import Recorded
from draftboard.report.asked import Asked, Key, Question
from draftboard.report.entries import engine_report, model_report
from draftboard.report.judge import Judgement, judge, missing_positions
from draftboard.report.objects import SCHEMA_VERSION, Broken, EngineReport, ModelReport, Origin, Report, Sample
from draftboard.settings import Settings
from draftboard.signals import Level
from draftboard.signals.comparison import acceptance_change
from draftboard.signals.integrity import IDENTITIES
from draftboard.signals.users import measured_speedup

_OVERLAP = (
    f"{acceptance_change.title} is not told: it compares with {{before}} ago, and {{span}} then and {{span}} now "
    "overlap. Ask over a shorter --range."
)
_UNKNOWN = "the counters contradict each other, in a way that the record does not name"


def of_prometheus(
    source: Recorded,
    settings: Settings,
    method: str,
    *,
    engines: bool,
    progress: Callable[[str, int, int], None],
) -> Report:
    """Every model that Prometheus knows of, or the one that is asked for.

    Raises:
        DraftboardError: it does not answer, or knows of none.
    """
    at = time() if source.at is None else source.at
    with Client(source.url, source.access) as client:
        span = source.span or settings.rules.rate_window
        question = Question(client, settings, span, at, source.model).of_last_evaluation()
        models = question.ask(Level.MODEL, progress)
        by_engine = question.ask(Level.ENGINE, progress) if engines else None
        answer = _Answer(settings, method, models, by_engine, question.broken())
        url = client.url
    if not models.keys:
        of = f" of {source.model}" if source.model else ""
        raise DraftboardError(
            f"{url}: no vLLM series{of} in the last {span}: is a vLLM server scraped, and twice in that time?"
        )
    return Report(
        schema_version=SCHEMA_VERSION,
        origin=Origin.PROMETHEUS,
        sources=(url,),
        taken_at=question.at,
        seconds=models.seconds,
        models=tuple(answer.model(key) for key in models.keys),
        notes=() if question.compares else (_OVERLAP.format(span=span, before=settings.rules.compare_with),),
    )


@dataclass(frozen=True)
class _Answer:
    """What Prometheus said, and what it is judged by."""

    settings: Settings
    method: str
    """Where no label says it."""
    models: Asked
    by_engine: Asked | None
    broken: list[tuple[Key, str, float]]

    def model(self, key: Key) -> ModelReport:
        """The entry of a model."""
        names, labels = self.settings.labels, dict(key)
        method = labels.pop(names.spec_method, "") or self.method
        model = labels.pop(names.model_name, "")
        change = self.models.value(acceptance_change, key)
        sums, measured = self.models.totals(key), self.models.value(measured_speedup, key)
        broken = (*missing_positions(sums, "its engines together"), *self._broken(key, self._belongs))
        judgement = judge(
            sums,
            self.models.seconds,
            method,
            self.settings,
            change=change,
            state=self.models.state(key),
            broken=broken,
            measured=measured,
        )
        return model_report(
            judgement,
            model,
            method,
            settings=self.settings,
            labels=labels,
            acceptance_change=change,
            measured_speedup=measured,
            broken=broken,
            engines=self._engines(key, method, judgement.sample, self.by_engine) if self.by_engine else (),
        )

    def _engines(self, key: Key, method: str, model: Sample | None, asked: Asked) -> tuple[EngineReport, ...]:
        names = self.settings.labels
        return tuple(
            engine_report(
                self._engine(engine, method, asked),
                dict(engine).get(names.engine, ""),
                dict(engine).get(names.instance, ""),
                model,
            )
            for engine in asked.keys
            if self._belongs(engine, key)
        )

    def _engine(self, engine: Key, method: str, asked: Asked) -> Judgement:
        sums = asked.totals(engine)
        broken = (*missing_positions(sums, self._place(engine)), *self._broken(engine, eq))
        return judge(sums, asked.seconds, method, self.settings, state=asked.state(engine), broken=broken)

    def _broken(self, key: Key, is_of: Callable[[Key, Key], bool]) -> tuple[Broken, ...]:
        return tuple(
            Broken(identity=name, says=IDENTITIES.get(name, _UNKNOWN), error=error, engine=self._place(engine))
            for engine, name, error in self.broken
            if is_of(engine, key)
        )

    def _belongs(self, engine: Key, model: Key) -> bool:
        own = {self.settings.labels.instance, self.settings.labels.engine}
        return tuple((name, text) for name, text in engine if name not in own) == model

    def _place(self, engine: Key) -> str:
        names, labels = self.settings.labels, dict(engine)
        return f"engine {labels.get(names.engine, '')} of {labels.get(names.instance, '')}"
