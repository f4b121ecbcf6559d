"""Chains of few records: what is read by name, and what is computed in place."""

from dataclasses import dataclass

from draftboard.rules import LINKS, LONGEST_QUERY, RecordingRule
from draftboard.rules.links import in_few_links

TEN = [f"a:b:{number}" for number in range(10)]


@dataclass(frozen=True)
class Link:
    """A record that reads the one below it so many times, or a series where there is none below."""

    name: str
    below: "Link | None"
    times: int
    lasting: bool  # Whether it reads its own past, too.

    @property
    def rule(self) -> RecordingRule:
        own = f" or {self.name}[2m]" if self.lasting else ""
        return RecordingRule(record=self.name, expr=self.reading(frozenset(TEN)) + own)

    @property
    def reads_series(self) -> bool:
        return self.below is None

    def reading(self, records: frozenset[str]) -> str:
        if self.below is None:
            return "vllm:raw"
        by_name = self.below.name in records
        return " + ".join([self.below.name if by_name else f"({self.below.reading(records)})"] * self.times)


def chain(names: list[str], *, times: int = 1, lasting: str = "") -> list[Link]:
    links: list[Link] = []
    for name in names:
        links.append(Link(name, links[-1] if links else None, times, name == lasting))
    return links


def written(definitions: list[Link]) -> dict[str, str]:
    return {rule.record: rule.expr for rule in in_few_links(definitions)}


def row(found: dict[str, str], record: str) -> int:
    """Number of records in a row, this one included."""
    return 1 + max((row(found, name) for name in found if name in found[record]), default=0)


def test_more_than_half_of_a_chain_is_made_of_counters() -> None:
    found = written(chain(TEN[:5]))
    assert [row(found, record) for record in TEN[:5]] == [1, 1, 1, 2, 3]


def test_of_a_longer_chain_records_are_computed_in_place() -> None:
    found = written(chain(TEN))
    assert list(found) == TEN
    assert max(row(found, record) for record in found) == LINKS


def test_a_record_that_is_too_long_in_place_is_made_at_a_later_link_or_stays() -> None:
    definitions = chain(TEN, times=30)
    found = written(definitions)
    assert max(map(len, found.values())) < LONGEST_QUERY
    assert [row(found, record) for record in TEN[:7]] == [1, 1, 1, 2, 2, 3, 3]
    assert found[TEN[7]] == definitions[7].rule.expr


def test_what_goes_on_from_its_own_past_is_no_link() -> None:
    found = written(chain(TEN, lasting=TEN[0]))
    assert row(found, TEN[-1]) == LINKS + 1
