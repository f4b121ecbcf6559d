"""Pages of real llama.cpp and Ray Serve: what doctor, report and compare say of each state, beside clients' truth."""

import re
from collections.abc import Callable
from pathlib import Path

import pytest

from draftboard.alerts import of_settings
from draftboard.compare import compare
from draftboard.compare.sides import Side
from draftboard.doctor.finding import Severity
from draftboard.doctor.pages import examine_pages
from draftboard.reading import Lifetime, Pages, growth, lifetime, load, together
from draftboard.report import ModelReport, Reading, Report, report
from draftboard.settings import Settings
from support.dialects import built_for, captured

STATES = {
    "llama.cpp": ("draft-model-idle", "baseline-1", "baseline-2", "draft-model-1", "draft-model-2"),
    "ray": ("fresh", "1", "2", "idle-after-load", "hung-at-start"),
}
EACH = [(dialect, state) for dialect, states in STATES.items() for state in states]


Save = Callable[..., Path]


@pytest.fixture
def saved(tmp_path: Path) -> Save:
    def save(dialect: str, state: str, text: str = "") -> Path:
        path = tmp_path / f"{dialect}-{state}.txt"
        path.write_text(text or captured(dialect, state))
        return path

    return save


METHODS = {"baseline": "none", "draft-model": "draft_model", "ngram-simple": "ngram"}


def between(saved: Save, kind: str) -> Report:
    before, after = (saved("llama.cpp", f"{kind}-{number}") for number in (1, 2))
    return report(Pages(before, after), built_for("llama.cpp"), method=METHODS[kind])


def only(found: Report) -> ModelReport:
    (model,) = found.models
    return model


def side_by_side(saved: Save, kind: str, settings: Settings) -> Report:
    pages = [[load(saved("llama.cpp", f"{name}-{number}")) for number in (1, 2)] for name in ("baseline", kind)]
    grown = together([growth(before, after, seconds=300) for before, after in pages])
    return Reading([after for _, after in pages], grown, settings, METHODS[kind]).report()


@pytest.mark.parametrize("kind", ["draft-model", "ngram-simple"])
def test_a_plain_llama_cpp_beside_a_drafting_one_is_its_baseline(kind: str, saved: Save) -> None:
    found = side_by_side(saved, kind, built_for("llama.cpp"))
    assert {model.method: model.state for model in found.models} == {
        "none": "speculation off",
        METHODS[kind]: "drafting",
    }
    drafting = next(model for model in found.models if model.method == METHODS[kind])
    alone = only(between(saved, kind))
    assert drafting.traffic.tokens_per_step == alone.traffic.tokens_per_step


def test_too_few_tokens_of_a_baseline_measure_nothing_and_are_named_tokens(saved: Save) -> None:
    settings = {"series": {"dialect": "llama.cpp"}, "traffic": {"steps_to_judge": 200_000}}
    found = side_by_side(saved, "draft-model", Settings.model_validate(settings))
    notes = [note for model in found.models for note in model.notes]
    assert [note for note in notes if "tokens finished on a side (minimum 200,000)" in note], notes


def test_two_plain_servers_of_llama_cpp_are_one_entry(saved: Save) -> None:
    pages = [load(saved("llama.cpp", name)) for name in ("baseline-1", "baseline-2")]
    grown = together([lifetime(page) for page in pages])
    assert only(Reading(pages, grown, built_for("llama.cpp"), "").report()).state == "speculation off"


@pytest.mark.parametrize(("dialect", "state"), EACH)
def test_doctor_finds_a_healthy_server_all_well_in_every_state(dialect: str, state: str, saved: Save) -> None:
    found = examine_pages([load(saved(dialect, state))], (), built_for(dialect)).findings
    assert [one.what for one in found if one.severity is not Severity.NOTE] == []
    assert not [one.what for one in found if re.search(r"\bvllm:", one.what)], "names are the dialect's"


def test_doctor_names_the_counter_that_a_relabelling_drops_as_llama_cpp_does(saved: Save) -> None:
    text = re.sub(r"(?m)^llamacpp:spec_decode_num_drafts_total.*\n", "", captured("llama.cpp", "baseline-1"))
    found = examine_pages([load(saved("llama.cpp", "cut", text))], (), built_for("llama.cpp")).findings
    (cut,) = [one for one in found if one.severity is Severity.PROBLEM]
    assert "no llamacpp:spec_decode_num_drafts_total" in cut.what


def test_a_page_of_neither_ray_nor_an_engine_is_still_a_problem(saved: Save) -> None:
    found = examine_pages([load(saved("ray", "other", "node_load1 1\n"))], (), built_for("ray")).findings
    assert [one for one in found if one.severity is Severity.PROBLEM and "no series of an engine" in one.what]


def test_steps_of_llama_cpp_are_the_server_s_own_decodes(saved: Save) -> None:
    model = only(report(Lifetime(saved("llama.cpp", "draft-model-1")), built_for("llama.cpp")))
    text = captured("llama.cpp", "draft-model-1")
    decodes, busy = (
        float(re.search(rf"(?m)^llamacpp:{name} (.*)$", text)[1])  # type: ignore[index]
        for name in ("n_decode_total", "n_busy_slots_per_decode")
    )
    assert model.latency.step
    assert model.latency.step.count == pytest.approx(decodes * busy, rel=1e-4) == 5824 - 4332
    assert model.sample
    assert (model.sample.draft_tokens, model.sample.accepted_tokens) == (5407, 4332)
    assert model.latency.per_token
    assert model.latency.per_token.mean == pytest.approx(2.8702 / 5824)


@pytest.mark.parametrize(
    ("kind", "tokens", "coverage", "speedup"),
    [("draft-model", 2.474, 0.957, 0.233), ("ngram-simple", 1.0837, 0.0108, 0.677)],
)
def test_llama_cpp_is_judged_as_vllm_is(kind: str, tokens: float, coverage: float, speedup: float, saved: Save) -> None:
    plain, drafting = between(saved, "baseline"), between(saved, kind)
    model = only(drafting)
    assert model.speculation
    assert model.traffic.tokens_per_step == pytest.approx(tokens, rel=1e-3)
    assert model.speculation.coverage == pytest.approx(coverage, rel=1e-2)
    assert model.verdict.says
    assert only(plain).state == "speculation off"
    assert only(plain).traffic.tokens_per_step == 1
    found = compare(Side(plain, only(plain)), Side(drafting, model), built_for("llama.cpp"))
    assert found.measured.speedup == pytest.approx(speedup, rel=1e-2)
    assert found.verdict.says == "users wait longer"
    assert found.baseline.requests is None
    assert found.baseline.tokens == 199_736
    assert [note for note in found.notes if "judged by tokens" in note]


def test_too_few_tokens_of_llama_cpp_give_no_verdict(saved: Save) -> None:
    whole = only(plain := between(saved, "baseline"))
    assert compare(
        Side(plain, whole),
        Side(plain, whole),
        Settings.model_validate({"series": {"dialect": "llama.cpp"}, "traffic": {"steps_to_judge": 200_000}}),
    ).verdict.reasons == ("too few tokens: baseline 199,736, candidate 199,736 (minimum 200,000 on each side)",)


def test_alerts_of_llama_cpp_are_guarded_by_what_it_counts() -> None:
    names = {alert.name for alert in of_settings(built_for("llama.cpp"))}
    drafts = {f"SpecDecode{name}" for name in ("AcceptanceDrop", "SuspiciouslyHigh", "EngineOutlier", "NotPaying")}
    assert names >= drafts | {"VLLMSpeculationSlowsUsers"}


def test_ray_counts_what_its_clients_did(saved: Save) -> None:
    model = only(report(Lifetime(saved("ray", "idle-after-load")), built_for("ray")))
    assert (model.traffic.requests, model.traffic.generated) == (358, 27_616)


def test_k_behind_ray_is_at_least_the_mean_draft(saved: Save) -> None:
    seen_twice = re.sub(r'(?m)^ray_vllm_\w+per_pos_total\{.*position="[23]".*\n', "", captured("ray", "1"))
    model = only(report(Lifetime(saved("ray", "two-positions", seen_twice)), built_for("ray")))
    assert model.speculation
    assert (len(model.speculation.survival), model.speculation.configured_k) == (2, 4)
    assert model.speculation.draft_length == pytest.approx(3.5, abs=0.5)
