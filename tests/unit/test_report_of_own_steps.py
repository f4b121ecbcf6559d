"""What a server's own steps tell of the cost of drafts: without a baseline, and better than what is assumed."""

import json
import math
import random
import re
from collections.abc import Callable, Sequence
from dataclasses import replace
from http.server import BaseHTTPRequestHandler
from itertools import pairwise
from typing import Any
from urllib.parse import parse_qs

import pytest

from draftboard.catalogue import latency, probe, speculation
from draftboard.evidence import Change, Load, Own, Range, Steps, assumed, curves
from draftboard.evidence.assumed import Costs
from draftboard.evidence.law import Kind
from draftboard.expr.vector import Labels, kept
from draftboard.lab.simulator.fleet import Instance, targets
from draftboard.lab.simulator.scenario import Scenario
from draftboard.lab.simulator.serve import page as served
from draftboard.output import Document, as_markdown
from draftboard.reading import Growth, Page, Reader, Recorded, Tally, counts_of, growth, labels_of, read
from draftboard.report import ModelReport, Reading, report, verdict_of
from draftboard.report.choices import choices, chosen_of
from draftboard.report.document import status_of
from draftboard.report.expectation import expectation_of
from draftboard.report.own import Stretch, of_growth, own_of, pure
from draftboard.settings import Settings
from draftboard.signals import Level
from draftboard.signals.gains import slower_k
from draftboard.status import Status
from support.known import known
from support.loopback import answering, page
from support.tallies import tally

K, PARTS = 3, 60
KNEE, DRAFTER = 64.0, 0.15
"""Of the server: tokens that double a step, and the time of a token of the drafter in plain steps."""


def seconds(batch: float, drafted: float = K) -> float:
    return 0.01 * (1 + batch * (drafted + 1) / KNEE + DRAFTER * drafted * (1 + batch / KNEE))


def true_cost(batch: float) -> float:
    return seconds(batch) / (0.01 * (1 + batch / KNEE))


def part(batch: float, time: float, *, plugin: bool, accepted: Sequence[float] = (800, 600, 400)) -> Tally:
    """An engine that took a thousand decode steps."""
    steps = 1000.0
    counted = tally([batch * one for one in accepted], drafts=steps * batch).counted
    more: dict[tuple[str, tuple[tuple[str, str], ...]], float] = {
        (latency.STEP_LATENCY.count.name, ()): steps * batch,
        (latency.STEP_LATENCY.sum.name, ()): steps * batch * time,
        (latency.STEP_TOKENS.count.name, ()): steps,
    }
    if plugin:
        labels = (("batch", f"{batch:g}"), ("k", str(K)))
        more |= {(probe.DECODE_STEPS.name, labels): steps, (probe.DECODE_STEP_SECONDS.name, labels): steps * time}
    return Tally("a:8000", "m", "0", {**counted, **more}, {})


def day(seed: int, *, most: int = 6, plugin: bool = False) -> list[Tally]:
    chance = random.Random(seed)
    batches = [2.0 ** chance.randint(0, most) for _ in range(PARTS)]
    return [part(batch, seconds(batch) * math.exp(chance.gauss(0, 0.05)), plugin=plugin) for batch in batches]


def reported(parts: list[Tally], now: float, **settings: object) -> ModelReport:
    whole = part(now, seconds(now), plugin=False)
    reading = Reading(
        *([], Growth((whole,), 600.0), Settings.model_validate(settings), "eagle3"),
        [Growth((one,), 10.0) for one in parts],
    )
    (model,) = reading.report().models
    return model


@pytest.mark.parametrize("plugin", [True, False])
def test_steps_at_different_loads_narrow_what_is_assumed_and_hold_the_truth(*, plugin: bool) -> None:
    model = reported(day(1, plugin=plugin), 16)
    alone = reported([], 16)
    found, wide = (known(known(one.speculation).assumed) for one in (model, alone))
    assert (found.basis, wide.basis) == ("own step times", "assumed")
    cost, assumed_cost = known(found.step_cost), known(wide.step_cost)
    assert cost.high / cost.low < assumed_cost.high / assumed_cost.low
    assert true_cost(16) in cost
    assert model.verdict.basis == "own step times"
    assert verdict_of(model).startswith("unclear") == (1 in known(found.speedup))
    assert "its own steps at different loads; the drafter's time in them is assumed" in model.verdict.reasons[0]
    assert status_of(model) in {Status.GOOD, Status.ODD}


def test_a_load_that_hardly_varied_leaves_what_is_assumed() -> None:
    model = reported(day(1, most=0), 1)
    assert (known(known(model.speculation).assumed).basis, model.verdict.basis) == ("assumed", "assumed")


def test_own_steps_outrank_costs_of_another_server() -> None:
    calibrated = {"draft_cost": {"by_method": {"eagle3": 0.01}, "calibrated": ["eagle3"]}}
    assert reported([], 16, **calibrated).verdict.basis == "calibrated"
    assert reported(day(1), 16, **calibrated).verdict.basis == "own step times"


def stretches(plain: float, *, k: float | None = K, count: int = 20, batch: float = 8.0) -> list[Stretch]:
    """Pure steps in time, of which half have no draft."""
    chance, found = random.Random(2), []
    for at in range(count):
        noise = math.exp(chance.gauss(0, 0.03))
        found.append(Stretch(at, batch, 0.0, 100, 100 * 0.01 * noise, pure=True))
        found.append(Stretch(at, batch, k, 100, 100 * 0.01 * (2 * plain - 1) * noise, pure=True))
    return found


def test_steps_without_a_draft_are_a_baseline() -> None:
    own = known(own_of(stretches(1.4), Load(batch=7, drafted=1.5, coverage=0.5)))
    assert 1.4 in known(own.step_cost)
    assert known(own.step_cost).high / known(own.step_cost).low < 1.5
    assert known(own_of(stretches(1.4, k=None), Load(batch=7, drafted=1.5))).step_cost, "of unlike drafts, too"


def test_what_tells_nothing_is_no_baseline() -> None:
    now = Load(batch=7, drafted=1.5)
    assert own_of([], now) is None
    assert own_of(stretches(1.4, batch=4), now) is None, "of smaller batches"
    assert own_of(stretches(1.4, count=7), now) is None, "in too few parts"
    assert own_of([one for one in stretches(1.4) if one.drafted], now) is None, "every step has a draft"
    assert own_of([one for one in stretches(1.4) if not one.drafted], now) is None, "none has"
    assert own_of([replace(one, steps=10) for one in stretches(1.4)], now) is None


def test_a_search_lengthens_the_steps_that_find_nothing() -> None:
    own = Own(Load(batch=4, drafted=2, coverage=0.5), step_cost=Range(1.3, 1.3))
    lookup, head = (known(assumed(method, own=own).step_cost(own.now)) for method in ("ngram", "eagle3"))
    assert (head.low, head.high) == pytest.approx((1.3, 1.3))
    assert lookup.low > 1.3


def test_a_measured_step_leaves_only_costs_that_add_up_to_it() -> None:
    now = Load(batch=8, drafted=3)
    free, own = assumed("eagle3"), assumed("eagle3", own=Own(now, step_cost=Range(1.5, 1.6)))
    longer = Load(batch=8, drafted=7)
    at_now, at_longer = (known(own.step_cost(load)) for load in (now, longer))
    assert (at_now.low, at_now.high) == pytest.approx((1.5, 1.6))
    assert at_longer.high / at_longer.low < known(free.step_cost(longer)).high / known(free.step_cost(longer)).low


def test_a_curve_s_drafter_is_not_the_target_s() -> None:
    """Of steps with a drafter's time in each, the target's time grows by more than the steps' does."""
    steps = [Steps(batch * 4, seconds(batch)) for batch in [2.0**power for power in range(7)] * 8]
    now = Load(batch=16, drafted=K)
    # In steps of the batch now: the drafter's time is part of them, one unit a token and one more a draft.
    overhead = DRAFTER * K / now.units(Kind.HEAD)
    case = Costs(Kind.HEAD, overhead, 1e9, curve=curves(steps)[0], now=now)
    assert case.of(now) == pytest.approx(true_cost(16), rel=0.1)


def test_drafted_tokens_and_engine_steps_are_needed() -> None:
    lacking = [
        replace(one, counted={series: value for series, value in one.counted.items() if series[0] != missing})
        for missing in (latency.STEP_TOKENS.count.name, speculation.DRAFT_TOKENS.name)
        for one in day(1)
    ]
    assert known(known(reported(lacking, 16).speculation).assumed).basis == "assumed"


def test_steps_with_drafts_of_another_length_are_left_out() -> None:
    # The same steps, and some of a day with K = 1, in which the drafter took less time.
    own = [stretch for at, one in enumerate(day(1)) for stretch in of_growth([Growth((one,), 1.0)], [one])]
    other = [replace(one, drafted=1.0, seconds=one.seconds / 2) for one in own]
    now = Load(batch=16, drafted=3)
    assert known(own_of([*own, *other], now)).curves == known(own_of(own, now)).curves


def answered(asked: list[str]) -> Callable[[BaseHTTPRequestHandler], None]:
    """A Prometheus that knows a model by its steps of a day, in which the batch swings between 1 and 64."""
    labels = {"model_name": "m", "job": "vllm", "spec_method": "eagle3"}
    moment = {
        "draft_tokens_total": 48_000.0,
        "accepted_tokens_total": 28_800.0,
        "num_drafts_total": 16_000.0,
        "inter_token_latency_seconds_count": 16_000.0,
        "inter_token_latency_seconds_sum": 16_000 * seconds(16),
        "time_to_first_token_seconds_count": 0.0,
        "generation_tokens_total": 44_800.0,
        "num_requests_running": 16.0,
    }

    def answer(request: BaseHTTPRequestHandler) -> None:
        body = parse_qs(request.rfile.read(int(request.headers["Content-Length"])).decode())
        (query,), rows = body["query"], list[Any]()
        kind = "matrix" if "end" in body else "vector"
        named = [name for name in moment if name in query]
        if kind == "matrix" and float(body["step"][0]) == 300:
            asked.append(query)
            times = [float(body["start"][0]) + 300 * number for number in range(288)]
            batches = [2.0 ** (number % 7) for number in range(288)]
            of_step = {
                "inter_token_latency_seconds_sum": [10 * batch * seconds(batch) for batch in batches],
                "num_requests_running": batches,
                "draft_tokens_total": [30 * batch for batch in batches],
                "inter_token_latency_seconds_count": [10 * batch for batch in batches],
            }
            values = next((own for name, own in of_step.items() if name in query and "draftboard" not in query), [])
            rows = [{"metric": labels, "values": [[at, str(one)] for at, one in zip(times, values, strict=False)]}]
        elif (
            kind == "vector"
            and (len(named) == 1 or "num_requests_running" in named)
            and "per_output_token" not in query
            and "le" not in re.findall(r"\w+", query)
            and not {"model:", '"identity"'} & {part for part in ("model:", '"identity"') if part in query}
        ):
            rows = [{"metric": labels, "value": [1.8e9, str(moment[named[0]] / 300)]}]
            if "num_requests_running" in named:
                rows[0]["value"][1] = "16"
        page(json.dumps({"status": "success", "data": {"resultType": kind, "result": rows}}))(request)

    return answer


def test_a_prometheus_is_asked_for_the_steps_of_a_day() -> None:
    asked: list[str] = []
    with answering(answered(asked)) as place:
        (model,) = report(Recorded(place, at=1.8e9)).models
    found = known(known(model.speculation).assumed)
    assert found.basis == "own step times"
    assert true_cost(16) in known(found.step_cost)
    assert len(asked) <= 8, "one query for each number"


def steps_of(**k_at: dict[str, float]) -> tuple[Stretch, ...]:
    """Steps of the plugin, by batch and by k."""
    return tuple(
        pure(0, at.removeprefix("batch_"), k, steps, steps) for at, own in k_at.items() for k, steps in own.items()
    )


def told(steps: tuple[Stretch, ...]) -> str:
    return as_markdown(Document.of(tuple(choices(chosen_of(steps)))))


def test_the_share_of_steps_at_each_k_shows_a_schedule_that_follows_the_load() -> None:
    found = chosen_of(steps_of(batch_1={"5": 900, "0": 100}, batch_32={"1": 600, "0": 200, "mixed": 200}))
    assert [(one.batch, one.steps, one.shares, one.mean) for one in found] == [
        (1, 1000, {"0": 0.1, "5": 0.9}, 4.5),
        (32, 1000, {"0": 0.2, "1": 0.6, "differ": 0.2}, 0.75),
    ]
    assert "Drafts shorten as batches grow: a mean of 4.50 tokens in batches up to 1, 0.75 up to 32." in told(
        steps_of(batch_1={"5": 900, "0": 100}, batch_32={"1": 600, "0": 200, "mixed": 200})
    )


def test_a_choice_that_does_not_follow_the_load_is_said() -> None:
    assert "Drafts do not shorten as batches grow" in told(steps_of(batch_1={"2": 500, "3": 500}, batch_64={"3": 1000}))


@pytest.mark.parametrize(
    "steps",
    [
        (),
        steps_of(batch_1={"5": 1000}, batch_32={"5": 1000}),  # A fixed K.
        steps_of(batch_1={"adaptive": 1000}),  # Of which no length is exported.
        steps_of(batch_1={"5": 50, "0": 49}),  # Too few.
    ],
)
def test_where_nothing_is_chosen_or_known_nothing_is_said(steps: tuple[Stretch, ...]) -> None:
    assert chosen_of(steps) == ()
    assert told(steps).strip() == ""


ADAPTIVE = 'draftboard_spec_info{model_name="m",engine="0",method="dflash",k="7",adaptive="true"} 1\n'
"""What the plugin tells of verification."""


def chosen_by_simulated(verify_budget: int | None) -> str:
    """A server whose load grows twelvefold, and which verifies so many drafted tokens of a step at most."""
    server = {
        "model": "m",
        "method": "dflash",
        "k": 7,
        "load": {"rate": 0.5},
        "verify_budget": verify_budget,
        "requests": [{"rates": [0.82, 0.68, 0.56, 0.45, 0.35, 0.26, 0.19]}],
    }
    events = [{"at": f"{minute}m", "load": {"rate": rate}} for minute, rate in ((10, 2), (20, 6))]
    story = {
        "story": "A server whose load grows in three steps.",
        "duration": "1h",
        "server": [server],
        "event": events,
    }
    instance = Instance(targets(Scenario.model_validate(story), seed=1)[0], 1_795_246_847.0)
    pages: list[Page] = []
    for moment in range(60, 1800, 60):
        instance.advance(moment)
        pages.append(read(served(instance).decode() + ADAPTIVE, "a:8000"))
    parts = [growth(*pair, 60.0) for pair in pairwise(pages)]
    (model,) = Reading([], growth(pages[0], pages[-1], 1740.0), Settings(), "dflash", parts).report().models
    return as_markdown(Document.of(tuple(choices(model.chosen))))


def test_adaptive_verification_that_follows_the_load_accepts_less_of_a_draft_in_full_batches() -> None:
    found = chosen_by_simulated(48)
    low, high = map(float, re.findall(r"a mean of ([\d.]+) tokens in batches up to 2, ([\d.]+) up to 32", found)[0])
    assert "Fewer tokens of a draft are accepted as batches grow" in found
    assert low > 3
    assert high < 1.7


def test_adaptive_verification_that_does_not_follow_the_load_is_said() -> None:
    assert "so verification does not follow the load" in chosen_by_simulated(None)


def test_the_report_has_what_engines_chose() -> None:
    one = part(4.0, seconds(4.0), plugin=True)
    plain = (("batch", "4"), ("k", "0"))
    counted = {**one.counted, (probe.DECODE_STEPS.name, plain): 3000.0, (probe.DECODE_STEP_SECONDS.name, plain): 30.0}
    model = reported([Tally("a:8000", "m", "0", counted, {})], 4.0)
    assert [(each.batch, each.shares) for each in model.chosen] == [(4, {"0": 0.75, "3": 0.25})]


def test_a_longer_k_is_not_advised_where_one_was_slower_at_this_load() -> None:
    """Neither by the server's own steps, which allow it, nor by what rules assume."""
    whole, settings = part(1, seconds(1), plugin=False, accepted=(990, 980, 970)), Settings()
    counts = counts_of([whole], settings, "eagle3")
    labels = kept(labels_of(whole, settings, "eagle3"), Level.MODEL.labels(settings))
    own = of_growth([Growth((one,), 10.0) for one in day(1)], [whole])

    def length(slower: dict[Labels, float]) -> Change | None:
        tried = replace(counts, answers={(slower_k.name, Level.MODEL): slower})
        found = known(expectation_of(Reader(tried, Level.MODEL).of(labels), own))
        assert found.basis == "own step times"
        return found.length.change if found.length else None

    assert length({}) is Change.LONGER
    assert length({labels: 4.0}) is Change.KEEP
