"""Replaying: the holds of alerts, the order of passes, and files that hold no recording."""

import gzip
import lzma
from collections.abc import Callable
from pathlib import Path

import pytest

from draftboard.durations import Duration
from draftboard.errors import DraftboardError
from draftboard.lab import openmetrics
from draftboard.lab.replay.evaluate import replaying, unpack
from draftboard.lab.replay.holds import stretches
from draftboard.lab.replay.order import in_order
from draftboard.rules import RELEASES, AlertingRule, Group, RecordingRule, recording_groups
from draftboard.settings import Settings
from support import rulefiles

STEP = 5.0


def fired(held: str, pending: str = "0s", keep: str = "0s") -> list[tuple[float, float]]:
    """Stretches of firing, in evaluations, of an expression that held where there is an x."""
    evaluations = [index * STEP for index in range(len(held))]
    holding = [at for at, mark in zip(evaluations, held, strict=True) if mark == "x"]
    found = stretches(holding, evaluations, Duration.parse(pending), Duration.parse(keep))
    return [(since / STEP, until / STEP) for since, until in found]


def test_without_a_pending_period_an_alert_fires_as_long_as_its_expression_holds() -> None:
    assert fired("..xx.x") == [(2, 3), (5, 5)]


def test_an_alert_fires_once_its_expression_has_held_for_so_long() -> None:
    assert fired("xxx.", pending="10s") == [(2, 2)]


def test_just_under_the_hold_does_not_fire() -> None:
    assert fired("xx.", pending="10s") == []


def test_a_gap_starts_the_hold_anew() -> None:
    assert fired("xx.xxx", pending="10s") == [(5, 5)]


def test_a_short_recovery_is_bridged() -> None:
    assert fired("xxx.xx...", pending="10s", keep="10s") == [(2, 7)]


def test_a_recovery_as_long_as_the_bridge_resolves() -> None:
    assert fired("xx..xx", pending="5s", keep="10s") == [(1, 5)]
    assert fired("xx...xx", pending="5s", keep="10s") == [(1, 3), (6, 6)]


def test_an_alert_that_fires_at_the_end_fires_to_the_end() -> None:
    assert fired("..xxx") == [(2, 4)]


def test_a_rule_reads_only_what_steps_before_it_made_or_its_own_step(files: dict[str, str], settings: Settings) -> None:
    made: set[str] = set()
    for step in in_order(recording_groups(settings)):
        own = {rule.record for rule in step.rules if isinstance(rule, RecordingRule)}
        read = set().union(*(rulefiles.records_in(rule.expr) for rule in step.rules))
        assert read <= made | (own if step.reads_itself else set())
        made |= own
    recorded = {rule["record"] for rule in rulefiles.rules(files) if "record" in rule}
    assert made == recorded - {RELEASES["alerting"]}


def rule(record: str, expr: str) -> RecordingRule:
    return RecordingRule(record=record, expr=expr)


def alert(name: str, expr: str) -> AlertingRule:
    at_once = Duration(0)
    return AlertingRule(
        alert=name, expr=expr, pending_period=at_once, keep_firing_for=at_once, labels={}, annotations={}
    )


def order(*rules: RecordingRule | AlertingRule) -> list[tuple[list[str], bool]]:
    steps = in_order([Group(name="all", interval=Duration(60), query_offset=Duration(0), rules=rules)])
    names = ([one.record if isinstance(one, RecordingRule) else one.alert for one in step.rules] for step in steps)
    return list(zip(names, [step.reads_itself for step in steps], strict=True))


def test_rules_that_read_each_others_past_are_evaluated_together() -> None:
    pair = rule("m:state", "last_over_time(m:since[1h]) + m:level"), rule("m:since", "time() + 0 * m:state")
    found = order(rule("m:last", "m:since"), *pair, rule("m:level", "up"))
    assert found == [(["m:level"], False), (["m:state", "m:since"], True), (["m:last"], False)]


def test_a_rule_that_reads_alerts_follows_all_of_them_and_an_alert_that_names_itself_reads_only_itself() -> None:
    held = alert("Held", 'm:level > 1 or (m:level > 0 and ALERTS{alertname="Held",alertstate="firing"})')
    found = order(
        rule("m:health", 'ALERTS{alertname!="Held",alertstate="firing"}'),
        alert("Down", "up == 0"),
        held,
        rule("m:level", "up"),
    )
    assert found == [(["Down"], False), (["m:level"], False), (["Held"], True), (["m:health"], False)]


@pytest.mark.parametrize(("suffix", "packed"), [("", bytes), (".gz", gzip.compress), (".xz", lzma.compress)])
def test_a_recording_is_unpacked_and_its_times_are_known(
    tmp_path: Path, suffix: str, packed: Callable[[bytes], bytes]
) -> None:
    text = (
        b'# TYPE vllm:generation_tokens counter\nvllm:generation_tokens_total{a="b c}"} 1 1000.5\n'
        b'vllm:generation_tokens_total 2 2000 # {id="}"} 1 9\nup 3 1500\n# EOF\n'
    )
    source = tmp_path / f"run.om{suffix}"
    source.write_bytes(packed(text))
    assert unpack(source, tmp_path / "unpacked.om") == (1000.5, 2000.0)
    assert (tmp_path / "unpacked.om").read_bytes() == text


def test_of_a_dump_only_what_the_rules_read_is_loaded_and_no_stale_marker(tmp_path: Path) -> None:
    kept = 'up{a="b"} 1 20.000\n', 'up{a="b"} +Inf 40.000\n', 'vllm:num_requests_running{a="NaN"} 1 30.000\n', "# EOF\n"
    others = (
        'up{a="b"} NaN 30.000\n',
        "up NaN 10.000\n",
        'model:vllm_tokens_per_step:mean_rate5m{job="vllm"} 3 99.000\n',
        'ALERTS{alertname="VLLMErrors",alertstate="firing"} 1 99.000\n',
        'otel.metric{a="b"} 1 99.000\n',
        "go_goroutines 1 99.000\n",
    )
    source = tmp_path / "dump.om"
    source.write_text(kept[0] + "".join(others) + "".join(kept[1:]))
    assert unpack(source, tmp_path / "unpacked.om") == (20, 40)
    assert (tmp_path / "unpacked.om").read_text() == "".join(kept)


@pytest.mark.parametrize(
    ("content", "told"),
    [
        (b"up 1\n", "timestamp on every sample, in order: line 1"),
        (b"up 1 20\nup 1 10\n", "line 2: the samples of a series must follow each other in time"),
        (b'up{a="b"} 1 20\nup{a="b"} 1 20\n', "line 2: the samples of a series must follow each other in time"),
        (b"# EOF\n", "no sample"),
        (b"", "no sample"),
        (b'up{a="b"} 1 soon\n', "could not convert"),
        (b"\xff\xfe x 1 2\n", "codec"),
        (b"<html><body>401</body></html>\n", "no sample that the rules read"),
        (b"x 1 20\n", "no sample that the rules read"),
        (b"up NaN 20\n", "no sample that the rules read"),
        (b"up 1 20" * 1_000_000, "line 1"),
    ],
)
def test_a_file_without_a_recording_is_reported_in_one_line(tmp_path: Path, content: bytes, told: str) -> None:
    source = tmp_path / "run.om"
    source.write_bytes(content)
    with pytest.raises(DraftboardError, match=told) as raised:
        unpack(source, tmp_path / "unpacked.om")
    assert str(source) in str(raised.value)
    assert "\n" not in str(raised.value)


@pytest.mark.parametrize(
    ("suffix", "content"),
    [
        (".gz", b"no gzip at all"),
        (".gz", gzip.compress(b"# HELP up 1\n" * 1000)[:40]),
        (".xz", b"no xz at all"),
        (".xz", lzma.compress(b"# HELP up 1\n" * 1000)[:40]),
    ],
    ids=["text", "cut off", "xz: text", "xz: cut off"],
)
def test_a_broken_archive_is_reported_in_one_line(tmp_path: Path, suffix: str, content: bytes) -> None:
    source = tmp_path / f"run.om{suffix}"
    source.write_bytes(content)
    with pytest.raises(DraftboardError, match="cannot read the recording"):
        unpack(source, tmp_path / "unpacked.om")


def test_a_replay_needs_an_evaluation_no_shorter_than_a_scrape(tmp_path: Path) -> None:
    settings = Settings.model_validate({"rules": {"scrape_interval": "15s", "evaluation_interval": "5s"}})
    with (
        pytest.raises(DraftboardError, match=r"evaluation_interval = 5s: a replay needs it no shorter"),
        replaying(tmp_path / "run.om", settings, prometheus=Path("none"), promtool=Path("none")),
    ):
        pass


def test_a_recording_that_ends_in_the_future_is_refused(tmp_path: Path) -> None:
    source = tmp_path / "run.om"
    source.write_text("up 1 4102444740\n# EOF\n")
    with (
        pytest.raises(DraftboardError, match="the recording ends in the future, at 2099-12-31 23:59 UTC"),
        replaying(source, Settings(), prometheus=Path("none"), promtool=Path("none"), keep_in=tmp_path),
    ):
        pass


def test_times_in_milliseconds_are_refused(tmp_path: Path) -> None:
    source = tmp_path / "run.om"
    source.write_text("up 1 1795248852916\n# EOF\n")
    with pytest.raises(DraftboardError, match="line 1: timestamps must be seconds since 1970, not 1795248852916"):
        unpack(source, tmp_path / "unpacked.om")


def test_an_archive_that_unpacks_to_too_much_is_refused(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(openmetrics, "MOST_BYTES", 1000)
    source = tmp_path / "run.om.gz"
    source.write_bytes(gzip.compress(b"".join(b"up 1 %d\n" % second for second in range(1000))))
    with pytest.raises(DraftboardError, match="cannot read the recording: larger than 1e-06 GB unpacked"):
        unpack(source, tmp_path / "unpacked.om")
