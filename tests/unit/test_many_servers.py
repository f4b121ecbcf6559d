"""A fleet is read whole, whatever some of its servers do."""

import pytest

from draftboard.durations import Duration
from draftboard.reading import Limits, Servers
from draftboard.report import report
from support.loopback import answering, page
from support.many import serving


@pytest.mark.parametrize(
    ("healthy", "of_each"),
    [(40, 5), pytest.param(300, 5, marks=pytest.mark.long), pytest.param(1_000, 0, marks=pytest.mark.long)],
)
def test_servers_that_are_dead_or_hang_or_are_hostile_are_listed_beside_the_others(healthy: int, of_each: int) -> None:
    with answering(page("")) as dead:
        pass
    dead_host, _, port = dead.partition(":")
    # Not on the address of the others, one of which may get the port that is free again.
    gone = [f"{dead_host[:-1]}{number}:{port}" for number in range(2, of_each + 2)]
    with serving(healthy, hanging=of_each, hostile=of_each) as addresses:
        found = report(Servers((*addresses, *gone), Duration(10), limits=Limits(seconds=10.0)), sleep=lambda _: None)
    assert found.sources == tuple(f"http://{place}/metrics" for place in addresses[:healthy])
    assert len(found.notes) == 3 * of_each
    assert all(note.endswith("(left out)") for note in found.notes)
    assert sorted(sum(1 for _ in model.engines) for model in found.models) == [healthy // 5] * 5
    assert all(len(model.parts) >= 8 for model in found.models)
