"""A comparison as a document: verdict, tail and gates, then the numbers side by side."""

from collections.abc import Iterator

from draftboard.compare.comparing import CODES
from draftboard.compare.gates import interval_in_words
from draftboard.compare.objects import Comparison, Row, Variant
from draftboard.compare.rows import SIGNALS, in_words
from draftboard.compare.sides import engines_in_words, trend
from draftboard.output import Bullets, Cell, Column, Document, Heading, Note, Sentence, Table, Text, columns, shortened
from draftboard.report import SOONER, time_in_words
from draftboard.settings import Settings
from draftboard.signals.signal import NOTHING, Better, Unit, within
from draftboard.signals.users import measured_speedup
from draftboard.status import Status

_SUFFIXED = (Unit.TOKENS, Unit.TOKENS_PER_SECOND, Unit.REQUESTS_PER_SECOND)
"""Units that neither the number nor the title contains."""
_STATUSES: dict[str | None, Status] = {code.says: code.status for code in CODES}
_BUSY = "; requires requests that wait on both sides"
_NOTE = (
    "Measured speedup is mean time per output token, baseline / candidate. Percentiles are estimates within a "
    "histogram bucket: a smaller change is not significant. Only runs under the same load are comparable. 95 % "
    "intervals rest on the variation within each run: they do not cover differences between runs, nor sessions that "
    "stay with a server for over half of a run (--sessions says for how long)."
)


def document(comparison: Comparison, settings: Settings) -> Document:
    """The comparison as a document."""
    verdict, speedup, tail, notes = comparison.verdict, comparison.measured.speedup, comparison.tail, comparison.notes
    says = Text("no verdict", Status.QUIET)
    if verdict.says is not None and speedup is not None:
        statuses = {band.says: band.status for band in measured_speedup.bands_in(settings)}
        status = statuses.get(verdict.says, SOONER.status)
        bounds = interval_in_words(comparison.measured.speedup_interval)
        says = Text(f"{verdict.says}: {within(measured_speedup.title)} {speedup:.2f}{bounds}", status)
    gates = [
        Heading(f"Gate {gate.option} {gate.limit:g}", Text(gate.says, Status.GOOD if gate.met else Status.BAD))
        for gate in comparison.gates
    ]
    compared = columns("", numbers=("Baseline", "Candidate", "Change"))
    return Document.of(
        (
            Sentence(f"Baseline   {_variant(comparison.baseline)}", Status.QUIET),
            Sentence(f"Candidate  {_variant(comparison.candidate)}", Status.QUIET),
            Sentence("Not alike, compared because of --force:" if comparison.unlike else "", Status.BAD),
            Bullets(comparison.unlike, Status.BAD),
            *(Heading("Verdict", says), Bullets(verdict.reasons)),
            Heading("Tail", Text(tail.says or "no verdict", _STATUSES.get(tail.says, Status.QUIET))),
            Bullets((*tail.reasons, *([tail.next] if tail.next else []))),
            *gates,
            *((Heading("Notes"), Bullets(notes, Status.WARN)) if notes else ()),
            Table((Column(""), Column("Value", number=True), Column("Meaning")), tuple(_figures(comparison)), "Ratios"),
            Table(compared, tuple(_rows(comparison, settings)), "Side by side"),
            Note(_NOTE),
        )
    )


def _variant(variant: Variant) -> str:
    sampled = [f"temperature {variant.sampling.temperature:g}"] if variant.sampling.temperature is not None else []
    drafts = [f"{variant.drafts:,.0f} drafts"] if variant.drafts else []
    when = time_in_words(variant.seconds, variant.taken_at)
    samples = f"{variant.tokens or 0:,.0f} tokens" if variant.requests is None else f"{variant.requests:,.0f} requests"
    source = f"{variant.name}: {variant.origin} ({shortened(variant.sources, where=' (--json has all)')})"
    engines = engines_in_words(variant.engines)
    return ", ".join((source, engines, *when, *sampled, samples, *drafts, variant.state))


def _figures(comparison: Comparison) -> Iterator[tuple[str, str, str]]:
    measured, cost = comparison.measured, comparison.cost
    of_v = f"step cost - mean draft length x c, assuming c = {measured.draft_cost or 0:g}"
    if measured.implied_v is None:
        of_v = "requires a candidate that drafts, with step latency"
        if comparison.baseline.drafts:
            of_v = "requires a baseline without speculation"
    alike = measured.standardised
    standardised = (
        "Standardised speedup",
        alike.value if alike else None,
        f"the same at equal lengths of prompts and answers, parts reweighted{interval_in_words(alike)}",
    )
    for title, number, means in (
        (
            measured_speedup.title,
            measured.speedup,
            f"mean time per output token, baseline / candidate{interval_in_words(measured.speedup_interval)}",
        ),
        *([standardised] if alike else []),
        ("Speedup by decode steps", measured.speedup_by_steps, "tokens per step, candidate / baseline, / step cost"),
        ("Throughput", measured.throughput, "generated tokens/s per engine, candidate / baseline: depends on the load"),
        ("Step cost", measured.step_cost, "mean step latency, candidate / baseline"),
        ("Implied v", measured.implied_v, of_v),
    ):
        yield title, NOTHING if number is None else f"{number:.2f}", means
    if cost:
        both = " / ".join(NOTHING if money is None else f"{money:,.2f}" for money in (cost.baseline, cost.candidate))
        gpus = f"{cost.gpus} GPU{'s' if cost.gpus > 1 else ''} per engine at {cost.gpu_hour_price:g} an hour"
        yield "Cost of a million tokens", both, f"baseline / candidate, at the measured throughput, {gpus}{_BUSY}"
    loss = ": a loss" if measured.saving is not None and measured.saving < 0 else ""
    saving = NOTHING if measured.saving is None else f"{measured.saving:.1%}"
    yield "Saving", saving, f"1 - 1 / throughput, of a token's cost on the same GPUs{_BUSY}{loss}"


def _rows(comparison: Comparison, settings: Settings) -> Iterator[tuple[Cell, ...]]:
    for group in comparison.groups:
        counts = (group.baseline_samples, group.candidate_samples)
        samples = (f"{count:,.0f} {group.counted}" if count else f"no {group.counted}" for count in counts)
        yield group.title, *(Text(words, Status.QUIET) for words in samples), ""
        for row in group.rows:
            signal = SIGNALS[row.name]
            named = signal.unit in _SUFFIXED and signal.unit.words not in row.title.lower()
            title = f"  {row.title}, {signal.unit.words}" if named else f"  {row.title}"
            yield title, in_words(row, row.baseline), in_words(row, row.candidate), _change(row, settings)


def _change(row: Row, settings: Settings) -> Text:
    if row.baseline.under is not None or row.candidate.under is not None:
        return Text("not compared")
    sign = {Better.HIGHER.value: 1, Better.LOWER.value: -1}.get(row.better, 0)
    share, interval = SIGNALS[row.name].unit is Unit.RATIO, row.interval
    none = 0 if share else 1
    change = 0 if row.ratio is None else trend(row.ratio, 1, settings)
    if interval:
        change = (interval.low > none) - (interval.high < none)
    status = {1: Status.GOOD, -1: Status.BAD}.get(sign * change, Status.NEUTRAL)
    if share and row.difference is not None:
        bounds = f" ({interval.low * 100:+.1f} to {interval.high * 100:+.1f})" if interval else ""
        return Text(f"{row.difference * 100:+.1f} points{bounds}", status)
    bounds = f" ({interval.low - 1:+.1%} to {interval.high - 1:+.1%})" if interval else ""
    return Text(NOTHING if row.ratio is None else f"{row.ratio - 1:+.1%}{bounds}", status)
