"""What VictoriaMetrics makes of our rules and panels, against Prometheus, on the same samples of a written past."""

import math
import re
import statistics
import time
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import pytest

from conftest import OBJECTIVES, ROOT, Tell, replayed
from draftboard.lab import openmetrics
from draftboard.lab.replay import Replay
from draftboard.lab.simulator import find
from draftboard.lab.simulator.backfill import backfill
from draftboard.lab.simulator.fleet import targets
from draftboard.prometheus import Client
from draftboard.rules import RecordingRule, alerting_groups, recording_groups
from draftboard.settings import load
from support import grafana, victoria

pytestmark = pytest.mark.victoria

FLEET = str(ROOT / "tests/victoria/fleet.toml")
SCRAPE = 15
TITLE = "VictoriaMetrics against Prometheus, on the same samples"

RATES_APART = 0.03
"""Median difference of what reads `rate` of counters. VictoriaMetrics does not extrapolate to the edges of a window,
but reads the sample before it: in the first window of a counter the two differ up to fivefold."""
GAP = "a written past has no stale markers: VictoriaMetrics carries a record across one evaluation without a sample"
UNLIKE = {
    "model:vllm_measured_speedup:ratio_rate5m": GAP,
    "model:vllm_measured_speedup:objection_enum_rate5m": f"of the measured speedup: {GAP}",
    "model:vllm_spec_decode_verdict:enum_rate5m": f"of the measured speedup: {GAP}",
    "model:vllm_spec_decode_advice:enum_rate5m": f"of the measured speedup: {GAP}",
}
TO_DO = {"overview": "Why, and what next"} | dict.fromkeys(("depth", "latency", "capacity"), "To do first")
"""Panels, by page, of what to do first, which follows the measured speedup."""
UNLIKE_PANELS = dict.fromkeys(
    (
        *(f"draftboard-{page}: {title} {what}" for page, title in TO_DO.items() for what in ("next", "gain")),
        "draftboard-overview: Models, worst first health_cause",
        "draftboard-overview: Models, worst first next_step",
        "draftboard-overview: Models, worst first speedup",
        "draftboard-overview: Speedup, measured or at least expected speedup",
        "draftboard-overview: Yield of a step by model best_k",
        "draftboard-overview: Savings by model speedup",
        "draftboard-compare: Best variant by measured speedup best_variant",
        "draftboard-compare: Measured speedup beside the baseline ranked_speedup",
        "draftboard-compare: Variants by measured speedup ranked_speedup",
        "draftboard-compare: Variants by measured speedup expected",
        "draftboard-compare: Objection to the measured speedup measured_speedup_objection",
        "draftboard-compare: Measured speedup over time speedup_over_time",
        "draftboard-compare: Step latency by batch step_time_by_batch",
        "draftboard-depth: Draft length by model best_k_or_none",
        "draftboard-depth: Best k best_k",
        "draftboard-latency: Latency by model measured_speedup",
        "draftboard-latency: Step latency by batch step_time_by_batch",
        "draftboard-capacity: Measured speedup measured_speedup",
    ),
    GAP,
)
OF_ALERTS = ("ALERTS", "ALERTS_FOR_STATE")
ALL_LINES = {"lines": "100"}
"""Of equal values, each store's `topk` draws others."""

_Point = tuple[frozenset[tuple[str, str]], int]


@dataclass(frozen=True)
class Past:
    """The same samples and records in both."""

    replay: Replay
    victoria: Client

    def both(self, expr: str) -> tuple[dict[_Point, float], dict[_Point, float]]:
        """What Prometheus answers, and what VictoriaMetrics does, at every evaluation."""
        asked = expr, self.replay.start, self.replay.end, self.replay.step
        first, second = (
            {
                (
                    frozenset((name, rounded(text)) for name, text in series.labels.items() if name != "__name__"),
                    round(at),
                ): value
                for series in client.query_range(*asked)
                for at, value in series.samples
                if not math.isnan(value)  # drawn as nothing, and kept by Prometheus alone
            }
            for client in (self.replay.client, self.victoria)
        )
        return first, second


@pytest.fixture(scope="module")
def past(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Past]:
    """A fleet's past, and the records that Prometheus makes of it."""
    settings, folder = load(OBJECTIVES), tmp_path_factory.mktemp("past")
    recording, fleet = folder / "past.om", find(FLEET)
    end = int(time.time()) // 3600 * 3600  # Prometheus alone aligns the steps of a subquery with the clock.
    backfill(targets(fleet, seed=1), range(end - fleet.duration.seconds, end + 1, SCRAPE), recording)
    with (
        replayed(recording, settings) as replay,
        victoria.storing(folder, victoria.cluster(), f"{SCRAPE}s") as store,
        Client(store.read) as client,
    ):
        store.take(recording.read_bytes())
        store.take("".join(lines(replay)).encode())
        yield Past(replay, client)


def rounded(label: str) -> str:
    """Without the last digits of a number, by which a panel sorts: `count_values` writes 16 or 17 of them."""
    return re.sub(r"^\d+\.\d+$", lambda number: f"{float(number[0]):.8f}", label)


def lines(replay: Replay) -> Iterator[str]:
    """All records and alerts as text with times."""
    rules = (rule for group in recording_groups(replay.settings) for rule in group.rules)
    for record in (*(rule.record for rule in rules if isinstance(rule, RecordingRule)), *OF_ALERTS):
        for series in replay.client.query_range(record, replay.start, replay.end, replay.step):
            labels = {name: text for name, text in series.labels.items() if name != "__name__"}
            name = openmetrics.series(record, labels)
            yield from (f"{name} {value!r} {at:.0f}\n" for at, value in series.samples)


def apart(prometheus: dict[_Point, float], victoria: dict[_Point, float]) -> list[float]:
    """Relative differences at all points that differ; a point that only one of them has is infinitely far."""
    found = [math.inf] * len(prometheus.keys() ^ victoria.keys())
    for point in prometheus.keys() & victoria.keys():
        one, other = prometheus[point], victoria[point]
        if not math.isclose(one, other, rel_tol=1e-6, abs_tol=1e-9):
            found.append(abs(other - one) / max(abs(one), abs(other)))
    return found


def test_rules_say_the_same_of_the_same_inputs(past: Past, tell: Tell) -> None:
    unlike, rates, compared = {}, 0, 0
    groups = (*recording_groups(past.replay.settings, "vmalert"), *alerting_groups(past.replay.settings))
    for rule in (rule for group in groups for rule in group.rules):
        both = past.both(rule.expr)
        compared += len(both[0])
        different = apart(*both)
        median = statistics.median([*different, *[0.0] * (len(both[0]) - len(different))]) if different else 0.0
        of_rates = "rate(" in rule.expr and math.inf not in different and median <= RATES_APART
        rates += bool(different) and of_rates
        if different and not of_rates:
            name = rule.record if isinstance(rule, RecordingRule) else rule.alert
            unlike[name] = f"{len(different)} of {len(both[0])} points, at most {max(different):.2g}"
    rules = sum(len(group.rules) for group in groups)
    tell(TITLE, f"{compared} points of {rules} rules; {rates} differ as rates do, others: {unlike}")
    assert unlike.keys() == UNLIKE.keys()
    assert compared > 80_000


def test_a_record_computed_in_place_is_the_one_that_reads_others(past: Past, tell: Tell) -> None:
    """In Prometheus: both forms on the same samples."""
    unlike, compared = {}, 0
    for group in recording_groups(past.replay.settings, "vmalert"):
        for rule in (one for one in group.rules if isinstance(one, RecordingRule)):
            read, in_place = (past.both(text)[0] for text in (rule.record, rule.expr))
            compared += len(read)
            if different := apart(read, in_place):
                unlike[rule.record] = f"{len(different)} of {len(read)} points, at most {max(different):.2g}"
    tell(TITLE, f"{compared} points of records, computed in place; different: {unlike}")
    assert unlike == {}


def test_panels_of_records_show_the_same(past: Past, files: dict[str, str], tell: Tell) -> None:
    window, unlike, compared, queries = str(past.replay.settings.rules.rate_window), {}, 0, 0
    for path, page in grafana.dashboards(files).items():
        for where, expr in grafana.queries(page) if "standalone" not in path else ():
            both = past.both(grafana.substituted(expr, page, window, ALL_LINES))
            queries, compared = queries + 1, compared + len(both[0])
            if different := apart(*both):
                unlike[f"{Path(path).stem}: {where}"] = f"{len(different)} of {len(both[0])} points"
    tell(TITLE, f"{compared} points of {queries} queries of panels; different: {unlike}")
    assert unlike.keys() == UNLIKE_PANELS.keys()
    assert compared > 40_000
