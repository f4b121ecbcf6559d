"""Whether memory bounds the steps, by vLLM's own estimate of their operations and bytes."""

from pathlib import Path

import pytest

from conftest import ROOT
from draftboard.evidence.cards import cards
from draftboard.output import as_markdown
from draftboard.reading import Pages
from draftboard.report import ModelReport, Report, report
from draftboard.report.arithmetic import Arithmetic
from draftboard.report.document import document
from draftboard.settings import Settings
from support.known import known

COUNTERS = ("flops", "read_bytes", "write_bytes")
Estimates = tuple[float, float, float] | None  # Operations, bytes read and written; None where they are not exposed.


def page(end: str, estimates: Estimates, folder: Path, *, started: str = "") -> Path:
    text = (ROOT / f"tests/data/v0.32.0-ngram-pair-{end}.prom").read_text()
    for place, name in enumerate(COUNTERS):
        series = f'vllm:estimated_{name}_per_gpu_total{{engine="0",model_name="tiny"}} '
        assert f"{series}0.0\n" in text
        text = text.replace(f"{series}0.0\n", f"{series}{estimates[place]}\n" if estimates else "")
    if started:
        text = text.replace("process_start_time_seconds 1.79527732261e+09", f"process_start_time_seconds {started}")
    path = folder / end
    path.write_text(text)
    return path


def of_pages(folder: Path, before: Estimates, after: Estimates, started: str = "") -> Report:
    pages = Pages(page("before", before, folder), page("after", after, folder, started=started), None)
    return report(pages, Settings(), method="ngram")


def reported(folder: Path, before: Estimates, after: Estimates, started: str = "") -> ModelReport:
    (model,) = of_pages(folder, before, after, started).models
    return model


def arithmetic(model: ModelReport) -> Arithmetic | None:
    return known(model.speculation).arithmetic


def test_a_page_without_estimates_or_with_none_made_says_nothing(tmp_path: Path) -> None:
    assert arithmetic(reported(tmp_path, None, None)) is None
    assert arithmetic(reported(tmp_path, (0, 0, 0), (0, 0, 0))) is None
    assert arithmetic(reported(tmp_path, (5e9, 1e9, 1e9), (5e9, 1e9, 1e9))) is None, "all of it was before"


def test_operations_of_the_time_are_divided_by_its_bytes_read_and_written(tmp_path: Path) -> None:
    whole = of_pages(tmp_path, (7e12, 1e12, 1e12), (7e12 + 40e9, 1e12 + 1.5e9, 1e12 + 0.5e9))
    (model,) = whole.models
    found, speculation = known(arithmetic(model)), known(model.speculation)
    assert found.intensity == pytest.approx(20)
    coverage, drafted = known(speculation.coverage), known(speculation.draft_length)
    assert found.with_one_more == pytest.approx(20 * (1 + coverage * (drafted + 1)) / (1 + coverage * drafted))
    assert (found.bound_by_memory, found.unknown) == (tuple(card.name for card in cards()), ())
    written = as_markdown(document(whole, Settings(), engines=False))
    assert "vLLM estimates 20 operations a byte for its steps, prefills included, and at most" in written
    assert "memory bounds decoding on A100 80 GB" in written


def test_what_a_restart_reset_counts_from_zero(tmp_path: Path) -> None:
    model = reported(tmp_path, (7e12, 1e9, 1e9), (30e9, 1e9, 1e9), started="1.79527732361e+09")
    assert known(arithmetic(model)).intensity == pytest.approx(15)


def test_no_card_is_named_whose_peak_is_under_twice_what_steps_may_do(tmp_path: Path) -> None:
    ridges = {card.name: card.ridge for card in cards()}
    for intensity in (60, 140, 1000):
        found = known(arithmetic(reported(tmp_path, (0, 0, 0), (intensity * 1e9, 0.5e9, 0.5e9))))
        assert {*found.bound_by_memory} == {name for name in ridges if found.with_one_more < 0.5 * ridges[name]}
        assert {*found.bound_by_memory, *found.unknown} == ridges.keys()
        assert ("memory may not bound decoding" in str(found)) == (not found.bound_by_memory)
        if found.bound_by_memory and found.unknown:
            assert f"and on {', '.join(found.unknown)} these figures do not show it" in str(found)
