"""An explanation for people: the value, then what it follows from, each signal once."""

from collections.abc import Iterator

from draftboard.explain.explanation import Explanation, Metric, Series, Step
from draftboard.output import Block, Bullets, Cell, Document, Heading, Note, Sentence, Table, Text, Verbatim, columns
from draftboard.status import Status

_HELD = {True: Text("yes", Status.GOOD), False: Text("no")}


def document(explanation: Explanation, *, promql: bool = False) -> Document:
    """The explanation as blocks; with the PromQL of each signal where it is wanted."""
    blocks: list[Block] = []
    for series in explanation.series:
        blocks += _series(explanation, series, promql=promql)
    source = f"Values: {explanation.source}, rates over {explanation.window}." if explanation.source else ""
    return Document.of([*blocks, Note(source)])


def _series(explanation: Explanation, series: Series, *, promql: bool) -> Iterator[Block]:
    root, *below = series.steps
    ends = dict.fromkeys(_value(step) for step in series.steps if step.depth == 0)
    yield Heading(explanation.name, Text(" to ".join(ends)))
    yield Sentence(", ".join(f"{name}={text}" for name, text in series.labels.items()))
    yield Sentence(f"{root.title}: {root.description}")
    if series.drafts is not None:
        yield Sentence(f"Sample: {series.drafts:,.0f} drafts within {explanation.window}.")
    yield from _step(root, promql=promql)
    for step in below:
        indent = "  " * (step.depth - 1)
        yield Heading(f"{indent}{step.title}", Text(_value(step)))
        yield from _step(step, promql=promql)


def _value(step: Step) -> str:
    if not step.values:
        return f"no sample: {step.empty}"
    first = "; ".join(step.values[:4])
    return f"{first} and {len(step.values) - 4} more" if len(step.values) > 4 else first  # noqa: PLR2004


def _step(step: Step, *, promql: bool) -> Iterator[Block]:
    reached = [row for row in step.rows if row.holds is not None]
    rows: list[tuple[Cell, ...]] = [
        (_HELD[row.holds], row.says, row.because) for row in reached if row.holds is not None
    ]
    if left := len(step.rows) - len(reached):
        rows.append(("", f"{left} more", "not evaluated, because an earlier row holds"))
    yield Table(columns("holds", "row", "because"), tuple(rows))
    yield Sentence(f"= {step.formula}" if step.formula else "")
    yield Bullets(tuple(_facts(step)))
    if promql:
        yield Verbatim(step.promql)


def _facts(step: Step) -> Iterator[str]:
    if step.record:
        yield f"record {step.record}"
    if step.settings:
        yield "settings " + ", ".join(f"{used.setting} = {used.value}" for used in step.settings)
    yield from (f"metric {_metric(metric)}" for metric in step.metrics)


def _metric(metric: Metric) -> str:
    if metric.value is None:
        return f"{metric.name}: no sample"
    return f"{metric.name}: {'grew by ' if metric.is_counter else ''}{metric.value:,.4g}"
