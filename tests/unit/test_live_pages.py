"""Pages of metrics: what is read from good ones, and the one line that bad ones get."""

import gzip
import re
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import settings as hypothesis_settings
from hypothesis import strategies as st

from draftboard.catalogue import speculation
from draftboard.catalogue.dialects import DIALECTS
from draftboard.errors import DraftboardError
from draftboard.reading import Limits, Page, Reader, counts_of, labels_of, lifetime, load, read
from draftboard.report import Origin, Reading
from draftboard.settings import Settings
from draftboard.signals import Level
from draftboard.signals.capacity import kv_cache_usage

UNTIMED = hypothesis_settings(deadline=None)
DATA = Path(__file__).parent.parent / "data"
LOAD = (DATA / "v0.32.0-ngram-load.prom").read_text()
DP2 = (DATA / "v0.32.0-ngram-dp2.prom").read_text()


def as_openmetrics(text: str) -> str:
    """The same page in the stricter format: counters are described without their suffix, and it has an end."""
    lines = [re.sub(r"^(# \w+ \S+)_total (?!.*histogram)", r"\1 ", line) for line in text.splitlines()]
    return (
        "".join(line + "\n" for line in lines if "_created" not in line and "iteration_tokens" not in line) + "# EOF\n"
    )


def as_ray(text: str, prefix: str) -> str:
    renamed = text.replace("vllm:", prefix)
    return renamed.replace('model_name="tiny"', 'model_name="tiny",ReplicaId="r1",WorkerId="w1"')


def drafts(page: Page) -> list[tuple[str, str, float | None]]:
    return [(tally.model, tally.engine, tally.total(speculation.DRAFTS)) for tally in lifetime(page).tallies]


def refused(text: str) -> str:
    with pytest.raises(DraftboardError) as error:
        read(text, "page")
    line = str(error.value)
    assert line.startswith("page: not a page of metrics: ")
    assert "\n" not in line
    assert len(line) < 300
    return line


def test_created_times_are_no_counts() -> None:
    page = read(LOAD, "page")
    assert "_created" in LOAD
    assert not [name for name in page.by_name if name.endswith("_created")]


def test_openmetrics_tells_the_same_as_classic_text() -> None:
    classic, other = read(LOAD, "page"), read(as_openmetrics(LOAD), "page")
    left_out = {series for series in classic.values if "iteration_tokens" in series[0]}
    assert other.values.items() == {s: value for s, value in classic.values.items() if s not in left_out}.items()


def test_names_whose_colon_a_client_library_escaped_are_read_too() -> None:
    assert drafts(read(LOAD.replace("vllm:", "vllm_"), "page")) == [("tiny", "0", 2389)]


def test_openmetrics_without_its_end_is_cut_off_where_the_server_named_the_format() -> None:
    cut = as_openmetrics(LOAD).removesuffix("# EOF\n")
    with pytest.raises(DraftboardError, match="EOF"):
        read(cut, "page", openmetrics=True)


@pytest.mark.parametrize("prefix", ["ray_vllm_", "ray_vllm:"])
def test_ray_s_names_are_read_as_vllm_s_and_its_replicas_are_engines(prefix: str) -> None:
    page = read(as_ray(LOAD, prefix), "page")
    assert page.dialect is DIALECTS["ray"]
    assert read(LOAD, "page").dialect is DIALECTS["vllm"]
    assert drafts(page) == [("tiny", "0 of r1", 2389)]


def test_two_engines_are_told_apart_and_the_http_side_is_none() -> None:
    assert [engine for _, engine, _ in drafts(read(DP2, "page"))] == ["0", "1"]


def test_two_served_names_are_two_models() -> None:
    second = "".join(
        line.replace('"tiny"', '"other"') + "\n" for line in LOAD.splitlines() if line.startswith("vllm:spec")
    )
    assert [model for model, _, _ in drafts(read(LOAD + second, "page"))] == ["tiny", "other"]


def test_a_gauge_of_several_processes_is_its_largest() -> None:
    usage = 'vllm:kv_cache_usage_perc{engine="0",model_name="tiny",pid="%d"} 0.%d\n'
    page = read(usage % (1, 2) + usage % (2, 5), "page")
    tallies = lifetime(page).tallies
    numbers = Reader(counts_of(tallies, Settings()), Level.ENGINE).of(labels_of(tallies[0], Settings()))
    assert numbers.value(kv_cache_usage) == 0.5


def test_a_page_of_the_v0_engine_is_recognised() -> None:
    page = read('vllm:spec_decode_draft_acceptance_rate{model_name="m"} 0.6\n', "page")
    assert page.v0
    assert not read(LOAD, "page").v0


@pytest.mark.parametrize(
    ("line", "words"),
    [("vllm:a b", "'b' is not a number"), ('vllm:a{x="1} 2', "is not a number"), ("vllm:a{x} 1", "Invalid labels: x")],
)
def test_what_cannot_be_read_is_told_in_words_of_the_page(line: str, words: str) -> None:
    with pytest.raises(DraftboardError, match=words) as error:
        read(line + "\n", "page")
    assert "string to float" not in str(error.value)


@pytest.mark.parametrize("text", [LOAD, as_openmetrics(LOAD)])
def test_a_gauge_that_is_no_number_is_left_out_and_the_page_is_read(text: str) -> None:
    line = next(line for line in text.splitlines() if line.startswith("vllm:kv_cache_usage_perc{"))
    page = read(text.replace(line, line.rpartition(" ")[0] + " NaN"), "page")
    assert page.values == {s: value for s, value in read(text, "page").values.items() if "kv_cache_usage" not in s[0]}


@pytest.mark.parametrize(
    ("text", "reason"),
    [
        ("", "empty"),
        ("\n\n", "empty"),
        ("<html><body>Sign in</body></html>\n", "HTML"),
        ('{"detail": "Not Found"}\n', "JSON"),
        ("# only a remark\n", "no sample"),
        (LOAD[: LOAD.index("2389.0") + 2], "last line is incomplete"),
        (LOAD + 'vllm:num_requests_running{engine="0",model_name="tiny"} 0.0\n', "duplicate"),
        (LOAD.replace(" 2389.0", " NaN"), "drafts_total is nan"),
        (LOAD.replace(" 2389.0", " +Inf"), "drafts_total is inf"),
        (LOAD.replace(" 2389.0", " -1"), "drafts_total is -1"),
        (LOAD.replace(" 2389.0", " 1e-320"), "value out of range"),
        (LOAD.replace(" 2389.0", " 1e308"), "value out of range"),
        (LOAD.replace(" 2389.0", " many"), "many"),
        ("a\0b 1\n", "binary"),
        ("vllm:a\x1b[31m 1\n", "binary"),
        ('vllm:a{model_name="' + "m" * 40_000 + '"} 1\n', "characters"),
        (as_openmetrics(LOAD).removesuffix("# EOF\n") + "# EOF\nvllm:a 1\n", "after # EOF"),
        (as_openmetrics(LOAD).replace("# EOF\n", "").rstrip("\n"), "last line is incomplete"),
    ],
)
def test_a_hostile_page_gets_one_clear_line(text: str, reason: str) -> None:
    assert reason in refused(text)


def test_a_line_that_stands_twice_in_openmetrics_is_found_too() -> None:
    line = next(line for line in as_openmetrics(LOAD).splitlines() if "num_drafts_total" in line)
    assert "duplicate" in refused(as_openmetrics(LOAD).replace(line, f"{line}\n{line}"))


def looked_at(text: str) -> None:
    """Read a page and judge it, as a report does; a page that cannot be read gets one line."""
    try:
        page = read(text, "page")
    except DraftboardError as error:
        assert "\n" not in str(error)
    else:
        Reading([page], lifetime(page), Settings(), "", origin=Origin.LIFETIME).report()


@UNTIMED
@given(st.text())
def test_whatever_the_text_it_is_a_page_or_one_line(text: str) -> None:
    looked_at(text)


PIECES = (
    *("vllm:a", "vllm:a_bucket", "{", "}", 'model_name="m"', 'le="1"', ",", '"', "\\", " ", "=", "1", "e", "NaN", "\n"),
    *("# TYPE vllm:a histogram", "# UNIT vllm:a s", "# HELP ", "# EOF", "{count:1}", "#", "_total"),
)


@UNTIMED
@given(st.lists(st.sampled_from(PIECES), max_size=40).map("".join))
def test_whatever_the_pieces_of_a_page_it_is_a_page_or_one_line(text: str) -> None:
    for whole in (text + "\n", text + "\n# EOF\n"):
        looked_at(whole)


@UNTIMED
@given(st.integers(0, len(LOAD)), st.integers(0, 200), st.text(max_size=3))
def test_a_real_page_with_a_wound_is_a_page_or_one_line(at: int, lost: int, put: str) -> None:
    looked_at(LOAD[:at] + put + LOAD[at + lost :])


def test_a_saved_page_is_read_with_the_same_limits(tmp_path: Path) -> None:
    path = tmp_path / "page.prom"
    path.write_text(LOAD)
    assert load(path).values == read(LOAD, "page").values
    with pytest.raises(DraftboardError, match=r"page.prom: exceeds 0.01 MB"):
        load(path, Limits(bytes=10_000))
    path.write_bytes(b"\xff\xfe\x00")
    with pytest.raises(DraftboardError, match=r"page.prom: not a page of metrics: it is binary"):
        load(path)
    with pytest.raises(DraftboardError, match="cannot read the page of metrics: No such file"):
        load(tmp_path / "absent.prom")


def test_a_saved_page_may_be_compressed_or_begin_with_a_byte_order_mark(tmp_path: Path) -> None:
    path = tmp_path / "page.prom.gz"
    for content in (gzip.compress(LOAD.encode()), b"\xef\xbb\xbf" + LOAD.encode()):
        path.write_bytes(content)
        assert load(path).values == read(LOAD, "page").values


def test_a_compressed_page_has_the_same_limit_and_a_damaged_one_is_one_line(tmp_path: Path) -> None:
    path = tmp_path / "page.prom.gz"
    path.write_bytes(gzip.compress(b"#" * 50_000))
    with pytest.raises(DraftboardError, match=r"page.prom.gz: exceeds 0.01 MB"):
        load(path, Limits(bytes=10_000))
    for damaged in (gzip.compress(LOAD.encode())[:-200], b"\x1f\x8b\x08", b"\x1f\x8bnothing"):
        path.write_bytes(damaged)
        with pytest.raises(DraftboardError, match="a damaged gzip file"):
            load(path)
