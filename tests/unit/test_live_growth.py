"""What engines counted between two pages: restarts, engines that come and go, pages that do not belong together."""

from pathlib import Path

import pytest

from draftboard.catalogue import serving, speculation
from draftboard.errors import DraftboardError
from draftboard.reading import Growth, Page, Since, growth, in_parts, lifetime, load, read, together

DATA = Path(__file__).parent.parent / "data"


def page(drafts: dict[str, float], *, started: float | None = None, cpu: float | None = None, **other: float) -> Page:
    """Drafts by engine; when the process started; other counters of engine 0."""
    lines = [f'{speculation.DRAFTS.name}{{engine="{e}",model_name="m"}} {v}' for e, v in drafts.items()]
    lines += [f'vllm:{name}{{engine="0",model_name="m"}} {value}' for name, value in other.items()]
    lines += [f"process_start_time_seconds {started}"] if started is not None else []
    lines += [f"process_cpu_seconds_total {cpu}"] if cpu is not None else []
    return read("\n".join(lines) + "\n", "page")


def drafts(grown: Growth) -> dict[str, tuple[float | None, Since]]:
    return {tally.engine: (tally.total(speculation.DRAFTS), tally.since) for tally in grown.tallies}


def test_counters_grow_and_gauges_stand() -> None:
    idle, busy = load(DATA / "v0.32.0-ngram-idle.prom"), load(DATA / "v0.32.0-ngram-load.prom")
    (tally,) = growth(idle, busy, 30).tallies
    assert tally.total(speculation.DRAFT_TOKENS) == 8942
    per_position = speculation.ACCEPTED_TOKENS_PER_POS.name
    accepted = {
        dict(labels)["position"]: value for (name, labels), value in tally.counted.items() if name == per_position
    }
    assert accepted == {"0": 343, "1": 103, "2": 38, "3": 22}
    assert tally.gauges[serving.REQUESTS_RUNNING.name, ()] == 0
    assert tally.total(serving.CACHE_CONFIG) is None


def test_a_counter_that_fell_began_again_and_its_engine_with_it() -> None:
    before, after = page({"0": 100, "1": 100}, generation_tokens_total=10), page({"0": 7, "1": 130})
    assert drafts(growth(before, after)) == {"0": (7, Since.RESTART), "1": (30, Since.WINDOW)}


def test_a_new_process_is_a_restart_though_its_counters_have_overtaken_the_old_ones() -> None:
    grown = growth(page({"0": 100}, started=1000), page({"0": 130}, started=2000))
    assert drafts(grown) == {"0": (130, Since.RESTART)}


def test_elastic_scaling_resets_an_engine_while_its_process_lives_on() -> None:
    before, after = page({"0": 100}, started=1000, cpu=5), page({"0": 4, "1": 6}, started=1000, cpu=9)
    assert drafts(growth(before, after)) == {"0": (4, Since.RESTART), "1": (6, Since.BIRTH)}


@pytest.mark.parametrize(
    ("pages", "parts"),
    [
        ([{"0": 1, "1": 1}, {"0": 3, "1": 4}, {"0": 7, "1": 8}], [{"0": 2, "1": 3}, {"0": 4, "1": 4}]),
        ([{"0": 50}, {"0": 60}, {"0": 5}, {"0": 7}], [{}, {"0": 5}, {"0": 2}]),
        ([{"0": 1}, {"0": 2, "1": 9}, {"0": 3, "1": 10}], [{"0": 1, "1": 9}, {"0": 1, "1": 1}]),
        ([{"0": 1, "1": 1}, {"0": 2, "1": 2}, {"0": 3}], [{"0": 1}, {"0": 1}]),
    ],
    ids=["as usual", "a restart", "a birth", "an engine that went"],
)
def test_parts_hold_what_the_whole_holds(pages: list[dict[str, float]], parts: list[dict[str, float]]) -> None:
    read_in_turn = [page(counted) for counted in pages]
    found = [{engine: count for engine, (count, _) in drafts(part).items()} for part in in_parts(read_in_turn)]
    assert found == parts
    whole = drafts(growth(read_in_turn[0], read_in_turn[-1]))
    assert {engine: sum(part.get(engine, 0) or 0 for part in found) for engine in whole} == {
        engine: count for engine, (count, _) in whole.items()
    }


def test_pages_that_contradict_each_other_have_no_parts() -> None:
    with pytest.raises(DraftboardError, match="counters decrease without a restart"):
        in_parts([page({"0": 1}), page({"0": 9}, started=9), page({"0": 3}, started=5), page({"0": 3})])


def test_an_engine_that_went_is_named() -> None:
    assert growth(page({"0": 1, "1": 1}), page({"0": 2})).gone == ("m engine 1",)


@pytest.mark.parametrize(
    ("before", "after"),
    [
        (page({"0": 9}, started=1000, cpu=9), page({"0": 4}, started=1000, cpu=5)),
        (page({"0": 9}, started=2000), page({"0": 10}, started=1000)),
    ],
    ids=["one process", "two processes"],
)
def test_pages_in_the_wrong_order_are_no_restart(before: Page, after: Page) -> None:
    with pytest.raises(DraftboardError, match="counters decrease without a restart"):
        growth(before, after)


def test_a_process_that_is_older_than_the_earlier_page_did_not_restart_in_between() -> None:
    """A load balancer gives the pages of several servers: what the other counted in its life is not of the window."""
    pages = [page({"0": 100}, started=1000), page({"0": 130}, started=1500), page({"0": 3}, started=1750)]
    before, other, restarted = (
        Page("http://lb/metrics", each.values, at) for each, at in zip(pages, (2000.0, 2030.0, 2030.0), strict=True)
    )
    with pytest.raises(DraftboardError, match=r"^http://lb/metrics: several servers answer at this address in turn"):
        growth(before, other)
    assert drafts(growth(before, restarted)) == {"0": (3, Since.RESTART)}, "clocks differ by up to five minutes"


def test_pages_of_different_servers_are_refused() -> None:
    with pytest.raises(DraftboardError, match="are they from one server"):
        growth(page({"0": 1}), page({"7": 2}))


def test_the_time_is_the_pages_own_where_they_know_it() -> None:
    text = page({"0": 1})
    before, after = (Page("page", text.values, at) for at in (100.0, 130.5))
    assert growth(before, after, 7).seconds == 30.5
    assert growth(text, text, 7).seconds == 7
    assert lifetime(text).seconds is None


def test_several_servers_keep_their_engines_and_know_the_time_only_if_all_do() -> None:
    one = growth(page({"0": 1}), page({"0": 2}), 30)
    assert [tally.engine for tally in together([one, one]).tallies] == ["0", "0"]
    assert together([one, one]).seconds == 30
    assert together([one, lifetime(page({"0": 1}))]).seconds is None
