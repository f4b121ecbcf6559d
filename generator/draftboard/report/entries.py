"""Entries of a report: a judgement with the name of what was judged, and what must be known to read it."""

from collections.abc import Sequence

from draftboard.reading import Numbers
from draftboard.report.judge import Case, judge
from draftboard.report.objects import EngineReport, Judged, ModelReport
from draftboard.settings import Settings
from draftboard.signals.acceptance import acceptance_length
from draftboard.signals.comparison import acceptance_change, length_to_others
from draftboard.signals.signal import within
from draftboard.signals.traffic import drafts
from draftboard.signals.users import measured_speedup
from draftboard.signals.wording import worded


def engine_report(case: Case, model: Numbers, engine: str, server: str, notes: tuple[str, ...] = ()) -> EngineReport:
    """An engine's entry, beside its model's numbers."""
    own, together = case.numbers.value(drafts) or 0.0, model.value(drafts) or 0.0
    # Estimates of a rate add up to their sum but for the last digits: less than one draft is nobody's.
    to_others = case.numbers.value(length_to_others) if own and together - own >= 1 else None
    found = {"engine": engine, "server": server, "length_to_others": to_others, "notes": notes}
    return EngineReport(**vars(judge(case)) | found)


def model_report(
    case: Case,
    model: str,
    method: str,
    *,
    labels: dict[str, str] | None = None,
    engines: tuple[EngineReport, ...] = (),
    notes: tuple[str, ...] = (),
) -> ModelReport:
    """A model's entry, of its engines together."""
    judged, value = judge(case), case.numbers.value
    return ModelReport(
        **vars(judged)
        | {
            "model": model,
            "method": method or None,
            "labels": labels or {},
            "acceptance_by_request": _by_request(engines),
            "acceptance_change": value(acceptance_change),
            "measured_speedup": value(measured_speedup),
            "broken": case.broken,
            "engines": engines,
            "notes": notes + _of_outliers(engines, case.settings) + _of_method(judged, method, case.settings),
        }
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


def _of_method(judged: Judged, method: str, settings: Settings) -> tuple[str, ...]:
    """Assumptions that the verdict rests on for want of a better source."""
    found = judged.speculation
    if found is None:
        return ()
    notes = []
    if not method:
        notes.append(f"the drafting method is unknown, so c = {found.draft_cost:g} is assumed: name it with --method")
    elif method not in settings.draft_cost.by_method:
        notes.append(
            f"no cost is known for {method}, so c = {found.draft_cost:g} is assumed: settings, draft_cost.by_method"
        )
    if found.draft_length < settings.thresholds.full_drafts * found.configured_k:
        notes.append(
            f"drafts hold {found.draft_length:.2f} of K = {found.configured_k:g} tokens: late positions read low, for "
            "few drafts get there"
        )
    return tuple(notes)
