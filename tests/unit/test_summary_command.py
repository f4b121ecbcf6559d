"""`draftboard report --summary`: in how many hours of a past speculation helped, and where nobody can tell."""

import json
from collections.abc import Mapping, Sequence
from functools import partial
from pathlib import Path
from typing import Any

import jsonschema
import pytest

from draftboard.cli.schemas import schema_of
from draftboard.signals import Signal
from draftboard.signals.states import STATES, state
from draftboard.signals.traffic import generation_tokens
from draftboard.signals.users import measured_speedup
from draftboard.signals.verdicts import VERDICT, verdict
from support import command_line
from support.loopback import answering
from support.remembered import END, RATE, Memory, Variant, tokens

run = partial(command_line.run, "report", "--summary")
DAY = ("--range", "1d", "--at", str(END))
OUTCOMES = ("helped", "slower", "even", "unclear", "without")
PLAIN = partial(Variant, 0, method="none")


def ruled(row: str, since: float, until: float = 0.0, also: Mapping[Signal, float] | None = None) -> Variant:
    """A model whose records hold this verdict."""
    records = {verdict: VERDICT[row].value, measured_speedup: 1.0} | dict(also or {})
    return Variant(3, since, until, also={signal.name: value for signal, value in records.items()})


def summed(
    capsys: pytest.CaptureFixture[str], *variants: Variant, words: Sequence[str | Path] = (), **memory: Any
) -> dict[str, Any]:
    with answering(Memory(variants, **memory)) as place:
        code, out, err = run("--prometheus", place, *DAY, *words, "--json", capsys=capsys)
    assert (code, err) == (0, "")
    found = json.loads(out)
    jsonschema.validate(found, json.loads(schema_of("report --summary")))
    return dict(found)


def hours(found: Mapping[str, Any]) -> dict[str, float]:
    return {name: hours for name in OUTCOMES if (hours := found["totals"][name]["hours"])}


def test_hours_and_tokens_are_told_apart_by_the_recorded_verdict(capsys: pytest.CaptureFixture[str]) -> None:
    found = summed(
        capsys,
        ruled("faster, measured", 20, 15),
        ruled("pays, measured by steps", 15, 14),
        ruled("slower, measured", 14, 10),
        ruled("even, measured", 10, 8),
        ruled("pays, assumed", 8, 6),
        ruled("few drafts", 6, 5),
        PLAIN(5, 2),
    )
    assert hours(found) == pytest.approx({"helped": 6, "slower": 4, "even": 2, "unclear": 3, "without": 3})
    assert found["totals"]["slower"]["tokens"] == pytest.approx(4 * 3600 * RATE * tokens(3))
    assert found["totals"]["coverage"] == pytest.approx(18 / 24, abs=0.01)
    assert found["totals"]["unclear_hours"] == pytest.approx(
        {"nobody measured what drafting costs": 2, "not enough drafts": 1}
    )


@pytest.mark.parametrize(
    ("row", "why"),
    [
        *((f"{band}, assumed", "nobody measured what drafting costs") for band in ("loses", "unclear", "pays")),
        ("unknown load", "unknown at this load"),
    ],
)
def test_what_rests_on_assumed_costs_is_unclear(row: str, why: str, capsys: pytest.CaptureFixture[str]) -> None:
    found = summed(capsys, ruled(row, 10))
    assert hours(found) == pytest.approx({"unclear": 10})
    assert found["totals"]["unclear_hours"] == pytest.approx({why: 10})


def test_two_models_that_serve_for_an_hour_are_two_hours(capsys: pytest.CaptureFixture[str]) -> None:
    found = summed(capsys, ruled("faster, measured", 4), PLAIN(4, model="other"))
    assert hours(found) == pytest.approx({"helped": 4, "without": 4})
    assert found["totals"]["coverage"] == pytest.approx(4 / 24, abs=0.01)
    assert [(one["model"], one["labels"].get("spec_method")) for one in found["models"]] == [
        ("m", "eagle3"),
        ("other", "none"),
    ]


def test_a_model_that_generates_nothing_adds_no_hours(capsys: pytest.CaptureFixture[str]) -> None:
    idle = {generation_tokens.name: 0.0, state.name: STATES["idle"].value}
    found = summed(capsys, Variant(3, 24, also=idle))
    assert (hours(found), found["totals"]["coverage"]) == ({}, 1)


@pytest.mark.parametrize(
    ("row", "why"),
    [
        ("sooner", "tokens come sooner, answers do not"),
        ("too fast", "measured above tokens per step"),
        ("unlike answers", "variants not alike: answers"),
    ],
)
def test_what_is_no_measured_gain_is_unclear_and_says_why(
    row: str, why: str, capsys: pytest.CaptureFixture[str]
) -> None:
    found = summed(capsys, ruled(row, 10))
    assert found["totals"]["unclear_hours"] == pytest.approx({why: 10})


@pytest.mark.parametrize("gone", [0, 12])
def test_servers_that_records_add_up_are_unclear_and_their_tokens_count(
    gone: float, capsys: pytest.CaptureFixture[str]
) -> None:
    model = {"job": "vllm", "model_name": "m", "spec_method": "eagle3"}
    servers = [{**model, "instance": f"{env}:8000", "env": env} for env in ("prod", "staging")]
    found = summed(capsys, ruled("faster, measured", 10), servers=servers, gone=gone)
    assert hours(found) == pytest.approx({"unclear": 10})
    assert list(found["totals"]["unclear_hours"]) == ["records add up servers that differ by the target label env"]
    assert found["totals"]["unclear"]["tokens"] > 0


def test_what_was_added_up_before_records_kept_a_label_stays_unclear(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    applied = tmp_path / "applied.toml"
    applied.write_text('[labels]\nscope = ["cluster", "namespace", "env"]\n')
    model = {"job": "vllm", "model_name": "m", "spec_method": "eagle3"}
    servers = [{**model, "instance": f"{env}:8000", "env": env} for env in ("prod", "staging")]
    found = summed(capsys, ruled("faster, measured", 10), servers=servers, words=("--config", applied))
    assert hours(found) == pytest.approx({"unclear": 10})


def test_gpu_hours_are_told_where_an_exporter_tells_them(capsys: pytest.CaptureFixture[str]) -> None:
    known, unknown = (summed(capsys, ruled("faster, measured", 10), gpus=gpus) for gpus in (2, 0))
    assert (known["gpu_hours"], known["gpu_coverage"]) == (pytest.approx(48, rel=0.01), 1)
    assert (unknown["gpu_hours"], unknown["gpu_coverage"]) == (None, 0)


def test_people_read_it_without_a_formula(capsys: pytest.CaptureFixture[str]) -> None:
    variants = (ruled("faster, measured", 20, 14), ruled("slower, measured", 14, 4), ruled("pays, assumed", 4))
    with answering(Memory(variants)) as place:
        code, out, err = run("--prometheus", place, *DAY, "--markdown", capsys=capsys)
    text = " ".join(out.split())
    assert (code, err) == (0, "")
    assert (
        "Speculation helped in 6.0 of 20.0 hours with drafts, made users wait longer in 10.0, and is unclear in 4.0."
        in text
    )
    assert "recorded: 83% of that time" in text
    assert "Unclear for 4.0 h: nobody measured what drafting costs" in text
    assert "GPU hours are not known" in text
    assert not [word for word in ("acceptance", " K ", "break-even", "baseline") if word in text]


@pytest.mark.parametrize(
    ("words", "reason"),
    [
        (("--prometheus", "{}"), "no records in the last 7d: load the rules"),
        (("--prometheus", "{}", "--range", "1m"), "shorter than the window of rates, 5m"),
        (("{}",), "--summary takes --prometheus, --range, --at and --model alone"),
        (("--prometheus", "{}", "--engines"), "--summary takes"),
        (("--prometheus", "{}", "--method", "eagle3"), "--summary takes"),
    ],
)
def test_what_cannot_be_answered_ends_in_one_line_that_says_why(
    words: tuple[str, ...], reason: str, capsys: pytest.CaptureFixture[str]
) -> None:
    with answering(Memory(())) as place:
        code, out, err = run(*(word.format(place) for word in words), capsys=capsys)
    assert (code, out) == (2, "")
    assert reason in err.splitlines()[-1]
