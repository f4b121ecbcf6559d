"""A panel that reads records and its standalone twin give the same values on the recorded run."""

import functools

import pytest

from draftboard.build import render
from draftboard.lab.replay import Replay
from draftboard.prometheus import Client
from support import grafana
from support.rulefiles import records_in, rules

pytestmark = [pytest.mark.prometheus, pytest.mark.xdist_group("demo_run")]

# A subquery's evaluations are aligned to the clock, a rule group's to an offset of its own: the same past, sampled
# a few seconds apart.
SAMPLED_APART = {"Acceptance length vs. its own past", "Mean acceptance length and Acceptance length, long-term mean"}
# Records sum up rates of a window each, which smears what lies near an edge; raw series are read over the span at once.
SUMMED_UP = {
    *("Attainment and error budget by SLO", "Error budget remaining"),
    *(f"Burn rate over {span}" for span in ("1h", "6h", "1d", "3d")),
}
# Editions rank models in ways of their own, but the run has one that drafts.
RANKED = " of the "
# A record of a server knows no model that could be chosen.
OF_SERVERS = {"Servers up"}
# Seconds after the start: busy, down, after the restart, idle at the end.
MOMENTS = (120, 290, 420, 600)


def resting_on_step_cost(replay: Replay) -> set[str]:
    """Records that are computed from it: a baseline's past, which raw series would take days to tell."""
    reads = {rule["record"]: records_in(rule["expr"]) for rule in rules(render(replay.settings), "record")}
    found = {record for record in reads if ":vllm_step_cost:" in record}
    while more := {record for record, read in reads.items() if read & found} - found:
        found |= more
    return found


def twins(replay: Replay, chosen: dict[str, str]) -> list[tuple[str, str, str]]:
    """Title and both expressions of every query that both editions have, with some variables chosen."""
    files = grafana.dashboards(render(replay.settings))
    window = str(replay.settings.rules.rate_window)
    found = []
    for path, raw in files.items():
        twin = path.replace("standalone/", "").replace("-raw.json", ".json")
        if "standalone" not in path or twin not in files:
            continue
        records = files[twin]
        for row, panels in grafana.rows(raw).items():
            for panel, target in ((one, target) for one in panels for target in one["targets"]):
                expr = shown(grafana.rows(records)[row], panel["title"], target["refId"])
                recorded, computed = (
                    grafana.substituted(text, dashboard, window, chosen)
                    for text, dashboard in ((expr, records), (target["expr"], raw))
                )
                found.append((f"{panel['title']} {target['refId']}", recorded, computed))
    return found


def shown(panels: list[grafana.Json], title: str, ref: str) -> str:
    """The query of that panel; where the other edition leaves a line out, only the title of the rest is the same."""
    title = title.partition(RANKED)[0]
    targets = {panel["title"]: target for panel in panels for target in panel["targets"] if target["refId"] == ref}
    return str((targets.get(title) or next(one for name, one in targets.items() if title in name))["expr"])


@pytest.mark.parametrize(
    ("chosen", "moments"),
    [
        ({}, MOMENTS),
        pytest.param({"spec_method": "none"}, (120, 420), marks=pytest.mark.long),
        pytest.param({"model_name": "another"}, (120,), marks=pytest.mark.long),
    ],
    ids=str,
)
def test_records_and_raw_series_give_the_same_values(
    chosen: dict[str, str], moments: tuple[int, ...], demo_run: Replay
) -> None:
    different, compared, measured = [], 0, resting_on_step_cost(demo_run)
    for where, records, raw in twins(demo_run, chosen):
        if where[:-2] in OF_SERVERS and "model_name" in chosen:
            continue
        if measured & records_in(records):
            continue
        summed_up = where[:-2] in SUMMED_UP
        tolerance = 0.05 if where[:-2] in SAMPLED_APART or summed_up else 1e-9
        for moment in MOMENTS[-1:] if summed_up else moments:
            at = demo_run.start + moment
            from_records, from_raw = (values(demo_run.client, expr, at) for expr in (records, raw))
            if from_raw != pytest.approx(from_records, rel=tolerance, abs=tolerance):
                different.append(f"{where} at {moment} s: {from_records} from records, {from_raw} from raw series")
            compared += len(from_records)
    assert different == []
    least = {"": 300, "none": 20, "another": 0}[next(iter(chosen.values()), "")]
    assert compared > least or not least


@functools.cache  # panels share expressions
def values(client: Client, expr: str, at: float) -> dict[frozenset[tuple[str, str]], float]:
    """By labels; the name of a record is no label of its value."""
    return {
        frozenset((name, text) for name, text in series.labels.items() if name != "__name__"): series.samples[0][1]
        for series in client.query(expr, at)
    }
