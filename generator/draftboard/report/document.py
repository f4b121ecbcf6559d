"""A report in words: the verdict and its reasons first, then the numbers, then what must be known to read them."""

from collections import Counter
from collections.abc import Iterable, Iterator
from datetime import UTC, datetime
from itertools import zip_longest
from math import inf

from draftboard.catalogue.dialects import DIALECTS
from draftboard.durations import minute
from draftboard.evidence import Range
from draftboard.history import quoted
from draftboard.output import (
    Bar,
    Block,
    Bullets,
    Cell,
    Document,
    Heading,
    Note,
    Sentence,
    Table,
    Text,
    columns,
    shortened,
)
from draftboard.report.bound import LOAD, bound
from draftboard.report.choices import choices
from draftboard.report.classes import worst_of
from draftboard.report.numbers import Expectation, Latency, Speculation, Traffic
from draftboard.report.objects import LINES, Judged, ModelReport, Report
from draftboard.report.verdict import FURTHER
from draftboard.settings import Settings
from draftboard.signals import Signal, acceptance, comparison, depth, economics, gains, traffic
from draftboard.signals.classes import BOTH, class_acceptance, class_length, class_share
from draftboard.signals.health import HEALTH
from draftboard.signals.latency import FELT
from draftboard.signals.percentiles import percentile_in_words
from draftboard.signals.signal import NOTHING, Code, within, worded
from draftboard.signals.states import STATES, state
from draftboard.signals.verdicts import verdict
from draftboard.status import Status

_REST = (
    "Expected speedups rest on what a step costs; only a baseline under the same load measures the real one. "
    f"Speedup at k: {within(depth.BURSTS)} Threshold ranges and advice are rules of thumb."
)

BY_COSTS = frozenset(
    {
        *(economics.expected_speedup, economics.needed_per_step, economics.affordable_inflation),
        *(economics.step_speedup, economics.break_even),
        *(gains.best_k, gains.best_speedup, gains.longer_gain),
    }
)
"""Lines that a cost makes a number of."""
_NO_K_PAYS = "no k pays"


MOST_MODELS = 20
"""That a person reads; of more, the worst."""


def document(report: Report, settings: Settings, *, engines: bool, every_model: bool = False) -> Document:
    """The models, of many the worst unless every one is asked for; their engines too, where they are asked for."""
    return Document.of(_blocks(report, settings, engines=engines, every_model=every_model))


def _blocks(report: Report, settings: Settings, *, engines: bool, every_model: bool) -> Iterator[Block]:
    settings = settings.speaking(DIALECTS[report.dialect])
    origin = f"{report.origin}: {shortened(report.sources, where=' (--json has all)')}"
    yield Sentence(", ".join((origin, *time_in_words(report.seconds, report.taken_at))), Status.QUIET)
    shown = report.models
    if len(shown) > MOST_MODELS and not every_model:
        shown = tuple(sorted(shown, key=_badness)[:MOST_MODELS])
        yield _counts(report.models)
        yield Sentence(f"{len(report.models)} models, of which the {MOST_MODELS} worst follow: --all prints all.")
    for model in shown:
        yield Heading(named(model), _headline(model))
        yield Bullets(tuple(warnings(model)), Status.BAD)
        yield Bullets(model.verdict.reasons)
        if model.explanation:
            changed = tuple(str(figure) for figure in model.explanation.figures if figure.changed)
            since = f"Between {minute(model.explanation.seen_before)} and {minute(model.explanation.at)}"
            yield Bullets(tuple(f"{since}: {figure}" for figure in changed), Status.BAD)
        yield Bullets(model.notes, Status.WARN)
        yield _numbers(model, settings)
        if model.speculation:
            yield from _by_length(model.speculation, settings, judged=model.verdict.says is not None)
            if model.speculation.arithmetic:
                yield Sentence(f"{model.speculation.arithmetic}.")
        yield from choices(model.chosen)
        yield from _classes(model)
        yield _times(model)
        if load := ", ".join(_load(model)):
            yield Sentence(f"Load: {load}.")
        if model.last_change:
            yield Sentence(f"{quoted(model.last_change)}.")
        if engines:
            yield _engines(model)
    yield Bullets(report.notes, Status.WARN)
    if any(model.speculation for model in report.models) and economics.step_speedup.exists(settings):
        yield Note(_REST)


def _badness(model: ModelReport) -> int:
    """The lower, the sooner somebody should look."""
    return [*Status].index(_headline(model).status)


def _counts(models: Iterable[ModelReport]) -> Table:
    """How many models have each verdict, the worst first."""
    said = Counter((_badness(one), "users wait" if one.waiting.says else _plain_verdict(one)) for one in models)
    rows = ((Text(words, [*Status][bad]), f"{count:,}") for (bad, words), count in sorted(said.items()))
    return Table(columns("Models by verdict", numbers=("Models",)), tuple(rows))


def _headline(model: ModelReport) -> Text:
    """Whether users wait, then whether speculation pays."""
    waits, pays = model.waiting.says, verdict_text(model)
    return Text(f"{waits}; {pays.words}", Status.BAD) if waits else pays


def _numbers(model: ModelReport, settings: Settings) -> Table:
    rows: list[tuple[Cell, ...]] = []
    if model.sample and model.speculation:
        rows.append((traffic.drafts.title, f"{model.sample.drafts:,.0f}", Text("")))
    assumed = model.speculation.assumed if model.speculation else None
    for signal, value in numbers_of(model, settings):
        if assumed and signal in BY_COSTS:
            if found := range_of(signal, assumed):
                rows.append((signal.title, str(found), Text(signal.unit.words)))
            continue
        step = None if value is None or model.verdict.says is None else signal.step_of(value, settings)
        means = ", ".join(part for part in (signal.unit.words, step.says if step else "") if part)
        shown = _NO_K_PAYS if signal is gains.best_k and _no_k_pays(model) else worded(signal, value)
        rows.append((signal.title, shown, Text(means, step.status if step else Status.NEUTRAL)))
        if signal is acceptance.acceptance and model.acceptance_by_request is not None:
            weighted = worded(signal, model.acceptance_by_request)
            rows.append((f"{signal.title} by request", weighted, Text("engines weighted by requests")))
    return Table(columns("Speculation", numbers=("Value",)) + columns("Meaning"), tuple(rows))


def _no_k_pays(model: ModelReport) -> bool:
    """Where one is fastest, and none is best."""
    spoken = model.speculation
    return spoken is not None and spoken.fastest_k is not None and spoken.best_k is None


def range_of(signal: Signal, assumed: Expectation) -> Range | None:
    """In place of a number that rests on costs, where there is one."""
    return {economics.expected_speedup: assumed.speedup, economics.needed_per_step: assumed.step_cost}.get(signal)


def numbers_of(model: ModelReport, settings: Settings) -> list[tuple[Signal, float | None]]:
    """The numbers of speculation in order, each with its signal; none that no server of the dialect exposes."""
    if model.speculation is None:
        return []
    of_class = {type(part): part for part in (model, model.traffic, model.speculation)}
    return [
        (of.signal, value)
        for kind, name, of in LINES
        if (value := getattr(of_class[kind], name)) is not None or (of.signal.exists(settings) and not of.if_known)
    ]


def _by_length(speculation: Speculation, settings: Settings, *, judged: bool) -> Iterator[Table]:
    """For 0 to K accepted tokens: exactly so many, at least so many, given one less, speedup with k = so many."""
    if not speculation.survival:
        return
    rows: list[tuple[Cell, ...]] = []
    shares = zip_longest(
        speculation.accepted_length_share, (1.0, *speculation.survival), (None, *speculation.conditional_acceptance)
    )
    for length, (exactly, least, given) in enumerate(shares):
        speedup = _speedup_at(length, speculation, settings, judged=judged)
        shown = worded(depth.accepted_length_share, exactly), worded(depth.survival, least)
        bar = Bar(least or 0.0 if length else 0.0)
        rows.append((str(length), *shown, bar, worded(depth.conditional_acceptance, given), speedup))
    headings = columns(numbers=("Tokens", "Exactly", "At least")) + columns("", numbers=("If reached", "Speedup at k"))
    yield Table(headings, tuple(rows), title="How deep drafts are accepted")


def _speedup_at(length: int, speculation: Speculation, settings: Settings, *, judged: bool) -> Text:
    if speculation.assumed:
        ranges = speculation.assumed.speedup_at
        return Text(str(ranges[length - 1]) if 0 < length <= len(ranges) else NOTHING)
    gain = speculation.speedup_at[length - 1] if 0 < length <= len(speculation.speedup_at) else None
    step = gains.speedup_at.step_of(gain, settings) if judged and gain is not None else None
    best = " (best)" if length == speculation.best_k else ""
    return Text(worded(gains.speedup_at, gain) + best, step.status if step else Status.NEUTRAL)


def _classes(model: ModelReport) -> Iterator[Block]:
    """Classes by temperature and prompt, and the class of any dimension that is helped least."""
    rows = tuple(
        (
            *(one.name, worded(class_share, one.share), worded(class_acceptance, one.acceptance)),
            *(worded(class_length, one.length), str(one.speedup or NOTHING)),
        )
        for one in model.classes
        if one.dimension == BOTH
    )
    titles = ("Requests", class_acceptance.short, class_length.short, "Expected speedup")
    yield Table(columns("Temperature, prompt tokens", numbers=titles), rows, title="Whom does speculation help?")
    if worst := worst_of(model.classes):
        requests, accepted = worded(class_share, worst.share), worded(class_acceptance, worst.acceptance)
        says = f"{'Loses' if worst.loses else 'Helped least'}: {worst}, {requests} of requests"
        length = f"acceptance length {worded(class_length, worst.length)}"
        speedup = f": expected speedup of its steps {worst.speedup}" if worst.speedup else ""
        yield Sentence(f"{says}, acceptance {accepted}, {length}{speedup}.", Status.WARN)


def _times(model: ModelReport) -> Table:
    measured = [(name, time) for name in FELT if (time := getattr(model.latency, name))]
    rows = tuple((FELT[name].title, *_cells(name, time)) for name, time in measured)
    return Table(columns("Time", numbers=("Mean", "P50", "P95", "P99", "Samples")), rows)


def _cells(name: str, time: Latency) -> tuple[str, ...]:
    family = FELT[name]
    text = (
        percentile_in_words(
            getattr(family, part),
            getattr(time, part),
            getattr(time, f"{part}_from"),
            getattr(time, f"{part}_to") or time.resolution,
        )
        for part in ("p50", "p95", "p99")
    )
    return (worded(family.mean, time.mean), *text, f"{time.count:,.0f}")


def _engines(model: ModelReport) -> Table:
    shown = {name: of.signal for name, of in bound(Speculation).items() if of.by_engine}
    titles = (*(signal.title for signal in shown.values()), "To others", traffic.drafts.title)
    rows: list[tuple[Cell, ...]] = []
    for engine in model.engines:
        numbers = (worded(signal, getattr(engine.speculation, name, None)) for name, signal in shown.items())
        to_others = worded(comparison.length_to_others, engine.length_to_others)
        counted = f"{engine.sample.drafts:,.0f}" if engine.sample else NOTHING
        rows.append((engine.engine or NOTHING, engine.server, verdict_text(engine), *numbers, to_others, counted))
    return Table(columns("Engine", "Server", verdict.title, numbers=titles), tuple(rows), title="Engines")


def time_in_words(seconds: float | None, until: float | None) -> tuple[str, ...]:
    """How long, and until when, as far as it is known."""
    span = f"over {seconds:,.0f} s" if seconds else ""
    at = datetime.fromtimestamp(until, UTC).strftime("until %Y-%m-%d %H:%M:%S UTC") if until else ""
    return tuple(filter(None, (span, at)))


def named(model: ModelReport) -> str:
    """A model's name, with what tells it from others."""
    further = (model.method or "", *(f"{name}={text}" for name, text in sorted(model.labels.items())))
    text = ", ".join(filter(None, further))
    return (model.model or "a server that names no model") + (f" ({text})" if text else "")


def verdict_of(entry: Judged) -> str:
    """Verdict and advice in words, or why there is none, or the state where nothing was drafted."""
    result = entry.verdict
    says = f"no verdict: {result.withheld}" if result.withheld else result.headline or result.says
    text = ": ".join(filter(None, (says, result.advice)))
    # A server that is down now may have drafted within the time.
    return text if text and entry.state == STATES["drafting"].says else ", ".join(filter(None, (entry.state, text)))


def verdict_text(entry: Judged) -> Text:
    """The words of `verdict_of`, with what they mean."""
    return Text(verdict_of(entry), status_of(entry))


def warnings(model: ModelReport) -> list[str]:
    """What speaks against all of its numbers."""
    return [
        f"Do not trust these numbers: {broken.says} ({broken.engine}, by {broken.error:.1%})" for broken in model.broken
    ]


def _load(model: ModelReport) -> Iterator[str]:
    for name, of in bound(Traffic).items():
        value, signal = getattr(model.traffic, name), of.signal
        if of.shown is LOAD and value is not None:
            text = worded(signal, value)
            yield f"{text} {signal.unit.words}" if signal.unit.per_second else f"{within(signal.title)} {text}"


def _plain_verdict(entry: Judged) -> str:
    return entry.verdict.says or entry.verdict.withheld or entry.state


def status_of(entry: Judged) -> Status:
    """What the verdict means, or the state where there is none."""
    text = _plain_verdict(entry)
    return next((code.status for code in (*verdict.codes, *state.codes, *FURTHER) if code.says == text), Status.WARN)


def health_of(entry: Judged) -> Code | None:
    """The code of its health; the lower, the worse. None where it is unknown."""
    return next((code for code in HEALTH.codes if code.says == entry.health), None)


def worst_first(models: Iterable[ModelReport]) -> list[ModelReport]:
    """By health; of equals the busiest first, and last those whose health is unknown."""

    def order(model: ModelReport) -> tuple[float, float]:
        code = health_of(model)
        return inf if code is None else code.value, -(model.traffic.generation_tokens or 0)

    return sorted(models, key=order)
