"""Scenario files: the built-in ones, and mistakes in others, each reported in one line."""

from pathlib import Path

import pytest

from draftboard.errors import DraftboardError
from draftboard.lab.simulator import find, names
from draftboard.lab.simulator.fleet import targets
from draftboard.lab.simulator.scenario import Load, Requests
from draftboard.rules import AlertingRule, alerting_groups
from draftboard.settings import Settings
from support.simulated import scenario

NAMED = {
    *("healthy-eagle3", "ngram-summarisation", "mixed-temperature", "drafter-broken", "k-too-long", "k-too-short"),
    *("repetition-loop", "kv-pressure", "overload", "engine-outlier", "restart", "spec-off", "idle"),
    *("baseline-vs-spec", "disagg-phantom-drafts", "fleet-100"),
    *("bursty-text", "abandoned-requests", "adaptive-verification"),
}
HEAD = 'story = "Something that a server might live through."\nduration = "1h"\n'
SERVER = '[[server]]\nmodel = "m"\n'
DRAFTS = f'{HEAD}{SERVER}method = "eagle3"\nk = 3\n'
LOOKUP = f'{HEAD}{SERVER}method = "ngram"\nk = 2\n'


def test_every_story_is_there() -> None:
    assert set(names()) == NAMED


@pytest.mark.parametrize("name", sorted(NAMED))
def test_a_story_expects_alerts_within_its_duration(name: str, settings: Settings) -> None:
    told = find(name)
    rules = {
        rule.alert for group in alerting_groups(settings) for rule in group.rules if isinstance(rule, AlertingRule)
    }
    for expected in told.expect:
        assert expected.alert in rules
        assert expected.since.seconds + expected.within.seconds <= told.duration.seconds
    for event in told.event:
        assert event.at < told.duration


@pytest.mark.parametrize(
    ("text", "says"),
    [
        ("", "story is missing and has no default"),
        ("story = [", "not valid TOML"),
        (HEAD, "server is missing"),
        (f"{HEAD}server = 3", "server = 3 is not allowed: must be a list in brackets"),
        (f"{HEAD}server = [3]", "server.0 = 3 is not allowed: must be a table of scenario"),
        (f"{HEAD}{SERVER}method = 'eagle3'", "method = 'eagle3' needs k"),
        (f"{HEAD}{SERVER}k = 3", "k = 3 needs a method"),
        (f"{HEAD}{SERVER}method = 'eagle3'\nk = 0", "k = 0 is not allowed: input should be greater than or equal to 1"),
        (f"{HEAD}{SERVER}method = 'eagle3'\nk = -2", "server.0.k = -2 is not allowed"),
        (f"{HEAD}{SERVER}method = 'eagle3'\nk = 3.0", "server.0.k = 3.0 is not allowed"),
        (f"{HEAD}{SERVER}method = 'eagle3 {{}}'\nk = 3", "must be a method name"),
        (f"{DRAFTS}requests = [{{ rates = [0.5, 0.6, 0.1] }}]", "survival rises with position"),
        (f"{DRAFTS}requests = [{{ rates = [0.5, 0.4] }}]", "rates has 2 positions, k = 3 needs as many"),
        (f"{DRAFTS}requests = [{{ rates = [1.5, 0.4, 0.3] }}]", "rates.0 = 1.5 is not allowed"),
        (f"{DRAFTS}requests = [{{ alpha = nan }}]", "alpha = nan is not allowed"),
        (f"{DRAFTS}requests = [{{ alpha = 0.5, workload = 'chat' }}]", "needs one of alpha, rates, workload and"),
        (f"{DRAFTS}requests = [{{ }}]", "needs one of alpha, rates, workload and"),
        (f"{DRAFTS}requests = [{{ bursts = {{ easy = 0.9 }} }}]", "server.0.requests.0.bursts.hard is missing"),
        (f"{DRAFTS}requests = [{{ bursts = {{ easi = 1, hard = 0.1, easy = 0.9 }} }}]", "bursts.easi'; known here: "),
        (f"{DRAFTS}requests = [{{ bursts = {{ easy = 0.9, hard = 0.1, stretch_tokens = 0.5 }} }}]", "tokens = 0.5"),
        (f"{DRAFTS}requests = [{{ alpha = 0.5, abandoned = 2.0 }}]", "abandoned = 2.0 is not allowed"),
        (f"{DRAFTS}labels = {{ job = 'x' }}", "server.0.labels: names 'job', which simulated servers have"),
        (f"{DRAFTS}labels = {{ k = 'x' }}", "is a label name that records, vLLM or dashboards use"),
        (f"{DRAFTS}labels = {{ a = 1 }}", "server.0.labels.a = 1 is not allowed"),
        (f"{DRAFTS}verify_budget = 0", "verify_budget = 0 is not allowed"),
        (f"{HEAD}{SERVER}verify_budget = 9", "verify_budget needs a method"),
        (f"{DRAFTS}verify_inflation = 0.5", "verify_inflation = 0.5 is not allowed"),
        (f"{DRAFTS}requests = []", "server.0.requests = [] is not allowed"),
        (f"{DRAFTS}requests = [{{ alpha = 0.5, share = 0 }}]", "share = 0 is not allowed"),
        (f"{DRAFTS}requests = [{{ alpha = 0.5, max_tokens = 9000 }}]", "max_model_len = 8192 is too short"),
        (f"{DRAFTS}requests = [{{ alpha = 0.5, tokens = 9 }}]", "unknown key 'server.0.requests.0.tokens'; known"),
        (f"{DRAFTS}coverage = 0.5", "coverage and draft_lengths belong to lookups"),
        (f"{LOOKUP}draft_lengths = [0.5, 0.4]", "draft_lengths must name a share for each length from 1 to k"),
        (f"{LOOKUP}draft_lengths = [0.5, 0.3, 0.2]", "draft_lengths must name a share for each length from 1 to k"),
        (f"{DRAFTS}kv_blocks = 10", "kv_blocks x block_size must hold one sequence"),
        (f"{DRAFTS}load = {{ rate = 1, clients = 2 }}", "has both rate and clients"),
        (f"{DRAFTS}load = {{ rat = 1 }}", "unknown key 'server.0.load.rat'; known here: rate"),
        (f"{DRAFTS}load = {{ rate = inf }}", "rate = inf is not allowed"),
        (f"{DRAFTS}[[event]]\nat = '1m'\nload = {{ rat = 1 }}", "unknown key 'event.0.load.rat'; known here: rate"),
        (f"{DRAFTS}[[event]]\nat = '1m'\nmodel = 'x'", "event.0 happens to no server"),
        (f"{DRAFTS}[[event]]\nat = '1m'\nvariant = 'x'", "event.0 happens to no server"),
        (f"{DRAFTS}[[event]]\nat = '1m'\ninstance = 1", "event.0 happens to no server"),
        (f"{DRAFTS}[[event]]\nat = '1m'\nrequests = [{{ rates = [0.5] }}]", "rates has 1 positions, k = 3"),
        (f"{DRAFTS}[[event]]\nat = '1m'\nrequests = [{{ alpha = 0.5, prompt_tokens = 9000 }}]", "is too short"),
        (f"{DRAFTS}step_seconds = 1e-9", "step_seconds = 1e-09 is not allowed"),
        (f"{DRAFTS}[[event]]\nat = '1m'\nspeculative = false", "speculative = false needs restart"),
        (f"{DRAFTS}[[event]]\nat = 60", "must be a duration in quotes"),
        (f"{DRAFTS}[[expect]]\nalert = 'A'", "expect.0.within is missing"),
        (f"{HEAD}{SERVER}model = '\\\"}}'", "not valid TOML"),
        (HEAD + '[[server]]\nmodel = "a\\"} 1\\n"', "server.0.model = "),
    ],
)  # fmt: skip
def test_a_mistake_is_reported_in_one_line(tmp_path: Path, text: str, says: str) -> None:
    path = tmp_path / "bad.toml"
    path.write_text(text)
    with pytest.raises(DraftboardError) as raised:
        find(str(path))
    told = str(raised.value)
    assert told.startswith(f"{path}: ")
    assert says in told
    assert "\n" not in told


@pytest.mark.parametrize("text", [b"\xff\xfe", b"a=" + b"[" * 100_000, b"#" * 1_000_001])
def test_hostile_files_are_reported_in_one_line(tmp_path: Path, text: bytes) -> None:
    path = tmp_path / "bad.toml"
    path.write_bytes(text)
    with pytest.raises(DraftboardError, match=str(path)) as raised:
        find(str(path))
    assert "\n" not in str(raised.value)


def test_an_unknown_name_is_answered_with_those_that_are_known() -> None:
    with pytest.raises(
        DraftboardError, match=r"scenario 'x' is unknown: name a TOML file, or one of abandoned-requests, "
    ):
        find("x")


def test_a_missing_file_is_reported() -> None:
    with pytest.raises(DraftboardError, match="cannot read the scenario"):
        find("nowhere.toml")


def test_a_scenario_scales_to_as_many_engines_and_models_as_asked() -> None:
    told = find("fleet-100")
    assert sum(target.server.engines for target in targets(told, 1)) == 100
    pairs = find("fleet-100").scaled(engines=5)
    assert [server.instances for server in pairs.server] == [5, 5, 3, 3, 5]
    models = {target.server.model for target in targets(find("restart").scaled(models=3), 1)}
    assert models == {"llama-3-70b", "llama-3-70b-2", "llama-3-70b-3"}


def test_a_scenario_adds_target_labels_to_those_of_every_server() -> None:
    (target,) = targets(scenario(variant="a", labels={"rack": "r1"}), 1)
    own = {"job": "vllm", "instance": "vllm-0:8000", "spec_method": "none", "variant": "a"}
    assert target.labels == own | {"rack": "r1"}


def test_events_of_a_model_happen_to_its_copies_too(tmp_path: Path) -> None:
    path = tmp_path / "two.toml"
    path.write_text(f'{DRAFTS}[[server]]\nmodel = "other"\n[[event]]\nat = "1m"\nmodel = "m"\nrestart = "1m"\n')
    told = find(str(path)).scaled(models=2)
    assert {target.server.model: len(target.events) for target in targets(told, 1)} == {
        "m": 1,
        "m-2": 1,
        "other": 0,
        "other-2": 0,
    }


def test_acceptance_depends_on_the_text_and_the_method() -> None:
    profile = Requests(workload="summarisation")
    assert profile.survival(2, lookup=True) == pytest.approx((0.75, 0.5625))
    assert profile.survival(2, lookup=False) == pytest.approx((0.78, 0.6084))


def test_rates_are_the_survival_of_a_cool_request() -> None:
    assert Requests(rates=(0.9, 0.85, 0.78, 0.7)).survival(3, lookup=False) == pytest.approx((0.9, 0.85, 0.78))


def test_rates_that_reach_zero_stay_there() -> None:
    assert Requests(rates=(0.9, 0.0, 0.0)).survival(3, lookup=False) == (0.9, 0.0, 0.0)


def test_a_day_has_a_high_and_a_low_and_bursts_come_on_top() -> None:
    load = Load.model_validate({"rate": 2.0, "daily_swing": 0.5})
    assert [load.rate_at(hour * 3600) for hour in (0, 6, 18)] == pytest.approx([2.0, 3.0, 1.0])
    bursts = Load.model_validate({"rate": 2.0, "burst_every": "10m", "burst_for": "1m", "burst_factor": 4.0})
    assert [bursts.rate_at(at) for at in (0, 59, 60, 599, 600)] == [8.0, 8.0, 2.0, 2.0, 8.0]
