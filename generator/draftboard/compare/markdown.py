"""A comparison as Markdown, for a pull request or a chat."""

from draftboard.compare.objects import Comparison
from draftboard.compare.words import (
    REST,
    arm_in_words,
    cells,
    figures,
    headline,
    samples,
    tail_headline,
    tail_reasons,
)
from draftboard.report.markdown import bullets, plain, table
from draftboard.settings import Settings


def as_markdown(comparison: Comparison, settings: Settings) -> str:
    """The same words as on a terminal."""
    lines = [f"# {plain(headline(comparison, settings)[0])}", ""]
    lines += bullets(
        [f"Baseline: {arm_in_words(comparison.baseline)}", f"Candidate: {arm_in_words(comparison.candidate)}"]
    )
    if comparison.unlike:
        lines += ["**Not alike, compared because of --force:**", "", *bullets(comparison.unlike)]
    lines += bullets(comparison.verdict.reasons)
    lines += [f"## Tail: {plain(tail_headline(comparison)[0])}", "", *bullets(tail_reasons(comparison))]
    if comparison.gates:
        rows = [(gate.option, f"{gate.limit:g}", gate.says) for gate in comparison.gates]
        lines += ["## Gates", "", *table(("Gate", "Limit", "Result"), rows)]
    lines += ["## Numbers", "", *table(("", "Value", "Meaning"), list(figures(comparison)))]
    for group in comparison.groups:
        sides = (f"{side}: {told}" for side, told in zip(("Baseline", "Candidate"), samples(group), strict=True))
        lines += table((group.title, *sides, "Change"), [cells(row) for row in group.rows])
    lines += bullets(comparison.notes)
    return "\n".join([*lines, REST]) + "\n"
