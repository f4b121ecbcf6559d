"""What a report says: golden numbers, words of the signals, several engines and servers, states that are no numbers."""

from collections.abc import Callable
from http.server import BaseHTTPRequestHandler
from pathlib import Path
from types import SimpleNamespace

import pytest

from draftboard.durations import Duration
from draftboard.errors import DraftboardError
from draftboard.expr.to_numbers import values_of
from draftboard.expr.vector import value_of
from draftboard.reading import Lifetime, Pages, Servers, counts_of, lifetime, read
from draftboard.report import ModelReport, Report, Speculation, report
from draftboard.settings import Settings
from draftboard.signals.depth import acceptance_by_position, draft_length_at
from support.known import known
from support.loopback import Answer, answering
from support.loopback import page as answer
from support.pages import page

DATA = Path(__file__).parent.parent / "data"
IDLE, LOAD, DP2, BASELINE = (
    DATA / f"v0.32.0-{name}.prom" for name in ("ngram-idle", "ngram-load", "ngram-dp2", "baseline")
)


GIVEN = Settings.model_validate({"draft_cost": {"default": 0.1}})
"""Costs that somebody has set, so that expected speedups are numbers and no ranges."""
Save = Callable[..., Path]


@pytest.fixture
def saved(tmp_path: Path) -> Save:
    """Saves a page and names it."""

    def save(text: str, name: str = "page.prom") -> Path:
        (tmp_path / name).write_text(text)
        return tmp_path / name

    return save


def only(found: Report) -> ModelReport:
    (model,) = found.models
    return model


def spoken(model: ModelReport) -> Speculation:
    assert model.speculation
    return model.speculation


def test_a_saved_pair_says_what_vllm_logged_over_the_same_time() -> None:
    model = only(report(Pages(IDLE, LOAD)))
    found = spoken(model)
    assert round(known(found.acceptance_length), 2) == 1.21
    assert round(known(found.acceptance), 3) == 0.057
    assert [round(share, 3) for share in found.survival] == [0.144, 0.043, 0.016, 0.009]
    assert model.sample
    assert (model.sample.drafts, model.sample.accepted_tokens, model.sample.draft_tokens) == (2389, 506, 8942)
    assert model.traffic.generated == 5088
    assert model.latency.end_to_end
    assert model.latency.end_to_end.count == 60


def test_the_golden_log_line_is_reproduced(saved: Save) -> None:
    model = only(report(Lifetime(saved(page((58, 56, 54, 52, 42), drafts=59)))))
    found = spoken(model)
    assert found.acceptance_length == pytest.approx(5.44, abs=5e-3)
    assert found.acceptance == pytest.approx(0.888, abs=5e-4)
    assert found.survival == pytest.approx((0.983, 0.949, 0.915, 0.881, 0.712), abs=5e-4)
    assert found.alpha_hat == pytest.approx(0.939, abs=5e-4)


def test_a_request_s_histogram_gives_the_same_numbers_as_its_counters(saved: Save) -> None:
    histogram = [39, 1, 0, 3]
    per_position = [sum(histogram[position + 1 :]) for position in range(3)]
    model = only(report(Lifetime(saved(page(per_position, drafts=sum(histogram))))))
    found = spoken(model)
    assert found.acceptance_length == pytest.approx(1.23256, abs=5e-6)
    assert found.acceptance == pytest.approx(0.077519, abs=5e-7)
    assert found.accepted_length_share == pytest.approx([drafts / 43 for drafts in histogram])
    assert sum(found.accepted_length_share) == pytest.approx(1)


@pytest.mark.parametrize(
    ("accepted", "drafts", "acceptance", "band"),
    [
        ((9000, 8200, 7400, 6500, 5500), 9640, 0.7593, "optimal"),
        ((8000, 5000, 3200, 2000, 1200), 10200, 0.3804, "poor"),
    ],
)
def test_healthy_and_unhealthy_counters_get_their_bands(
    saved: Save, accepted: tuple[int, ...], drafts: int, acceptance: float, band: str
) -> None:
    found = spoken(only(report(Lifetime(saved(page(accepted, drafts=drafts))))))
    assert found.acceptance == pytest.approx(acceptance, abs=5e-5)
    assert found.band == band


def test_low_acceptance_of_a_long_draft_still_pays_where_drafting_is_cheap(saved: Save) -> None:
    model = only(report(Lifetime(saved(page((8000, 5000, 3200, 2000, 1200), drafts=10200))), GIVEN, method="eagle3"))
    assert spoken(model).band == "poor"
    assert model.verdict.says == "pays (assumed)"


def info(**labels: str) -> str:
    """What the plugin for vLLM tells of the engine."""
    own = "".join(f',{name}="{text}"' for name, text in ({"k": "5", "adaptive": "false"} | labels).items())
    return f'draftboard_spec_info{{engine="0",model_name="m"{own}}} 1\n'


def test_a_server_with_the_plugin_tells_its_method_unless_the_user_does(saved: Save) -> None:
    counters = page((8000, 5000, 3200, 2000, 1200), drafts=10200)
    named = only(report(Lifetime(saved(counters)), method="eagle3"))
    assert only(report(Lifetime(saved(counters + info(method="eagle3"))))) == named
    assert only(report(Lifetime(saved(counters + info(method="mtp"))), method="eagle3")) == named


def test_engines_of_a_model_that_draft_in_several_ways_are_counted_together_under_no_method(saved: Save) -> None:
    engines = [page((8000,), drafts=10200, engine=str(number)) for number in range(2)]
    told = [info(method=method).replace('engine="0"', f'engine="{n}"') for n, method in enumerate(("mtp", "eagle3"))]
    model = only(report(Lifetime(saved("".join(engines + told)))))
    assert model.method is None
    assert model.sample
    assert model.sample.drafts == 20400


def test_a_server_whose_plugin_says_that_verification_is_adaptive_is_given_no_advice_on_k(saved: Save) -> None:
    counters = page((8000, 5000, 3200, 2000, 1200), drafts=10200)
    model = only(report(Lifetime(saved(counters + info(method="eagle3", adaptive="true")))))
    assert model.labels == {"spec_verification": "adaptive"}
    assert model.verdict.advice == "compare with a fixed K, or a baseline"
    assert spoken(model).best_k is None


@pytest.mark.parametrize("prefix", ["draftboard_spec", "vllm:spec_decode_num"])
def test_a_shorter_draft_costs_what_it_would_have_had_where_drafts_are_counted_by_position(prefix: str) -> None:
    # 100 drafts of 1 token and 100 of 4: with up to two tokens 1.5 in the mean, not two.
    drafted = "".join(
        f'{prefix}_draft_tokens_per_pos_total{{engine="0",model_name="m",position="{position}"}} {count}\n'
        for position, count in enumerate((200, 100, 100, 100))
    )
    text = page((150, 60, 30, 15), drafts=200, drafted=500) + drafted
    counts = counts_of(lifetime(read(text, "m")).tallies, Settings())
    by_k = {value_of(labels, "k"): value for labels, value in values_of(draft_length_at, counts).items()}
    assert by_k == {"1": 1, "2": 1.5, "3": 2, "4": 2.5}
    by_position = {
        value_of(labels, "position"): value for labels, value in values_of(acceptance_by_position, counts).items()
    }
    assert by_position == {"0": 0.75, "1": 0.6, "2": 0.3, "3": 0.15}


@pytest.mark.parametrize(("drafts", "judged"), [(199, False), (200, True)])
def test_under_a_minimum_of_drafts_there_are_numbers_and_no_verdict(saved: Save, drafts: int, judged: bool) -> None:
    model = only(report(Lifetime(saved(page((drafts, drafts / 2), drafts=drafts))), GIVEN))
    assert spoken(model).acceptance == pytest.approx(0.75)
    assert (model.verdict.says is not None, model.verdict.advice is not None) == (judged, judged)
    if not judged:
        assert model.verdict.reasons == ("Not enough drafts (199 of 200)",)
        assert model.verdict.withheld == "not enough drafts"


def test_the_minimum_is_a_setting(saved: Save) -> None:
    settings = Settings.model_validate({"traffic": {"drafts_to_judge": 10}, "draft_cost": {"default": 0.1}})
    assert only(report(Lifetime(saved(page((9, 8), drafts=10))), settings)).verdict.says == "pays (assumed)"


def test_verdict_and_reasons_speak_the_signals_words(saved: Save) -> None:
    model = only(report(Lifetime(saved(page((900, 300, 20), drafts=1000))), GIVEN, method="eagle3"))
    assert (model.verdict.says, model.verdict.advice) == ("pays (assumed)", "try a shorter K")
    assert model.verdict.basis == "assumed"
    pays, margin, gain, best = model.verdict.reasons
    assert pays == (
        "Tokens per decode step 2.22, break-even tokens per step 1.15: expected speedup 1.93 times plain decoding, "
        "over all steps (c 0.05 and v 1 are assumed)"
    )
    # 2.22 - 3 x 0.05
    assert margin == "It pays while a verify step costs under 2.07 plain steps (v), if a drafted token costs 0.05 (c)"
    assert gain == "Fastest k is 2, 1.04 to 1.04 times as fast as now; any k reaches 2.00 times plain decoding at most"
    assert best == "Best k is 2, the smallest within 2% of that"


@pytest.mark.parametrize(
    ("accepted", "method", "told", "reason"),
    [
        ((20, 10, 5), "draft_model", ("costs more than it saves (assumed)", "the drafter does not fit"), "is 1.2%"),
        (
            (90, 80, 70),
            "draft_model",
            ("costs more than it saves (assumed)", "try a shorter K"),
            "It would pay only if a verify step cost under 0.94 plain steps (v), which none does",
        ),
        (
            (90,),
            "draft_model",
            ("costs more than it saves (assumed)", "turn it off, or change the drafter"),
            "No K is expected to reach 1",
        ),
        ((5,), "ngram", ("costs more than it saves (assumed)", "turn it off, or change the drafter"), "No K is"),
        (
            (500, 300, 150),
            "eagle3",
            ("pays (assumed)", "look at the drafter"),
            "First-position acceptance is 50.0%, under 70%",
        ),
        ((500, 400, 350), "ngram", ("pays (assumed)", "try a longer K"), "1.13 times as fast as now"),
        ((900, 500, 100), "eagle3", ("pays (assumed)", "keep"), "No other k is known to gain more than 2%"),
    ],
)
def test_advice_has_its_reason(
    saved: Save, accepted: tuple[int, ...], method: str, told: tuple[str, str], reason: str
) -> None:
    verdict = only(report(Lifetime(saved(page(accepted, drafts=1000))), GIVEN, method=method)).verdict
    assert (verdict.says, verdict.advice) == told
    assert any(reason in each for each in verdict.reasons), verdict.reasons


@pytest.mark.parametrize(
    ("drafts", "steps", "generated", "told"),
    [
        (50, 1000, 1040, 1.0146),  # coverage 5 %: 1.04 / (0.05 x 1.5 + 0.95), with 40 accepted of 500 x 0.1
        (590, 1000, 1590, 1.228),  # 59 %: 1.59 / (0.59 x 1.5 + 0.41)
        (1000, 1000, 2000, 1.3333),  # 100 %: 2 / 1.5
        (1100, 1000, 2000, 1.2121),  # drafts of aborted requests: 2 / (1.1 x 1.5)
        (1000, 1000, 1400, 0.9333),  # short answers: most of what is accepted is cut off
    ],
)
def test_the_speedup_is_of_all_steps_and_never_over_the_tokens_of_a_step(
    saved: Save, drafts: int, steps: int, generated: int, told: float
) -> None:
    text = page([drafts * 0.8] * 5, drafts=drafts, steps=steps, generated=generated)
    settings = Settings.model_validate({"draft_cost": {"default": 0.1}})
    model = only(report(Lifetime(saved(text)), settings))
    found, tokens = spoken(model), known(model.traffic.tokens_per_step)
    assert found.expected_speedup == pytest.approx(told, abs=5e-4)
    assert known(found.expected_speedup) <= tokens
    assert found.step_speedup == pytest.approx(5 / 1.5)
    assert found.speedup_at[-1] == pytest.approx(found.expected_speedup)
    assert found.needed_per_step == pytest.approx(tokens / told, abs=1e-3)


def test_without_decode_steps_there_are_numbers_and_no_verdict(saved: Save) -> None:
    text = "".join(line for line in page((900, 500), drafts=1000).splitlines(True) if "inter_token" not in line)
    model = only(report(Lifetime(saved(text))))
    assert model.verdict.withheld == "decode steps are unknown"
    assert spoken(model).step_speedup == pytest.approx(2.4 / 1.2)
    assert spoken(model).expected_speedup is None


@pytest.mark.parametrize("counter", ["accepted_tokens_per_pos_total", "accepted_tokens_total"])
def test_a_counter_that_was_filtered_out_is_named_and_the_verdict_that_does_not_need_it_is_given(
    saved: Save, counter: str
) -> None:
    text = "".join(line for line in page((900, 500), drafts=1000).splitlines(True) if f"num_{counter}{{" not in line)
    model = only(report(Lifetime(saved(text)), GIVEN, method="eagle3"))
    assert model.verdict.says == "pays (assumed)"
    assert any(f"vllm:spec_decode_num_{counter} is not exposed" in note for note in model.notes)
    if counter == "accepted_tokens_per_pos_total":
        assert (spoken(model).best_k, spoken(model).survival, model.verdict.advice) == (None, (), None)


def test_drafts_that_are_not_counted_are_no_speculation_that_is_off(saved: Save) -> None:
    text = "".join(line for line in page((900, 500), drafts=1000).splitlines(True) if "num_drafts" not in line)
    model = only(report(Lifetime(saved(text))))
    assert model.state == "drafts are not counted"
    assert "vllm:spec_decode_num_drafts_total is not exposed" in model.verdict.reasons[0]


def test_drafts_a_little_short_of_k_are_judged_by_what_they_cost() -> None:
    model = only(report(Lifetime(LOAD), GIVEN, method="ngram"))
    # Its last position yields less than a whole token costs, but drafts of 3.74 pay for less than the fourth.
    found = spoken(model)
    assert known(found.last_position) < known(found.draft_cost) * known(found.step_speedup)
    assert (found.best_k, found.shorter_gain, model.verdict.advice) == (
        *(1, pytest.approx(1)),
        "measure against a baseline",
    )


def test_without_a_method_the_assumed_cost_is_told(saved: Save) -> None:
    text = page((900, 300), drafts=1000)
    unknown, foreign, known = (
        only(report(Lifetime(saved(text)), GIVEN, method=name)) for name in ("", "custom_class", "eagle3")
    )
    assert unknown.notes == ("the drafting method is unknown, so c = 0.1 is assumed: name it with --method",)
    assert foreign.notes == (
        "no cost is known for custom_class, so c = 0.1 is assumed: settings, draft_cost.by_method",
    )
    assert known.notes == ()


def test_drafts_shorter_than_k_are_measured_and_named() -> None:
    model = only(
        report(Pages(IDLE, LOAD), Settings.model_validate({"thresholds": {"full_drafts": 0.95}}), method="ngram")
    )
    assert spoken(model).draft_length == pytest.approx(3.743, abs=5e-4)
    assert spoken(model).configured_k == 4
    assert model.notes == ("drafts hold 3.74 of K = 4 tokens: late positions read low, for few drafts get there",)


@pytest.mark.parametrize(
    ("accepted", "drafts", "drafted", "identity"),
    [
        ((500, 900), 1000, 2000, "positions_fall"),
        ((1500, 200), 1000, 2000, "first_within_drafts"),
        ((900, 800), 1000, 1200, "accepted_within_drafted"),
    ],
)
def test_counters_that_contradict_each_other_are_named(
    saved: Save, accepted: tuple[int, ...], drafts: int, drafted: int, identity: str
) -> None:
    model = only(report(Lifetime(saved(page(accepted, drafts=drafts, drafted=drafted)))))
    assert [one.identity for one in model.broken] == [identity]
    assert model.broken[0].engine == "engine 0"
    assert (model.verdict.says, model.verdict.advice) == (None, None)
    assert model.verdict.withheld == "counters contradict each other"
    assert all(engine.verdict.withheld == model.verdict.withheld for engine in model.engines)


def test_counters_within_the_tolerance_are_judged(saved: Save) -> None:
    model = only(report(Lifetime(saved(page((500, 524), drafts=1000))), GIVEN))
    assert (model.broken, model.verdict.says) == ((), "pays (assumed)")


def test_an_engine_beside_one_whose_counters_contradict_each_other_is_judged_by_itself(saved: Save) -> None:
    text = page((500, 900), drafts=1000) + page((900, 600), drafts=1000, engine="1")
    model = only(report(Lifetime(saved(text)), GIVEN))
    assert (model.verdict.says, [engine.verdict.says for engine in model.engines]) == (None, [None, "pays (assumed)"])


def test_positions_with_a_gap_are_no_short_draft(saved: Save) -> None:
    text = page((500, 40), drafts=1000, drafted=6000).replace('position="1"', 'position="5"')
    model = only(report(Lifetime(saved(text))))
    assert [(one.identity, one.says) for one in model.broken] == [
        ("positions_missing", "position 5 is counted without 4 of the 5 positions before it")
    ]
    assert model.broken[0].error == pytest.approx(4 / 6)
    assert model.verdict.withheld == "counters contradict each other"


def test_drafts_without_a_token_are_called_that_and_not_even(saved: Save) -> None:
    model = only(report(Lifetime(saved(page((0, 0), drafts=1000, drafted=0)))))
    assert (model.verdict.says, model.verdict.advice) == (None, None)
    assert model.verdict.withheld == "drafts hold no tokens"
    assert len(model.verdict.reasons) == 1
    assert model.verdict.reasons[0].startswith("No token was drafted")


def test_a_best_k_that_gains_nothing_is_no_reason(saved: Save) -> None:
    # Drafts of 1 token, of K = 2: all k cost the same, and nothing is accepted at the second position.
    model = only(report(Lifetime(saved(page((900, 0), drafts=1000, drafted=1000))), GIVEN))
    assert (spoken(model).best_k, model.verdict.advice) == (1, "keep")
    assert not any("est k" in reason for reason in model.verdict.reasons)


def test_an_engine_s_contradiction_is_found_behind_the_sum_of_all(saved: Save) -> None:
    text = page((500, 900), drafts=1000) + page((9000, 1000), drafts=10_000, engine="1")
    (broken,) = only(report(Lifetime(saved(text)))).broken
    assert (broken.identity, broken.engine) == ("positions_fall", "engine 0")
    assert broken.error == pytest.approx(0.8)


def test_a_model_is_the_sum_of_its_engines_and_both_weightings_are_told(saved: Save) -> None:
    """60 % of equally long answers accepted at .82 and 40 % at .38: .644 by request, .583 by drafted token."""

    def engine(name: str, requests: float, acceptance: float) -> str:
        drafts = requests * 1000 / (1 + 5 * acceptance)
        return page([drafts * acceptance] * 5, drafts=drafts, engine=name, requests=requests, generated=requests * 1000)

    model = only(report(Lifetime(saved(engine("0", 60, 0.82) + engine("1", 40, 0.38)))))
    assert spoken(model).acceptance == pytest.approx(0.583, abs=5e-4)
    assert model.acceptance_by_request == pytest.approx(0.644, abs=5e-4)
    assert [one.speculation.acceptance for one in model.engines if one.speculation] == pytest.approx([0.82, 0.38])


def test_an_engine_far_under_its_siblings_is_called_an_outlier(saved: Save) -> None:
    good, bad = page((900, 800, 700), drafts=1000), page((300, 100, 50), drafts=1000, engine="7")
    path = saved(good + page((900, 800, 700), drafts=1000, engine="1") + bad)
    model = only(report(Lifetime(path), method="eagle3"))
    assert [one.length_to_others for one in model.engines] == pytest.approx([3.4 / 2.425, 3.4 / 2.425, 1.45 / 3.4])
    assert model.notes == (
        f"engine 7 of {path} is an outlier: its mean acceptance length is 42.6% of the other engines'",
    )
    assert [one.length_to_others for one in only(report(Lifetime(LOAD))).engines] == [None]


def test_engines_of_unlike_k_are_judged_together_but_not_by_position(saved: Save) -> None:
    text = page((900, 500), drafts=1000) + page((300, 200, 100), drafts=1000, engine="1")
    model = only(report(Lifetime(saved(text)), GIVEN, method="eagle3"))
    found = spoken(model)
    assert (found.lowest_k, found.configured_k) == (2, 3)
    assert (model.verdict.says, model.verdict.advice) == ("pays (assumed)", "none: K differs")
    assert any("K differs: 2 and 3" in reason for reason in model.verdict.reasons)
    assert (found.survival, found.conditional_acceptance, found.accepted_length_share) == ((), (), ())
    assert (found.best_k, found.last_position, found.shorter_gain) == (None, None, None)
    assert found.tokens_per_step_at == pytest.approx((1.6, 1.95))  # Up to the K that both have.
    assert [one.length_to_others for one in model.engines] == [None, None]
    assert [one.speculation.survival for one in model.engines if one.speculation] == [
        pytest.approx((0.9, 0.5)),
        pytest.approx((0.3, 0.2, 0.1)),
    ]
    assert not model.broken


def test_a_k_that_changed_between_the_pages_is_told(saved: Save) -> None:
    before = saved(page((90, 50, 30), drafts=100), "before")
    after = saved(page((1090, 650, 430, 300, 200), drafts=1400), "after")
    model = only(report(Pages(before, after), method="eagle3"))
    assert (spoken(model).lowest_k, spoken(model).configured_k) == (3, 5)
    assert model.verdict.advice == "none: K differs"
    assert any("K differs: 3 and 5" in reason for reason in model.verdict.reasons)


def test_requests_that_never_finish_are_named(saved: Save) -> None:
    model = only(report(Lifetime(saved(page((900, 500), drafts=1000, started=12)))))
    assert model.traffic.unfinished == 1
    assert any("Unfinished requests: 100.0%" in note for note in model.notes)
    running = only(report(Lifetime(saved(page((900, 500), drafts=1000, started=12, requests=4, running=8)))))
    assert (running.traffic.unfinished, [note for note in running.notes if "never" in note]) == (0, [])
    assert only(report(Lifetime(saved(page((900, 500), drafts=1000, started=9))))).traffic.unfinished is None


def test_models_are_told_apart_by_their_served_name(saved: Save) -> None:
    text = page((900, 500), drafts=1000, model="one") + page((300, 100), drafts=1000, model="two")
    found = report(Lifetime(saved(text)))
    assert [(model.model, spoken(model).first_position) for model in found.models] == [("one", 0.9), ("two", 0.3)]


def test_two_engines_of_one_server_are_told_one_by_one() -> None:
    model = only(report(Lifetime(DP2)))
    assert [engine.engine for engine in model.engines] == ["0", "1"]
    assert model.sample
    assert model.sample.drafts == sum(engine.sample.drafts for engine in model.engines if engine.sample)
    assert spoken(model).configured_k == 2


def test_what_is_no_speculation_is_told_in_the_words_of_the_state(saved: Save) -> None:
    states = {
        "speculation off": BASELINE,
        "idle": IDLE,
        "serving without drafting": saved(page((0, 0), generated=500), "undrafted"),
        "answers without vLLM metrics": saved("process_start_time_seconds 1\nnode_load1 0.5\n", "other"),
    }
    for state, path in states.items():
        model = only(report(Lifetime(path)))
        assert (model.state, model.verdict.says, model.speculation) == (state, None, None)
        assert len(model.verdict.reasons) == 1


def test_a_page_of_the_v0_engine_gets_no_number_of_today(saved: Save) -> None:
    text = (
        'vllm:spec_decode_draft_acceptance_rate{model_name="m"} 0.76\n'
        'vllm:spec_decode_num_draft_tokens_total{model_name="m"} 48200\n'
        'vllm:spec_decode_num_accepted_tokens_total{model_name="m"} 36600\n'
        'vllm:generation_tokens_total{model_name="m"} 50000\n'
    )
    model = only(report(Lifetime(saved(text))))
    assert (model.model, model.state, model.speculation) == ("m", "vLLM's V0 engine", None)
    assert "does not count drafts" in model.verdict.reasons[0]
    alone = only(report(Lifetime(saved("vllm:spec_decode_efficiency 0.5\n"))))
    assert alone.state == "vLLM's V0 engine"


def test_ray_s_names_are_told(saved: Save) -> None:
    text = LOAD.read_text().replace("vllm:", "ray_vllm_")
    found = report(Lifetime(saved(text)))
    assert any("Ray Serve has series names of its own" in note for note in found.notes)
    assert spoken(only(found)).acceptance == pytest.approx(506 / 8942)


def test_a_lifetime_is_called_one_and_has_no_rates() -> None:
    found = report(Lifetime(LOAD))
    assert "hide recent changes" in found.notes[0]
    assert found.seconds is None
    model = only(found)
    assert (model.traffic.generation_tokens, spoken(model).wasted_tokens) == (None, None)


def test_saved_pages_have_rates_once_somebody_says_how_far_apart_they_are() -> None:
    model = only(report(Pages(IDLE, LOAD, Duration(60))))
    assert model.traffic.generation_tokens == pytest.approx(5088 / 60)
    assert spoken(model).wasted_tokens == pytest.approx((8942 - 506) / 60)


def test_a_restart_in_between_is_told_and_counts_from_there(saved: Save) -> None:
    before, after = saved(page((900, 500), drafts=1000), "before"), saved(page((90, 50), drafts=100), "after")
    model = only(report(Pages(before, after)))
    assert model.sample
    assert model.sample.drafts == 100
    assert model.notes[0] == "engine 0 restarted in between: what it counted before is lost"


def test_engines_that_come_and_go_are_told(saved: Save) -> None:
    common = page((9, 5), drafts=10)
    before, after = saved(common + page(engine="1"), "before"), saved(common + page(engine="2"), "after")
    found = report(Pages(before, after))
    assert only(found).notes[0] == "engine 2 appeared in between"
    assert found.notes == ("m engine 1: missing in the second scrape; its counts are excluded",)


def test_running_servers_are_read_twice_and_added_up() -> None:
    waits: list[float] = []
    now = {"one": page((0, 0)), "two": page((0, 0))}

    def later(seconds: float) -> None:
        waits.append(seconds)
        now["one"] = page((900, 500), drafts=1000, generated=2400, running=3)
        now["two"] = page((100, 0), drafts=1000, generated=1100, running=4)

    def changing(name: str) -> Answer:
        return lambda request: answer(now[name])(request)  # noqa: PLW0108  (asked anew each time)

    with answering(changing("one")) as one, answering(changing("two")) as two:
        found = report(Servers((one, two), Duration(30)), sleep=later)
        assert found.sources == (f"http://{one}/metrics", f"http://{two}/metrics")
    model = only(found)
    assert 0 < sum(waits) <= 30, "the rest is what the readings took"
    assert spoken(model).acceptance == pytest.approx(1500 / 4000)
    assert model.traffic.requests_running == 7
    assert model.traffic.generated == 3500
    assert [engine.server for engine in model.engines] == list(found.sources)
    assert found.seconds is not None


def test_the_time_of_running_servers_is_counted_in_parts_too() -> None:
    drafts = 0

    def later(_: float) -> None:
        nonlocal drafts
        drafts += 1

    def now(request: BaseHTTPRequestHandler) -> None:
        # Restarts at 30; at 50 it is overloaded.
        own = drafts if drafts < 30 else drafts - 30
        answer(page((own, own), drafts=own), 503 if drafts == 50 else 200)(request)

    with answering(now) as place:
        model = only(report(place, sleep=later))
    assert model.sample
    assert model.sample.drafts == sum(part.drafts for part in model.parts) == 70
    assert [part.drafts for part in model.parts] == [*[0] * 6, *[5] * 3, 10, *[5] * 9]


class Clock:
    """Time passes by waiting and by answering."""

    now = 0.0

    def __init__(self, monkeypatch: pytest.MonkeyPatch) -> None:
        times = SimpleNamespace(monotonic=lambda: self.now)
        monkeypatch.setattr("draftboard.reading.watching.time", times)
        monkeypatch.setattr("draftboard.reading.fetch.time", SimpleNamespace(time=lambda: 1e9 + self.now))

    def sleep(self, seconds: float) -> None:
        self.now += seconds * 1.01  # wakes late

    def answers(self, text: str, seconds: float, status: int = 200) -> Answer:
        def answered(request: BaseHTTPRequestHandler) -> None:
            self.now += seconds
            answer(text, status)(request)

        return answered


def test_the_window_that_is_asked_for_is_had(monkeypatch: pytest.MonkeyPatch) -> None:
    clock = Clock(monkeypatch)
    with answering(clock.answers(LOAD.read_text(), 1.2)) as place:
        assert report(Servers((place,), Duration(60)), sleep=clock.sleep).seconds == pytest.approx(60, abs=0.1)


def test_servers_that_fail_are_listed_and_do_not_lengthen_the_window(monkeypatch: pytest.MonkeyPatch) -> None:
    clock = Clock(monkeypatch)
    with answering(clock.answers("", 20, status=503)) as failing, answering(answer(LOAD.read_text())) as place:
        found = report(Servers((failing, place), Duration(30)), sleep=clock.sleep)
    assert found.seconds == pytest.approx(30, abs=0.1)
    assert found.sources == (f"http://{place}/metrics",)
    assert found.notes == (f"http://{failing}/metrics: no response (HTTP 503): see the log of the server (left out)",)
    assert only(found).model == "tiny"


def test_a_server_that_dies_in_the_window_is_listed_and_costs_the_others_no_part() -> None:
    passed = 0

    def later(_: float) -> None:
        nonlocal passed
        passed += 1

    def dying(request: BaseHTTPRequestHandler) -> None:
        answer(LOAD.read_text(), 200 if passed < 50 else 500)(request)

    with answering(dying) as one, answering(answer(LOAD.read_text())) as two:
        found = report(Servers((one, two)), sleep=later)
    assert len(only(found).parts) == 20
    assert found.notes == (f"http://{one}/metrics: no response (HTTP 500): see the log of the server (left out)",)


@pytest.mark.parametrize("later", ["m-2", "older", "older in between"])
def test_an_address_where_several_servers_answer_in_turn_is_listed_beside_the_others(later: str) -> None:
    passed = 0

    def waited(_: float) -> None:
        nonlocal passed
        passed += 1

    def balanced(request: BaseHTTPRequestHandler) -> None:
        other = later if later == "m-2" and passed else "m"
        start = 1000 if (later == "older" and passed) or (later != "older" and 10 <= passed < 90) else 2000
        text = page(drafts=10 * passed).replace('"m"', f'"{other}"')
        answer(f"{text}process_start_time_seconds {start}\n")(request)

    with answering(balanced) as one, answering(answer(LOAD.read_text())) as two:
        found = report(Servers((one, two)), sleep=waited)
    assert found.sources == (f"http://{two}/metrics",)
    (note,) = found.notes
    assert note.startswith(f"http://{one}/metrics: several servers answer at this address in turn")
    assert len(only(found).parts) == 20


def test_servers_that_all_fail_are_an_error() -> None:
    with (
        answering(answer("", 500)) as one,
        answering(answer("", 404)) as two,
        pytest.raises(DraftboardError, match=f"{one}.*500.*; http://{two}/.*404"),
    ):
        report(Servers((one, two)), sleep=lambda _: None)


def test_a_server_can_be_named_by_its_address_alone() -> None:
    with answering(answer(LOAD.read_text())) as place:
        found = report(place, sleep=lambda _: None)
    assert only(found).state == "idle"


def test_a_silent_server_among_others_is_named() -> None:
    with answering(answer("up 1\n")) as silent, answering(answer(LOAD.read_text())) as place:
        found = report(Servers((place, silent)), sleep=lambda _: None)
    assert only(found).model == "tiny"
    assert found.notes == (f"http://{silent}/metrics: answers without vLLM metrics",)


@pytest.mark.parametrize(
    "spelling", ["host:80", "http://host:80/metrics", "http://HOST", "host:80/metrics/", "http://u:p@host/#x"]
)
def test_a_server_named_twice_would_count_twice(spelling: str) -> None:
    with pytest.raises(DraftboardError, match="named twice"):
        report(Servers(("host:80", spelling)))


def test_the_caches_are_told(saved: Save) -> None:
    labels = '{engine="0",model_name="m"}'
    caches = f"vllm:kv_cache_usage_perc{labels} 0.4\nvllm:prefix_cache_queries_total{labels} 200\n"
    model = only(report(Lifetime(saved(page() + caches + f"vllm:prefix_cache_hits_total{labels} 50\n"))))
    assert (model.traffic.kv_cache_usage, model.traffic.prefix_cache_hits) == (0.4, 0.25)
