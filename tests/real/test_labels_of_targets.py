"""Six jobs whose labels are those that people have: nothing is added up unasked, and each printed fix works."""

import re
from collections.abc import Iterator, Mapping
from contextlib import ExitStack
from dataclasses import replace
from pathlib import Path

import pytest
import yaml

from conftest import program
from draftboard.calibrate import of_history
from draftboard.compare import recorded
from draftboard.doctor import examine_prometheus
from draftboard.doctor.finding import Examination, Finding
from draftboard.durations import Duration
from draftboard.errors import DraftboardError
from draftboard.expr.to_promql import promql_of
from draftboard.history.finding import of_past
from draftboard.history.runs import of_setups
from draftboard.lab import openmetrics
from draftboard.lab.replay import Replay, replaying
from draftboard.prometheus import Client, Server
from draftboard.reading import Page, Recorded, load
from draftboard.report import Report, report
from draftboard.report.outcomes import read as of_outcomes
from draftboard.report.summary import of_range
from draftboard.settings import Settings
from draftboard.settings import load as load_settings
from draftboard.signals import Level, Scope
from draftboard.signals.acceptance import acceptance
from support.known import known
from support.loopback import answering, page
from support.replays import behind
from support.waiting import sampled

pytestmark = [pytest.mark.prometheus, pytest.mark.xdist_group("labels_of_targets")]
PAGE = load(Path(__file__).parent.parent / "data/v0.32.0-ngram-load.prom")
START, STEP, COUNT = 1_760_000_000, 30, 24
END = START + STEP * (COUNT - 1)
MODEL = "m"
SERVERS: dict[str, dict[str, str]] = {
    "a": {"job": "vllm", "env": "prod", "spec_method": "eagle3"},
    "b": {"job": "vllm", "env": "staging", "spec_method": "eagle3"},
    "c": {"job": "teams", "team": "search", "cost_centre": "12", "spec_method": "eagle3"},
    "d": {"job": "teams", "team": "ads", "cost_centre": "34", "spec_method": "eagle3"},
    "e": {"job": "pools", "rack": "r1", "spec_method": "eagle3"},
    "f": {"job": "pools", "rack": "r1", "spec_method": "eagle3"},
    "g": {"job": "pools", "rack": "r2", "spec_method": "eagle3"},
    "h": {"job": "spelled", "spec_method": "Eagle-3"},
    "i": {"job": "renamed", "spec_method": "eagle3"},
    "j": {"job": "dropped", "spec_method": "eagle3"},
    "k": {"job": "unlabelled"},
    "l": {"job": "unlabelled"},  # without speculation
    "m": {"job": "respelled", "spec_method": "EAGLE3"},
    "n": {"job": "respelled", "spec_method": "eagle3"},
    "o": {"job": "labelled-late"},
    "p": {"job": "labelled-late"},  # without speculation
    "q": {"job": "labelled-late", "spec_method": "eagle3"},
}
ACCEPTED: Mapping[str, tuple[int, int]] = {"a": (526, 1_000), "b": (748, 34_000), "m": (300, 1_000)}
"""Accepted and draft tokens in each scrape interval: 52.6 % and 2.2 %, together 3.64 %; one of 30 %, others 60 %."""

LIVES = {"o": range(12), "p": range(12), "q": range(12, COUNT)}
"""Scrapes of servers that are not there in all: the first two have no sample for longer than Prometheus looks back."""


def grown(page: Page, server: str, step: int) -> Iterator[tuple[str, dict[str, str], float]]:
    """Samples of a server at a scrape."""
    accepted, drafted = ACCEPTED.get(server, (600, 1_000))
    counts = {"num_drafts": drafted / 4, "num_draft_tokens": drafted, "num_accepted_tokens": accepted}
    for (name, labels), value in page.values.items():
        own = dict(labels) | {"model_name": MODEL}
        if (job := SERVERS[server]["job"]) == "renamed":
            own["model"] = own.pop("model_name")
        if job == "dropped" and name.endswith("_bucket"):
            continue
        if server in {"l", "p"} and "spec_decode" in name:
            continue
        short = name.removeprefix("vllm:spec_decode_").removesuffix("_total")
        each = accepted / 4 if short.endswith("per_pos") else counts.get(short, value / COUNT)
        yield name, own, each * step if re.search("_(total|bucket|count|sum)$", name) else value


@pytest.fixture(scope="module")
def recording(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("six-jobs") / "six.om"
    with path.open("w", encoding="utf-8") as text:
        for server, labels in SERVERS.items():
            target = labels | {"instance": server}
            for step in LIVES.get(server, range(COUNT)):
                samples = [*grown(PAGE, server, step), ("up", {}, 1.0)]
                text.writelines(
                    f"{openmetrics.series(name, own | target)} {value!r} {START + step * STEP}\n"
                    for name, own, value in samples
                )
        text.write("# EOF\n")
    return path


def replayed(recording: Path, settings: Settings, stack: ExitStack) -> Replay:
    asked = (acceptance, *of_setups(settings).values(), *of_outcomes(settings).values())
    groups, _ = behind([promql_of(each, Scope(settings)) for each in asked], settings)
    prometheus, promtool = program("prometheus"), program("promtool")
    return stack.enter_context(replaying(recording, settings, rules=groups, prometheus=prometheus, promtool=promtool))


@pytest.fixture(scope="module")
def replay(recording: Path) -> Iterator[Replay]:
    with ExitStack() as stack:
        yield replayed(recording, Settings(), stack)


@pytest.fixture(scope="module")
def examination(replay: Replay) -> Examination:
    return examine_prometheus(replay.client, replay.settings, END)


def about(examination: Examination, where: str, words: str) -> Finding:
    (found,) = (one for one in examination.findings if where in one.where and words in one.what)
    return found


def shares(told: Report, job: str) -> dict[str, str]:
    """Acceptance of each entry of a job, by its further labels."""
    return {
        ",".join(
            text for name, text in sorted(model.labels.items()) if name != "job"
        ): f"{model.speculation.acceptance:.1%}"
        for model in told.models
        if model.labels["job"] == job and model.speculation and model.speculation.acceptance
    }


def test_servers_that_differ_by_a_target_label_are_found_with_their_own_numbers(examination: Examination) -> None:
    found = about(examination, f'"{MODEL}" (eagle3) of job vllm', "the target label env (prod, staging)")
    assert "3.6% of draft tokens accepted together" in found.what
    assert '52.6% and a length of 3.10 where it is "prod"' in found.what
    assert '2.2% and a length of 1.09 where it is "staging"' in found.what
    assert "team (ads, search)" in about(examination, "of job teams", "which no record keeps").what
    assert "cost_centre" not in str(examination.findings)  # each server has its own value of an unknown name
    assert "rack (r1, r2)" in about(examination, "of job pools", "which no record keeps").what


def test_a_report_never_adds_them_up(replay: Replay) -> None:
    told = report(Recorded(replay.client.url, at=END), replay.settings)
    assert shares(told, "vllm") == {"prod": "52.6%", "staging": "2.2%"}
    assert len(shares(told, "pools")) == 2
    assert any("(env, rack, team)" in note and "reported apart" in note for note in told.notes)


def test_a_server_without_speculation_and_without_a_label_is_not_added_to_those_with_it(replay: Replay) -> None:
    told = report(Recorded(replay.client.url, at=END), replay.settings)
    (model,) = (one for one in told.models if one.labels["job"] == "unlabelled")
    assert (model.speculation, model.verdict.says) == (None, None)
    assert model.verdict.withheld == "servers with and without speculation in one"
    assert model.verdict.reasons[0].startswith(
        'Of its servers these do not speculate: l. Label their targets spec_method="none"'
    )
    assert not [one for one in told.models if one is not model and "with and without" in str(one.verdict.withheld)]


def test_what_was_added_up_before_it_had_a_label_is_no_model_within_the_window(replay: Replay) -> None:
    told = report(Recorded(replay.client.url, at=END, span=Duration(600)), replay.settings)
    late = {model.method: model for model in told.models if model.labels["job"] == "labelled-late"}
    assert late[None].speculation is None
    assert late[None].verdict.withheld == "servers with and without speculation in one"
    assert late[None].verdict.reasons == (
        "Of its servers these did not speculate: p. They have left it within these 10m: repeat after as long",
    )
    assert known(late["eagle3"].speculation).acceptance == pytest.approx(0.6)


def test_rates_of_series_that_began_within_the_range_say_how_much_higher_the_load_was(replay: Replay) -> None:
    told = report(Recorded(replay.client.url, at=END, span=Duration(600)), replay.settings)
    of = {(model.labels["job"], model.method): model for model in told.models}
    late, other = of["labelled-late", "eagle3"], of["spelled", "eagle3"]
    times = known(other.traffic.generation_tokens) / known(late.traffic.generation_tokens)
    assert times == pytest.approx(1.8, rel=0.05)
    note = (
        "Its series began 338 s ago, and rates are means over 10m, as those of records: the load since then was 1.8 "
        "times as high"
    )
    assert [note in one.notes for one in (late, other)] == [True, False]


def test_a_comparison_never_adds_them_up(replay: Replay) -> None:
    source = Recorded(replay.client.url, at=END)
    with pytest.raises(DraftboardError, match=r"2 models for 'job=vllm'.*env=prod.*env=staging.*add a label"):
        recorded(source, ("job=vllm", "job=spelled"), replay.settings)
    with pytest.raises(DraftboardError, match=r"of job unlabelled|job=unlabelled.*do not speculate: l"):
        recorded(source, ("job=unlabelled", "job=spelled"), replay.settings)
    prod, staging = recorded(source, ("job=vllm,env=prod", "job=vllm,env=staging"), replay.settings)
    assert [f"{side.at('model.speculation.acceptance'):.1%}" for side in (prod, staging)] == ["52.6%", "2.2%"]


def source(replay: Replay) -> Recorded:
    return Recorded(replay.client.url, at=END, span=Duration(END - START))


def test_a_calibration_never_pools_them(replay: Replay) -> None:
    with pytest.raises(DraftboardError, match=r"rack has several values \('', 'r1', 'r2'\).*labels.together"):
        of_history(replace(source(replay), model=MODEL), replay.settings, at=END)


def test_neither_history_nor_summary_takes_their_sum_for_a_model(replay: Replay) -> None:
    says = "records add up servers that differ by the target label env"
    past = of_past(source(replay), replay.settings, at=END)
    (together,) = (model for model in past.models if model.labels["job"] == "vllm")
    assert (together.now, together.changes) == (None, ())
    assert together.notes[0].startswith(says)
    summary = of_range(source(replay), replay.settings, at=END)
    totals = {model.labels["job"]: model.totals for model in summary.models}
    assert totals["vllm"].unclear_hours == {says: totals["vllm"].unclear.hours}
    assert totals["vllm"].unclear.hours > 0
    assert totals["unlabelled"].unclear_hours.keys() == {"servers with and without speculation in one"}
    assert totals["vllm"].helped.hours == totals["vllm"].slower.hours == 0


def test_a_method_by_another_spelling_is_found_and_has_its_own_cost(replay: Replay, examination: Examination) -> None:
    found = about(examination, "of job spelled", 'spec_method="Eagle-3" is compared letter by letter')
    assert yaml.safe_load(found.paste)["relabel_configs"][0]["replacement"] == "eagle3"
    told = report(Recorded(replay.client.url, at=END), replay.settings)
    assert [model.method for model in told.models if model.labels["job"] == "spelled"] == ["eagle3"]


def test_two_spellings_of_a_method_are_reported_apart_and_end_no_report(replay: Replay) -> None:
    told = report(Recorded(replay.client.url, at=END), replay.settings)
    apart = {model.method: model for model in told.models if model.labels["job"] == "respelled"}
    shares = {method: known(model.speculation).acceptance for method, model in apart.items()}
    assert shares == {"EAGLE3": pytest.approx(0.3), "eagle3": pytest.approx(0.6)}
    jobs = {server["job"] for server in SERVERS.values()}
    assert {model.labels["job"] for model in told.models} >= jobs - {"renamed"}
    (note,) = (note for note in told.notes if "several ways" in note)
    assert note.startswith("The target label spec_method is, or was within 1h5m, written in several ways for m:")


def test_a_model_that_is_not_there_is_answered_with_those_that_are(replay: Replay) -> None:
    mistyped = replace(source(replay), model="mm")
    served = pytest.raises(DraftboardError, match=r"of mm in the last \S+; served: m$")
    with served:
        report(mistyped, replay.settings)
    for asked in (of_past, of_range):
        with served:
            asked(mistyped, replay.settings, at=END)


def test_a_label_that_a_method_given_by_hand_repeats_ends_no_report(replay: Replay) -> None:
    told = report(Recorded(replay.client.url, at=END, span=Duration(300)), replay.settings, method="eagle3")
    assert [model.method for model in told.models if model.labels["job"] == "unlabelled"] == ["eagle3"]


def test_a_renamed_label_and_dropped_buckets_are_named_as_that(examination: Examination) -> None:
    renamed = about(examination, "i of job renamed", "no label model_name")
    assert 'model_name = "model" in [labels]' in renamed.fix
    dropped = about(examination, "j of job dropped", "_bucket")
    assert "relabelling, a collector or a proxy drops them" in dropped.what
    assert not [one for one in examination.findings if "older than" in one.what]


def test_the_settings_that_the_doctor_prints_keep_servers_apart(
    examination: Examination, recording: Path, tmp_path: Path
) -> None:
    paste = about(examination, "of job vllm", "target label env").paste
    (line,) = (line[1:] for line in paste.splitlines() if line.startswith("+scope"))
    (tmp_path / "mine.toml").write_text(f"[labels]\n{line}\n")
    settings = load_settings(tmp_path / "mine.toml")
    with ExitStack() as stack:
        applied = replayed(recording, settings, stack)
        again = examine_prometheus(applied.client, settings, END)
        rows = applied.client.query(promql_of(acceptance, Scope(settings, Level.MODEL)), END)
        past = of_past(source(applied), settings, at=END)
        summary = of_range(source(applied), settings, at=END)
    assert not [one for one in again.findings if "label env" in one.what]
    recorded = {row.labels["env"]: row.samples[0][1] for row in rows if row.labels["job"] == "vllm"}
    assert recorded == {"prod": pytest.approx(0.526), "staging": pytest.approx(0.022)}
    apart = {model.labels.get("env"): model for model in past.models if model.labels["job"] == "vllm"}
    assert {env: model.notes for env, model in apart.items()} == {"prod": (), "staging": ()}
    assert not [model for model in summary.models if any("label env" in why for why in model.totals.unclear_hours)]


def test_the_relabelling_that_the_doctor_prints_keeps_servers_apart(examination: Examination, tmp_path: Path) -> None:
    paste = about(examination, "of job vllm", "target label env").paste
    lines = [line[1:] for line in paste.partition("prometheus.yml\n")[2].splitlines()]
    assert {line[0] for line in paste.splitlines() if line} <= {"+", "-", " ", "#"}
    (job,) = yaml.safe_load("\n".join(lines))["scrape_configs"]
    text = Path(__file__).parent.parent.joinpath("data/v0.32.0-ngram-load.prom").read_text()
    with ExitStack() as stack:
        served = page(text, Content_Type="text/plain; version=0.0.4")
        places = [stack.enter_context(answering(served)) for _ in range(2)]
        job["static_configs"] = [
            {"targets": [place], "labels": {"env": env, "spec_method": "eagle3"}}
            for place, env in zip(places, ("prod", "staging"), strict=True)
        ]
        config = {"scrape_configs": [job | {"scrape_interval": "1s", "scrape_timeout": "1s"}]}
        server = Server(program("prometheus"), tmp_path, Duration(60), yaml.safe_dump(config))
        client = stack.enter_context(Client(stack.enter_context(server.running())))
        now = sampled(client, "count(vllm:num_requests_running) == 2")
        jobs = {row.labels["job"] for row in client.query("vllm:num_requests_running", now)}
        again = examine_prometheus(client, Settings(), now)
    assert jobs == {"vllm-prod", "vllm-staging"}
    assert not [one for one in again.findings if "label env" in one.what]
