"""Other engines' names of the series: what is built for them and read from their pages, and what is left out."""

import functools
import re
from dataclasses import replace
from http.server import BaseHTTPRequestHandler
from pathlib import Path
from urllib.parse import unquote_plus

import pytest
from pydantic import ValidationError

from draftboard.build import render
from draftboard.build.inventory import inventory
from draftboard.catalogue import CATALOGUE, Kind, Metric
from draftboard.catalogue.dialects import DIALECTS, LEAST, SGLANG, VLLM, Spelling
from draftboard.doctor.finding import Severity
from draftboard.doctor.pages import examine_pages
from draftboard.durations import Duration
from draftboard.errors import DraftboardError
from draftboard.expr.to_promql import promql_of
from draftboard.lab.replay.evaluate import unpack
from draftboard.output import as_json, as_markdown
from draftboard.reading import Lifetime, Pages, Recorded, Servers, load
from draftboard.report import ModelReport, document, load_report, report
from draftboard.settings import Settings
from draftboard.signals import ALL, Edition, Level, Scope, acceptance, depth
from support.dialects import FOLDER, IN_PART, OTHERS, WITH_STEPS, built_for, page_of
from support.loopback import answering, page

DATA = FOLDER.parent
LOAD = DATA / "v0.32.0-ngram-load.prom"
PAIR = DATA / "v0.32.0-ngram-pair-before.prom", DATA / "v0.32.0-ngram-pair-after.prom"
DRAFTS, LENGTH, ACCEPTANCE = 1000, 2.4, 1400 / 3000
SURVIVAL = (0.7, 0.45, 0.25)


@functools.cache
def files_of(dialect: str) -> dict[str, str]:
    return built(built_for(dialect))


def built(settings: Settings) -> dict[str, str]:
    """Rules and dashboards, each once."""
    made = render(settings)
    return {path: made[path] for path in made if re.match(r"alerts/.*\.yaml|dashboards/(standalone/)?[^/]*$", path)}


def of_page(dialect: str) -> ModelReport:
    (model,) = report(Lifetime(page_of(dialect))).models
    return model


def renamed(path: Path, prefix: str, folder: Path) -> Path:
    target = folder / path.name
    target.write_text(path.read_text().replace(VLLM, prefix))
    return target


def test_signals_that_mislead_exist() -> None:
    assert {name for one in DIALECTS.values() for name in one.misleading} <= {signal.name for signal in ALL}
    assert {name for signal in ALL for name in signal.in_dialects} <= DIALECTS.keys()


@pytest.mark.parametrize("dialect", DIALECTS)
def test_a_dialect_has_the_series_that_every_build_needs(dialect: str) -> None:
    assert built_for(dialect).dialect.name == dialect


@pytest.mark.parametrize("metric", LEAST, ids=lambda metric: metric.name)
def test_a_dialect_without_a_needed_series_is_refused_with_its_name_and_place(
    metric: Metric, monkeypatch: pytest.MonkeyPatch
) -> None:
    spellings = {one: Spelling(f"sglang:{one.name}") for one in LEAST if one is not metric}
    monkeypatch.setitem(DIALECTS, "sglang", replace(SGLANG, spellings=spellings))
    words = f"incomplete: no series for {metric.name}, which rules and dashboards need of every dialect: add it to"
    with pytest.raises(ValidationError, match=words):
        built_for("sglang")


@pytest.mark.parametrize("dialect", ["ray", *IN_PART])
def test_what_is_built_names_series_of_its_dialect_only(dialect: str) -> None:
    own = DIALECTS[dialect].prefixes[0]
    others = [re.escape(prefix) for name in DIALECTS if name != dialect for prefix in DIALECTS[name].prefixes]
    foreign = re.compile(rf"(?<![\w:])(?:{'|'.join(others)})\w+")
    texts = files_of(dialect)
    assert {path: found[0] for path, text in texts.items() if (found := foreign.search(text))} == {}
    assert f"({own}" in texts["dashboards/standalone/draftboard-overview-raw.json"]


@pytest.mark.parametrize("dialect", IN_PART)
def test_every_series_that_is_built_upon_is_on_the_engine_s_page(dialect: str) -> None:
    prefix, page = re.escape(DIALECTS[dialect].prefixes[0]), page_of(dialect).read_text()
    text = "".join(files_of(dialect).values())
    exposed = set(re.findall(rf"^(?:# TYPE )?({prefix}\w+)", page, re.MULTILINE))
    assert set(re.findall(rf"(?<![\w:]){prefix}\w+", text)) - exposed == set()


def test_a_dialect_with_every_series_differs_from_vllm_s_files_in_names_alone(
    settings: Settings, files: dict[str, str]
) -> None:
    other = built(settings.speaking(DIALECTS["otel"]))
    assert other == {path: files[path].replace(VLLM, "vllm_") for path in other}


@pytest.mark.parametrize("dialect", IN_PART)
def test_what_an_engine_does_not_export_is_left_out_rather_than_empty(dialect: str) -> None:
    settings = built_for(dialect)
    entries = {entry.name: entry for entry in inventory(settings).signals}
    of_steps = {"coverage", "tokens_per_step", "expected_speedup_low"}
    assert of_steps & entries.keys() == (of_steps if dialect in WITH_STEPS else set())
    assert "step_p99" not in entries
    assert {"acceptance", "acceptance_length", "drafts", "requests_running"} <= entries.keys()
    alerts = files_of(dialect)["alerts/alerting.rules.yaml"]
    assert ("SpecDecodeNotPaying" in alerts) == (dialect in WITH_STEPS)
    pages = "".join(text for path, text in files_of(dialect).items() if path.startswith("dashboards"))
    for shown in (f'"title": "{acceptance.coverage.title}"', "spec_decode_expected_speedup_low:"):
        assert (shown in pages) == (dialect in WITH_STEPS)
    raw = Scope(settings, Level.MODEL, Edition.RAW)
    assert promql_of(acceptance.acceptance_length, raw)
    if dialect in WITH_STEPS:
        return
    with pytest.raises(DraftboardError, match="does not export vllm:inter_token_latency_seconds_count"):
        promql_of(acceptance.coverage, raw)


def test_gauges_of_an_engine_are_neither_summed_nor_rated_and_say_so() -> None:
    settings = built_for("sglang")
    for signal, gauge in ((acceptance.acceptance_length, SGLANG.length), (acceptance.acceptance, SGLANG.rate)):
        assert gauge
        assert gauge.kind is Kind.GAUGE
        text = promql_of(signal, Scope(settings, Level.MODEL, Edition.ONCE))
        assert re.search(rf"avg by [^{{}}]+\(\s*avg_over_time\({gauge.name}", text)
        assert "not a ratio of sums" in signal.described(settings)
        assert "not a ratio of sums" not in signal.described(Settings())
        panel = files_of("sglang")["dashboards/draftboard-overview.json"]
        assert signal.described(settings) in panel
    assert not depth.survival.exists(settings)


def test_positions_under_another_label_are_read_as_positions() -> None:
    scope = Scope(built_for("tensorrt-llm"), Level.MODEL, Edition.RAW)
    assert 'token_position="0"' in promql_of(depth.first_position, scope)
    assert '"position", "$1", "token_position"' in " ".join(promql_of(depth.survival, scope).split())


@pytest.mark.parametrize("dialect", ["ray", "otel"])
def test_a_page_under_another_prefix_gives_the_report_of_vllm_s_own(dialect: str, tmp_path: Path) -> None:
    for prefix in DIALECTS[dialect].prefixes:
        of_vllm = report(Pages(*PAIR))
        before, after = (renamed(path, prefix, tmp_path) for path in PAIR)
        other = report(Pages(before, after))
        models = [
            replace(model, engines=tuple(replace(engine, server="") for engine in model.engines))
            for one in (of_vllm, other)
            for model in one.models
        ]
        assert models[0] == models[1]
        assert (of_vllm.dialect, other.dialect) == ("vllm", dialect)


@pytest.mark.parametrize("dialect", OTHERS)
def test_a_report_tells_what_the_page_can_give(dialect: str) -> None:
    model = of_page(dialect)
    assert model.sample
    assert model.sample.drafts == DRAFTS
    assert model.speculation
    assert model.speculation.acceptance_length == pytest.approx(LENGTH)
    share = 0.46 if dialect == "sglang" else ACCEPTANCE
    assert model.speculation.acceptance == pytest.approx(share)
    assert model.speculation.survival == (pytest.approx(SURVIVAL) if dialect != "sglang" else ())
    assert model.speculation.configured_k == (3 if dialect != "sglang" else None)
    assert (model.speculation.expected_speedup is not None) == (dialect in WITH_STEPS)
    assert (model.traffic.requests_running, model.broken) == (2, ())
    assert model.model == ("" if dialect == "llama.cpp" else "qwen")
    assert not [note for note in model.notes if "filtered out" in note]


@pytest.mark.parametrize("dialect", IN_PART)
def test_a_report_says_what_it_cannot_tell_and_shows_no_empty_line_for_it(dialect: str) -> None:
    found = report(Lifetime(page_of(dialect)))
    (told,) = [note for note in found.notes if "does not report" in note]
    assert DIALECTS[dialect].omits in told
    text = as_markdown(document(found, Settings(), engines=False))
    assert acceptance.acceptance_length.title in text
    assert (acceptance.coverage.title in text) == (dialect in WITH_STEPS)
    assert ("rest on what a step costs" in text) == (dialect != "sglang")
    assert ("the drafting method is unknown" in text) == (dialect != "sglang")


@pytest.mark.parametrize("dialect", OTHERS)
def test_a_report_names_the_setting_that_its_dashboards_need(dialect: str) -> None:
    notes = report(Lifetime(page_of(dialect))).notes
    assert [note for note in notes if f'dialect = "{dialect}"' in note]
    notes = report(Lifetime(page_of(dialect)), built_for(dialect)).notes
    assert not [note for note in notes if "[series]" in note]


def test_a_series_that_begins_as_another_engine_s_does_not_change_the_dialect(tmp_path: Path) -> None:
    path = tmp_path / "page.txt"
    path.write_text('vllm_plugin_calls_total{model_name="m"} 3\n' + LOAD.read_text())
    assert load(path).dialect is DIALECTS["vllm"]


def test_a_series_that_is_there_twice_has_the_name_of_the_page(tmp_path: Path) -> None:
    path = tmp_path / "page.txt"
    path.write_text(re.sub(r',token_position="\d+"', "", page_of("tensorrt-llm").read_text()))
    with pytest.raises(DraftboardError, match=r"duplicate series of trtllm_spec_decode_[a-z_]+"):
        load(path)


def test_a_report_of_an_unknown_page_names_what_was_looked_for(tmp_path: Path) -> None:
    path = tmp_path / "other.txt"
    path.write_text("node_load1 0.5\n")
    (note,) = [note for note in report(Lifetime(path)).notes if "looked for" in note]
    assert all(prefix in note for one in DIALECTS.values() for prefix in one.prefixes)


def test_servers_of_engines_that_count_different_things_are_not_added_up() -> None:
    said = pytest.raises(DraftboardError, match=r"different engines .*vLLM.*SGLang.*: name servers of one engine")
    ours, theirs = (answering(page(path.read_text())) for path in (LOAD, page_of("sglang")))
    with ours as one, theirs as other, said:
        report(Servers((one, other)), sleep=lambda _: None)


def test_a_saved_report_keeps_its_dialect(tmp_path: Path) -> None:
    found = report(Lifetime(page_of("sglang")))
    path = tmp_path / "report.json"
    path.write_text(as_json(found))
    assert load_report(path).dialect == "sglang"


@pytest.mark.parametrize("dialect", [name for name in OTHERS if name != "ray"])
def test_doctor_names_the_setting_for_a_page_of_another_engine(dialect: str) -> None:
    findings = examine_pages([load(page_of(dialect))], (), Settings()).findings
    (told,) = [one for one in findings if "exposes it" in one.what]
    assert told.severity is Severity.PROBLEM
    assert f'dialect = "{dialect}"' in told.fix + told.paste
    assert "draftboard-overview: Draft acceptance" in told.empty.panels


@pytest.mark.parametrize("dialect", IN_PART)
def test_doctor_is_content_with_a_page_of_the_settings_engine(dialect: str) -> None:
    examination = examine_pages([load(page_of(dialect))], (), built_for(dialect))
    bad = [one for one in examination.findings if one.severity is not Severity.NOTE]
    assert [one.what for one in bad if "other bounds" not in one.what] == []
    assert not DIALECTS[dialect].omits or [one for one in examination.findings if DIALECTS[dialect].omits in one.what]


def test_doctor_names_a_counter_that_is_dropped_as_the_engine_names_it(tmp_path: Path) -> None:
    path = tmp_path / "page.txt"
    lines = page_of("llama.cpp").read_text().splitlines(keepends=True)
    path.write_text("".join(line for line in lines if "num_draft_tokens" not in line))
    findings = examine_pages([load(path)], (), built_for("llama.cpp")).findings
    assert [one for one in findings if "no llamacpp:spec_decode_num_draft_tokens_total, although" in one.what]


@pytest.mark.parametrize("dialect", OTHERS)
def test_every_name_leads_back_to_the_metric(dialect: str) -> None:
    one = DIALECTS[dialect]
    for part in (part for metric in CATALOGUE for part in metric.parts):
        if part.name not in one.missing:
            assert all(part.name in one.meant(name) for name in one.written(part))
            assert one.named(part.name) in one.written(part)
            assert part.name.startswith(VLLM) or one.named(part.name) == part.name


def test_k_is_told_by_drafted_positions_where_an_engine_counts_them(tmp_path: Path) -> None:
    path = tmp_path / "page.txt"
    lines = page_of("tensorrt-llm").read_text().splitlines(keepends=True)
    never_accepted = re.compile(r'trtllm_spec_decode_accepted_tokens_total\{.*token_position="2"')
    path.write_text("".join(line for line in lines if not never_accepted.match(line)))
    (model,) = report(Lifetime(path)).models
    assert model.speculation
    assert (model.speculation.configured_k, len(model.speculation.survival)) == (3, 2)


@pytest.mark.parametrize("dialect", IN_PART)
def test_a_prometheus_is_asked_for_series_of_the_dialect_only(dialect: str) -> None:
    asked = list[str]()

    def nothing(request: BaseHTTPRequestHandler) -> None:
        asked.append(unquote_plus(request.rfile.read(int(request.headers["Content-Length"])).decode()))
        page('{"status": "success", "data": {"resultType": "vector", "result": []}}')(request)

    settings, prefix = built_for(dialect), re.escape(DIALECTS[dialect].prefixes[0])
    said = pytest.raises(DraftboardError, match=rf"no {re.escape(DIALECTS[dialect].engine)} series .*{prefix}")
    with answering(nothing) as place, said:
        report(Recorded(place, Duration(300)), settings, engines=True)
    assert any(DIALECTS[dialect].prefixes[0] in query for query in asked)
    assert not [query for query in asked if VLLM in query]


def test_what_no_series_of_a_dialect_tells_is_one_line() -> None:
    with pytest.raises(DraftboardError, match=r"SGLang does not export vllm:\w+, which this needs$"):
        promql_of(acceptance.coverage, Scope(built_for("sglang"), Level.MODEL, Edition.ONCE))


@pytest.mark.parametrize("dialect", IN_PART)
def test_a_recording_of_another_engine_is_replayed(dialect: str, tmp_path: Path) -> None:
    recording, plain = tmp_path / "recording.om", tmp_path / "plain.om"
    samples = [
        line for line in page_of(dialect).read_text().splitlines() if not line.startswith("#") and "NaN" not in line
    ]
    recording.write_text("".join(f"{line} 1700000000\n" for line in samples) + "# EOF\n")
    assert unpack(recording, plain) == (1.7e9, 1.7e9)
    assert "requests" in plain.read_text() or "reqs" in plain.read_text()


@pytest.mark.parametrize("dialect", DIALECTS)
def test_the_documentation_lists_every_dialect(dialect: str) -> None:
    path = "docs/operate/dialects.md"
    assert f" | `{dialect}` | " in (FOLDER.parent.parent.parent / path).read_text(), (
        f"add {dialect} to the table in {path}"
    )
