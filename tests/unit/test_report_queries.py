"""Queries of a report: short enough for every server."""

import re

import pytest

from draftboard.catalogue.dialects import DIALECTS
from draftboard.durations import Duration
from draftboard.errors import DraftboardError
from draftboard.prometheus import Client, Series
from draftboard.report.from_prometheus import explained
from draftboard.report.queries import Queries
from draftboard.rules import LONGEST_QUERY
from draftboard.settings import Settings
from draftboard.signals import Level


class Written(Client):
    """Writes down what it is asked, and knows nothing."""

    def __init__(self) -> None:
        self.asked: list[str] = []

    def query(self, expr: str, time: float) -> list[Series]:
        del time
        self.asked.append(expr)
        return []

    def query_range(self, expr: str, start: float, end: float, step: float) -> list[Series]:
        del start, end, step
        self.asked.append(expr)
        return []


@pytest.mark.parametrize("dialect", DIALECTS)
def test_no_query_is_longer_than_victoriametrics_accepts(dialect: str) -> None:
    client, settings = Written(), Settings.model_validate({"series": {"dialect": dialect}})
    queries = Queries(client, settings, Duration(300), 1_760_000_000, "tiny", "")
    queries.ask((Level.MODEL, Level.ENGINE), queries.parts(), lambda *_: None)
    queries.broken()
    queries.steps()
    queries.changes()
    queries.lensed()
    queries.lived()
    assert max(map(len, client.asked)) < LONGEST_QUERY


def test_only_models_whose_acceptance_dropped_are_explained_down_to_none_accepted() -> None:
    client, settings = Written(), Settings()
    queries = Queries(client, settings, Duration(300), 1_760_000_000, "", "")
    at_limit = settings.thresholds.drop
    found, notes = explained(queries, [("none", 0.0), ("half", 0.5), ("limit", at_limit), ("unknown", None)])
    assert (found, notes) == ({}, ())
    assert {name for expr in client.asked for name in re.findall('model_name="(.+?)"', expr)} == {"none", "half"}


def test_a_report_does_without_an_explanation_that_cannot_be_read() -> None:
    class Overloaded(Written):
        def query_range(self, expr: str, start: float, end: float, step: float) -> list[Series]:
            del expr, start, end, step
            raise DraftboardError("query processing would load too many samples")

    queries = Queries(Overloaded(), Settings(), Duration(300), 1_760_000_000, "", "")
    found, (note,) = explained(queries, [("m", 0.5)])
    assert not found
    assert note == "Why acceptance dropped is not known: query processing would load too many samples"
