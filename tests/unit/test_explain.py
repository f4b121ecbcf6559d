"""`draftboard explain`: every signal, record and alert as the tree of what it is computed from, with live values."""

import json
import re
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from draftboard.alerts import ALERTS
from draftboard.catalogue.dialects import DIALECTS
from draftboard.errors import DraftboardError
from draftboard.explain import Explanation, document, explain, of_reading
from draftboard.explain.explaining import _explained as explained_of
from draftboard.explain.explanation import Step
from draftboard.explain.values import FromCounts
from draftboard.expr.nodes import Expr, Number, constant, first_of
from draftboard.expr.vector import Vector
from draftboard.output import as_markdown
from draftboard.quantity import Setting
from draftboard.reading import Lifetime, Pages
from draftboard.report import read, report
from draftboard.settings import Settings
from draftboard.signals import ALL, Level, traffic
from support.command_line import run

GIVEN = Settings.model_validate({"draft_cost": {"default": 0.1}})
"""Costs as somebody has set them: from assumed ones, reports judge a range and rules one number."""
DATA = Path(__file__).parents[1] / "data"
LOADED = DATA / "v0.32.0-ngram-load.prom"
BEFORE, AFTER = DATA / "v0.32.0-ngram-pair-before.prom", DATA / "v0.32.0-ngram-pair-after.prom"
EVERY = sorted(
    [signal.name for signal in ALL if signal.exists(Settings())]
    + [alert.name for alert in ALERTS if alert.exists(Settings())]
)


def explained(name: str, page: Path = LOADED, depth: int = 1) -> dict[str, Step]:
    """The steps of the only series, by name."""
    reading = read(Lifetime(page), GIVEN, "ngram")
    (series,) = of_reading(name, reading, depth=depth).series
    return {step.name: step for step in series.steps}


@pytest.mark.parametrize(
    "dialect", [pytest.param(name, marks=[pytest.mark.long] * (name != "vllm")) for name in sorted(DIALECTS)]
)
def test_every_signal_and_alert_has_words_in_every_dialect_where_it_exists(dialect: Any) -> None:
    settings = Settings.model_validate({"series": {"dialect": dialect}})
    signals, alerts = (
        (one.name for one in ALL if one.exists(settings)),
        (one.name for one in ALERTS if one.exists(settings)),
    )
    for name in (*signals, *alerts):
        (series,) = explain(name, settings).series
        assert all(step.formula or step.rows for step in series.steps), name
        assert not any("nodes." in step.formula or "(path=" in step.formula for step in series.steps), name


@pytest.mark.parametrize("page", [LOADED, DATA / "v0.32.0-ngram-idle.prom", DATA / "v0.32.0-eagle-unfit.prom"])
def test_the_row_that_holds_is_the_verdict_and_no_later_row_is_evaluated(page: Path) -> None:
    rows = explained("verdict", page)["verdict"].rows
    held = [number for number, row in enumerate(rows) if row.holds]
    assert all(row.holds is False and row.because for row in rows[: held[0] if held else None])
    (model,) = report(Lifetime(page), GIVEN, method="ngram").models
    if held:
        assert [row.holds for row in rows[held[0] + 1 :]] == [None] * (len(rows) - held[0] - 1)
        assert rows[held[0]].says == model.verdict.says
    else:
        assert model.verdict.says is None or not model.verdict.says


def test_what_rests_on_assumed_costs_is_explained_at_both_ends() -> None:
    reading = read(Lifetime(LOADED), Settings(), "eagle3")
    for name, ends in {
        "break_even": ("break_even_low", "break_even_high"),
        "best_k": ("best_k_low", "best_k"),
        "needed_per_step": ("step_cost_low", "step_cost_high"),
    }.items():
        (series,) = of_reading(name, reading).series
        low, high = (step for step in series.steps if step.depth == 0)
        assert (low.name, high.name) == ends
        assert low.numbers <= high.numbers


def test_a_formula_holds_the_live_values_of_the_signals_below_it() -> None:
    steps = explained("expected_speedup")
    numbers = [float(text) for text in re.findall(r"\(([\d.]+)\)", steps["expected_speedup"].formula)]
    assert numbers == [round(steps[name].numbers[0], 2) for name in ("tokens_per_step", "needed_per_step")]
    assert steps["expected_speedup"].numbers[0] == pytest.approx(
        steps["tokens_per_step"].numbers[0] / steps["needed_per_step"].numbers[0]
    )


def test_metrics_carry_the_sample_that_they_grew_by() -> None:
    drafts = explained("drafts")["drafts"]
    counter = re.search(r"^vllm:spec_decode_num_drafts_total\{.*\} (\S+)$", LOADED.read_text(), re.MULTILINE)
    assert counter is not None
    assert [(one.name, one.value, one.is_counter) for one in drafts.metrics] == [
        ("vllm:spec_decode_num_drafts_total", float(counter[1]), True)
    ]


def test_settings_stand_with_their_values() -> None:
    settings = Settings.model_validate({"traffic": {"drafts_to_judge": 123}})
    (series,) = explain("verdict", settings).series
    used = {one.setting: one.value for one in series.steps[0].settings}
    assert used["traffic.drafts_to_judge"] == "123"
    assert "123 [traffic.drafts_to_judge]" in series.steps[0].rows[1].because


def test_a_limit_stands_in_the_unit_of_its_signal_and_a_code_by_its_meaning() -> None:
    condition = explained("SpecDecodeNotPaying")["SpecDecodeNotPaying"].formula
    assert "= costs more than it saves (assumed)" in condition
    assert "> 30.00 s [thresholds.queue_wait]" in explained("VLLMUsersWait")["VLLMUsersWait"].formula
    because = [row.because for row in explained("verdict")["verdict"].rows]
    assert any("> 5.0% [thresholds.inconsistent]" in words for words in because)


def test_depth_0_explains_one_signal_and_each_signal_stands_once() -> None:
    assert [*explained("verdict", depth=0)] == ["verdict"]
    reading = read(Lifetime(LOADED), Settings(), "ngram")
    names = [step.name for step in of_reading("verdict", reading, depth=9).series[0].steps]
    assert len(names) == len(set(names)) > 20


def test_two_pages_are_explained_over_the_time_between_them() -> None:
    reading = read(Pages(BEFORE, AFTER), Settings(), "ngram")
    explanation = of_reading("acceptance", reading)
    (model,) = report(Pages(BEFORE, AFTER), Settings(), method="ngram").models
    assert model.speculation is not None
    assert explanation.series[0].steps[0].numbers == (pytest.approx(model.speculation.acceptance),)
    before, after = (
        re.search(r"^vllm:spec_decode_num_drafts_total\{.*\} (\S+)$", page.read_text(), re.MULTILINE)
        for page in (BEFORE, AFTER)
    )
    assert before
    assert after
    assert explanation.series[0].drafts == float(after[1]) - float(before[1]) > 0


def test_an_alert_says_whether_its_condition_holds() -> None:
    unfit = explained("SpecDecodeNotPaying", DATA / "v0.32.0-eagle-unfit.prom")
    (model,) = report(Lifetime(DATA / "v0.32.0-eagle-unfit.prom"), Settings(), method="ngram").models
    assert unfit["SpecDecodeNotPaying"].values == ("the condition holds",)
    assert model.verdict.says is not None
    assert explained("SpecDecodeNotPaying")["SpecDecodeNotPaying"].values == ()


@pytest.mark.parametrize("name", EVERY)
def test_every_explanation_of_a_real_page_fits_its_document(name: str) -> None:
    reading = read(Lifetime(LOADED), Settings(), "ngram")
    assert as_markdown(document(of_reading(name, reading, depth=0), promql=True))


def test_what_the_settings_do_not_enable_is_named_as_such() -> None:
    with pytest.raises(DraftboardError, match="slo_events does not exist with these settings"):
        explain("slo_events", Settings())


def test_a_choice_of_series_by_label(capsys: pytest.CaptureFixture[str]) -> None:
    _, out, _ = run("explain", "acceptance", LOADED, "--label", "model_name=tiny", "--json", capsys=capsys)
    (series,) = json.loads(out)["series"]
    assert series["labels"] == {"model_name": "tiny"}
    assert series["steps"][0]["values"]


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (["acceptence"], "no signal, record or alert is named 'acceptence': did you mean acceptance"),
        (["model:vllm_spec_decode_acceptance:ratio_rate7m"], "did you mean model:vllm_spec_decode_acceptance:ratio_r"),
        (["acceptance", "--label", "x=1"], "--label requires a server, a page or --prometheus"),
        (["acceptance", str(LOADED), "--label", "x"], "--label 'x': write NAME=VALUE"),
        (["acceptance", str(LOADED), "--label", "model_name=other"], "model_name=other: no series has this value, but"),
        (["acceptance", str(LOADED), "--label", "colour=red"], "--label colour: series have model_name"),
        (["acceptance", str(LOADED), "--at", "now"], "--at requires --prometheus"),
        (["acceptance", str(LOADED), "--prometheus", "localhost:1"], "cannot be combined with server or page"),
    ],
)
def test_a_mistake_is_one_line_and_exits_2(
    arguments: list[str], words: str, capsys: pytest.CaptureFixture[str]
) -> None:
    code, out, err = run("explain", *arguments, capsys=capsys)
    assert (code, out) == (2, "")
    assert words in " ".join(err.split())


def test_nodes_are_compared_by_value_and_printed_as_they_are_written() -> None:
    one, other = (first_of(constant(Setting("thresholds.drop"), traffic.drafts), traffic.drafts) for _ in range(2))
    assert one == other
    assert hash(one) == hash(other)
    assert repr(Number(Setting("thresholds.drop"))) == "Number(value=Setting(path='thresholds.drop', otherwise=None))"
    assert repr(traffic.drafts) == "Signal(drafts)"
    assert traffic.drafts * 2 == traffic.drafts * 2 != traffic.drafts * 3


def test_the_schema_version_is_in_the_json(capsys: pytest.CaptureFixture[str]) -> None:
    _, out, _ = run("explain", "acceptance", "--json", capsys=capsys)
    assert json.loads(out)["schema_version"] == Explanation.schema_version


def test_series_without_a_label_are_explained_apart_from_those_with_it() -> None:
    page = read(Lifetime(LOADED), GIVEN, "ngram")
    several = [
        replace(tally, counted={series: value * factor for series, value in tally.counted.items()}, model=model)
        for tally in page.grown.tallies
        for model, factor in (("labelled", 1.0), ("unlabelled", 3.0))
    ]
    reading = replace(page, grown=replace(page.grown, tallies=tuple(several)))
    labels = {
        "labelled": frozenset({("variant", "b"), ("model_name", "m")}),
        "unlabelled": frozenset({("model_name", "m")}),
    }

    class Mixed(FromCounts):
        def of(self, expression: Expr, level: Level) -> Vector:
            found = super().of(expression, level)
            return {labels[dict(own)["model_name"]]: value for own, value in found.items() if "model_name" in dict(own)}

    def drafts(*only: tuple[str, str]) -> list[float | None]:
        values = Mixed(reading.counts)
        return [one.drafts for one in explained_of("drafts", GIVEN, values, depth=0, only=frozenset(only)).series]

    one, three = sorted(number or 0 for number in drafts())
    assert three == pytest.approx(3 * one)
    assert drafts(("variant", "b")) == [pytest.approx(one)]
