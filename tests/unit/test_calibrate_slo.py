"""GPUs that speculation saves at the objectives of time: only where the limits of both sides are measured."""

from dataclasses import replace
from typing import Any

import pytest

from draftboard.calibrate import Calibration, calibrated, document
from draftboard.calibrate.load import window_between
from draftboard.calibrate.slo import savings
from draftboard.calibrate.windows import Measured, Window
from draftboard.catalogue import latency
from draftboard.output import as_markdown
from draftboard.reading import Page, read
from draftboard.settings import Settings
from support.costed import windows
from support.known import known
from support.pages import page

pytest.importorskip("statsmodels")
LOADS = (1, 2, 4, 8)
TOKEN = {"time_per_output_token": {"objective": 0.9, "threshold_seconds": 0.05}}
REQUESTS = 20.0


def settings(**slo: Any) -> Settings:
    return Settings.model_validate({"slo": slo or TOKEN})


def judged(loads: dict[str, int], *, least: float = 1.0, most: float = 0.5, rounds: int = 5) -> list[Window]:
    """Windows of a baseline and a candidate that hold the objective up to a load, by variant."""
    return [
        replace(
            one,
            within={
                "time_per_output_token": (REQUESTS * (least if one.load <= loads[one.variant] else most), REQUESTS)
            },
        )
        for one in windows(1, loads=LOADS, noise=0, rounds=rounds)
    ]


def rate(load: int, variant: str) -> float:
    one = next(one for one in judged({"": 8, "K = 5": 8}) if one.cell == (load, variant))
    return load * one.tokens_per_step / one.step_seconds


def calibration(measured: list[Window], given: Settings, origin: Any = "load") -> Calibration:
    return calibrated(
        Measured(
            origin=origin, model="m", method="eagle3", sources=("a", "b"), taken_at=1.8e9, windows=tuple(measured)
        ),
        given,
    )


def test_a_saving_lies_between_the_loads_that_hold_and_those_that_miss() -> None:
    (found,) = savings(judged({"": 2, "K = 5": 4}), settings())
    assert (found.baseline.held, found.baseline.missed) == (2, 4)
    assert (found.own.held, found.own.missed) == (4, 8)
    assert (found.low, found.high) == pytest.approx(
        (1 - rate(4, "") / rate(4, "K = 5"), 1 - rate(2, "") / rate(8, "K = 5"))
    )
    assert 0 < known(found.low) < known(found.high) < 1
    assert found.says.startswith(f"at the SLO {found.low:+.0%} to {found.high:+.0%} of GPUs saved for as many tokens: ")
    assert "held with 4 requests in flight, missed with 8" in found.says


def test_where_drafts_lower_the_load_that_holds_a_saving_may_be_a_loss() -> None:
    (found,) = savings(judged({"": 4, "K = 5": 1}), settings())
    assert known(found.low) < 0


@pytest.mark.parametrize(
    ("loads", "why"),
    [
        ({"": 8, "K = 5": 4}, "The baseline is not known to miss it up to the largest load"),
        ({"": 4, "K = 5": 8}, "K = 5 is not known to miss it up to the largest load"),
        ({"": 0, "K = 5": 4}, "The baseline is not known to hold it at the least load"),
        ({"": 4, "K = 5": 0}, "K = 5 is not known to hold it at the least load"),
    ],
)
def test_without_both_limits_there_is_no_saving_and_the_reason_is_named(loads: dict[str, int], why: str) -> None:
    (found,) = savings(judged(loads), settings())
    assert (found.low, found.high) == (None, None)
    assert found.says.startswith(f"no saving at the SLO is known: {why}")


def test_what_holds_in_some_windows_is_neither_held_nor_missed() -> None:
    measured = judged({"": 1, "K = 5": 4})
    at_two = next(number for number, one in enumerate(measured) if one.cell == (2, ""))
    measured[at_two] = replace(measured[at_two], within={"time_per_output_token": (REQUESTS, REQUESTS)})
    (found,) = savings(measured, settings())
    assert (found.baseline.held, found.baseline.missed) == (1, 4)


def test_a_load_beyond_one_that_is_not_held_is_not_held() -> None:
    measured = [
        replace(one, within={"time_per_output_token": (0.0, 0.0)}) if one.cell == (2, "") else one
        for one in judged({"": 4, "K = 5": 4})
    ]
    (found,) = savings(measured, settings())
    assert found.baseline.held == 1


@pytest.mark.parametrize(("share", "held"), [(0.9, 4), (0.85, None)])
def test_exactly_the_objective_is_held(share: float, held: int | None) -> None:
    (found,) = savings(judged({"": 4, "K = 5": 4}, least=share), settings())
    assert found.baseline.held == held


def test_too_few_requests_to_miss_an_objective_once_hold_nothing() -> None:
    strict = settings(time_per_output_token={"objective": 0.99, "threshold_seconds": 0.05})
    few, enough = (savings(judged({"": 2, "K = 5": 4}, rounds=rounds), strict)[0] for rounds in (4, 5))
    assert (few.baseline.held, enough.baseline.held) == (None, 2)


def test_every_declared_objective_must_hold() -> None:
    both = settings(**TOKEN, time_to_first_token={"objective": 0.9, "threshold_seconds": 0.5})
    measured = [
        replace(one, within={**one.within, "time_to_first_token": (REQUESTS if one.load < 4 else 0, REQUESTS)})
        for one in judged({"": 4, "K = 5": 4})
    ]
    (found,) = savings(measured, both)
    assert (found.baseline.held, found.baseline.missed, found.own.held, found.own.missed) == (2, 4, 2, 4)


def test_no_objective_of_time_or_requests_of_history_give_none() -> None:
    measured = judged({"": 2, "K = 5": 4})
    assert savings(measured, settings(errors={"objective": 0.9})) == ()
    assert calibration(measured, settings(), "history").savings == ()
    assert "Saving at the SLO" not in as_markdown(document(calibration(measured, Settings())))
    assert "at the SLO +" in as_markdown(document(calibration(measured, settings())))


def test_requests_within_the_bound_are_counted_from_the_pages() -> None:
    def at(requests: int) -> Page:
        of_engine, name = 'engine="0",model_name="m"', latency.TIME_PER_OUTPUT_TOKEN.bucket.name
        further = (
            f"{latency.STEP_LATENCY.sum.name}{{{of_engine}}} {requests}",
            f"{latency.TIME_PER_OUTPUT_TOKEN.count.name}{{{of_engine}}} {requests}",
            *(
                f'{name}{{{of_engine},le="{le}"}} {requests * share}'
                for le, share in ((0.025, 0), (0.05, 0.6), (0.1, 1))
            ),
        )
        counted = page(generated=1000 * requests, steps=900 * requests, requests=requests, started=requests)
        return read(counted + "\n".join(further) + "\n", "a:1")

    found = window_between("", 1, at(10), at(30), settings())
    assert found.within == {"time_per_output_token": (pytest.approx(12), 20)}
    assert window_between("", 1, at(10), at(30)).within == {}
