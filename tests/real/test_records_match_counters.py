"""The records over the recorded run, against the raw counters in plain Python and against vLLM's own log."""

import re
from collections.abc import Callable
from datetime import UTC, datetime
from pathlib import Path

import pytest

from conftest import RECORDING
from draftboard.expr.scope import RATE_INTERVAL, Matcher
from draftboard.expr.to_promql import promql_of
from draftboard.lab.replay import Replay
from draftboard.signals import ALL, Edition, Level, Scope, Signal
from draftboard.signals.costs import CHEAP, DEAR, Case, verify_inflation
from support import theory
from support.counters import Counter, read

pytestmark = [pytest.mark.prometheus, pytest.mark.xdist_group("demo_run")]

DATA = Path(__file__).parent.parent / "data"
DRAFTS, DRAFT_TOKENS, ACCEPTED = (
    f"vllm:spec_decode_num_{name}_total" for name in ("drafts", "draft_tokens", "accepted_tokens")
)
PER_POSITION = "vllm:spec_decode_num_accepted_tokens_per_pos_total"
GENERATED, STEPS, FIRSTS = (
    "vllm:generation_tokens_total",
    "vllm:inter_token_latency_seconds_count",
    "vllm:time_to_first_token_seconds_count",
)
SIGNALS = {signal.name: signal for signal in ALL}
Costs = tuple[float, float]
"""Of a drafted token, and of a step with a draft besides."""
UNKNOWN = (0.0, 1.0)


class Window:
    """What the speculating server's counters grew by in the window that ends at a time."""

    def __init__(
        self,
        series: dict[str, dict[str, Counter]],
        end: float,
        seconds: float,
        inflation: float,
        ends: tuple[Costs, Costs],
    ) -> None:
        self.inflation = inflation  # As recorded: it rests on the baseline's past, as costs at both ends do.
        self.cheap, self.dear = ends
        inside = {
            name: {position: counter.between(end - seconds, end) for position, counter in counters.items()}
            for name, counters in series.items()
        }
        self.empty = any(len(counter.times) < 2 for counters in inside.values() for counter in counters.values())
        self.begins = not self.empty and any(c.begins_here for counters in inside.values() for c in counters.values())
        self._grown = {name: {p: c.increase for p, c in counters.items()} for name, counters in inside.items()}

    def __getitem__(self, name: str) -> float:
        return self._grown[name][""]

    @property
    def per_position(self) -> tuple[float, ...]:
        grown = self._grown[PER_POSITION]
        return tuple(grown[position] for position in sorted(grown, key=int))

    @property
    def counts(self) -> theory.Counts:
        return theory.Counts(self[DRAFTS], self[DRAFT_TOKENS], self[ACCEPTED], self.per_position)

    @property
    def speedups(self) -> tuple[float, ...]:
        """Of the load, with drafts of 1 to K tokens."""
        counts, steps = self.counts, self[STEPS]
        yielded, coverage = (self[GENERATED] - self[FIRSTS]) / steps, self[DRAFTS] / steps
        of_drafts = theory.speedup_at(counts.survival, 0.01, self.inflation, counts.draft_length)
        return tuple(theory.of_load(yielded, coverage, counts.acceptance_length, one) for one in of_drafts)

    def speedup(self, costs: Costs, drafted: float, length: float) -> float:
        """Of the load at an end, with drafts that yield so many tokens; a step takes a plain one at least."""
        token, base = costs
        yielded, coverage = (self[GENERATED] - self[FIRSTS]) / self[STEPS], self[DRAFTS] / self[STEPS]
        of_drafts = length / max(1.0, drafted * token + base)
        return theory.of_load(yielded, coverage, self.counts.acceptance_length, of_drafts)

    def now(self, costs: Costs) -> float:
        return self.speedup(costs, self.counts.draft_length, self.counts.acceptance_length)

    def gains(self, costs: Costs) -> tuple[float, ...]:
        """Of drafts of 1 to K tokens over those that are made, at an end."""
        counts, now = self.counts, self.now(costs)
        lengths = theory.tokens_per_step_at(counts.survival)
        return tuple(
            self.speedup(costs, min(k, counts.draft_length), length) / now for k, length in enumerate(lengths, 1)
        )

    def longer(self, costs: Costs) -> float:
        """What one more token gains at an end, were it accepted as often as the last one."""
        counts = self.counts
        length = counts.acceptance_length + theory.extrapolated_survival(counts.survival)
        return self.speedup(costs, counts.draft_length + 1, length) / self.now(costs)


def by_label(values: tuple[float, ...], first: int) -> dict[str, float]:
    return {str(number): value for number, value in enumerate(values, start=first)}


EXPECTED: dict[str, Callable[[Window], dict[str, float]]] = {
    "acceptance": lambda w: {"": w.counts.acceptance},
    "acceptance_length": lambda w: {"": w.counts.acceptance_length},
    "draft_length": lambda w: {"": w.counts.draft_length},
    "coverage": lambda w: {"": w[DRAFTS] / w[STEPS]},
    "tokens_per_step": lambda w: {"": (w[GENERATED] - w[FIRSTS]) / w[STEPS]},
    "draft_efficiency": lambda w: {"": (w[DRAFTS] + w[ACCEPTED]) / (w[DRAFTS] + w[DRAFT_TOKENS])},
    "share_from_drafts": lambda w: {"": w[ACCEPTED] / w[GENERATED]},
    "survival": lambda w: by_label(w.counts.survival, 0),
    "at_least_accepted": lambda w: by_label((1.0, *w.counts.survival), 0),
    "conditional_acceptance": lambda w: by_label(theory.conditional_acceptance(w.counts.survival), 0),
    "accepted_length_share": lambda w: by_label(theory.accepted_length_shares(w.counts.survival), 0),
    "tokens_per_step_at": lambda w: by_label(theory.tokens_per_step_at(w.counts.survival), 1),
    "alpha_hat": lambda w: {"": w.counts.alpha_hat},
    "first_position": lambda w: {"": w.counts.survival[0]},
    "last_position": lambda w: {"": w.counts.survival[-1]},
    "break_even": lambda w: {"": theory.step_cost(w.counts.draft_length, 0.01, w.inflation)},
    "step_speedup": lambda w: {
        "": theory.speedup(w.counts.acceptance_length, w.counts.draft_length, 0.01, w.inflation)
    },
    "expected_speedup": lambda w: {"": w.speedups[-1]},
    "speedup_at": lambda w: by_label(w.speedups, 1),
    "draft_cost": lambda _: {"": 0.01},
    "configured_k": lambda w: {"": len(w.per_position)},
    "expected_speedup_low": lambda w: {"": w.now(w.dear)},
    "expected_speedup_high": lambda w: {"": w.now(w.cheap)},
    "gain_at": lambda w: by_label(w.gains(w.cheap), 1),
    "best_k": lambda w: {"": theory.smallest_near_best(w.gains(w.cheap), 0.02)},
    "best_speedup": lambda w: {"": w.now(w.cheap) * max(w.gains(w.cheap))},
    "shorter_gain": lambda w: {"": max(w.gains(w.cheap))},
    "shorter_gain_high": lambda w: {"": max(w.gains(w.dear))},
    "longer_gain": lambda w: {"": w.longer(w.dear)},
    "longer_gain_high": lambda w: {"": w.longer(w.cheap)},
}
OF_FULL_DRAFTS = {"longer_gain", "longer_gain_high"}
"""Not recorded while drafts are often shorter than K, as they are where counters begin."""
LEAST = dict.fromkeys(OF_FULL_DRAFTS, 25) | {"best_k": 12}  # No k pays in most of the run.


@pytest.fixture(scope="module")
def speculating() -> dict[str, dict[str, Counter]]:
    """The speculating server's counters, by name and position."""
    found = read(RECORDING, {DRAFTS, DRAFT_TOKENS, ACCEPTED, PER_POSITION, GENERATED, STEPS, FIRSTS})
    return {
        name: {
            dict(labels).get("position", ""): counter
            for labels, counter in series.items()
            if dict(labels)["spec_method"] == "ngram"
        }
        for name, series in found.items()
    }


def recorded_of(signal: Signal, demo_run: Replay) -> dict[float, dict[str, float]]:
    """Values by time, then by the signal's own label."""
    own = signal.by[0] if signal.by else ""
    query = promql_of(signal, Scope(demo_run.settings, Level.MODEL))
    values: dict[float, dict[str, float]] = {}
    for series in demo_run.client.query_range(query, demo_run.start, demo_run.end, demo_run.step):
        if series.labels["spec_method"] == "ngram":
            for at, value in series.samples:
                values.setdefault(at, {})[series.labels.get(own, "")] = value
    return values


@pytest.fixture(scope="module")
def inflations(demo_run: Replay) -> dict[float, dict[str, float]]:
    return recorded_of(verify_inflation, demo_run)


@pytest.fixture(scope="module")
def ends(demo_run: Replay) -> dict[float, tuple[Costs, Costs]]:
    """Costs at the cheap and the dear end, by time."""

    def of(case: Case) -> dict[float, Costs]:
        token, base = (recorded_of(signal, demo_run) for signal in (case.token, case.base))
        return {at: (token[at][""], base[at][""]) for at in token.keys() & base.keys()}

    cheap, dear = of(CHEAP), of(DEAR)
    return {at: (cheap[at], dear[at]) for at in cheap.keys() & dear.keys()}


@pytest.mark.parametrize("name", EXPECTED)
def test_a_record_equals_the_same_quantity_computed_from_the_counters(
    name: str,
    demo_run: Replay,
    speculating: dict[str, dict[str, Counter]],
    inflations: dict[float, dict[str, float]],
    ends: dict[float, tuple[Costs, Costs]],
) -> None:
    signal = SIGNALS[name]
    window = demo_run.settings.rules.rate_window.seconds
    exact = near = 0
    for at, recorded in sorted(recorded_of(signal, demo_run).items()):
        seen = Window(speculating, at, window, inflations.get(at, {"": 1.0})[""], ends.get(at, (UNKNOWN, UNKNOWN)))
        if seen.empty or seen[DRAFTS] == 0:
            continue
        if seen.begins:
            # `rate` extrapolates back to each counter's own zero, so that ratios of rates are a little off.
            if name != "best_k":  # It may tip between neighbours by a hair.
                assert recorded == pytest.approx(EXPECTED[name](seen), rel=0.02, abs=1e-3), at
                near += 1
            continue
        assert recorded == pytest.approx(EXPECTED[name](seen), rel=1e-9, abs=1e-12), at
        exact += 1
    assert exact >= LEAST.get(name, 40)
    assert near > 0 or name in {"best_k", *OF_FULL_DRAFTS}


RATES = {
    "drafts": DRAFTS,
    "draft_tokens": DRAFT_TOKENS,
    "accepted_tokens": ACCEPTED,
    "accepted_tokens_per_pos": PER_POSITION,
    "generation_tokens": GENERATED,
    "decode_steps": STEPS,
    "first_tokens": FIRSTS,
}


@pytest.mark.parametrize("level", [Level.ENGINE, Level.MODEL], ids=lambda level: level.value)
@pytest.mark.parametrize("name", RATES)
def test_a_rate_equals_the_increase_of_its_counter_over_the_window(
    name: str, level: Level, demo_run: Replay, speculating: dict[str, dict[str, Counter]]
) -> None:
    window = demo_run.settings.rules.rate_window.seconds
    compared = 0
    expr = promql_of(SIGNALS[name], Scope(demo_run.settings, level))
    for series in demo_run.client.query_range(expr, demo_run.start, demo_run.end, demo_run.step):
        if series.labels["spec_method"] != "ngram":
            continue
        counter = speculating[RATES[name]][series.labels.get("position", "")]
        for at, recorded in series.samples:
            expected = counter.between(at - window, at).rate(at - window, at)
            assert recorded == pytest.approx(expected, rel=1e-9), at
            compared += 1
    assert compared > 100


LOG_LINE = re.compile(
    r"(?P<at>\S+)Z SpecDecoding metrics: Mean acceptance length: (?P<length>[\d.]+), .*"
    r"Accepted: (?P<accepted>\d+) tokens, Drafted: (?P<drafted>\d+) tokens, "
    r"Per-position acceptance rate: (?P<positions>[\d., ]+), Avg"
)
# Each ends with a log line (Unix seconds) and holds so many seconds of lines, one every 10 s. The first three lie
# inside one phase of load; the others begin and end in a pause, where log and scrapes need not be aligned.
PHASES = {
    "low load": (1795248909, 60),
    "busy": (1795248969, 60),
    "saturated": (1795249059, 60),
    "all before the pause": (1795248979, 130),
    "all after the pause": (1795249119, 140),
    "all after the restart": (1795249229, 80),
}
ROUNDED_AWAY = "all after the pause"
"""Half of its lines print a length of 1.00 to 1.02, from which the number of drafts cannot be told."""
SCRAPE = 5
"""A window holds the samples after its start: so much longer, it spans the time between two samples."""


def log_sums(until: float, seconds: float) -> tuple[float, float, float, tuple[float, ...]]:
    """Drafts, drafted, accepted and accepted by position that vLLM logged in the span before a time."""
    drafts = drafted = accepted = 0.0
    positions = [0.0] * 4
    for line in (DATA / "run-v0.32.0-ngram.specdecoding.log").read_text().splitlines():
        found = LOG_LINE.match(line)
        assert found, line
        at = datetime.fromisoformat(found["at"]).replace(tzinfo=UTC).timestamp()
        if until - seconds < at <= until + 1:
            here = float(found["accepted"]) / (float(found["length"]) - 1) if float(found["length"]) > 1 else 0.0
            drafts += here
            drafted += float(found["drafted"])
            accepted += float(found["accepted"])
            for index, share in enumerate(found["positions"].split(",")):
                positions[index] += float(share) * here
    return drafts, drafted, accepted, tuple(position / drafts for position in positions)


@pytest.mark.parametrize("phase", PHASES)
def test_signals_agree_with_what_vllm_logged_over_the_same_phase(phase: str, demo_run: Replay) -> None:
    until, seconds = PHASES[phase]
    drafts, drafted, accepted, positions = log_sums(until, seconds)
    scope = Scope(demo_run.settings, edition=Edition.RAW).where(Matcher("spec_method", "=", "ngram"))

    def seen(name: str) -> dict[str, float]:
        expr = re.sub(r'"\$\w+"', '".*"', promql_of(SIGNALS[name], scope)).replace(
            RATE_INTERVAL, f"{seconds + SCRAPE}s"
        )
        found = demo_run.client.query(expr, until)
        return {series.labels.get("position", ""): series.samples[0][1] for series in found}

    assert seen("acceptance")[""] == pytest.approx(accepted / drafted, rel=0.02)
    assert seen("acceptance_length")[""] == pytest.approx(1 + accepted / drafts, rel=0.02)
    if phase != ROUNDED_AWAY:
        assert seen("survival") == pytest.approx(by_label(positions, 0), abs=0.005)
