"""A report of two saved pages, and one of Prometheus, against the records over the same time of the recorded run."""

import lzma
import re
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest

from conftest import RECORDING
from draftboard.durations import Duration
from draftboard.errors import DraftboardError
from draftboard.expr.to_promql import promql_of
from draftboard.lab.replay import Replay
from draftboard.reading import Pages, Recorded
from draftboard.report import ModelReport, report, verdict_of
from draftboard.report.document import numbers_of
from draftboard.report.objects import LINES
from draftboard.settings import Settings
from draftboard.signals import Scope, Signal
from draftboard.signals.acceptance import tokens_per_step
from draftboard.signals.advice import ADVICE, advice
from draftboard.signals.costs import CHEAP, DEAR, verify_inflation
from draftboard.signals.depth import accepted_length_share, conditional_acceptance, survival, tokens_per_step_at
from draftboard.signals.drafting import configured_k
from draftboard.signals.economics import expected_speedup
from draftboard.signals.gains import best_k, best_speedup, longer_gain, speedup_at
from draftboard.signals.latency import FELT
from draftboard.signals.requests import request_rate
from draftboard.signals.states import state
from draftboard.signals.traffic import generation_tokens, wasted_tokens
from draftboard.signals.verdicts import UNCLEAR, verdict

pytestmark = [pytest.mark.prometheus, pytest.mark.xdist_group("demo_run")]

METHODS = ("ngram", "none")
PAGES = 1e-6
SERIES = (survival, conditional_acceptance, accepted_length_share, tokens_per_step_at, speedup_at)
RATES = (generation_tokens, request_rate)
BUSY = 1795249059
# Minutes in which the speculating server had load and no counter was new, for then each is extrapolated to its own 0.
MOMENTS = (1795248930, 1795248969, 1795249030, 1795249064, 1795249119, 1795249235)
LAST = 1795249485
"""Five minutes before it, both servers run already."""
OF_ENDS = {best_speedup, longer_gain}
"""Of one end of the costs each, of which `knowing_v` sets neither."""
EXTRAPOLATED = 0.02
"""Rates are extrapolated to the ends of the window, as if the scrapes had been there; a report divides what was counted
by the time in which it was. Counts of a window, such as drafts, differ by one scrape in all of them."""


@pytest.fixture(scope="module")
def scrapes() -> dict[str, dict[float, list[str]]]:
    """Lines of each page, by drafting method and time."""
    found: dict[str, dict[float, list[str]]] = {method: {} for method in METHODS}
    with lzma.open(RECORDING, "rt") as text:
        for line in text:
            if line.startswith(("#", "up{")):
                continue
            series, value, at = line.rsplit(" ", 2)
            method = next(method for method in METHODS if f'spec_method="{method}"' in series)
            found[method].setdefault(float(at), []).append(f"{series} {value}\n")
    return found


def pair(scrapes: dict[float, list[str]], end: float, seconds: float, folder: Path) -> Pages:
    """The first and the last page that a rate at this time looks at."""
    inside = sorted(at for at in scrapes if end - seconds < at <= end)
    for name, at in (("before", inside[0]), ("after", inside[-1])):
        (folder / name).write_text("".join(scrapes[at]))
    new = inside[0] - (end - seconds) > 2 * (inside[1] - inside[0])
    # A server that is new counted nothing in the rest of the window, which a rate therefore divides by whole.
    return Pages(folder / "before", folder / "after", Duration(round(seconds if new else inside[-1] - inside[0])))


def recorded(replay: Replay, signal: Signal, method: str, at: float) -> dict[str, float]:
    """The signal's values by its own label."""
    answer = replay.client.query(promql_of(signal, Scope(replay.settings)), at)
    own = signal.by[0] if signal.by else ""
    return {
        series.labels.get(own, ""): series.samples[0][1] for series in answer if series.labels["spec_method"] == method
    }


def said(model: ModelReport, settings: Settings) -> dict[str, Any]:
    """Every number of a report, by the name of its signal."""
    numbers: dict[str, Any] = {signal.name: value for signal, value in numbers_of(model, settings)}
    if model.speculation:
        numbers |= {signal.name: getattr(model.speculation, signal.name) for signal in SERIES}
    numbers |= {signal.name: getattr(model.traffic, signal.name) for signal in (*RATES, tokens_per_step)}
    for name, signals in FELT.items():
        time = getattr(model.latency, name)
        if time:
            parts = ("mean", "p50", "p95", "p99", "unresolved")
            numbers |= {getattr(signals, part).name: getattr(time, part) for part in parts}
    return numbers


def compared(replay: Replay, model: ModelReport, method: str, at: float, tolerance: float) -> int:
    """Compare all numbers that are recorded; returns how many."""
    numbers, count = said(model, replay.settings), 0
    quantiles = {getattr(s, part).name for s in FELT.values() for part in ("p50", "p95", "p99")}
    asked = [*(line.of.signal for line in LINES if not line.of.if_known), *SERIES, *RATES]
    asked += [getattr(s, part) for s in FELT.values() for part in ("mean", "p50", "p95", "p99", "unresolved")]
    for signal in asked:
        records = recorded(replay, signal, method, at)
        # Of ties, either may be the best k; of drafts that were not made, nothing is said to be wasted, nor how long.
        of_pages = tolerance == PAGES and signal in OF_ENDS
        if (
            not records
            or signal is best_k
            or of_pages
            or (signal in {wasted_tokens, configured_k} and not model.speculation)
        ):
            continue
        mine = numbers[signal.name]
        values = list(mine) if signal.by else [mine]
        expected = [records[label] for label in sorted(records, key=lambda label: int(label or 0))]
        wide = signal in {*RATES, wasted_tokens} or signal.name in quantiles
        assert values == pytest.approx(expected, rel=max(tolerance, EXTRAPOLATED) if wide else tolerance), (
            signal.name,
            at,
        )
        count += len(values)
    return count


def judged_alike(replay: Replay, model: ModelReport, method: str, at: float, *, of_pages: bool) -> bool:
    """Compare state, verdict and advice; returns whether there was a verdict."""
    (code,) = recorded(replay, state, method, at).values()
    assert model.state == next(each.says for each in state.codes if each.value == code)
    told = recorded(replay, verdict, method, at)
    if not told or model.verdict.says is None:
        return False
    (says,) = (code.says for code in verdict.codes if code.value == told[""])
    advised = next(each for each in advice.codes if each.value == recorded(replay, advice, method, at)[""])
    if of_pages:
        # Pages know neither a past nor a baseline: they say what is expected.
        expected = recorded(replay, expected_speedup, method, at)[""]
        band = expected_speedup.step_of(expected, replay.settings)
        says = f"{UNCLEAR.says if band.at == UNCLEAR.at else band.says} (assumed)"
        unknown = {ADVICE["workload"], ADVICE["slower"]}
        if model.verdict.advice == ADVICE["measure"].says:
            unknown |= {ADVICE["keep"], ADVICE["another"]}
        assert model.verdict.advice == advised.says or advised in unknown
    else:
        assert model.verdict.advice == advised.says
    assert model.verdict.says == says
    return True


def knowing_v(replay: Replay, method: str, at: float) -> Settings:
    """Settings with the verify inflation that the records measured against the baseline, which pages cannot know."""
    return assuming(recorded(replay, verify_inflation, method, at).get("", 1.0), replay.settings)


def assuming(inflation: float, settings: Settings, by_method: Mapping[str, float] | None = None) -> Settings:
    by_method = by_method or settings.draft_cost.by_method
    costs = settings.draft_cost.model_copy(update={"verify_inflation": {"1": inflation}, "by_method": by_method})
    return settings.model_copy(update={"draft_cost": costs})


@pytest.mark.parametrize("method", METHODS)
@pytest.mark.parametrize("at", MOMENTS)
def test_a_saved_pair_says_what_the_records_say(
    at: int, method: str, demo_run: Replay, scrapes: dict[str, dict[float, list[str]]], tmp_path: Path
) -> None:
    when = demo_run.start + round((at - demo_run.start) / demo_run.step) * demo_run.step
    pages = pair(scrapes[method], when, demo_run.settings.rules.rate_window.seconds, tmp_path)
    (model,) = report(pages, knowing_v(demo_run, method, when), method=method).models
    assert model.model == "tiny"
    count = compared(demo_run, model, method, when, PAGES)
    assert count >= (30 if method == "ngram" else 20)
    judged_alike(demo_run, model, method, when, of_pages=True)


@pytest.mark.parametrize("at", MOMENTS)
def test_with_the_costs_of_an_end_a_saved_pair_says_what_the_records_say_of_that_end(
    at: int, demo_run: Replay, scrapes: dict[str, dict[float, list[str]]], tmp_path: Path
) -> None:
    when, method = demo_run.start + round((at - demo_run.start) / demo_run.step) * demo_run.step, "ngram"
    pages = pair(scrapes[method], when, demo_run.settings.rules.rate_window.seconds, tmp_path)
    for case, signal in ((CHEAP, best_speedup), (DEAR, longer_gain)):
        token, base = (recorded(demo_run, cost, method, when)[""] for cost in (case.token, case.base))
        settings = assuming(base, demo_run.settings, {method: token})
        (model,) = report(pages, settings, method=method).models
        mine, records = dict(numbers_of(model, settings)).get(signal), recorded(demo_run, signal, method, when)
        assert mine == (pytest.approx(records[""], rel=PAGES) if records else None), signal.name


@pytest.mark.parametrize("method", METHODS)
def test_so_it_does_over_five_minutes(
    method: str, default_run: Replay, scrapes: dict[str, dict[float, list[str]]], tmp_path: Path
) -> None:
    when = default_run.start + (LAST - default_run.start) // default_run.step * default_run.step
    pages = pair(scrapes[method], when, 300, tmp_path)
    (model,) = report(pages, knowing_v(default_run, method, when), method=method).models
    assert compared(default_run, model, method, when, PAGES) >= 20
    assert judged_alike(default_run, model, method, when, of_pages=True) == (method == "ngram")


@pytest.fixture(scope="module")
def moments(demo_run: Replay) -> list[float]:
    return [demo_run.start + 60 + step * demo_run.step for step in range(0, 110, 12)]


def test_a_report_of_prometheus_says_what_the_records_say(demo_run: Replay, moments: list[float]) -> None:
    judged, remembered = 0, list[str]()
    for at in moments:
        source = Recorded(demo_run.client.url, demo_run.settings.rules.rate_window, at=at)
        for model in report(source, demo_run.settings).models:
            assert model.method in METHODS
            compared(demo_run, model, model.method or "", at, 1e-9)
            judged += judged_alike(demo_run, model, model.method or "", at, of_pages=False)
            change = model.acceptance_change
            if model.verdict.advice == ADVICE["workload"].says and (change or 1) >= demo_run.settings.thresholds.drop:
                remembered += model.verdict.reasons
    assert judged > 4
    ago = r"; changing K will not help: .*, acceptance fell 1m\d+s ago"
    assert any(re.search(ago, one) for one in remembered)


def test_another_range_is_asked_of_raw_series_and_agrees_with_a_saved_pair(
    demo_run: Replay, scrapes: dict[str, dict[float, list[str]]], tmp_path: Path
) -> None:
    source = Recorded(demo_run.client.url, Duration(120), at=BUSY)
    by_method = {model.method: model for model in report(source, demo_run.settings).models}
    for method in METHODS:
        drafting = by_method[method].speculation
        settings = assuming(drafting.verify_inflation if drafting else 1.0, demo_run.settings)
        (paired,) = report(pair(scrapes[method], BUSY, 120, tmp_path), settings, method=method).models
        mine, theirs = said(paired, settings), said(by_method[method], settings)
        assert mine.keys() <= theirs.keys()
        for name, value in mine.items():
            if value is not None and name not in {signal.name for signal in OF_ENDS}:
                assert value == pytest.approx(theirs[name], rel=EXTRAPOLATED), name


def test_a_model_can_be_asked_for_and_its_engines_told(demo_run: Replay) -> None:
    source = Recorded(demo_run.client.url, Duration(60), "tiny", at=BUSY)
    found = report(source, demo_run.settings, engines=True)
    assert {model.method for model in found.models} == set(METHODS)
    for model in found.models:
        (engine,) = model.engines
        assert engine.engine == "0"
        assert engine.server == model.engines[0].server != ""
        assert engine.traffic.generation_tokens == pytest.approx(model.traffic.generation_tokens)
        # What is measured is of the model.
        assert engine.verdict.basis == (model.verdict.basis and "assumed")
    with pytest.raises(DraftboardError, match=r"no series of ti\.y in the last 1m"):
        report(Recorded(demo_run.client.url, Duration(60), "ti.y", at=BUSY), demo_run.settings)


def test_a_server_that_is_down_is_called_so(demo_run: Replay) -> None:
    source = Recorded(demo_run.client.url, demo_run.settings.rules.rate_window, at=1795249150)
    down = [model for model in report(source, demo_run.settings, engines=True).models if model.state == "down"]
    assert down
    assert all(engine.state == "down" for model in down for engine in model.engines)
    # What it did before it went down is within the minute.
    assert all(verdict_of(model).startswith("down") for model in down)


def test_counts_and_ratios_of_prometheus_are_of_one_moment_between_evaluations(demo_run: Replay) -> None:
    def counted(series: str) -> float:
        asked = f'sum(rate(vllm:{series}{{spec_method="ngram"}}[1m])) * 60'
        return demo_run.client.query(asked, BUSY)[0].samples[0][1]

    assert (BUSY - demo_run.start) % demo_run.step > 1
    source = Recorded(demo_run.client.url, Duration(60), at=BUSY)
    model = next(model for model in report(source, demo_run.settings).models if model.method == "ngram")
    drafts, steps = counted("spec_decode_num_drafts_total"), counted("inter_token_latency_seconds_count")
    assert model.sample
    assert model.speculation
    assert model.latency.step
    assert (model.sample.drafts, model.latency.step.count) == pytest.approx((drafts, steps))
    assert model.speculation.coverage == pytest.approx(drafts / steps)
