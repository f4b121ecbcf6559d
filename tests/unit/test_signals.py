"""The signals: each question once, and the same expression wherever it is asked."""

import re
from pathlib import Path

import pytest

from draftboard.catalogue import CATALOGUE, Owner, around, speculation
from draftboard.dashboards.fields import COLOURS
from draftboard.expr.reads import metrics_of
from draftboard.expr.scope import Matcher
from draftboard.expr.to_promql import definition, promql_of
from draftboard.quantity import value
from draftboard.settings import Settings
from draftboard.signals import ALL, Edition, Level, Scope, Signal
from draftboard.signals.depth import first_position
from draftboard.signals.economics import with_a_drafter
from draftboard.signals.health import health
from draftboard.signals.signal import Better, Unit
from draftboard.signals.states import state
from draftboard.signals.verdicts import verdict
from draftboard.status import Status

ROOT = Path(__file__).parent.parent.parent
# What matters of these is their labels, or a code in somebody else's list.
NEEDS_SOMEBODY = {Status.DOWN, Status.BAD, Status.DUE, Status.WARN}
WITHOUT_WORDS = {"firing_alerts", "drafting", "runs", "kv_cache_capacity", "rank"}
PUBLIC = {
    # Names that users write into their own queries: they change only with a line in CHANGELOG.
    *(
        f"{level}:vllm_spec_decode_{name}:rate5m"
        for level in ("engine", "model")
        for name in ("drafts", "draft_tokens", "accepted_tokens", "accepted_tokens_per_pos")
    ),
    "engine:vllm_spec_decode_acceptance:ratio_rate5m",
    "model:vllm_spec_decode_acceptance:ratio_rate5m",
    "engine:vllm_spec_decode_acceptance_length:mean_rate5m",
    "model:vllm_spec_decode_acceptance_length:mean_rate5m",
    "model:vllm_spec_decode_draft_length:mean_rate5m",
    "engine:vllm_spec_decode_survival:ratio_rate5m",
    "model:vllm_spec_decode_survival:ratio_rate5m",
    "model:vllm_spec_decode_conditional_acceptance:ratio_rate5m",
    "model:vllm_spec_decode_accepted_length:share_rate5m",
    "model:vllm_spec_decode_coverage:ratio_rate5m",
    "model:vllm_tokens_per_step:mean_rate5m",
    "model:vllm_spec_decode_tokens_per_step_at:mean_rate5m",
    *(
        f"model:vllm_{histogram}:mean_rate5m"
        for histogram in (
            "time_to_first_token_seconds",
            "inter_token_latency_seconds",
            "request_time_per_output_token_seconds",
            "e2e_request_latency_seconds",
        )
    ),
    *(f"model:vllm_request_{part}_time_seconds:mean_rate5m" for part in ("queue", "prefill", "decode")),
    "model:vllm_time_to_first_token_seconds_bucket:rate5m",
}


def records(settings: Settings) -> list[str]:
    return [record for signal in ALL for level in signal.levels if (record := signal.record_name(level, settings))]


def test_the_public_record_names_are_there(settings: Settings) -> None:
    assert set(records(settings)) >= PUBLIC


def test_no_two_signals_have_the_same_name_title_question_description_or_record() -> None:
    for aspect in ("name", "title", "question", "description"):
        said = [value for signal in ALL if (value := getattr(signal, aspect)) is not None]
        assert [value for value in said if said.count(value) > 1] == []
    records = [(level, signal.record) for signal in ALL if signal.record for level in signal.levels]
    assert [record for record in records if records.count(record) > 1] == []


def test_no_two_signals_have_the_same_expression(settings: Settings) -> None:
    # A verdict is the expected speedup read as words.
    expressions = [definition(signal, Scope(settings, signal.levels[-1])) for signal in ALL if signal.name != "verdict"]
    assert len(expressions) == len(set(expressions))


def test_every_signal_is_a_question_answered_by_a_sentence_on_what_it_says_and_one_on_what_to_do() -> None:
    question, sentence = re.compile(r"[A-Z].*\?"), re.compile(r"(?!.*[.?!] [A-Z]).*\.")
    assert [one.name for one in ALL if not question.fullmatch(one.question)] == []
    assert [one.name for one in ALL if not sentence.fullmatch(one.description)] == []
    assert [one.name for one in ALL if not sentence.fullmatch(one.action) or not one.action[0].isupper()] == []
    assert [one.name for one in ALL if one.note and not one.note.endswith(".")] == []
    assert [one.name for one in ALL if not one.empty] == []


def test_every_title_names_what_is_shown() -> None:
    # A question, a clause or a heading with a colon is no name.
    clause = re.compile(r"[?]|[.]$|^(each|what|how|which|is|are|does|do|has)\b", re.IGNORECASE)
    assert [one.title for one in ALL if clause.search(one.title)] == []


@pytest.fixture(scope="module")
def raw(settings: Settings) -> dict[tuple[Signal, Level], str]:
    """The PromQL of each signal at each of its levels, which reads no record. Texts of megabytes, as that of a model's
    cause, repeat those of signals that are here."""
    texts = (
        ((signal, level), promql_of(signal, Scope(settings, level, Edition.RAW)))
        for signal in ALL
        for level in signal.levels
    )
    return {of: promql for of, promql in texts if len(promql) < 1_000_000}


def test_the_metrics_of_a_signal_are_the_series_that_its_promql_reads(
    settings: Settings, raw: dict[tuple[Signal, Level], str]
) -> None:
    names = {part.name: metric.name for metric in CATALOGUE for part in metric.parts}
    word = re.compile(r"(?<![\w:])([a-zA-Z_][\w:]*+)([{\[]?)")
    for (signal, level), promql in raw.items():
        found = {
            names.get(one, f"{one}, which is not in the catalogue")
            for one, selected in word.findall(promql)
            # Any name with a selector or a window; without one, those that are known.
            if selected or one in names
        }
        assert {*metrics_of(signal, Scope(settings, level, Edition.RAW))} == found, signal.name


def test_every_setting_that_a_signal_reads_exists(settings: Settings) -> None:
    missing = []
    for signal in ALL:
        try:
            signal.bands_in(settings)
            definition(signal, Scope(settings, signal.levels[-1]))
        except AttributeError as error:
            missing.append(f"{signal.name}: {error}")
    assert missing == [], "define it in generator/draftboard/settings/"


def test_every_code_has_words_for_its_values(settings: Settings) -> None:
    wordless = {
        one.name
        for one in ALL
        if one.unit is Unit.CODE and not one.codes and not all(band.says for band in one.bands_in(settings))
    }
    assert wordless == WITHOUT_WORDS
    values = {one.name: [code.value for code in one.codes] for one in ALL}
    assert [name for name, codes in values.items() if len(codes) != len(set(codes))] == []


def test_every_value_falls_in_exactly_one_step(settings: Settings) -> None:
    def wrong(signal: Signal) -> bool:
        bands = signal.bands_in(settings)
        first, *bounds = [band.at for band in bands]
        numbers = [value(bound, settings) for bound in bounds if bound is not None]
        if first is not None or bounds != sorted(numbers):
            return True
        return any(
            signal.step_of(number, settings)
            != [band for band in bands if band.at is None or value(band.at, settings) <= number][-1]
            for number in (-1e9, -3.0, 0.0, 0.1, 0.3, 0.4, 0.6, 0.7, 0.98, 1.0, 1.1, 1e9)
        )

    assert [one.name for one in ALL if wrong(one)] == []


def test_what_is_good_at_one_end_of_its_bands_says_which_so_that_the_worst_are_drawn_first(settings: Settings) -> None:
    for signal in (one for one in ALL if not one.codes):
        good = [band.status is Status.GOOD for band in signal.bands_in(settings)]
        if good and good[0] != good[-1]:
            assert signal.better is (Better.HIGHER if good[-1] else Better.LOWER), signal.name


def test_the_bands_of_acceptance_meet_at_their_bounds(settings: Settings) -> None:
    acceptance = next(signal for signal in ALL if signal.name == "acceptance")
    said = {value: acceptance.step_of(value, settings).says for value in (0.39, 0.4, 0.59, 0.6, 0.69, 0.7, 0.97, 0.98)}
    assert list(said.values()) == [
        "poor", "fair", "fair", "healthy", "healthy", "optimal", "optimal", "suspiciously high",
    ]  # fmt: skip


def test_every_state_and_every_verdict_is_part_of_exactly_one_health() -> None:
    settings = Settings.model_validate({"draft_cost": {"calibrated": ["eagle3"]}})
    text = definition(health, Scope(settings))
    for signal in (state, verdict):
        named = re.findall(rf"{signal.record_name(Level.MODEL, settings)} == (\d+)", text)
        # A model has a state whenever it is a target, so that all states together leave no model without health.
        assert sorted(map(int, named)) == [code.value for code in signal.codes]
    assert [code.value for code in health.codes] == list(range(len(health.codes)))
    bad = [code.says for code in health.codes if code.status in NEEDS_SOMEBODY]
    assert [code.says for code in health.codes][: len(bad)] == bad == [
        "gone", "down", "servers down", "stuck", "requests fail", "users wait", "critical alert", "costs more",
        "costs more", "lost its drafter", "warning", "behind the others", "not drafting", "about even", "unclear",
        "no vLLM metrics",
    ]  # fmt: skip


def test_statuses_and_colours_correspond() -> None:
    assert set(COLOURS) == set(Status)
    assert len(set(COLOURS.values())) == len(COLOURS)


def test_the_raw_edition_reads_no_record_and_the_rules_read_no_variable(
    settings: Settings, raw: dict[tuple[Signal, Level], str]
) -> None:
    for (signal, level), promql in raw.items():
        assert not re.search(r"\b(engine|model|target|monitor):", promql), signal.name
        # label_replace has a $1 of its own.
        assert not re.search(r"\$(?!1\b|\{1\})", definition(signal, Scope(settings, level))), signal.name


def test_every_metric_of_the_catalogue_is_read_and_each_once_described(settings: Settings) -> None:
    scopes = {level: Scope(settings, level, Edition.RAW) for signal in ALL for level in signal.levels}
    read = {name for signal in ALL for name in metrics_of(signal, scopes[signal.levels[-1]])}
    unread = sorted({metric.name for metric in CATALOGUE} - read)
    assert unread == [], f"no signal reads {unread}: define one in generator/draftboard/signals/"
    assert read <= {metric.name for metric in CATALOGUE}
    assert [metric.name for metric in CATALOGUE if not metric.meaning.endswith(".")] == []
    assert len(CATALOGUE) == len({metric.name for metric in CATALOGUE})


def test_a_metric_s_selector_carries_only_labels_that_its_series_have(settings: Settings) -> None:
    scope = Scope(settings, Level.ENGINE, Edition.RAW).where(Matcher.of("position", "0"))
    assert "model_name" not in scope.raw(around.UP)
    assert around.UP.owner is Owner.TARGET
    assert "position" not in scope.raw(speculation.DRAFTS)
    assert 'position="0"' in scope.raw(speculation.ACCEPTED_TOKENS_PER_POS)


def test_no_lookup_methods_leave_no_series_out() -> None:
    every = Scope(Settings.model_validate({"methods": {"lookup": []}}))
    assert promql_of(with_a_drafter(first_position), every).endswith('{spec_method!=""}')
    assert promql_of(with_a_drafter(first_position), Scope(Settings())).endswith(
        'spec_method!~"ngram|ngram_gpu|suffix"}'
    )
