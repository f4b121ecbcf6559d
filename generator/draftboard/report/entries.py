"""Entries of a report: a judgement with the name of what was judged, and what must be known to read it."""

from collections.abc import Sequence

from draftboard.report.judge import Judgement
from draftboard.report.objects import Broken, EngineReport, ModelReport, Sample
from draftboard.settings import Settings
from draftboard.signals.acceptance import acceptance_length
from draftboard.signals.comparison import length_to_others
from draftboard.signals.signal import within
from draftboard.signals.wording import worded

_DEFAULTS = Settings()


def engine_report(
    judgement: Judgement, engine: str, server: str, model: Sample | None, notes: tuple[str, ...] = ()
) -> EngineReport:
    """An engine's entry, of a model whose engines together made a sample."""
    return EngineReport(
        engine=engine,
        server=server,
        length_to_others=_to_others(judgement.sample, model),
        state=judgement.state.says,
        verdict=judgement.verdict,
        sample=judgement.sample,
        speculation=judgement.speculation,
        latency=judgement.latency,
        traffic=judgement.traffic,
        notes=notes,
    )


def _to_others(own: Sample | None, model: Sample | None) -> float | None:
    """Its length over the others', of whom there must be some."""
    others = model.drafts - own.drafts if own and model else 0.0
    # Estimates of a rate add up to their sum but for the last digits.
    if not own or not model or others < 1:
        return None
    return (1 + own.accepted_tokens / own.drafts) / (1 + (model.accepted_tokens - own.accepted_tokens) / others)


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
        notes=notes + _of_outliers(engines, settings) + _of_method(judgement, method, settings),
    )


def _by_request(engines: Sequence[EngineReport]) -> float | None:
    judged = [(one.traffic.requests or 0.0, one.speculation.acceptance) for one in engines if one.speculation]
    requests = sum(weight for weight, _ in judged)
    if len(judged) < 2 or not requests:  # noqa: PLR2004
        return None
    return sum(weight * share for weight, share in judged) / requests


def _of_outliers(engines: Sequence[EngineReport], settings: Settings) -> tuple[str, ...]:
    """Engines that accept less than their siblings, where there are drafts enough to say so."""
    limit = settings.thresholds.outlier
    return tuple(
        f"engine {one.engine} of {one.server} is an outlier: its {within(acceptance_length.title)} is "
        f"{worded(length_to_others, one.length_to_others)} of the other engines'"
        for one in engines
        if one.length_to_others is not None and one.length_to_others < limit and one.verdict.says is not None
    )


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
