"""Records that are computed in place, for a ruler without order, are those of the rules that read one another."""

import pytest

from draftboard.lab.replay import Replay
from draftboard.prometheus import Client
from draftboard.rules import RecordingRule, recording_groups
from draftboard.settings import Settings

pytestmark = [pytest.mark.prometheus, pytest.mark.xdist_group("demo_run")]

# Seconds after the start: busy, down, after the restart, idle at the end.
MOMENTS = (120, 290, 420, 600)


def expressions(settings: Settings, *, in_place: bool) -> dict[str, str]:
    groups = recording_groups(settings, "vmalert" if in_place else "prometheus")
    return {rule.record: rule.expr for group in groups for rule in group.rules if isinstance(rule, RecordingRule)}


def values(client: Client, expr: str, at: float) -> dict[frozenset[tuple[str, str]], float]:
    """By labels; the name of a record is no label of its value."""
    return {
        frozenset((name, text) for name, text in series.labels.items() if name != "__name__"): series.samples[0][1]
        for series in client.query(expr, at)
    }


def test_every_record_has_the_same_values_when_it_is_computed_in_place(demo_run: Replay) -> None:
    read, in_place = (expressions(demo_run.settings, in_place=there) for there in (False, True))
    different, compared = [], 0
    for record, expr in in_place.items():
        for at in (demo_run.start + moment for moment in MOMENTS if expr != read[record]):
            found, expected = (values(demo_run.client, text, at) for text in (expr, record))
            if found != pytest.approx(expected, rel=1e-9, abs=1e-9, nan_ok=True):
                different.append(f"{record} at {at - demo_run.start:.0f} s: {found} instead of {expected}")
            compared += len(expected)
    assert different == []
    assert compared > 300
