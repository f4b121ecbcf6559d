"""Pages of servers: missing series, counters that stand still, counters that contradict each other."""

import re
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import settings as hypothesis_settings
from hypothesis import strategies as st

from draftboard.catalogue import CATALOGUE, RECORDED, Presence, around, latency, serving, speculation
from draftboard.catalogue.metric import release_numbers
from draftboard.catalogue.removed import REMOVED
from draftboard.doctor.finding import Examination, Finding, Severity
from draftboard.doctor.pages import examine_pages
from draftboard.doctor.series import NAMES, Reader, Server, all_readers, missing_series, silenced_by
from draftboard.errors import DraftboardError
from draftboard.expr.reads import metrics_of
from draftboard.reading import Lifetime, Page, read
from draftboard.report import report
from draftboard.settings import Settings
from draftboard.signals.acceptance import acceptance, draft_efficiency
from support.pages import page as one_engine

DATA = Path(__file__).parent.parent / "data"
LOAD, IDLE, BASELINE, DP2, UNFIT = (
    (DATA / f"v{RECORDED}-{name}.prom").read_text()
    for name in ("ngram-load", "ngram-idle", "baseline", "ngram-dp2", "eagle-unfit")
)
COUNTERS = [
    metric.name for metric in CATALOGUE if metric.presence is Presence.SPECULATING and metric.exists_in(RECORDED)
]
DRAFTS, GENERATED = speculation.DRAFTS.name, serving.GENERATION_TOKENS.name


def page(text: str, at: float | None = None) -> Page:
    return read(text, "http://vllm:8000/metrics", at)


def examined(*texts: str, later: str = "", settings: Settings | None = None) -> Examination:
    pages = [page(text, 1000.0) for text in texts]
    return examine_pages(pages, [page(later, 1010.0)] if later else [], settings or Settings())


def about(examination: Examination, words: str) -> Finding:
    found = [f for f in examination.findings if words in f.what]
    assert len(found) == 1, [(f.where, f.what) for f in examination.findings]
    return found[0]


def without(text: str, *names: str) -> str:
    """The page without the samples whose names begin so."""
    return "".join(line for line in text.splitlines(keepends=True) if not line.startswith(names))


def raised(text: str, name: str, by: float) -> str:
    """The page with a counter that has grown."""
    return re.sub(rf"^({re.escape(name)}\S* )(\S+)$", lambda m: m[1] + str(float(m[2]) + by), text, flags=re.MULTILINE)


@pytest.mark.parametrize("text", [LOAD, IDLE, DP2], ids=["load", "idle", "data parallel"])
def test_a_real_page_of_a_speculating_server_has_no_problem(text: str) -> None:
    examination = examined(text)
    assert examination.content, examination.findings


def test_a_server_without_speculation_is_a_warning_with_what_stays_empty() -> None:
    examination = examined(BASELINE)
    found = about(examination, "speculation is off")
    assert found.severity is Severity.WARNING
    assert 'spec_method="none"' in found.fix
    assert "draftboard-overview: Draft acceptance" in found.empty.panels
    assert "draftboard-overview: Speculation state" not in found.empty.panels
    assert "SpecDecodeNotPaying" in found.empty.alerts
    assert "VLLMTargetDown" not in found.empty.alerts


def test_of_two_servers_the_one_that_speculates_keeps_the_panels_filled() -> None:
    found = about(examined(LOAD, BASELINE), "speculation is off")
    assert found.empty.panels == ()


def test_a_page_without_any_engine_is_one_without_statistics() -> None:
    examination = examined(without(LOAD, "vllm:"))
    assert "--disable-log-stats" in about(examination, "exposes no series of an engine").fix


@pytest.mark.parametrize("prefix", ["ray_vllm_", "ray_vllm:"])
def test_names_of_ray_are_a_problem_with_the_relabelling_and_what_stays_empty(prefix: str) -> None:
    found = about(examined(LOAD.replace("vllm:", prefix)), "Ray Serve exposes it")
    assert "replacement: 'vllm:$1'" in found.paste
    assert "draftboard-overview: Draft acceptance" in found.empty.panels


def test_an_old_server_is_a_warning_with_the_release_that_has_all_series() -> None:
    old = without(LOAD, *(one.name for one in CATALOGUE if release_numbers(one.since) >= (0, 11, 0)))
    found = about(examined(old), "older than vLLM 0.32.0")
    assert found.fix.startswith("update vLLM to 0.32.0 or newer")
    assert "model:vllm_request_time_per_output_token_seconds:p99_over_p50_rate5m" in found.empty.records


@pytest.mark.parametrize("dropped", [latency.TIME_PER_OUTPUT_TOKEN.name, "vllm:e2e_request_latency_seconds_bucket"])
def test_what_a_newer_series_shows_to_be_dropped_is_not_called_old(dropped: str) -> None:
    examination = examined(without(LOAD, dropped))
    assert dropped in about(examination, "a proxy drops them").what
    assert not [one for one in examination.findings if "older than" in one.what]


@pytest.mark.parametrize(
    ("old", "new"),
    [
        ("vllm:spec_decode_draft_acceptance_rate", speculation.DRAFT_TOKENS.name),
        ("vllm:spec_decode_efficiency", "draft_efficiency"),
        ("vllm:spec_decode_num_emitted_tokens_total", f"{DRAFTS} + {speculation.ACCEPTED_TOKENS.name}"),
        ("vllm:gpu_cache_usage_perc", serving.KV_CACHE_USAGE.name),
        ("vllm:time_per_output_token_seconds", latency.TIME_PER_OUTPUT_TOKEN.name),
        ("vllm:time_per_output_token_seconds", latency.STEP_LATENCY.name),
    ],
)
def test_a_removed_metric_names_its_replacement(old: str, new: str) -> None:
    (found,) = (entry for entry in REMOVED if entry.name == old)
    assert new in found.instead
    assert old not in {metric.name for metric in CATALOGUE}


def test_a_removed_metric_names_signals_that_exist() -> None:
    assert REMOVED[0].instead.split(";")[0].endswith(f" the signal {acceptance.name}")
    assert REMOVED[1].instead.endswith(f" {draft_efficiency.name}")


def test_a_page_of_the_v0_engine_is_a_problem_with_what_to_read_instead() -> None:
    v0 = without(LOAD, "vllm:spec_decode") + 'vllm:spec_decode_draft_acceptance_rate{model_name="m"} 0.7\n'
    v0 += 'vllm:spec_decode_num_accepted_tokens_total{model_name="m"} 1200.0\n'
    found = about(examined(v0), "V0 engine")
    assert f"vllm:spec_decode_efficiency -> {REMOVED[1].instead}" in found.fix
    words = [f.what for f in examined(v0).findings]
    assert not [what for what in words if "speculation is off" in what or "a proxy drops it" in what]


def test_a_series_that_every_release_has_is_dropped_on_the_way() -> None:
    found = about(examined(without(LOAD, GENERATED)), "a proxy drops them")
    assert GENERATED in found.what
    assert "metric_relabel_configs" in found.fix


def test_tokens_without_drafts_are_a_warning_once_the_page_is_read_twice() -> None:
    found = about(examined(LOAD, later=raised(LOAD, GENERATED, 500)), "none was drafted")
    assert found.severity is Severity.WARNING
    assert found.what == "500 tokens were generated within 10 s, but none was drafted"


def test_moving_drafts_are_no_problem() -> None:
    later = raised(raised(LOAD, GENERATED, 500), DRAFTS, 100)
    examination = examined(LOAD, later=later)
    assert examination.content
    assert not [f for f in examination.findings if "idle" in f.what]


def test_a_position_that_is_missing_below_a_deeper_one_is_a_contradiction() -> None:
    family = speculation.ACCEPTED_TOKENS_PER_POS.name
    gap = "".join(
        line for line in LOAD.splitlines(keepends=True) if not (line.startswith(family) and 'position="1"' in line)
    )
    found = about(examined(gap), "position 3 is counted without 1 of the 3 positions before it")
    assert found.severity is Severity.PROBLEM


def test_an_idle_server_is_a_note() -> None:
    assert about(examined(IDLE, later=IDLE), "idle: nothing was generated within 10 s").severity is Severity.NOTE


@pytest.mark.parametrize("name", [speculation.ACCEPTED_TOKENS.name, speculation.ACCEPTED_TOKENS_PER_POS.name])
def test_counters_that_contradict_each_other_are_a_problem(name: str) -> None:
    examination = examined(raised(LOAD, name + "{", 1e6))
    found = [f for f in examination.findings if "contradict each other" in f.what]
    assert found
    assert {f.severity for f in found} == {Severity.PROBLEM}


def test_adaptive_verification_that_the_plugin_tells_is_a_warning_with_the_label_to_paste() -> None:
    told = 'draftboard_spec_info{engine="0",model_name="m",method="eagle3",k="4",adaptive="%s",rejection=""} 1\n'
    found = about(examined(LOAD + told % "true"), "reports adaptive verification")
    assert found.severity is Severity.WARNING
    assert "labels: {spec_verification: adaptive}" in found.fix
    assert not [one for one in examined(LOAD + told % "false").findings if "plugin" in one.what]


@pytest.mark.parametrize(
    ("label", "told", "words"),
    [
        (
            "",
            "ngram",
            "no target label spec_method, from which rules and dashboards read the method; its plugin reports ngram",
        ),
        ("eagle", "ngram", 'labelled spec_method="eagle", but its plugin reports ngram'),
        ("", "", "no target label spec_method: the costs of an unknown method apply"),
        ("ngram", "ngram", ""),
    ],
)
def test_the_label_of_the_method_that_the_plugin_tells_is_ready_to_paste(label: str, told: str, words: str) -> None:
    read_page = page(LOAD)
    names, dialect = frozenset(read_page.by_name), read_page.dialect
    server = Server("a:8000", names, dialect=dialect, method=label, verification="", reported_method=told)
    labels = [one for one in missing_series([server], Settings(), ()) if "spec_method" in one.what]
    assert [one.what.startswith(words) for one in labels] == [True] * bool(words)
    assert not told or all("labels: {spec_method: ngram}" in one.fix for one in labels)


def test_low_acceptance_is_a_note_with_its_usual_causes_and_the_size_of_the_sample() -> None:
    found = about(examined(LOAD), "6% of 8,942 drafted tokens")
    assert found.severity is Severity.NOTE
    assert "or of another family, tokenizer or fine-tune" in found.what
    assert "draftboard report" in found.fix


def test_a_head_that_does_not_fit_is_a_problem_with_its_likely_causes() -> None:
    examination = examined(UNFIT)
    found = about(examination, "0.2% of 24,020 drafted tokens")
    assert found.severity is Severity.PROBLEM
    assert not examination.content
    for cause in ("another model", "tokenizer or vocabulary", "not loaded", "quantisation", "sampling"):
        assert cause in found.what, cause


@pytest.mark.parametrize(
    ("accepted", "drafts", "kind"),
    [
        (99, 2000, "does not fit"),
        (100, 2000, "which is poor"),
        (0, 2000, "does not fit"),
        (0, 1999, "which is poor"),
        (0, 199, "too few to judge"),
    ],
)
def test_a_drafter_does_not_fit_under_a_share_and_from_a_number_of_drafted_tokens(
    accepted: float, drafts: float, kind: str, tmp_path: Path
) -> None:
    """As the report says of the same page."""
    text = one_engine([accepted], drafts=drafts)
    assert about(examined(text), kind)
    (tmp_path / "page.prom").write_text(text)
    (model,) = report(Lifetime(tmp_path / "page.prom"), Settings(), method="eagle3").models
    assert (model.verdict.advice == "the drafter does not fit") == (kind == "does not fit")


@pytest.mark.parametrize("text", [LOAD, UNFIT], ids=["low", "does not fit"])
def test_advice_on_acceptance_is_a_shorter_k_then_the_drafter_then_off(text: str) -> None:
    fix = about(examined(text), "drafted tokens since its start").fix
    first = min(fix.find(words) for words in ("shorter K", "num_speculative_tokens to 1") if words in fix)
    assert first < fix.index("drafter") < fix.index("off")


@pytest.mark.parametrize("name", COUNTERS)
def test_every_missing_counter_is_a_problem_with_its_name_what_stays_empty_and_the_likely_cause(name: str) -> None:
    found = about(examined(without(LOAD, name)), f"no {name}, ")
    assert found.severity is Severity.PROBLEM
    assert "metric_relabel_configs" in found.fix
    assert "filter" in found.fix
    assert all(vars(found.empty).values())


def test_what_a_missing_counter_leaves_empty_is_what_reads_it() -> None:
    positions, drafted = (
        about(examined(without(LOAD, name)), f"no {name}, ").empty
        for name in (speculation.ACCEPTED_TOKENS_PER_POS.name, speculation.DRAFT_TOKENS.name)
    )
    assert "model:vllm_spec_decode_acceptance:ratio_rate5m" in drafted.records
    assert "model:vllm_spec_decode_acceptance:ratio_rate5m" not in positions.records
    assert "model:vllm_spec_decode_first_position:ratio_rate5m" in positions.records
    assert "model:vllm_spec_decode_first_position:ratio_rate5m" not in drafted.records


def test_several_missing_counters_are_named_one_by_one() -> None:
    examination = examined(without(LOAD, *COUNTERS[1:]))
    for name in COUNTERS[1:]:
        assert about(examination, f"no {name}, ")
    assert not [f for f in examination.findings if "speculation is off" in f.what]


def test_without_the_count_of_drafts_speculation_is_not_called_off() -> None:
    examination = examined(without(LOAD, DRAFTS))
    assert about(examination, f"no {DRAFTS}, ")
    assert not [f for f in examination.findings if "speculation is off" in f.what]


def test_acceptance_is_told_without_positions() -> None:
    missing = without(LOAD, speculation.ACCEPTED_TOKENS_PER_POS.name)
    assert about(examined(missing), "6% of 8,942 drafted tokens")


def test_of_two_servers_the_complete_one_keeps_the_panels_filled() -> None:
    name = speculation.DRAFT_TOKENS.name
    found = about(examined(LOAD, without(LOAD, name)), f"no {name}, ")
    assert found.severity is Severity.PROBLEM
    assert found.empty.panels == ()


@pytest.mark.parametrize(("accepted", "band"), [(700, "optimal"), (600, "healthy"), (400, "fair"), (399, "poor")])
def test_acceptance_is_named_by_the_band_of_the_signal(accepted: int, band: str) -> None:
    found = about(examined(one_engine([accepted], drafts=1000)), "1,000 drafted tokens")
    assert f"which is {band} (a rule of thumb)" in found.what


def test_few_drafts_are_counted_and_not_judged() -> None:
    least = Settings().traffic.drafts_to_judge
    found = about(examined(one_engine([0], drafts=least - 1)), "too few to judge")
    assert found.what.startswith(f"{least - 1:,.0f} drafts since its start")
    assert "poor" in about(examined(one_engine([0], drafts=least)), "drafted tokens").what


def test_more_positions_than_dashboards_cover_are_a_warning() -> None:
    found = about(examined(LOAD, settings=Settings(max_draft_tokens=2)), "cover only 2")
    assert "max_draft_tokens = 4" in found.fix


def test_bounds_that_the_settings_do_not_declare_are_a_warning() -> None:
    declared = Settings.model_validate({"buckets": {"inter_token_latency": [0.001, 0.1]}})
    found = about(examined(LOAD, settings=declared), "has other bounds")
    assert "the server lacks 0.001" in found.what
    assert found.paste == "--custom-histogram-buckets '{\"inter_token_latency\": [0.001, 0.1]}'"


@pytest.fixture(scope="module")
def series() -> list[tuple[Reader, frozenset[str]]]:
    """Each reader with the metrics that it reads."""
    return [
        (reader, frozenset().union(*(metrics_of(reader.expression, scope) for scope in reader.scopes)))
        for reader in all_readers(Settings())
    ]


def test_panels_of_hit_rate_and_memory_read_their_series(series: list[tuple[Reader, frozenset[str]]]) -> None:
    for metric in (serving.PREFIX_CACHE_HITS, serving.KV_CACHE_USAGE, around.GPU_MEMORY_USED):
        assert any(metric.name in names and reader.feeds.panels for reader, names in series), metric.name


def test_every_panel_alert_and_record_reads_a_known_series(series: list[tuple[Reader, frozenset[str]]]) -> None:
    assert [reader.feeds for reader, names in series if not names] == []


def test_a_gpu_exporter_is_all_that_gpu_panels_need() -> None:
    assert len(silenced_by(NAMES[Presence.GPU_EXPORTER], all_readers(Settings())).panels) == 4


LINES = LOAD.splitlines(keepends=True)
VALUES = st.sampled_from(["0", "1", "1e300", "5e-324", "123456789.5"])


@hypothesis_settings(max_examples=15)
@given(st.dictionaries(st.integers(0, len(LINES) - 1), VALUES | st.none(), max_size=12))
def test_any_readable_page_is_examined_in_printable_lines(changes: dict[int, str | None]) -> None:
    lines = list(LINES)
    for place, value in changes.items():
        lines[place] = f"{lines[place].rpartition(' ')[0]} {value}\n" if value and lines[place][0] != "#" else ""
    try:
        examination = examined("".join(lines), later=LOAD)
    except DraftboardError:
        return  # not a page, or pages of different servers
    for found in examination.findings:
        assert all((found.where, found.what, found.fix))
        assert (found.where + found.what + found.fix).isprintable()
