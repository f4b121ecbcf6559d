"""Every signal has one value, whoever reads it: a real Prometheus its PromQL, or Python the same tree from counts."""

import random
from collections.abc import Iterator
from dataclasses import dataclass
from itertools import product
from operator import attrgetter

import pytest

from conftest import OBJECTIVES, program
from draftboard.catalogue import (
    CATALOGUE,
    Histogram,
    Kind,
    Metric,
    Owner,
    Presence,
    around,
    latency,
    probe,
    serving,
    speculation,
)
from draftboard.durations import Duration
from draftboard.expr.counts import Counts
from draftboard.expr.scope import Edition, Level, Scope
from draftboard.expr.to_numbers import values_of
from draftboard.expr.to_promql import promql_of
from draftboard.expr.vector import Labels, Vector
from draftboard.prometheus import Client, Promtool, Server
from draftboard.settings import load
from draftboard.signals import ALL, Signal, causes, next_steps, overview
from draftboard.signals.absence import gone, replicas_missing, unwatched
from draftboard.signals.advice import ADVICE, advice
from draftboard.signals.capacity import queue_growth, queue_wait
from draftboard.signals.classes import lens_coverage
from draftboard.signals.comparison import acceptance_change, length_anomaly, length_baseline, length_deviation
from draftboard.signals.costs import BASELINE_STEP_TIMES, step_cost
from draftboard.signals.decline import acceptance_at_start, acceptance_decline, acceptance_of_hour
from draftboard.signals.depth import each_k
from draftboard.signals.events import (
    alert_age,
    firing_alerts,
    interruptions,
    k_changed,
    new_arm,
    renamed,
    replacements,
    restarts,
)
from draftboard.signals.gains import best_k, best_k_low, best_k_or_none, slower_k, speedup_at
from draftboard.signals.health import SIGNALS as OF_HEALTH
from draftboard.signals.health import health
from draftboard.signals.monitoring import (
    heartbeat,
    new_series,
    notifications_failed,
    records_missing,
    remote_write_failed,
    samples_stopped,
    storage_failures,
)
from draftboard.signals.overview import data_age, gpus_saved, money_saved
from draftboard.signals.requests import ERRORS, cut_off
from draftboard.signals.responses import FAULTS
from draftboard.signals.siblings import server_outlier
from draftboard.signals.silence import busy_all_day, silence
from draftboard.signals.slo import (
    BURNS,
    ERROR_RATIOS,
    IN_HOUR,
    attainment,
    budget_left,
    burning_fast,
    burning_slowly,
    time_left,
)
from draftboard.signals.stalls import stuck, stuck_engines
from draftboard.signals.states import STATES, state
from draftboard.signals.steps import step_time_change
from draftboard.signals.tried import slower_k_by_batch
from draftboard.signals.users import speedup_high, speedup_low, speedup_uncertainty, tail_change
from draftboard.signals.verdicts import VERDICT, verdict
from draftboard.signals.versus import (
    best_high,
    best_low,
    cost_of_tokens,
    intervals_apart,
    lead_low,
    load_spread,
    ranked_speedup,
    step_cost_by_batch,
)

pytestmark = [pytest.mark.prometheus, pytest.mark.xdist_group("two_readers")]

START, SPAN, GAP = 1_800_000_000, 256, 64
"""Whole binary fractions, so that a counter's samples are exact."""
NOW = START + SPAN
METHODS = ("", "none", "ngram", "suffix", "eagle3", "draft_model", "mtp")
SETTINGS = load(OBJECTIVES)
ESTIMATED = {serving.ESTIMATED_OPERATIONS, serving.ESTIMATED_READS, serving.ESTIMATED_WRITES}
TARGET = {"job", "instance", "spec_method", "spec_verification"}
LONGER_THAN_A_WINDOW: set[Signal] = {
    *(restarts, attainment, budget_left, burning_fast, burning_slowly, time_left),
    *(notifications_failed, remote_write_failed, storage_failures, interruptions, stuck, stuck_engines, data_age),
    *(heartbeat, samples_stopped, queue_wait),
    *(replacements, replicas_missing, unwatched, acceptance_of_hour, acceptance_at_start),
    next_steps.advice_since,
    *IN_HOUR.values(),
    *(one for of in (ERRORS, FAULTS) for one in (of.bad_in_hour, of.every_in_hour)),
    *ERROR_RATIOS.values(),
    *BURNS.values(),
}
"""Ask when samples were taken, how the window came to be, or of longer ones: counts know nothing of that."""
REST_ON_THEM = {
    *overview.ENGINES.values(),
    *overview.MODELS.values(),
    *(next_steps.next_step, next_steps.next_gain, next_steps.rank, causes.health_cause),
    *OF_HEALTH,
}
NO_SERIES_OF_A_WINDOW = {cost_of_tokens, gpus_saved, money_saved, new_series}
SPEEDUPS = ("loses", "even", "pays")
Series = tuple[str, Labels]


def engines() -> Iterator[dict[str, str]]:
    """Labels of made-up engines: one model or two at an address, one to three engines, arms with other methods."""
    for number in range(120):
        chance = random.Random(number)
        for arm in range(chance.randint(1, 2)):
            method = chance.choice(METHODS)
            verification = {"spec_verification": "adaptive"} if chance.random() < 0.1 else {}
            for engine in range(chance.randint(1, 3)):
                labels = {"job": f"vllm{arm}", "instance": f"h{number}-{arm}:8000", "model_name": f"m{number}"}
                labels |= {"engine": str(engine)} | ({"spec_method": method} if method else {})
                yield labels | verification


def own_labels(metric: Metric, k: int) -> list[dict[str, str]]:
    """Every combination of the labels that a metric has of its own, one of what an engine says of itself."""
    values = {
        "position": [str(position) for position in range(k)],
        "status": ["2xx", "4xx", "5xx"],
        "finished_reason": ["stop", "error"],
        probe.STAGES: ["1", "4"],
        "rule_group": ["rules.yaml;draftboard-requests", "rules.yaml;other"],
    }
    found = [values.get(label) or list(metric.values.get(label, ("a", "b")))[:2] for label in metric.own_labels]
    combinations = [tuple(each[k % 2] for each in found)] if metric.unit == "info" else product(*found)
    return [dict(zip(metric.own_labels, each, strict=True)) for each in combinations] or [{}]


def survivors(chance: random.Random, drafts: int, k: int) -> list[int]:
    """Drafts accepted at each depth: mostly falling, sometimes contradicting themselves."""
    alpha = chance.random() ** chance.choice((0.2, 2))
    falling = [round(drafts * alpha ** (position + 1)) for position in range(k)]
    return falling if chance.random() < 0.85 else chance.sample(range(drafts + k + 1), k)


def sampled(chance: random.Random, buckets: int, total: int | None) -> list[int]:
    """Samples by bucket: any, or a total in one of them."""
    if total is None:
        return [chance.choice((0, 1, 5, 40)) for _ in range(buckets)]
    there = chance.randrange(buckets)
    return [total if index == there else 0 for index in range(buckets)]


def generated(chance: random.Random, drafts: int, accepted: int, fixed: dict[Metric, int]) -> dict[Histogram, int]:
    """Steps and first tokens of an engine that drafts; its tokens mostly follow from them."""
    if not drafts:
        return {}
    plain, first = drafts * chance.choice((0, 0, 1, 3)), chance.randint(0, 40)
    if chance.random() < 0.9:
        fixed[serving.GENERATION_TOKENS] = first + plain + drafts + accepted
    return {latency.STEP_LATENCY: drafts + plain, latency.TIME_TO_FIRST_TOKEN: first}


def counted(labels: dict[str, str]) -> Iterator[tuple[Metric, dict[str, str], int]]:
    """What one engine counted in the window, by metric and all labels: growth, or a gauge's value."""
    chance = random.Random(str(sorted(labels.items())))
    together = random.Random(labels["model_name"])
    k = (together if together.random() < 0.8 else chance).randint(1, 11)
    drafts = 0 if chance.random() < 0.2 else chance.randint(1, 500) * 10
    positions = survivors(chance, drafts, k)
    fixed = {
        speculation.DRAFTS: drafts,
        speculation.DRAFT_TOKENS: max(round(drafts * k * chance.choice((1, 1, 0.6))), sum(positions)),
        speculation.ACCEPTED_TOKENS: sum(positions),
        around.UP: int(chance.random() < 0.8),
    }
    totals = generated(chance, drafts, sum(positions), fixed)
    speculates = labels.get("spec_method") != "none" and chance.random() < 0.9
    # Last, so that what chance gives the others does not depend on them.
    for family in sorted(CATALOGUE, key=ESTIMATED.__contains__):
        if family is around.ALERTS:
            continue
        if family.presence is Presence.SPECULATING and not speculates:
            continue
        if isinstance(family, Histogram):
            samples = sampled(chance, len(family.buckets) + 1, totals.get(family))
            for index, bound in enumerate((*family.buckets, float("inf"))):
                le = "+Inf" if bound == float("inf") else f"{bound:g}"
                yield family.bucket, {"le": le}, sum(samples[: index + 1])
            yield family.sum, {}, chance.randint(0, 1000)
            yield family.count, {}, sum(samples)
            continue
        if family is speculation.ACCEPTED_TOKENS_PER_POS:
            for position, accepted in enumerate(positions):
                yield family, {"position": str(position)}, accepted
            continue
        for part in family.parts:
            for own in own_labels(part, k):
                yield part, own, fixed.get(part, chance.choice((0, chance.randint(1, 400))))


@dataclass(frozen=True)
class Beside:
    """A baseline beside a server that speculates, which has steps of 440 s for 4,400 tokens, 2.2 in each."""

    steps: int
    """Seconds of the baseline's steps."""
    answers: int = 600
    """Seconds of its answers, which take 500 s where drafts are made."""
    tokens: int = 4400
    verification: str = ""
    iterations: int = 0
    """Of the baseline, where the other server counts 1,000 of two requests each; 0: nobody counts them."""


BESIDE = {
    "slower": Beside(steps=220),
    "even": Beside(steps=440),
    "sooner": Beside(steps=660, answers=500),
    "faster": Beside(steps=660),
    "faster, adaptive": Beside(steps=660, verification="adaptive"),
    "too fast": Beside(steps=1320),
    "longer answers": Beside(steps=660, tokens=2200),
    "fuller steps": Beside(steps=660, iterations=1100),
}


def alike() -> Iterator[tuple[dict[str, str], list[tuple[Metric, dict[str, str], int]]]]:
    """Labels of two servers a model, and what each counted: alike but for that, as servers drawn hardly ever are."""
    requests = (latency.TIME_TO_FIRST_TOKEN, latency.TIME_PER_OUTPUT_TOKEN, latency.END_TO_END_LATENCY)
    both = {around.UP: 1, serving.REQUESTS_RUNNING: 2, serving.PROMPT_TOKENS: 4000, **{of.count: 40 for of in requests}}
    steps, answers = latency.STEP_LATENCY, latency.END_TO_END_LATENCY
    drafting = {speculation.DRAFTS: 2000, speculation.DRAFT_TOKENS: 6000, speculation.ACCEPTED_TOKENS: 2400}
    drafting |= {steps.count: 2000, steps.sum: 440, answers.sum: 500, serving.GENERATION_TOKENS: 40 + 4400}
    for name, of in BESIDE.items():
        plain = {steps.count: of.tokens, steps.sum: of.steps, answers.sum: of.answers}
        plain[serving.GENERATION_TOKENS] = 40 + of.tokens
        counted_by = {latency.STEP_TOKENS.count: (1000, of.iterations)} if of.iterations else {}
        own = {"spec_method": "eagle3"} | ({"spec_verification": of.verification} if of.verification else {})
        for side, (arm, grown) in enumerate(((own, drafting), ({"spec_method": "none"}, plain))):
            iterations = {metric: counts[side] for metric, counts in counted_by.items()}
            labels = {"job": "beside", "instance": f"{name}-{arm['spec_method']}:8000", "model_name": name, **arm}
            depths = enumerate((1200, 800, 400) if grown is drafting else ())
            yield (
                labels | {"engine": "0"},
                [
                    *((metric, {}, value) for metric, value in (both | grown | iterations).items()),
                    *((speculation.ACCEPTED_TOKENS_PER_POS, {"position": str(at)}, value) for at, value in depths),
                ],
            )


def unseen() -> dict[Series, tuple[Metric, int]]:
    """Labelled targets that expose nothing of vLLM: down, starting, or started without metrics."""
    names = [("job", "vllm"), ("spec_method", "eagle3")]
    return {
        (around.UP.name, frozenset([*names, ("instance", f"u{number}:8000")])): (around.UP, number % 2)
        for number in range(4)
    }


def carried(metric: Metric, labels: dict[str, str]) -> dict[str, str]:
    """The labels of an engine that a metric's series carry."""
    target = {name: value for name, value in labels.items() if name in TARGET}
    match metric.owner:
        case Owner.ENGINE:
            return labels
        case Owner.CONFIG:
            return target | {"engine": labels["engine"]}
        case Owner.FRONTEND:
            return target | {"model_name": labels["model_name"]}
        case Owner.EXPORTER:
            return {"job": "gpu", "instance": f"{labels['instance'].partition(':')[0]}:9400"}
        case _:
            return target


@pytest.fixture(scope="module")
def made_up() -> dict[Series, tuple[Metric, int]]:
    found: dict[Series, tuple[Metric, int]] = {}
    for labels, grown in (*((labels, counted(labels)) for labels in engines()), *alike()):
        for metric, own, value in grown:
            found[metric.name, frozenset((carried(metric, labels) | own).items())] = (metric, value)
    return found | unseen()


@pytest.fixture(scope="module")
def client(made_up: dict[Series, tuple[Metric, int]], tmp_path_factory: pytest.TempPathFactory) -> Iterator[Client]:
    """A Prometheus in which every counter rises evenly over the window, from high enough to be no new one."""
    folder = tmp_path_factory.mktemp("readers")
    lines = []
    for (name, labels), (metric, value) in sorted(made_up.items(), key=lambda pair: (pair[0][0], sorted(pair[0][1]))):
        text = ",".join(f'{label}="{said}"' for label, said in sorted(labels))
        rises = metric.kind is not Kind.GAUGE
        for at in range(START, NOW + 1, GAP):
            sample = value * 2 + 1 + value * (at - START) / SPAN if rises else value
            lines.append(f"{name}{{{text}}} {sample} {at}\n")
    recording = folder / "fleet.om"
    recording.write_text("".join(lines) + "# EOF\n")
    server = Server(program("prometheus"), folder, lookback=Duration(300))
    Promtool(program("promtool")).load_openmetrics(recording, server.storage)
    with pytest.MonkeyPatch.context() as patient, server.running() as url:
        # What is made of verdicts takes a busy machine longer than a command waits.
        patient.setattr("draftboard.prometheus.client._TIMEOUT_SECONDS", 110)
        with Client(url) as asked:
            yield asked


@pytest.fixture(scope="module")
def counts(made_up: dict[Series, tuple[Metric, int]]) -> Counts:
    series: dict[str, dict[Labels, float]] = {}
    for (name, labels), (_, value) in made_up.items():
        series.setdefault(name, {})[labels] = value
    return Counts(SETTINGS, series)


def asked_of(client: Client, signal: Signal, level: Level) -> Vector:
    """Its PromQL's values: a rate as the growth over the window."""
    scope = Scope(SETTINGS, level, Edition.ONCE, span=Duration(SPAN))
    factor = SPAN if signal.per_second else 1
    return {
        frozenset(series.labels.items()): series.samples[0][1] * factor
        for series in client.query(promql_of(signal, scope), NOW)
    }


CASES = [
    (signal, level)
    for signal in ALL
    for level in signal.levels
    if signal
    not in LONGER_THAN_A_WINDOW
    | REST_ON_THEM
    | {best_k, cost_of_tokens, gpus_saved, money_saved, new_series}  # Counts know no series of a window.
    | {ranked_speedup}  # From raw series a text of over 10 MB, and Prometheus takes no longer form.
]
COSTLY = {advice, health, next_steps.next_step, overview.verdict_basis, *overview.MODELS.values()}
COSTLY |= {best_k_low, best_k_or_none}
"""From raw series, each takes Prometheus seconds of a processor."""
PARAMETERS = [
    pytest.param(signal, level, marks=[pytest.mark.long] * (signal in COSTLY), id=f"{signal.name}-{level.value}")
    for signal, level in CASES
]


@pytest.mark.parametrize(("signal", "level"), PARAMETERS)
def test_both_readers_give_the_same_values(signal: Signal, level: Level, client: Client, counts: Counts) -> None:
    expected, found = asked_of(client, signal, level), dict(values_of(signal, counts, level))
    assert found == pytest.approx(dict(expected), rel=1e-9, abs=1e-12, nan_ok=True)


def test_the_best_k_is_the_same_but_for_ties(client: Client, counts: Counts) -> None:
    expected, speedups = asked_of(client, best_k, Level.MODEL), values_of(speedup_at, counts)
    found = values_of(best_k, counts)
    assert found.keys() == expected.keys()
    for model, k in found.items():
        # Speedups that are equal on paper differ in the last digit, whichever way they are computed.
        both = [speedups[model | {("k", f"{one:g}")}] for one in (k, expected[model])]
        assert both[0] == pytest.approx(both[1], rel=1e-12)


def test_the_made_up_fleet_shows_what_signals_distinguish(counts: Counts) -> None:
    given = {ADVICE.of(value) for value in values_of(advice, counts).values()}
    missing = [name for name, choice in ADVICE.choices.items() if choice not in given]
    assert missing == ["workload", "even"]
    told = {VERDICT.of(value) for value in values_of(verdict, counts).values()}
    assert [name for name, choice in VERDICT.choices.items() if choice not in told] == [
        *("empty", "too cheap", "apart"),
        *(f"{band}, {basis}" for basis in ("measured by steps", "calibrated") for band in SPEEDUPS),
        "unknown",
    ]
    # What is new and has not answered yet cannot be told from what is down within one window.
    every = {choice for name, choice in STATES.choices.items() if name != "starting"}
    assert {STATES.of(value) for value in values_of(state, counts, Level.ENGINE).values()} >= every
    assert max(values_of(each_k, counts).values()) == 11
    asks_the_past = {acceptance_change, length_baseline, length_deviation, length_anomaly, tail_change, queue_growth}
    asks_the_past |= {slower_k, slower_k_by_batch, speedup_uncertainty, speedup_low, speedup_high, step_cost_by_batch}
    asks_the_past |= {k_changed, new_arm, *BASELINE_STEP_TIMES.values(), *renamed.values(), busy_all_day}
    asks_the_past |= {acceptance_decline, silence, best_low, best_high, intervals_apart, lead_low}
    of_alerts = {firing_alerts, alert_age, *overview.ALERTS.values()}
    # No engine has the lens, and no model two servers that serve alike.
    of_lens = {lens_coverage, *(signal for signal in ALL if signal.name.startswith("class_"))}
    none_here = asks_the_past | of_alerts | of_lens | {server_outlier, load_spread}
    none_here |= {step_time_change, step_cost, records_missing, gone, cut_off}
    found = {signal for signal, level in CASES if not values_of(signal, counts, level)}
    assert {signal.name for signal in found} == {signal.name for signal in none_here}


@pytest.mark.parametrize("signal", sorted(LONGER_THAN_A_WINDOW, key=attrgetter("name")), ids=attrgetter("name"))
def test_what_one_window_cannot_tell_has_no_value_in_counts(signal: Signal, counts: Counts) -> None:
    assert values_of(signal, counts, signal.levels[-1]) == {}
