"""A draft model with K = 3, then the same port with K = 5: report, records and answers, and what a restart mixes."""

from collections.abc import Iterator
from contextlib import ExitStack
from dataclasses import dataclass
from pathlib import Path

import pytest

from draftboard.durations import Duration
from draftboard.report import ModelReport
from draftboard.report.document import numbers_of
from draftboard.report.objects import LINES
from draftboard.settings import Settings
from draftboard.signals.advice import ADVICE, advice
from draftboard.signals.depth import accepted_length_share, conditional_acceptance, survival, tokens_per_step_at
from draftboard.signals.drafting import configured_k, lowest_k
from draftboard.signals.gains import best_k, speedup_at
from draftboard.signals.verdicts import VERDICT, verdict
from support.known import known
from support.loopback import free_port
from support.measured import Measure
from support.scraped import Scraper, scraping
from support.vllm_interval import Interval, assert_counts, assert_possible, interval, of_pages
from support.vllm_server import PER_REQUEST, Start
from support.vllm_traffic import REQUESTS, send

pytestmark = pytest.mark.vllm

METHOD = "draft_model"
KS = (3, 5)
BY_DEPTH = (survival, conditional_acceptance, accepted_length_share, tokens_per_step_at, speedup_at)
SAME = 1e-6
"""Counters of one server are scraped together, so that the noise of a rate is in no ratio."""


@dataclass(frozen=True)
class Runs:
    """The load at each K, and a Prometheus that scraped both, with the times when it had all of each."""

    of: dict[int, Interval]
    at: dict[int, float]
    prometheus: Scraper

    def across(self, settings: Settings) -> ModelReport:
        """What a report says of pages before and after the restart."""
        return of_pages(self.of[3].after, self.of[5].after, settings, METHOD)


@pytest.fixture(scope="module")
def scraped_settings(stack_settings: Settings) -> Settings:
    """One window has all of the test, on a slow machine, too."""
    rules = stack_settings.rules.model_copy(
        update={"scrape_interval": Duration(1), "evaluation_interval": Duration(1), "window": Duration(1500)}
    )
    return stack_settings.model_copy(update={"rules": rules})


@pytest.fixture(scope="module")
def runs(
    start: Start, measure: Measure, models: Path, scraped_settings: Settings, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[Runs]:
    port, found, times = free_port(), {}, {}
    folder = tmp_path_factory.mktemp("scraped")
    with ExitStack() as stack:
        prometheus: Scraper
        for k in KS:
            speculation = f'{{"method": "{METHOD}", "model": "{models / "draft"}", "num_speculative_tokens": {k}}}'
            with start(f"draft-model-{k}", speculation, PER_REQUEST, port) as server:
                if k == KS[0]:
                    send(server)  # What counts already when Prometheus first looks is extrapolated alike.
                    prometheus = stack.enter_context(scraping(folder, scraped_settings, port, METHOD))
                found[k] = interval(server, folder / f"pages-{k}", scraped_settings, METHOD)
                times[k] = prometheus.settled()
                if k == KS[0]:
                    measure(server, METHOD)
        yield Runs(found, times, prometheus)


@pytest.mark.parametrize("k", KS)
def test_the_counts_are_those_of_the_answers(k: int, runs: Runs) -> None:
    assert_counts(runs.of[k].sample, runs.of[k].told)
    assert runs.of[k].report.traffic.requests == REQUESTS


@pytest.mark.parametrize("k", KS)
def test_the_figures_follow(k: int, runs: Runs) -> None:
    found, told = runs.of[k].speculation, runs.of[k].told
    assert 0.1 < told.acceptance < 0.9
    assert found.acceptance == pytest.approx(told.acceptance)
    assert found.acceptance_length == pytest.approx(1 + told.accepted_tokens / told.drafts)
    assert found.accepted_length_share == pytest.approx([count / told.drafts for count in told.lengths])
    assert found.survival == pytest.approx([count / told.drafts for count in told.accepted_per_position])
    assert (found.lowest_k, found.configured_k) == (k, k)
    assert found.coverage == pytest.approx(1, abs=0.02)
    assert runs.of[k].report.verdict.advice


@pytest.mark.parametrize("k", KS)
def test_no_speedup_is_told_that_the_tokens_do_not_allow(k: int, runs: Runs) -> None:
    assert_possible(runs.of[k].report)


def test_records_are_the_report_s(runs: Runs) -> None:
    report, at, compared = runs.of[3].report, runs.at[3], 0
    numbers = dict(numbers_of(report, runs.prometheus.settings))
    numbers |= {signal: getattr(runs.of[3].speculation, signal.name) for signal in BY_DEPTH}
    for signal in (*(line.of.signal for line in LINES), *BY_DEPTH):
        value = numbers.get(signal)
        # Two pages know of no rate, and of no time before them.
        if value is not None:
            records = runs.prometheus.recorded(signal, at)
            values = [value] if isinstance(value, float | int) else list(value)
            assert records == pytest.approx(values, rel=SAME), signal.name
            compared += len(records)
    assert compared >= 25
    (told,), (advised,) = (runs.prometheus.recorded(signal, at) for signal in (verdict, advice))
    assert report.verdict.says == known(VERDICT.of(told)).code.says
    assert report.verdict.advice == known(ADVICE.of(advised)).code.says


def test_a_report_of_prometheus_is_that_of_the_pages(runs: Runs) -> None:
    asked, paged = runs.prometheus.report(runs.at[3]), runs.of[3].report
    assert asked.verdict == paged.verdict
    assert asked.sample
    assert known(asked.speculation).survival == pytest.approx(known(paged.speculation).survival, rel=SAME)
    # A count is extrapolated by up to a scrape on either side.
    assert asked.sample.drafts == pytest.approx(runs.of[3].told.drafts, rel=0.3)


def test_across_the_restart_the_report_mixes_nothing(runs: Runs, scraped_settings: Settings) -> None:
    found = runs.across(scraped_settings)
    assert found.sample == runs.of[5].sample
    assert_withheld(found)
    assert_possible(found)
    assert any("restarted in between" in note for note in found.notes)


def test_nor_does_a_report_of_prometheus(runs: Runs) -> None:
    assert_withheld(runs.prometheus.report(runs.at[5]))


def test_nor_do_records(runs: Runs) -> None:
    at = runs.at[5]
    assert (runs.prometheus.recorded(lowest_k, at), runs.prometheus.recorded(configured_k, at)) == ([3], [5])
    assert runs.prometheus.recorded(advice, at) == [ADVICE["mixed"].value]
    assert not any(runs.prometheus.recorded(signal, at) for signal in (*BY_DEPTH[:-2], speedup_at, best_k))


def assert_withheld(model: ModelReport) -> None:
    """Nothing is said that rests on one K."""
    assert model.speculation
    assert (model.speculation.lowest_k, model.speculation.configured_k) == KS
    assert model.verdict.advice == ADVICE["mixed"].says
    assert any(reason.startswith("K differs: 3 and 5") for reason in model.verdict.reasons)
    assert model.speculation.best_k is None
    assert not any(getattr(model.speculation, signal.name) for signal in (*BY_DEPTH[:-2], speedup_at))
