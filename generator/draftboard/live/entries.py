"""Entries of a report: a judgement with the name of what was judged, and what must be known to read it."""

from collections.abc import Sequence

from draftboard.live.judge import Judgement
from draftboard.live.objects import Broken, EngineReport, ModelReport
from draftboard.settings import Settings

_DEFAULTS = Settings()


def engine_report(judgement: Judgement, engine: str, server: str, notes: tuple[str, ...] = ()) -> EngineReport:
    """An engine's entry."""
    return EngineReport(
        engine=engine,
        server=server,
        state=judgement.state.says,
        verdict=judgement.verdict,
        sample=judgement.sample,
        speculation=judgement.speculation,
        latency=judgement.latency,
        traffic=judgement.traffic,
        notes=notes,
    )


def model_report(
    judgement: Judgement,
    model: str,
    method: str,
    *,
    settings: Settings = _DEFAULTS,
    labels: dict[str, str] | None = None,
    acceptance_change: float | None = None,
    measured_speedup: float | None = None,
    broken: tuple[Broken, ...] = (),
    engines: tuple[EngineReport, ...] = (),
    notes: tuple[str, ...] = (),
) -> ModelReport:
    """A model's entry, of its engines together."""
    return ModelReport(
        model=model,
        method=method or None,
        labels=labels or {},
        state=judgement.state.says,
        verdict=judgement.verdict,
        sample=judgement.sample,
        speculation=judgement.speculation,
        latency=judgement.latency,
        traffic=judgement.traffic,
        acceptance_by_request=_by_request(engines),
        acceptance_change=acceptance_change,
        measured_speedup=measured_speedup,
        broken=broken,
        engines=engines,
        notes=notes + _of_method(judgement, method, settings),
    )


def _by_request(engines: Sequence[EngineReport]) -> float | None:
    judged = [(one.traffic.requests or 0.0, one.speculation.acceptance) for one in engines if one.speculation]
    requests = sum(weight for weight, _ in judged)
    if len(judged) < 2 or not requests:  # noqa: PLR2004
        return None
    return sum(weight * share for weight, share in judged) / requests


def _of_method(judgement: Judgement, method: str, settings: Settings) -> tuple[str, ...]:
    """What the verdict owes to not knowing better."""
    if judgement.speculation is None:
        return ()
    notes = []
    cost, known = judgement.speculation.draft_cost, settings.draft_cost.by_method
    if not method:
        notes.append(f"nobody says how tokens are drafted, so c = {cost:g} is assumed: name it with --method")
    elif method not in known:
        notes.append(f"no cost is known for {method}, so c = {cost:g} is assumed: settings, draft_cost.by_method")
    drafted, most = judgement.speculation.draft_length, judgement.speculation.configured_k
    if drafted < settings.thresholds.full_drafts * most:
        notes.append(f"drafts hold {drafted:.2f} of K = {most:g} tokens: late positions read low, for few get there")
    return tuple(notes)
