"""Windows of a Prometheus' history: of servers that speculate, and of the same model's baseline."""

import math
from collections.abc import Iterable, Iterator, Mapping

from draftboard.calibrate.windows import BASELINE, Measured, Window, pooled
from draftboard.catalogue import latency
from draftboard.durations import WEEK
from draftboard.errors import DraftboardError
from draftboard.expr.nodes import Expr, rate
from draftboard.expr.vector import Labels
from draftboard.output import Progress, no_progress, shortened
from draftboard.prometheus import Client
from draftboard.reading import Recorded
from draftboard.reading.apart import kept_apart, separated
from draftboard.reading.past import Past, of_model
from draftboard.settings import Settings
from draftboard.signals import Edition, Level, Scope, traffic
from draftboard.signals.costs import decode_batch
from draftboard.signals.steps import CONTEXT

_BLOCKS = 50  # Of the range: what lies in one shares prompts and disturbances, and counts as one sample.
_MOST_NAMED = 5
_STEPS, _BATCH, _CONTEXT = "steps", "batch", "context"
_MEANS = {_BATCH, _CONTEXT}
_ASKED: Mapping[str, Expr] = {
    _STEPS: traffic.decode_steps,
    "seconds": rate(latency.STEP_LATENCY.sum),
    "generated": traffic.generation_tokens,
    "first": traffic.first_tokens,
    "drafts": traffic.drafts,
    "drafted": traffic.draft_tokens,
    _BATCH: decode_batch,
    _CONTEXT: CONTEXT,
}
_NEEDED = {_STEPS, "seconds", "generated", "first", _BATCH}
_Key = tuple[Labels, float]  # Of an engine, and the end of a window.
_Counts = dict[str, float]


def of_history(
    source: Recorded, settings: Settings, *, at: float, method: str = "", progress: Progress = no_progress
) -> Measured:
    """The windows of baseline and candidates in the range before a time.

    Raises:
        DraftboardError: Prometheus does not answer, or has no baseline and candidate of one model.
    """
    span, window = source.span or WEEK, settings.rules.rate_window
    past = Past.before(at, span, window)
    counts_by_key: dict[_Key, _Counts] = {}
    with Client(source.url, source.access) as client:
        apart = separated(client, settings, at, source.model, since=at - span.seconds)
        settings = kept_apart(settings, (one.label for one in apart))
        scope = of_model(Scope(settings, Level.ENGINE, Edition.ONCE, span=window), source.model)
        for name, labels, moment, value in past.read(client, scope, _ASKED, progress):
            counts_by_key.setdefault((labels, moment), {})[name] = value * (1.0 if name in _MEANS else window.seconds)
        url = client.url
    whole = {key: counts for key, counts in counts_by_key.items() if counts.keys() >= _NEEDED}
    model = _only(whole, settings.labels.model_name, "--model", url)
    for label in settings.labels.scope:
        _only(whole, label, "the settings' selector, or join them: labels.together", url)
    method, variants = _of_method(whole, settings, method, url)
    windows = _windows(variants, settings, at - span.seconds, span.seconds)
    return Measured(origin="history", model=model, method=method, sources=(url,), taken_at=at, windows=pooled(windows))


def _only(counts_by_key: Mapping[_Key, _Counts], label: str, choice: str, url: str) -> str:
    """The only value of a label: several are not comparable."""
    values = sorted({dict(labels).get(label, "") for labels, _ in counts_by_key})
    if not values:
        raise DraftboardError(f"{url}: no decode steps of vLLM in that range: check address and model")
    if len(values) > 1:
        raise DraftboardError(f"{url}: {label} has several values ({_named(values)}): choose one with {choice}")
    return values[0]


def _of_method(
    counts_by_key: Mapping[_Key, _Counts], settings: Settings, method: str, url: str
) -> tuple[str, Mapping[_Key, _Counts]]:
    """The drafting method and its windows, with those of the baseline."""
    label, baseline = settings.labels.spec_method, settings.methods.baseline
    methods_seen = {dict(labels).get(label, "") for labels, _ in counts_by_key}
    methods = sorted(methods_seen - {"", baseline})
    if baseline not in methods_seen:
        raise DraftboardError(
            f"{url}: no baseline in that range: label a target of this model that does not speculate {label}={baseline}"
        )
    if not methods or (method and method not in methods):
        wanted = f"{label}={method}" if method else f"the label {label}"
        raise DraftboardError(f"{url}: no servers with {wanted} in that range, besides the baseline")
    if len(methods) > 1 and not method:
        raise DraftboardError(f"{url}: several methods ({_named(methods)}): choose one with --method")
    wanted = method or methods[0]
    return wanted, {
        key: counts for key, counts in counts_by_key.items() if dict(key[0]).get(label, "") in {baseline, wanted}
    }


def _windows(
    counts_by_key: Mapping[_Key, _Counts], settings: Settings, start: float, seconds: float
) -> Iterator[Window]:
    names = settings.labels
    for (labels, moment), counts in counts_by_key.items():
        steps, own = counts[_STEPS], dict(labels)
        tokens = counts["generated"] - counts["first"]
        if steps < settings.traffic.steps_to_judge or tokens <= 0 or counts["seconds"] <= 0:
            continue
        batch = max(1.0, counts[_BATCH])
        method, variant = own.get(names.spec_method, ""), own.get(names.variant, "")
        yield Window(
            variant=BASELINE if method == settings.methods.baseline else variant or method,
            load=_rounded_up(batch, 2),
            batch=batch,
            steps=steps,
            seconds=counts["seconds"],
            tokens=tokens,
            drafts=counts.get("drafts", 0.0),
            drafted=counts.get("drafted", 0.0),
            context=_rounded_up(counts.get(_CONTEXT, 1.0), 4),
            block=min(_BLOCKS - 1, int((moment - start) / seconds * _BLOCKS)),
        )


def _rounded_up(figure: float, base: int) -> int:
    """To the next power of the base, as the records of step times by load have it."""
    return int(base ** math.ceil(math.log(max(1.0, figure), base) - 1e-9))


def _named(values: Iterable[str]) -> str:
    return shortened([repr(value) for value in values], _MOST_NAMED)
