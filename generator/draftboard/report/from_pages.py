"""A report of pages: engines of one model together, and each by itself."""

from collections.abc import Sequence
from dataclasses import dataclass

from draftboard.reading.growth import Growth, Since, Tally
from draftboard.reading.page import Page
from draftboard.report.entries import engine_report, model_report
from draftboard.report.judge import V0_ENGINE, Judgement, broken_identities, judge
from draftboard.report.objects import SCHEMA_VERSION, Broken, ModelReport, Origin, Report
from draftboard.report.totals import Totals, totals
from draftboard.settings import Settings
from draftboard.signals.state import STATES

_LIFETIME = (
    "These are totals since the server started: they hide what happened lately, a collapse too. Read the page twice "
    "to see now."
)
_RAY = "Ray Serve names these series its own way: dashboards and rules, which read vllm:..., do not see them"


@dataclass(frozen=True)
class Reading:
    """Pages, what grew up to them, and what they are judged by."""

    pages: Sequence[Page]
    """The latest of each server."""
    grown: Growth
    settings: Settings
    method: str

    def report(self, origin: Origin, *earlier: Page) -> Report:
        """All models that the pages speak of; one without a name where they speak of none.

        `earlier` pages are named among the sources where they are other files.
        """
        by_model: dict[str, list[Tally]] = {}
        for tally in self.grown.tallies:
            by_model.setdefault(tally.model, []).append(tally)
        models = [self._model(model, tallies) for model, tallies in by_model.items()]
        return Report(
            schema_version=SCHEMA_VERSION,
            origin=origin,
            sources=tuple(page.source for page in (*earlier, *self.pages)),
            taken_at=self.pages[0].at,
            seconds=self.grown.seconds,
            models=tuple(models) or (model_report(self._judged([]), "", self.method),),
            notes=((_LIFETIME,) if origin is Origin.LIFETIME else ()) + self._notes(),
        )

    def _notes(self) -> tuple[str, ...]:
        spoken = {tally.source for tally in self.grown.tallies}
        silent = [page.source for page in self.pages if page.source not in spoken] if spoken else []
        return (
            *(f"{source}: {STATES['silent'].says}" for source in silent),
            *(f"{page.source}: {_RAY}" for page in self.pages if page.ray),
            *(f"{name}: gone before the second reading; what it counted is missing here" for name in self.grown.gone),
        )

    def _model(self, model: str, tallies: Sequence[Tally]) -> ModelReport:
        several = len({tally.source for tally in tallies}) > 1
        broken = [
            broken_identities(totals([tally]), _named(tally, several=several), self.settings) for tally in tallies
        ]
        together = self._judged(tallies, [one for each in broken for one in each])
        return model_report(
            together,
            model,
            self.method,
            settings=self.settings,
            notes=tuple(f"{_named(tally, several=several)} {note}" for tally in tallies for note in _notes_of(tally)),
            broken=tuple(one for each in broken for one in each),
            engines=tuple(
                engine_report(self._judged([tally], own), tally.engine, tally.source, together.sample, _notes_of(tally))
                for tally, own in zip(tallies, broken, strict=True)
            ),
        )

    def _judged(self, tallies: Sequence[Tally], broken: Sequence[Broken] = ()) -> Judgement:
        sources = {tally.source for tally in tallies} or {page.source for page in self.pages}
        old = any(page.v0 for page in self.pages if page.source in sources)
        sums = totals(tallies) if tallies else Totals()
        state = V0_ENGINE if old and sums.drafts is None else None
        return judge(sums, self.grown.seconds, self.method, self.settings, state=state, broken=broken)


def _named(tally: Tally, *, several: bool) -> str:
    number = f"engine {tally.engine}" if tally.engine else "the engine"
    return f"{number} of {tally.source}" if several else number


def _notes_of(tally: Tally) -> tuple[str, ...]:
    if tally.since is Since.RESTART:
        return ("restarted in between: what it counted before is lost",)
    return ("appeared in between",) if tally.since is Since.BIRTH else ()
