"""A fleet's past for whoever decides: tokens and hours by what speculation did for users."""

from collections import Counter, defaultdict
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from draftboard.durations import WEEK
from draftboard.expr.vector import Labels
from draftboard.history.finding import no_records
from draftboard.output import Described, Progress, no_progress
from draftboard.prometheus import Client
from draftboard.reading import MIXED, Recorded
from draftboard.reading.apart import plain_among, separated
from draftboard.reading.past import Past, of_model
from draftboard.report.outcomes import Moment, Outcome, read
from draftboard.settings import Settings
from draftboard.signals import Scope
from draftboard.signals.gpu import chosen_gpus

_HOUR = 3600.0
_GPUS = "gpus"


@dataclass(frozen=True, kw_only=True)
class Amount(Described):
    """A part of the range in which tokens were generated."""

    hours: float
    """Of all models, so that two that serve for an hour are two."""
    tokens: float
    """Generated in them."""


@dataclass(frozen=True, kw_only=True)
class Totals(Described):
    """The range in parts, by what speculation did for users."""

    coverage: float
    """Share of the range that the rules have recorded."""
    helped: Amount
    """Tokens came sooner than without speculation."""
    slower: Amount
    """Tokens came later than without it."""
    even: Amount
    """Neither."""
    unclear: Amount
    """Drafts were made, and what they did for users is not known."""
    without: Amount
    """Nothing was drafted."""
    unclear_hours: dict[str, float]
    """Why it is unclear, in hours by reason."""


@dataclass(frozen=True, kw_only=True)
class ModelSummary(Described):
    """A model, drafted in one way."""

    model: str
    labels: dict[str, str]
    """Further labels of its records, that of the drafting method among them."""
    totals: Totals


@dataclass(frozen=True, kw_only=True)
class Summary(Described):
    """All models over a range."""

    schema_version: int = 1
    """Raised when a field is removed or changes its meaning; new fields do not change it."""
    source: str
    """Address of the Prometheus."""
    since: float
    """Unix seconds: the beginning of the range."""
    until: float
    totals: Totals
    """Of all models together."""
    gpu_hours: float | None
    """Of all GPUs on the machines that serve; None where no series of a GPU exporter has the host of a server."""
    gpu_coverage: float
    """Share of the range of which the number of GPUs is known."""
    models: tuple[ModelSummary, ...]


def of_range(source: Recorded, settings: Settings, *, at: float, progress: Progress = no_progress) -> Summary:
    """What the rules recorded in the range before a time.

    Raises:
        DraftboardError: Prometheus does not answer, or has no records of vLLM servers in that range.
    """
    span = source.span or WEEK
    past = Past.before(at, span, settings.rules.rate_window)
    found = defaultdict[float, dict[str, dict[Labels, float]]](lambda: defaultdict(dict))
    with Client(source.url, source.access) as client:
        scope = of_model(Scope(settings), source.model)
        for name, labels, end, value in past.read(client, scope, {**read(settings), _GPUS: chosen_gpus}, progress):
            found[end][name][labels] = value
        since = at - span.seconds
        blended = dict.fromkeys(plain_among(client, settings, at, since=since), MIXED)
        for one in separated(client, settings, at, source.model, since=since):
            blended[one.model] = one.says
        gpus = [number for rows in found.values() for number in rows.pop(_GPUS, {}).values()]
        moments = [moment for rows in found.values() if (moment := Moment(settings, rows)).models]
        if not moments:
            raise no_records(client, settings, source.model, span, at)
        url = client.url
    models = sorted({model for moment in moments for model in moment.models}, key=sorted)
    parts = {model: list(_parts(model, moments, blended.get(model))) for model in models}
    return Summary(
        source=url,
        since=at - span.seconds,
        until=at,
        totals=_totals([part for own in parts.values() for part in own], len(moments), past),
        gpu_hours=sum(gpus) * past.step / _HOUR if gpus else None,
        gpu_coverage=len(gpus) / past.windows,
        models=tuple(_model(model, own, past, moments, settings) for model, own in parts.items()),
    )


_Part = tuple[Outcome, str, float]  # Of a window: what speculation did, why that is unclear, tokens.


def _parts(model: Labels, moments: Sequence[Moment], blended: str | None) -> Iterator[_Part]:
    """Of each window in which tokens were generated."""
    for moment in moments:
        if tokens := moment.tokens(model):
            outcome, why = moment.outcome(model)
            if blended and outcome is not Outcome.WITHOUT:
                outcome, why = Outcome.UNCLEAR, blended
            yield outcome, why, tokens


def _model(
    model: Labels, parts: Sequence[_Part], past: Past, moments: Sequence[Moment], settings: Settings
) -> ModelSummary:
    labels = dict(sorted(model))
    seen = sum(model in moment.models for moment in moments)
    return ModelSummary(
        model=labels.pop(settings.labels.model_name, ""), labels=labels, totals=_totals(parts, seen, past)
    )


def _totals(parts: Sequence[_Part], seen: int, past: Past) -> Totals:
    hours = past.step / _HOUR
    amounts = {
        one.value: Amount(
            hours=hours * sum(outcome is one for outcome, _, _ in parts),
            tokens=sum(tokens for outcome, _, tokens in parts if outcome is one),
        )
        for one in Outcome
    }
    reasons = Counter(why for outcome, why, _ in parts if outcome is Outcome.UNCLEAR)
    return Totals(
        coverage=seen / past.windows,
        unclear_hours={why: hours * windows for why, windows in reasons.most_common()},
        **amounts,
    )
