"""Queries of a report: short enough for every server."""

import pytest

from draftboard.catalogue.dialects import DIALECTS
from draftboard.durations import Duration
from draftboard.prometheus import Client, Series
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
    queries.classes()
    assert max(map(len, client.asked)) < LONGEST_QUERY
