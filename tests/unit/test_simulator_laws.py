"""What holds on every real page holds on every simulated one, and the numbers follow from what was asked for."""

import itertools
from typing import Any

import pytest

from draftboard.catalogue import Histogram
from draftboard.lab.simulator import find, names
from draftboard.lab.simulator.books import PAGE
from draftboard.lab.simulator.fleet import Instance, targets
from support import theory
from support.simulated import Values, scenario, scrapes, started, values

SPEC = "vllm:spec_decode_num_"
STEPS = "vllm:inter_token_latency_seconds"
HOUR = 3600
BUSY = {"method": "eagle3", "k": 4, "load": {"rate": 1.0}}
SERVERS: dict[str, dict[str, Any]] = {
    "fixed drafts": BUSY | {"requests": [{"alpha": 0.7, "cached": 0.5, "fully_cached": 0.2}]},
    "lookups of many lengths": {
        "method": "suffix",
        "k": 24,
        "coverage": 0.5,
        "draft_lengths": [1 / 24] * 24,
        "load": {"rate": 1.0},
        "requests": [{"workload": "code"}],
    },
    "a full cache": {
        "method": "mtp",
        "k": 2,
        "kv_blocks": 600,
        "load": {"clients": 30},
        "requests": [{"rates": [0.8, 0.5], "prompt_tokens": 800, "output_tokens": 500}],
    },
    "too many requests": BUSY | {"load": {"rate": 20}, "max_num_seqs": 16, "queue_limit": 50},
    "a decode node": BUSY | {"kv_transfer": True, "requests": [{"alpha": 0.8, "output_tokens": 20, "max_tokens": 100}]},
    "perfect drafts": BUSY | {"requests": [{"alpha": 1.0}]},
    "useless drafts": BUSY | {"requests": [{"alpha": 0.0}]},
    "no drafts": {"load": {"rate": 1.0}},
    "bursty text": {
        "method": "suffix",
        "k": 6,
        "coverage": 0.8,
        "draft_lengths": [1 / 6] * 6,
        "load": {"rate": 1.0},
        "requests": [{"bursts": {"easy": 0.95, "hard": 0.3}}, {"alpha": 0.5}],
    },
    "adaptive verification": BUSY | {"verify_budget": 9, "load": {"clients": 8}},
    "one token a request": BUSY | {"requests": [{"alpha": 0.8, "output_tokens": 1, "max_tokens": 1}]},
}


def positions(page: Values) -> list[float]:
    name = f"{SPEC}accepted_tokens_per_pos_total"
    return [page[key] for key in sorted((k for k in page if k[0] == name), key=lambda key: int(key[1]))]


@pytest.fixture(params=sorted(SERVERS), scope="module")
def pages(request: pytest.FixtureRequest) -> list[Values]:
    """Forty scrapes of one server."""
    return list(scrapes(started(scenario(**SERVERS[request.param])), 600))


def test_the_counters_of_speculation_never_contradict_each_other(pages: list[Values]) -> None:
    for page in pages:
        by_position = positions(page)
        if not by_position:
            assert not any(name.startswith(SPEC) for name, *_ in page)
            continue
        drafts, drafted, accepted = (
            page[f"{SPEC}{what}_total",] for what in ("drafts", "draft_tokens", "accepted_tokens")
        )
        assert sum(by_position) == accepted
        assert by_position == sorted(by_position, reverse=True)
        assert by_position[0] <= drafts
        assert accepted <= drafted <= len(by_position) * drafts
        assert all(value == int(value) for value in (drafts, drafted, accepted, *by_position))


def test_histograms_rise_to_their_count_and_counters_never_fall(pages: list[Values]) -> None:
    for metric in (metric for metric in PAGE if isinstance(metric, Histogram)):
        for page in pages:
            buckets = [value for key, value in page.items() if key[0] == f"{metric.name}_bucket"]
            counts = [value for key, value in page.items() if key[0] == f"{metric.name}_count"]
            assert buckets == sorted(buckets)
            assert buckets[-1:] == counts
    rising = [metric.name for metric in PAGE if metric.kind.value == "counter"]
    for before, after in itertools.pairwise(pages):
        assert all(after[key] >= before[key] for key in before if key[0] in rising or key[0].endswith("_sum"))


def test_tokens_requests_and_times_add_up(pages: list[Values]) -> None:
    for page in pages:

        def of(name: str, *own: str, page: Values = page) -> float:
            return page.get((f"vllm:{name}", *own), 0.0)

        computed = of("prompt_tokens_by_source_total", "local_compute")
        assert sum(v for k, v in page.items() if k[0] == "vllm:prompt_tokens_by_source_total") == of(
            "prompt_tokens_total"
        )
        assert of("iteration_tokens_total_sum") == of("generation_tokens_total") + computed
        hits = of("prefix_cache_hits_total") + of("external_prefix_cache_hits_total")
        assert hits == of("prompt_tokens_total") - computed
        done = sum(v for k, v in page.items() if k[0] == "vllm:request_success_total")
        assert done == of("e2e_request_latency_seconds_count")
        running = of("num_requests_running")
        assert of("num_requests_waiting") == of("num_requests_waiting_by_reason", "capacity")
        assert of("time_to_first_token_seconds_count") >= done
        assert of("time_to_first_token_seconds_count") <= done + running + of("num_requests_waiting")
        assert of("e2e_request_latency_seconds_sum") == pytest.approx(
            sum(of(f"request_{part}_time_seconds_sum") for part in ("queue", "prefill", "decode"))
        )
        assert 0 <= of("kv_cache_usage_perc") <= 1


def test_once_all_answers_are_complete_steps_lasted_as_long_as_decoding() -> None:
    for name in ("fixed drafts", "a full cache"):
        instance = started(scenario({"at": "5m", "load": {}}, **SERVERS[name]))
        instance.advance(1200)
        page = values(instance)
        assert page["vllm:num_requests_running",] == 0
        assert page[f"{STEPS}_sum",] == pytest.approx(page["vllm:request_decode_time_seconds_sum",], rel=1e-9)


def test_a_full_cache_preempts_and_requests_wait_for_room() -> None:
    pages = list(scrapes(started(scenario(**SERVERS["a full cache"])), 600))
    assert pages[-1]["vllm:num_preemptions_total",] > 0
    assert max(page["vllm:kv_cache_usage_perc",] for page in pages) > 0.9
    assert max(page["vllm:num_requests_waiting",] for page in pages) > 0


def test_a_full_queue_turns_requests_away_and_the_frontend_says_so() -> None:
    *_, last = scrapes(started(scenario(**SERVERS["too many requests"])), 600)
    rejected = last["vllm:admission_rejections_total", "max_num_queued_reqs"]
    assert rejected > 0
    assert last["http_requests_total", "/v1/chat/completions", "POST", "5xx"] == rejected
    assert last["vllm:num_requests_running",] <= 16


@pytest.mark.parametrize("alpha", [0.3, 0.8])
def test_alpha_is_recovered_from_the_counters(alpha: float) -> None:
    *_, last = scrapes(started(scenario(**BUSY | {"requests": [{"alpha": alpha}]})), 1800)
    drafts, accepted = last[f"{SPEC}drafts_total",], last[f"{SPEC}accepted_tokens_total",]
    counts = theory.Counts(drafts, last[f"{SPEC}draft_tokens_total",], accepted, tuple(positions(last)))
    four_deviations = 4 * (alpha * (1 - alpha) / accepted) ** 0.5
    assert counts.alpha_hat == pytest.approx(alpha, abs=four_deviations)
    assert counts.draft_length == 4


def test_lookups_cover_a_share_of_steps_with_drafts_of_many_lengths() -> None:
    lengths = [0.4, 0.3, 0.2, 0.1]
    server = {"method": "ngram", "k": 4, "coverage": 0.6, "draft_lengths": lengths, "load": {"rate": 1.0}}
    *_, last = scrapes(started(scenario(**server, requests=[{"alpha": 0.5}])), 1800)
    drafts = last[f"{SPEC}drafts_total",]
    assert drafts / last[f"{STEPS}_count",] == pytest.approx(0.6, abs=0.01)
    assert last[f"{SPEC}draft_tokens_total",] / drafts == pytest.approx(2.0, abs=0.02)
    reaching = [1.0, 0.6, 0.3, 0.1]
    expected = [share * 0.5 ** (position + 1) for position, share in enumerate(reaching)]
    assert [count / drafts for count in positions(last)] == pytest.approx(expected, abs=0.01)


def test_each_request_of_a_decode_node_enters_with_a_phantom_draft() -> None:
    server = {"method": "mtp", "k": 3, "kv_transfer": True, "load": {"rate": 1.0}}
    requests = [{"alpha": 1.0, "output_tokens": 1, "max_tokens": 1}]
    *_, last = scrapes(started(scenario(**server, requests=requests)), 600)
    entered = last["vllm:time_to_first_token_seconds_count",]
    assert entered > 100
    assert last[f"{SPEC}drafts_total",] == entered
    assert last[f"{SPEC}draft_tokens_total",] == 3 * entered
    assert last[f"{SPEC}accepted_tokens_total",] == 0


def test_accepted_tokens_overcount_what_the_end_of_an_answer_cuts_off() -> None:
    requests = [{"alpha": 1.0, "output_tokens": 20000, "max_tokens": 8}]
    *_, last = scrapes(started(scenario({"at": "5m", "load": {}}, **BUSY | {"requests": requests})), 600)
    done = last["vllm:request_success_total", "length"]
    # The first token comes from prefill; the other seven take two steps of five, so that three are cut off.
    assert last["vllm:generation_tokens_total",] == 8 * done
    assert last[f"{SPEC}drafts_total",] == 2 * done
    assert last[f"{SPEC}accepted_tokens_total",] == 8 * done


def test_steps_take_as_long_as_drafting_and_verifying_costs() -> None:
    server = BUSY | {"step_seconds": 0.02, "draft_cost": 0.1, "saturation_tokens": 1e6, "load": {"rate": 0.05}}
    requests = [{"alpha": 0.7, "prompt_tokens": 2, "output_tokens": 400, "max_tokens": 1000}]
    *_, last = scrapes(started(scenario(**server, requests=requests)), 1800)
    assert last[f"{STEPS}_sum",] / last[f"{STEPS}_count",] == pytest.approx(0.02 * (1 + 4 * 0.1), rel=0.01)


def test_a_large_batch_makes_verifying_cost_more_than_it_saves() -> None:
    def per_token(**server: Any) -> float:
        load = {"saturation_tokens": 20, "load": {"clients": 60}, "requests": [{"alpha": 0.6}]}
        *_, last = scrapes(started(scenario(**load | server)), 900)
        name = "vllm:request_time_per_output_token_seconds"
        return last[f"{name}_sum",] / last[f"{name}_count",]

    assert per_token(method="eagle3", k=5) > 1.1 * per_token()


def test_how_often_one_looks_changes_nothing() -> None:
    told = scenario({"at": "3m", "restart": "30s"}, **SERVERS["a full cache"])
    seldom, often = started(told), started(told)
    seldom.advance(500)
    for at in range(0, 501, 5):
        often.advance(at)
    one, other = values(seldom), values(often)
    assert one == other


@pytest.mark.parametrize("name", names())
def test_the_same_seed_makes_the_same_numbers_and_another_makes_others(name: str) -> None:
    told = find(name)
    first, again, other = (Instance(targets(told, seed)[0], 0.0) for seed in (1, 1, 2))
    for instance in (first, again, other):
        instance.advance(300)
    once = values(first)
    assert once == values(again)
    assert once != values(other)


def test_a_restart_is_no_answer_for_a_while_and_then_counters_from_zero() -> None:
    instance = started(scenario({"at": "5m", "restart": "1m"}, **BUSY))
    instance.advance(299)
    before = values(instance)
    created = instance.created
    instance.advance(330)
    assert not instance.up
    instance.advance(360)
    assert instance.up
    assert instance.created == created + 360
    assert values(instance)["vllm:generation_tokens_total",] == 0
    instance.advance(420)
    assert 0 < values(instance)["vllm:generation_tokens_total",] < before["vllm:generation_tokens_total",]


def test_a_restart_without_speculation_takes_its_counters_away() -> None:
    instance = started(scenario({"at": "1m", "restart": "0s", "speculative": False}, **BUSY))
    instance.advance(59)
    assert (f"{SPEC}drafts_total",) in values(instance)
    instance.advance(60)
    assert (f"{SPEC}drafts_total",) not in values(instance)


def test_what_has_changed_stays_changed_over_a_restart() -> None:
    changed = {"at": "1m", "requests": [{"alpha": 0.0}]}
    *_, last = scrapes(started(scenario(changed, {"at": "2m", "restart": "0s"}, **BUSY)), 600)
    assert last[f"{SPEC}drafts_total",] > 0
    assert last[f"{SPEC}accepted_tokens_total",] == 0


def test_a_drafter_that_finds_nothing_leaves_the_counters_where_they_are() -> None:
    pages = list(scrapes(started(scenario({"at": "5m", "coverage": 0.0}, **BUSY)), 600))
    at_event, last = pages[20], pages[-1]
    assert last[f"{SPEC}drafts_total",] == at_event[f"{SPEC}drafts_total",] > 0
    assert last["vllm:generation_tokens_total",] > at_event["vllm:generation_tokens_total",]


def test_abandoned_requests_are_begun_and_never_finished() -> None:
    told = scenario({"at": "10m", "load": {}}, **BUSY | {"requests": [{"alpha": 0.7, "abandoned": 0.9}]})
    *_, last = scrapes(started(told), 900)
    begun = last["vllm:time_to_first_token_seconds_count",]
    finished = {reason: last["vllm:request_success_total", reason] for reason in ("stop", "length", "abort")}
    assert last["vllm:num_requests_running",] == 0
    assert sum(finished.values()) / begun == pytest.approx(0.1, abs=0.05)
    assert finished["abort"] == 0
    assert last["vllm:e2e_request_latency_seconds_count",] == sum(finished.values())
    assert last["http_requests_total", "/v1/chat/completions", "POST", "2xx"] == begun
    # A client goes away anywhere in the answer: of 250 tokens it takes half.
    assert last["vllm:generation_tokens_total",] / begun == pytest.approx(250 * (0.1 + 0.9 / 2), rel=0.15)


def test_adaptive_verification_counts_all_drafted_tokens_and_accepts_of_the_verified() -> None:
    def counted(rate: float) -> tuple[float, float, float]:
        """Tokens drafted and accepted a draft, and tokens generated."""
        requests = [{"alpha": 0.8, "prompt_tokens": 2}]
        server = BUSY | {"verify_budget": 16, "load": {"rate": rate}, "requests": requests}
        *_, last = scrapes(started(scenario(**server)), 1800)
        drafts, drafted, accepted = (
            last[f"{SPEC}{what}_total",] for what in ("drafts", "draft_tokens", "accepted_tokens")
        )
        return drafted / drafts, accepted / drafts, last["vllm:generation_tokens_total",]

    (drafted, accepted, few), (drafted_under_load, accepted_under_load, many) = counted(0.1), counted(8.0)
    assert drafted == drafted_under_load == 4
    assert accepted == pytest.approx(sum(theory.geometric_survival(0.8, 4)), rel=0.03)
    assert accepted_under_load < 0.7 * accepted
    assert many > 50 * few


def test_a_large_batch_gives_more_tokens_where_it_verifies_fewer() -> None:
    def generated(**server: Any) -> float:
        load = {"saturation_tokens": 60, "load": {"clients": 60}, "requests": [{"alpha": 0.6}]}
        *_, last = scrapes(started(scenario(**load | server)), 900)
        return last["vllm:generation_tokens_total",]

    fixed = generated(method="eagle3", k=7)
    assert generated(method="eagle3", k=7, verify_budget=60) > 1.2 * fixed


def test_a_verify_step_takes_as_long_as_told() -> None:
    server = BUSY | {"step_seconds": 0.02, "draft_cost": 0.1, "saturation_tokens": 1e6, "load": {"rate": 0.05}}
    requests = [{"alpha": 0.7, "prompt_tokens": 2, "output_tokens": 400, "max_tokens": 1000}]
    *_, last = scrapes(started(scenario(**server, verify_inflation=1.4, requests=requests)), 1800)
    assert last[f"{STEPS}_sum",] / last[f"{STEPS}_count",] == pytest.approx(0.02 * (1.4 + 4 * 0.1), rel=0.01)
