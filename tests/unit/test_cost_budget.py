"""What rules read stays within the committed table: a rule that reads more is named."""

from collections.abc import Mapping

import pytest

from draftboard.settings import Settings
from support.budget import dearer, read_by_rules, table
from support.rulefiles import rules

SIZES = ("10", "20")
"""Engines of the fleets in the table."""


@pytest.mark.parametrize("engines", SIZES)
def test_no_rule_reads_more_samples_than_the_table_says(
    files: Mapping[str, str], settings: Settings, engines: str
) -> None:
    found = table()
    read = read_by_rules(files, found["series"][engines], settings)
    assert dearer(read, found["rules"][engines]) == {}, "samples a minute: make it cheaper, or run `make budget`"


def test_a_rule_that_reads_further_back_is_named(files: Mapping[str, str], settings: Settings) -> None:
    found = table()
    once, twice = (f"last_over_time(vllm:num_requests_running[{hours}h])" for hours in (1, 2))
    changed = {path: text.replace(once, twice) for path, text in files.items()}
    read = read_by_rules(changed, found["series"]["10"], settings)
    assert set(dearer(read, found["rules"]["10"])) == {"engine:vllm_seen:bool"}


def test_the_table_lists_the_rules_that_there_are(files: Mapping[str, str]) -> None:
    named = {rule.get("record") or rule["alert"] for rule in rules(files)}
    assert {engines: set(table()["rules"][engines]) for engines in SIZES} == dict.fromkeys(SIZES, named)
