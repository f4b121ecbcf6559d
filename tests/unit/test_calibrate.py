"""What a calibration concludes: where speculation stops paying, and settings that hold what was measured."""

import io
import json
from collections.abc import Callable
from dataclasses import replace
from itertools import pairwise
from pathlib import Path
from typing import Any

import pytest
from rich.console import Console

from draftboard.calibrate import Calibration, calibrated, document, write
from draftboard.calibrate.load import window_between
from draftboard.calibrate.windows import Measured, Window, pooled
from draftboard.cli import main
from draftboard.errors import DraftboardError
from draftboard.lab.simulator.serve import page
from draftboard.output import show
from draftboard.reading import read
from draftboard.settings import Settings, load
from support.costed import C, v, windows
from support.simulated import scenario, started

pytest.importorskip("statsmodels")
WIDE = (1, 4, 16, 64)


def steeply(batch: float) -> float:
    return 1 + batch / 10


def calibration(measured: list[Window], **settings: Any) -> Calibration:
    """Of a model m, drafted by eagle3."""
    found = Measured(
        origin="load", model="m", method="eagle3", sources=("a", "b"), taken_at=1.8e9, windows=tuple(measured)
    )
    return calibrated(found, Settings.model_validate({"draft_cost": settings}))


def stop(inflation: Callable[[float], float], noise: float = 0.02) -> str:
    (found,) = calibration(windows(1, loads=WIDE, inflation=inflation, noise=noise)).stops
    return found.says


def test_speculation_stops_paying_where_the_speedup_falls_to_one() -> None:
    (found,) = calibration(windows(1, loads=WIDE, inflation=steeply)).stops
    # 4 tokens a step, on a straight line between speedups of 1.38 at 16 and 0.52 at 64.
    assert found.batch == pytest.approx(25, rel=0.05)
    assert found.low
    assert found.batch
    assert found.high
    assert 16 < found.low < found.batch < found.high < 64
    assert found.says == f"stops paying at a batch of {found.batch:.3g} (95 %: {found.low:.3g} to {found.high:.3g})"


def test_where_it_stops_is_not_told_beyond_the_batches_measured() -> None:
    assert stop(v) == "pays at all batches measured, up to 64"
    assert stop(lambda _: 3.55, noise=0.04).startswith(
        "pays at all batches measured, up to 64; the interval holds 1 from "
    )
    assert stop(lambda _: 6.0) == "does not pay at a batch of 1, the smallest measured"
    assert "beyond 64, the largest measured)" in stop(lambda batch: 3.76 if batch > 16 else 2, noise=0.03)


def test_c_of_the_settings_stays_where_only_the_sum_is_known() -> None:
    found = calibration(windows(1, noise=0), by_method={"eagle3": 0.04})
    assert found.settings
    assert (found.settings.draft_cost, found.settings.draft_cost_source) == (0.04, "settings")
    assert found.settings.verify_inflation == {
        batch: pytest.approx(v(batch) + 5 * (C - 0.04)) for batch in (1, 2, 4, 8)
    }
    assert any(note.startswith("c and v are known as a sum only: ") for note in found.notes)
    assert "c = 0.04 of the settings is kept, and v is the sum less L * c" in found.notes


def test_c_is_lowered_where_v_would_be_under_one() -> None:
    found = calibration(windows(1, noise=0), by_method={"eagle3": 0.1})
    assert found.settings
    assert (found.settings.draft_cost, found.settings.draft_cost_source) == (pytest.approx(C + 0.004), "lowered")
    assert found.settings.verify_inflation[1] == 1
    # The sums are as measured all the same.
    assert found.settings.verify_inflation[8] + 5 * found.settings.draft_cost == pytest.approx(v(8) + 5 * C, abs=1e-3)


def test_a_step_that_is_cheaper_than_a_plain_one_costs_one_in_the_settings() -> None:
    found = calibration(windows(1, noise=0, inflation=lambda _: 0.6))
    assert found.settings
    assert (found.settings.draft_cost, set(found.settings.verify_inflation.values())) == (0, {1})
    assert "A step with a draft takes as little as 0.90 plain steps: the settings hold 1" in found.notes


def test_c_and_v_are_written_where_k_varied(tmp_path: Path) -> None:
    found = calibration(windows(1, ks=(3, 5), noise=0))
    write(found, tmp_path / "costs.toml")
    text = (tmp_path / "costs.toml").read_text()
    assert text.startswith(
        "# Calibrated 2027-01-15 08:00 UTC from load: model 'm', method 'eagle3',\n"
        "# 60 windows, 300,000 decode steps. c is fitted.\n"
    )
    assert "by_method.eagle3 = 0.06\n" in text
    assert "verify_inflation = { 1 = 1.02, 2 = 1.04, 4 = 1.08, 8 = 1.16 }\n" in text


@pytest.mark.parametrize("loads", [(4,), (1, 2, 4, 8)])
def test_what_is_written_is_what_settings_read(loads: tuple[int, ...], tmp_path: Path) -> None:
    found = calibration(windows(1, loads=loads))
    assert found.settings
    write(found, tmp_path / "costs.toml")
    read_back = load(tmp_path / "costs.toml").draft_cost
    assert read_back.inflation_by_batch == tuple(found.settings.verify_inflation.items())
    assert read_back.by_method == Settings().draft_cost.by_method | {"eagle3": found.settings.draft_cost}
    assert read_back.calibrated == ("eagle3",)


def of_contexts(**inflation_at: Callable[[float], float]) -> list[Window]:
    """Windows of several contexts, each with costs of its own."""
    return [
        replace(one, context=int(name.removeprefix("up_to_")))
        for name, of in inflation_at.items()
        for one in windows(1, loads=WIDE, inflation=of, noise=0.01)
    ]


def test_each_context_has_costs_of_its_own() -> None:
    found = calibration(of_contexts(up_to_1024=v, up_to_16384=steeply), by_method={"eagle3": C})
    short, long = found.contexts
    assert (short.context, long.context) == (1024, 16384)
    for each, true in ((short, v), (long, steeply)):
        assert each.verify_inflation == {batch: pytest.approx(true(batch), rel=0.05) for batch in WIDE}
        assert [row.step_cost.value for row in each.rows] == pytest.approx(
            [true(batch) + 5 * C for batch in WIDE], rel=0.05
        )


def test_a_context_without_a_baseline_is_left_out_and_one_alone_says_nothing_of_contexts() -> None:
    both = of_contexts(up_to_1024=v, up_to_16384=steeply)
    drafting = [one for one in both if not (one.context == 16384 and one.is_baseline)]
    assert [each.context for each in calibration(drafting).contexts] == [1024]
    assert "By context" not in printed(calibration(drafting))
    assert calibration(of_contexts(up_to_1024=v)).contexts == ()


def printed(found: Calibration) -> str:
    show(document(found), Console(file=(out := io.StringIO()), width=200))
    return out.getvalue()


def test_the_schedule_takes_the_options_that_are_printed_for_contexts(capsys: pytest.CaptureFixture[str]) -> None:
    text = printed(calibration(of_contexts(up_to_1024=v, up_to_16384=steeply), by_method={"eagle3": C}))
    (options,) = (line for line in text.splitlines() if line.startswith("--inflation 1024:"))
    words = ["--survival", ".9,.8,.7,.6,.5", "--cost-ratio", str(C), *options.split(), "--json"]
    with pytest.raises(SystemExit) as ended:
        main(["plan", "schedule", *words])
    assert not ended.value.code
    plan = json.loads(capsys.readouterr().out)
    assert [(each["first"], each["last"]) for each in plan["contexts"]] == [(1, 1024), (1025, 16384)]
    # At a batch of 64, v is 2.3 for short requests and 7.4 for long ones.
    assert [each["ranges"][-1]["k"] > 0 for each in plan["contexts"]] == [True, False]


def test_the_schedule_takes_the_curve_that_was_written(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    write(calibration(windows(1, loads=WIDE, inflation=steeply, noise=0)), tmp_path / "costs.toml")
    words = ["--survival", ".9,.8,.7,.6,.5", "--method", "eagle3", "--config", str(tmp_path / "costs.toml"), "--json"]
    with pytest.raises(SystemExit) as ended:
        main(["plan", "schedule", *words])
    assert not ended.value.code
    planned = json.loads(capsys.readouterr().out)
    assert planned["inflation"]["points"] == [[1, 1.15], [4, 1.45], [16, 2.65], [64, 7.45]]
    assert planned["inflation"]["assumed"] is planned["cost_ratio"]["assumed"] is False
    *_, last = planned["speculative_config"]["num_speculative_tokens_per_batch_size"]
    assert last[1:] == [64, 0]


def test_without_a_method_there_are_no_settings() -> None:
    found = calibrated(
        Measured(origin="load", model="m", method="", sources=("a",), taken_at=0, windows=tuple(windows(1))), Settings()
    )
    assert found.settings is None
    assert "No settings: name the drafting method with --method" in found.notes


def test_a_hostile_name_stays_within_its_comment(tmp_path: Path) -> None:
    found = calibration(windows(1))
    write(replace(found, model='m"\n[draft_cost]\nx = 1'), tmp_path / "costs.toml")
    keys = [line for line in (tmp_path / "costs.toml").read_text().splitlines() if not line.startswith("#")]
    assert (keys[0], len(keys)) == ("[draft_cost]", 4)


def test_costs_that_no_straight_line_fits_are_named() -> None:
    bent = windows(1, ks=(1, 5, 9), noise=0, inflation=v)
    found = calibration([replace(one, seconds=one.seconds * 1.3) if one.variant == "K = 5" else one for one in bent])
    assert any("from the step costs measured" in note for note in found.notes)


def test_loads_that_one_arm_hardly_had_are_left_out() -> None:
    measured = windows(1, loads=(1, 2))
    found = calibration([one for number, one in enumerate(measured) if one.load == 1 or number % 5 == 0])
    assert {row.load for row in found.rows} == {1}
    assert any(
        "Left out: loads with under 3 windows of baseline or candidate" in note and "at 2 (" in note
        for note in found.notes
    )


@pytest.mark.parametrize("kept", ["", "K = 5", "nobody"])
def test_one_arm_alone_is_refused(kept: str) -> None:
    with pytest.raises(DraftboardError, match="no load has 3 windows of the baseline and of a candidate"):
        calibration([one for one in windows(1) if one.variant == kept])


def test_loads_in_batches_of_one_size_are_named() -> None:
    found = calibration([replace(one, batch=min(one.batch, 4)) for one in windows(1)])
    assert found.settings
    assert set(found.settings.verify_inflation) == {1, 2, 4}
    assert any("--max-num-seqs" in note for note in found.notes)


@pytest.mark.parametrize("width", [60, 80, 200])
def test_it_is_readable_on_a_terminal(width: int) -> None:
    console = Console(width=width, record=True, force_terminal=True, file=io.StringIO())
    found = calibration(windows(1, ks=(3, 5)))
    show(document(found), console)
    told = console.export_text()
    settings = told.partition("which --write puts into a file:")[2].partition("  - ")[0]
    assert max(map(len, told.replace(settings, "\n").splitlines())) <= width  # text to copy is not wrapped
    for row in found.rows:
        assert f"{row.speedup.value:.2f}" in told


def test_windows_of_one_block_are_one_sample() -> None:
    measured = [replace(one, block=number // 12) for number, one in enumerate(windows(1, loads=(1,), rounds=12))]
    together = pooled(measured)
    assert len(together) == 4
    assert sum(one.steps for one in together) == sum(one.steps for one in measured)
    assert sum(one.seconds for one in together) == pytest.approx(sum(one.seconds for one in measured))


TRUTH = {1: 1.0, 4: 1.3}


def simulated(load: int, k: int) -> list[Window]:
    """Of a simulated server whose costs are known, with so many clients."""
    costs = {"method": "eagle3", "k": k, "draft_cost": C, "verify_inflation": TRUTH[load]} if k else {}
    requests = {"alpha": 0.7, "prompt_tokens": 10, "output_tokens": 400}
    endless = {"saturation_tokens": 1e6, "prefill_tokens_per_second": 1e6, "requests": [requests]}
    clients = {"load": {"clients": load, "think_seconds": 0.001}}
    instance, pages = started(scenario(**endless, **clients, **costs), seed=10 * load + k), []
    for at in range(10, 131, 30):
        instance.advance(at)
        pages.append(read(page(instance).decode(), "simulator"))
    return [window_between(f"K = {k}" if k else "", load, before, after) for before, after in pairwise(pages)]


def test_costs_of_simulated_servers_are_found_within_five_percent() -> None:
    pytest.importorskip("numpy")
    found = calibration([one for clients in TRUTH for k in (0, 3, 5) for one in simulated(clients, k)])
    assert found.costs.draft_cost
    assert found.costs.draft_cost.value == pytest.approx(C, rel=0.05)
    inflations = [point.verify_inflation.value for point in found.costs.points if point.verify_inflation]
    assert inflations == pytest.approx(list(TRUTH.values()), rel=0.05)
    alone = calibration([one for clients in TRUTH for k in (0, 5) for one in simulated(clients, k)])
    assert alone.costs.draft_cost is None
    assert [one.together.value for one in alone.costs.points] == pytest.approx(
        [inflation + 5 * C for inflation in TRUTH.values()], rel=0.05
    )
