"""`draftboard history`: which changes it finds in the records of a past, and what it says that they did."""

import json
from collections.abc import Mapping, Sequence
from functools import partial
from pathlib import Path
from typing import Any

import jsonschema
import pytest

from draftboard.cli.schemas import schema_of
from draftboard.history import Change
from draftboard.history.finding import last_changes
from draftboard.prometheus import Client
from draftboard.settings import Settings
from draftboard.signals import requests
from support import command_line
from support.loopback import answering
from support.remembered import END, Memory, Variant, speedup, step_cost, tokens

run = partial(command_line.run, "history")

AT = ("--at", str(END))
K3, K5 = Variant(3, 20, 10), Variant(5, 9.9)


def asked(
    capsys: pytest.CaptureFixture[str], *variants: Variant, words: Sequence[str] = (), **memory: Any
) -> dict[str, Any]:
    """The only model."""
    with answering(Memory(variants, **memory)) as place:
        code, out, err = run("--prometheus", place, "--range", "1d", *AT, *words, "--json", capsys=capsys)
    assert (code, err) == (0, "")
    (model,) = json.loads(out)["models"]
    return dict(model)


def holds(effect: Mapping[str, float], truth: float) -> bool:
    return effect["low"] <= truth <= effect["high"] and effect["high"] - effect["low"] < 0.1 * truth


def test_a_change_of_k_is_found_where_it_happened_with_what_it_did(capsys: pytest.CaptureFixture[str]) -> None:
    (change,) = asked(capsys, K3, K5)["changes"]
    assert END - 10 * 3600 - 300 <= change["seen_before"] <= END - 10 * 3600 <= change["at"] <= END - 9.8 * 3600
    assert (change["what"], change["before"]["k"], change["after"]["k"]) == (["K"], 3, 5)
    assert change["withheld"] is None
    assert change["notes"] == []
    assert holds(change["decode_speed"], speedup(3, 5, 1))
    assert holds(change["step_latency"], step_cost(5, 1) / step_cost(3, 1))
    assert holds(change["time_per_token"], 1 / speedup(3, 5, 1))
    assert change["acceptance_length"]["ratio"] == pytest.approx(tokens(5) / tokens(3))
    assert change["earlier"]["drafts"] == pytest.approx(20 * 300 * change["earlier"]["like"])


def test_nothing_that_changed_is_no_change(capsys: pytest.CaptureFixture[str]) -> None:
    model = asked(capsys, Variant(3, 20, restarted=8))
    assert (model["changes"], model["now"]["k"], model["notes"]) == ([], 3, [])


def test_speculation_is_turned_on_without_a_change_of_its_label(capsys: pytest.CaptureFixture[str]) -> None:
    (change,) = asked(capsys, Variant(0, 20, 10), Variant(5, 9.9))["changes"]
    assert (change["what"], change["acceptance_length"]) == (["speculation"], None)
    assert holds(change["decode_speed"], speedup(0, 5, 1))


def test_speculation_off_again_is_two_changes(capsys: pytest.CaptureFixture[str]) -> None:
    off, on = asked(capsys, Variant(0, 20, 14, method="none"), Variant(5, 14, 6), Variant(0, 6, method="none"))[
        "changes"
    ]
    assert (on["what"], off["what"]) == (["speculation"], ["speculation"])
    assert holds(off["decode_speed"], speedup(5, 0, 1))


def test_sides_are_compared_in_batches_that_both_had(capsys: pytest.CaptureFixture[str]) -> None:
    (change,) = asked(capsys, Variant(3, 20, 10, loads=(1, 2, 32)), Variant(5, 10, loads=(2, 2, 64)))["changes"]
    assert change["loads"] == [2]
    assert holds(change["decode_speed"], speedup(3, 5, 2))
    assert 0 < change["earlier"]["like"] < change["earlier"]["windows"]
    assert 0 < change["later"]["like"] < change["later"]["windows"]


def test_without_like_load_there_is_no_effect(capsys: pytest.CaptureFixture[str]) -> None:
    more = {requests.request_rate.name: 0.63}  # 0.5 are over a fifth less.
    (change,) = asked(capsys, Variant(3, 20, 10, loads=(1,)), Variant(5, 10, loads=(8,), also=more))["changes"]
    assert change["withheld"].startswith(
        "not enough like load: 8 windows of one batch size and context on both sides; before 1 of "
    )
    assert [change[name] for name in ("decode_speed", "step_latency", "time_per_token", "loads")] == [None] * 3 + [[]]


def test_at_an_equal_request_rate_a_batch_that_changed_is_what_the_change_did(
    capsys: pytest.CaptureFixture[str],
) -> None:
    as_many = {requests.request_rate.name: 0.62}
    drafting, plain = Variant(5, 20, 10, loads=(4,)), Variant(0, 10, loads=(8,), also=as_many)
    (change,) = asked(capsys, drafting, plain)["changes"]
    assert (change["withheld"], change["loads"]) == (None, [])
    assert holds(change["decode_speed"], step_cost(5, 4) / tokens(5))
    assert holds(change["time_per_token"], tokens(5) / step_cost(5, 4))
    with answering(Memory((drafting, plain))) as place:
        _, out, _ = run("--prometheus", place, "--range", "1d", *AT, capsys=capsys)
    assert "At an equal request rate" in out
    assert "Batches of all sizes" in out


def test_a_change_that_another_follows_too_soon_has_no_effect(capsys: pytest.CaptureFixture[str]) -> None:
    second, first = asked(capsys, Variant(3, 20, 10), Variant(5, 10, 9.6), Variant(4, 9.6))["changes"]
    assert (first["before"]["k"], first["after"]["k"], second["after"]["k"]) == (3, 5, 4)
    assert first["withheld"]
    assert first["notes"] == ["Another change followed within 20m"]
    assert second["withheld"]
    assert second["notes"] == []


def test_what_changes_at_one_time_cannot_be_told_apart(capsys: pytest.CaptureFixture[str]) -> None:
    (change,) = asked(capsys, Variant(3, 20, 10), Variant(5, 10, method="mtp", variant="b"))["changes"]
    assert change["what"] == ["K", "method", "variant"]
    assert change["notes"] == ["K and method and variant changed at once: their effects cannot be separated"]


def test_a_roll_out_is_one_change_and_its_windows_count_on_no_side(capsys: pytest.CaptureFixture[str]) -> None:
    (change,) = asked(capsys, K3, Variant(5, 10, 9, lowest=3), Variant(5, 9))["changes"]
    assert change["at"] == END - 9 * 3600 + 300
    assert any(note.startswith("Left out: 1h in which engines differed") for note in change["notes"])
    assert holds(change["decode_speed"], speedup(3, 5, 1))


@pytest.mark.parametrize(
    "variants", [(Variant(3, 20, 10, method=""), Variant(3, 10)), (Variant(0, 20, 10, method="none"), Variant(0, 10))]
)
def test_a_label_that_was_added_or_says_the_same_is_no_change(
    variants: tuple[Variant, ...], capsys: pytest.CaptureFixture[str]
) -> None:
    assert asked(capsys, *variants)["changes"] == []


def test_a_canary_before_a_change_is_left_out_of_it(capsys: pytest.CaptureFixture[str]) -> None:
    model = asked(capsys, Variant(3, 20, 8), Variant(5, 12, variant="b"))
    (change,) = model["changes"]
    assert (change["what"], model["notes"]) == (["K", "variant"], [])
    assert any(note.startswith("Left out: 4h in which engines differed or two ways") for note in change["notes"])


def test_two_ways_at_once_are_no_change(capsys: pytest.CaptureFixture[str]) -> None:
    model = asked(capsys, Variant(3, 20), Variant(5, 12, variant="b"))
    assert model["changes"] == []
    (note,) = model["notes"]
    assert note.startswith("Served in several ways at once for 12h (eagle3, K 3; eagle3, K 5, variant b)")


@pytest.mark.parametrize("gone", [0, 12])
def test_servers_that_only_records_add_up_have_no_history(gone: float, capsys: pytest.CaptureFixture[str]) -> None:
    own = {"job": "vllm", "model_name": "m", "spec_method": "eagle3"}
    servers = [{**own, "instance": f"{env}:8000", "env": env} for env in ("prod", "staging")]
    model = asked(capsys, K3, K5, servers=servers, gone=gone)
    assert (model["changes"], model["now"]) == ([], None)
    assert model["notes"][0].startswith("records add up servers that differ by the target label env: their changes are")


def test_a_gap_around_a_change_is_named(capsys: pytest.CaptureFixture[str]) -> None:
    (change,) = asked(capsys, Variant(3, 20, 12), Variant(5, 6))["changes"]
    assert any(note.startswith("No records for 6h") for note in change["notes"])
    assert holds(change["decode_speed"], speedup(3, 5, 1))


def test_a_gap_within_a_setup_is_no_change(capsys: pytest.CaptureFixture[str]) -> None:
    assert asked(capsys, Variant(3, 20), hidden=lambda hours: 8 < hours < 12)["changes"] == []


def test_a_model_that_vanished_says_since_when(capsys: pytest.CaptureFixture[str]) -> None:
    assert asked(capsys, Variant(3, 20, 5))["notes"] == ["Not seen for the last 5h"]


def test_restarts_within_a_side_are_counted(capsys: pytest.CaptureFixture[str]) -> None:
    (change,) = asked(capsys, K3, Variant(5, 9.9, restarted=4))["changes"]
    assert (change["earlier"]["restarts"], change["later"]["restarts"]) == (0, 1)


def test_pure_decode_steps_are_preferred_where_both_sides_have_them(capsys: pytest.CaptureFixture[str]) -> None:
    (both,) = asked(capsys, Variant(3, 20, 10, pure=True), Variant(5, 10, pure=True))["changes"]
    (one,) = asked(capsys, Variant(3, 20, 10), Variant(5, 10, pure=True))["changes"]
    assert (both["steps_of"], one["steps_of"]) == ("pure decode steps", "all steps")
    assert both["step_latency"]["before"] == pytest.approx(0.02 * step_cost(3, 1), rel=0.02)


def test_intervals_hold_the_truth_in_nearly_all_runs(capsys: pytest.CaptureFixture[str]) -> None:
    held = 0
    for seed in range(20):
        (change,) = asked(capsys, Variant(3, 3, 1.5), Variant(5, 1.5), seed=seed, words=("--range", "3h"))["changes"]
        held += change["decode_speed"]["low"] <= speedup(3, 5, 1) <= change["decode_speed"]["high"]
    assert held >= 17


def test_json_is_as_its_schema_says(capsys: pytest.CaptureFixture[str]) -> None:
    with answering(Memory((K3, K5, Variant(0, 4, method="none")))) as place:
        _, out, _ = run("--prometheus", place, "--range", "1d", *AT, "--json", capsys=capsys)
    jsonschema.validate(json.loads(out), json.loads(schema_of("history")))


def test_people_read_what_changed_and_on_what_it_rests(capsys: pytest.CaptureFixture[str]) -> None:
    with answering(Memory((K3, K5, Variant(2, 5, model="steady")))) as place:
        code, out, err = run("--prometheus", place, *AT, "--markdown", capsys=capsys)
    assert (code, err) == (0, "")
    changed, steady = "K 3 -\\> 5: faster: speedup 1.", "steady (job=vllm): no change"
    for told in (changed, steady, "118 windows", " drafts", "Batches of 1"):
        assert told in out
    assert "vLLM's version" in out
    assert "do not cover other prompts or lengths" in " ".join(out.split())


def test_a_change_without_an_effect_is_about_even(capsys: pytest.CaptureFixture[str]) -> None:
    with answering(Memory((K3, Variant(3, 9.9, method="mtp")))) as place:
        _, out, _ = run("--prometheus", place, "--range", "1d", *AT, "--markdown", capsys=capsys)
    assert "eagle3, K 3 -\\> mtp, K 3: about even: speedup 1.00 (1.00 to 1.01)" in out


@pytest.mark.parametrize(
    ("memory", "words", "reason"),
    [
        (Memory(()), (), "no records in the last 14d: load the rules that `draftboard build` writes"),
        (Memory((K3,)), ("--model", "other"), "no records of other in the last 14d"),
        (Memory((K3,), value="NaN"), (), "no records"),
        (Memory((), instead=b"[]"), (), "not a Prometheus server"),
        (Memory((K3,)), ("--range", "1m"), "shorter than the window of rates, 5m"),
    ],
)
def test_what_cannot_be_answered_is_one_line(
    memory: Memory, words: tuple[str, ...], reason: str, capsys: pytest.CaptureFixture[str]
) -> None:
    with answering(memory) as place:
        code, out, err = run("--prometheus", place, *AT, *words, capsys=capsys)
    assert (code, out, err.count("\n")) == (2, "", 1)
    assert reason in err


@pytest.mark.parametrize("value", ["0", "1e308", "-1"])
def test_impossible_numbers_are_no_windows(value: str, capsys: pytest.CaptureFixture[str]) -> None:
    with answering(Memory((K3, K5), value=value)) as place:
        code, _, err = run("--prometheus", place, "--range", "1d", *AT, capsys=capsys)
    assert (code, err.count("\n")) in {(0, 0), (2, 1)}


def test_a_query_has_no_more_points_than_prometheus_answers(capsys: pytest.CaptureFixture[str]) -> None:
    memory = Memory((K3, K5))
    with answering(memory) as place:
        code, _, _ = run("--prometheus", place, "--range", "60d", *AT, "--json", capsys=capsys)
    assert code == 0
    assert len(memory.queries) == 2 * (5 + 13)


def quoted(memory: Memory) -> dict[str, Change]:
    """By model, as the report asks."""
    with answering(memory) as place, Client(place) as client:
        found = last_changes(client, Settings(), "", END)
    return {dict(labels)["model_name"]: change for labels, change in found.items()}


def test_the_report_asks_little_of_models_that_did_not_change() -> None:
    memory = Memory([Variant(3, 24 * 8, model=f"m{number}") for number in range(12)])
    assert quoted(memory) == {}
    assert len(memory.queries) == 5
    assert memory.samples <= 12 * 4 * 337


def test_the_report_asks_for_the_effects_of_a_few_models_only() -> None:
    variants = [(Variant(3, 20, 10, model=f"m{number}"), Variant(5, 10, model=f"m{number}")) for number in range(10)]
    memory = Memory([variant for both in variants for variant in both])
    changes = quoted(memory)
    assert len(changes) == 8
    assert len(memory.queries) == 5 + 8 * 13
    assert holds(vars(changes["m1"].decode_speed), speedup(3, 5, 1))


def test_the_report_quotes_the_last_of_several_changes() -> None:
    (change,) = quoted(Memory([Variant(3, 20, 15), Variant(5, 15, 10), Variant(2, 10)])).values()
    assert (change.before.k, change.after.k) == (5, 2)


def test_an_engine_that_does_not_export_what_is_needed_is_named(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / "settings.toml").write_text('[series]\ndialect = "sglang"\n')
    code, _, err = run("--prometheus", "host:9090", "--config", tmp_path / "settings.toml", capsys=capsys)
    assert code == 2
    assert err.startswith("draftboard: history needs configured K and step latency by batch, which ")
