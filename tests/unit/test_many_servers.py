"""A fleet is read whole, whatever some of its servers do."""

import pytest

from draftboard.durations import Duration
from draftboard.output import as_markdown
from draftboard.reading import Limits, Servers
from draftboard.reading.growth import MOST_ENGINES
from draftboard.report import document, report
from draftboard.settings import Settings
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
    (first, *_) = as_markdown(document(found, Settings(), engines=False)).splitlines()
    assert first.count("/metrics") == 4
    assert f"and {healthy - 4} more (--json has all)" in first


def test_a_page_of_more_engines_than_a_server_has_is_left_out() -> None:
    def engines(count: int) -> str:
        return "".join(f'vllm:num_requests_running{{model_name="m",engine="{number}"}} 1\n' for number in range(count))

    with answering(page(engines(MOST_ENGINES))) as most, answering(page(engines(MOST_ENGINES + 1))) as more:
        found = report(Servers((most, more), Duration(1)), engines=False, sleep=lambda _: None)
    assert found.notes == (f"http://{more}/metrics: 1,001 engines, over 1,000: not a server's page (left out)",)
    assert found.sources == (f"http://{most}/metrics",)
