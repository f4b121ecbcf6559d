"""The fast reader of samples agrees with prometheus_client on whatever stands on a page."""

import math
from collections.abc import Callable
from pathlib import Path

import pytest
from hypothesis import example, given
from hypothesis import strategies as st
from prometheus_client.parser import text_string_to_metric_families

from draftboard.reading import samples as reader

DATA = Path(__file__).parent.parent / "data"
Found = list[tuple[str, tuple[tuple[str, str], ...], str]] | None
NAMES = st.sampled_from(["a", "a_total", "b", "a_bucket", "vllm:c", "1x", "é", "__d", ""])
VALUES = st.sampled_from(["1", "0.5", "NaN", "+Inf", "-1", "1_0", "1e5", "1 1700000000000", "x", "", "1" * 400, " 2 "])
LABELS = st.sampled_from(
    [
        *(
            "",
            "{}",
            '{k="v"}',
            '{k="v",}',
            '{k="v",j="w"}',
            '{k="v",k="w"}',
            '{k="a b}c,d=e"}',
            '{k="\\"\\\\\\n"}',
            '{k=""}',
        ),
        *(
            '{__k="v"}',
            '{__name__="z"}',
            '{"q"}',
            '{ k = "v" }',
            "{k}",
            '{k="v"',
            '{,k="v"}',
            '{k="v",,j="w"}',
            '{k="#"}',
        ),
    ]
)
KINDS = st.sampled_from(["counter", "gauge", "histogram", "summary", "untyped", "unknown", "gauge x", "nothing", ""])
LINES = st.one_of(
    st.builds("{}{} {}".format, NAMES, LABELS, VALUES),
    st.builds("# TYPE {} {}".format, NAMES, KINDS),
    st.builds("# HELP {} {}".format, NAMES, st.sampled_from(["of it", "", 'a "quote', "TYPE"])),
    st.sampled_from(
        ["", "  ", "#", "# a remark", "#TYPE a gauge", "# TYPE", "#  TYPE a gauge", "\ta 1", "a\t1", "a 1\rb 2"]
    ),
    st.text(st.sampled_from('ab_{}=", 1#\\\t')),
)


def outcome(read: Callable[[str], list[reader.Sample]], text: str) -> Found:
    """Samples in words, as NaN equals nothing; None for what is refused."""
    try:
        return sorted((*series, repr(value)) for series, value in read(text))
    except (ValueError, IndexError, KeyError, TypeError, AttributeError, OverflowError, UnboundLocalError):
        return None


def by_library(text: str) -> list[reader.Sample]:
    families = list(text_string_to_metric_families(text))
    gauges = {family.name for family in families if family.type == "gauge"}
    return [
        ((sample.name, tuple(sorted(sample.labels.items()))), float(sample.value))
        for family in families
        for sample in family.samples
        if sample.name not in gauges or not math.isnan(sample.value)
    ]


@given(st.lists(LINES, max_size=8).map("\n".join))
@example("# TYPE a counter\na 1\nb 2\na 3\n")
@example("# TYPE a counter\n# HELP a of it\na 1\n# HELP b of it\na 3\n")
@example("# TYPE a counter\n# TYPE b gauge\na 1\nb NaN\n")
@example("# TYPE a gauge\n# TYPE b gauge\nb 1\na NaN\n")
def test_any_page_is_read_as_prometheus_client_reads_it(text: str) -> None:
    assert outcome(lambda page: reader.samples(page, strict=False), text) == outcome(by_library, text)


@pytest.mark.parametrize("path", sorted(DATA.rglob("*.prom")), ids=lambda path: path.name)
def test_recorded_pages_are_read_as_prometheus_client_reads_them(path: Path) -> None:
    text = path.read_text()
    assert outcome(lambda page: reader.samples(page, strict=False), text) == outcome(by_library, text) is not None


def test_what_is_remembered_is_bounded() -> None:
    """A hostile server has new labels on each page."""
    for start in range(0, 3 * reader.REMEMBERED, reader.REMEMBERED):
        reader.samples(
            "".join(f'a{{b="{number}"}} 1\n' for number in range(start, start + reader.REMEMBERED)), strict=False
        )
    long = "".join(f'a{{b="{number}{"x" * 2_000}"}} 1\n' for number in range(10))
    before = reader._labels.cache_info()  # noqa: SLF001
    reader.samples(long, strict=False)
    assert before.currsize == reader.REMEMBERED
    assert reader._labels.cache_info().misses == before.misses  # noqa: SLF001
