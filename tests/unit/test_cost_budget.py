"""What rules and pages read stays within the committed table: the rule or page that reads more is named."""

from collections.abc import Mapping

import pytest

from draftboard.settings import Settings
from support.budget import dearer, read_by_pages, read_by_rules, table

SIZES = ("10", "20")
"""Engines of the fleets in the table."""


@pytest.mark.parametrize("engines", SIZES)
def test_no_rule_and_no_page_reads_more_samples_than_the_table_says(
    files: Mapping[str, str], settings: Settings, engines: str
) -> None:
    found = table()
    held = found["series"][engines]
    for kind, read in (("rules", read_by_rules), ("pages", read_by_pages)):
        more = dearer(kind, read(files, held, settings), found[kind][engines])
        assert more == {}, "samples: make it cheaper, or run `make budget`"


def test_a_rule_that_reads_further_back_is_named(files: Mapping[str, str], settings: Settings) -> None:
    found = table()
    once, twice = (f"last_over_time(vllm:num_requests_running[{hours}h])" for hours in (1, 2))
    changed = {path: text.replace(once, twice) for path, text in files.items()}
    read = read_by_rules(changed, found["series"]["10"], settings)
    assert "engine:vllm_seen:bool" in dearer("rules", read, found["rules"]["10"])


def test_a_page_that_reads_a_longer_window_is_named(files: Mapping[str, str], settings: Settings) -> None:
    found = table()
    path = "dashboards/standalone/draftboard-capacity-raw.json"
    read = read_by_pages({path: files[path].replace("$__rate_interval", "1h")}, found["series"]["10"], settings)
    assert "draftboard-capacity-raw" in dearer("pages", read, found["pages"]["10"])


def test_a_new_rule_that_reads_much_is_named(files: Mapping[str, str], settings: Settings) -> None:
    found = table()
    read = read_by_rules(files, found["series"]["10"], settings)
    known = {name: samples for name, samples in found["rules"]["10"].items() if name != "VLLMErrors"}
    assert "VLLMErrors" in dearer("rules", read, known)


@pytest.mark.parametrize("engines", SIZES)
def test_without_plugin_and_lens_their_rules_store_nothing_and_read_next_to_nothing(engines: str) -> None:
    """The fleets of the table have neither."""
    found = table()
    assert [name for name in found["series"][engines] if "draftboard_spec" in name] == []
    rules = found["rules"][engines]
    theirs = {name for name in rules if "draftboard_spec" in name or name == "SpecDecodeClassLoses"}
    assert len(theirs) > 10
    assert sum(rules[name] for name in theirs) < 30 * int(engines), "a window of one and a half series an engine"


@pytest.mark.parametrize("engines", SIZES)
def test_what_is_counted_of_each_server_is_complete(engines: str) -> None:
    """Records need a second scrape, and some servers had it later than others."""
    series = table()["series"][engines]
    assert series["monitor:scrape_series_added:mean"] == series["up"]
