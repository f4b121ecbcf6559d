"""Every setting changes a generated file or the answer of a command; renamed labels leave no default behind."""

import json
import re
import tomllib
from collections.abc import Callable, Iterator, Mapping
from functools import partial
from http.server import BaseHTTPRequestHandler
from pathlib import Path
from typing import Any

import pytest
from pydantic import ValidationError

from conftest import OBJECTIVES
from draftboard.alerts import ALERTS
from draftboard.alerts.runbook import runbook
from draftboard.build import files as build_files
from draftboard.build import render
from draftboard.catalogue import latency
from draftboard.cli import main
from draftboard.doctor import examine_command
from draftboard.durations import Duration
from draftboard.output import as_json
from draftboard.settings import Settings, load
from draftboard.settings.fields import Share
from support.fake_vllm import FakeVLLM, accepting
from support.loopback import answering
from support.pages import page
from support.remembered import END, Memory, Variant
from support.runbooks import commands, queries
from support.runs import ran

ROOT = Path(__file__).parent.parent
ADDED = {"labels": {"team": "llm"}, "annotations": {"desk": "a"}}
ON = {
    "stack": {
        "scrape": {"labels": ["team"], "models": ["m"]},
        "external_labels": {"region": "eu"},
        "remote_write": [{"url": "https://a/push", "token": True, "rules_there": True, "query_url": "https://a/query"}],
        "slack": {"channel": "#llm"},
        "email": {"to": "to@example.com", "sender": "by@example.com", "smarthost": "smtp:25", "username": "me"},
        "notify": {"critical": ["slack", "pagerduty"], "warning": ["email"], "info": ["webhook"], "heartbeat": True},
    },
    "alerts": {
        name: {"enabled": True, "for": "1h1m", "keep_firing_for": "1h31m", "severity": "warning", **ADDED}
        for name in (one.name for one in ALERTS)
    },
    "all_alerts": {"labels": {"tier": "1"}, "annotations": {"chat": "#llm"}},
    "links": {"grafana": "https://grafana.example"},
    "draft_cost": {"calibrated": ["eagle3"]},
    "thresholds": {"unfinished_of_model": {"m": 0.9}},
    "cost": {"price_per_gpu_hour": 2.5, "gpus_of_model": {"m": 8}},
    "slo": tomllib.loads(OBJECTIVES.read_text())["slo"],
}
"""What the defaults leave out: a setting within has an effect only then."""
OTHER: dict[str, Any] = {
    "selector": 'stage="a"',
    "series.dialect": "ray",
    "labels.together": ["zone"],
    "rules.window": "6m",
    "rules.down_after": "4m",
    "rules.ruler": "thanos",
    "rules.tier": "standard",
    "slo.time_to_first_token.threshold_seconds": 2.5,
    "slo.time_per_output_token.threshold_seconds": 0.2,
    "slo.end_to_end.threshold_seconds": 30.0,
}
"""Values by hand where no value made from the default is valid."""
TOGETHER = {"stack.remote_write.0.rules_there": ("stack.remote_write.0", {"url": "https://a/push", "token": True})}
"""Settings that change with another one only: the table to replace, and its other value."""


def overlaid(defaults: dict[str, Any], document: dict[str, Any]) -> dict[str, Any]:
    inner = {
        key: overlaid(defaults[key], value) for key, value in document.items() if isinstance(defaults.get(key), dict)
    }
    return defaults | document | inner


def leaves(value: Any, at: str = "") -> Iterator[tuple[str, Any]]:
    """Every setting by its dotted name: each value, each list of values, each entry of a table."""
    inner = value.items() if isinstance(value, dict) else enumerate(value) if is_tables(value) else ()
    if not value or not inner:
        yield at, value
    for key, part in inner:
        yield from leaves(part, f"{at}.{key}" if at else str(key))


def is_tables(value: Any) -> bool:
    return isinstance(value, list) and bool(value) and isinstance(value[0], dict)


def put(document: Any, at: str, value: Any) -> Any:
    """The document with another value at a dotted name."""
    key, _, rest = at.partition(".")
    new = put(document[int(key) if isinstance(document, list) else key], rest, value) if rest else value
    if isinstance(document, list):
        return [new if index == int(key) else part for index, part in enumerate(document)]
    return {**document, key: new}


def candidates(value: Any) -> list[Any]:
    """Values near one, of which at least one should be valid."""
    found: list[Any] = []
    match value:
        case bool():
            found = [not value]
        case int():
            found = [value + 1, value - 1]
        case float():
            found = [value * 2, value / 2, value * 1.01]
        case list():
            found = [value[:-1], value + value]
        case str() if re.fullmatch(r"(\d+[dhms])+", value):
            found = [str(Duration(Duration.parse(value).seconds + more)) for more in (60, 1, -1)]
        case str():
            found = [f"{value}x", f"{value}1"]
    return found


def changed(model: type[Settings], document: dict[str, Any], leaf: str, value: Any) -> Settings:
    """The settings with another valid value of one leaf."""
    place, by_hand = TOGETHER.get(leaf, (leaf, OTHER.get(leaf)))
    tried = candidates(value) if by_hand is None else [by_hand]
    for one in tried:
        try:
            found = model.model_validate(put(document, place, one))
        except ValidationError as error:
            words = error.errors()[0].get("ctx", {}).get("expected", "")
            tried += [word for word in re.findall(r"'(\w+)'", words) if word not in (*tried, value)]
        else:
            if found.model_dump(mode="json", by_alias=True) != document:
                return found
    raise AssertionError(f"{leaf} = {value!r}: no other value was found. Switch it on in ON, or name a value in OTHER")


MANAGED = "alerts/grafana/"


def without_effect(model: type[Settings], *prefixes: str) -> list[str]:
    """Settings whose change leaves every generated file as it was; runbooks, lists and the mixin only print them."""
    document = overlaid(model().model_dump(mode="json", by_alias=True), ON)
    expected = render(model.model_validate(document))
    found, likely = [], ""
    for leaf, value in leaves(document):
        if leaf in ANSWERS or not leaf.startswith(prefixes or ""):
            continue
        made = render(changed(model, document, leaf, value))
        # Settings of one table mostly change one file; small files render fast, but not those made of others.
        read = [path for path in made if not path.endswith(".md") and not path.startswith("mixin")]
        if {*made} != {*expected}:
            continue
        paths = sorted(read, key=lambda path: (path != likely, path.startswith(MANAGED), len(expected[path])))
        likely = next((path for path in paths if made[path] != expected[path]), "")
        found += [] if likely else [leaf]
    return found


def said(*arguments: object, capsys: pytest.CaptureFixture[str]) -> str:
    """What a command prints, and how it ends."""
    with pytest.raises(SystemExit) as ended:
        main([str(argument) for argument in arguments])
    return f"{capsys.readouterr()} {ended.value.code}"


def reported(config: Path, capsys: pytest.CaptureFixture[str]) -> str:
    saved = config.with_name("page.prom")
    saved.write_text(page((200, 150, 100), drafts=300, generated=750, steps=300))
    return said("report", saved, "--config", config, capsys=capsys)


def waits(config: Path, capsys: pytest.CaptureFixture[str]) -> bool:
    """Whether the report says that users wait, with first tokens after a mean of 15 s."""
    late, saved = latency.TIME_TO_FIRST_TOKEN, config.with_name("late.prom")
    labels = 'engine="0",model_name="m"'
    bounds = {"10.0": 0, "20.0": 9, "+Inf": 9}
    buckets = "".join(f'{late.bucket.name}{{{labels},le="{le}"}} {count}\n' for le, count in bounds.items())
    saved.write_text(page((200,), drafts=300, started=9) + f"{buckets}{late.sum.name}{{{labels}}} 135\n")
    return "users wait" in said("report", saved, "--config", config, capsys=capsys)


def compared(config: Path, capsys: pytest.CaptureFixture[str], *, baseline: int, candidate: int) -> str:
    """A comparison of two runs with this many requests each."""
    runs = {"plain": ran([0.04] * baseline), "fast": ran([0.02] * candidate, acceptance=0.5, method="eagle3")}
    for name, side in runs.items():
        config.with_name(name).write_text(as_json(side.report))
    return said("compare", *(config.with_name(name) for name in runs), "--config", config, capsys=capsys)


def swept(config: Path, capsys: pytest.CaptureFixture[str]) -> bool:
    """Whether a sweep reports foreign traffic when 6 of 430 tokens are not its own."""

    def six_drafts_of_others(server: FakeVLLM, _request: BaseHTTPRequestHandler, _body: dict[str, Any]) -> bool:
        server.drafts[0][0] += 6
        return False

    with answering(FakeVLLM({0.0: accepting(81)}, instead=six_drafts_of_others)) as place:
        options = ("--temperatures", 0, "--requests", 1, "--warm-up", 0)
        return "foreign traffic" in said("sweep", place, *options, "--config", config, capsys=capsys)


def planned(config: Path, capsys: pytest.CaptureFixture[str]) -> list[str]:
    memory = ("--target-params", 70, "--draft-params", 17.5, "--gpus", 4, "--gpu-gb", 80)
    weak = ("--target-params", 70, "--draft-params", 3.5, "--temperature", 1, "--cost-ratio", 0.3)
    return [
        said("plan", *words, "--config", config, capsys=capsys)
        for words in (("vram", *memory), ("decide", *memory, "--temperature", 0.4), ("decide", *weak))
    ]


def examined(config: Path, _: pytest.CaptureFixture[str]) -> str:
    return str(examine_command("vllm serve some/model", load(config)))


def fits(accepted: float, config: Path, capsys: pytest.CaptureFixture[str]) -> bool:
    """Whether the doctor finds that the drafter fits, with so many of 2,001 drafted tokens accepted."""
    saved = config.with_name("drafts.prom")
    saved.write_text(page([accepted], drafts=2001))
    return "does not fit" not in said("doctor", saved, "--json", "--config", config, capsys=capsys)


def runbooks(config: Path, _: pytest.CaptureFixture[str]) -> list[str]:
    settings = load(config)
    return [runbook(alert, settings) for alert in ALERTS if alert.exists(settings)]


def added_up(config: Path, capsys: pytest.CaptureFixture[str]) -> bool:
    """Whether the history of servers in two zones is withheld."""
    own = {"job": "vllm", "model_name": "m", "spec_method": "eagle3"}
    servers = [{**own, "instance": f"{zone}:8000", "zone": zone} for zone in ("a", "b")]
    with answering(Memory((Variant(3, 4),), servers=servers)) as place:
        asked = ("history", "--prometheus", place, "--range", "1d", "--at", END, "--config", config)
        return "differ by the target label zone" in said(*asked, capsys=capsys)


ANSWERS: dict[str, Callable[[Path, pytest.CaptureFixture[str]], object]] = {
    "traffic.drafts_to_judge": reported,
    "labels.together": added_up,
    "thresholds.late_first_token": waits,
    "traffic.requests_to_compare": partial(compared, baseline=20, candidate=20),
    "traffic.requests_to_compare_tails": partial(compared, baseline=150, candidate=150),
    "thresholds.load": partial(compared, baseline=200, candidate=260),
    "thresholds.foreign": swept,
    **{f"runbooks.{name}": runbooks for name in Settings().runbooks.model_dump()},
    "thresholds.unfit": partial(fits, 101),
    "traffic.draft_tokens_to_judge_fit": partial(fits, 1),
    **{f"planning.{name}": planned for name in Settings().planning.model_dump()},
    **{f"buckets.{name}": examined for name in Settings().buckets.model_dump()},
}
"""Settings that only runbooks print or that no generated file depends on, with what does."""


@pytest.fixture
def rules_as_data(monkeypatch: pytest.MonkeyPatch) -> None:
    """Writing rules as YAML takes three quarters of a build, and the same data make the same text."""
    monkeypatch.setattr(build_files, "to_yaml", lambda *given, **named: repr((given, named)))


@pytest.mark.long
@pytest.mark.usefixtures("rules_as_data")
def test_every_setting_changes_a_generated_file() -> None:
    assert without_effect(Settings) == [], "nothing generated depends on these: use them, or add a command to ANSWERS"


@pytest.mark.long
@pytest.mark.usefixtures("rules_as_data")
def test_a_setting_that_nothing_reads_is_found() -> None:
    class WithAnother(Settings):
        unread: Share = 0.5

    assert without_effect(WithAnother, "unread", "links.") == ["unread"]


@pytest.mark.parametrize("leaf", ANSWERS)
def test_a_setting_of_a_command_changes_its_answer(
    leaf: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    document = Settings().model_dump(mode="json", by_alias=True)
    other = changed(Settings, document, leaf, dict(leaves(document))[leaf])
    value = dict(leaves(other.model_dump(mode="json", by_alias=True)))[leaf]
    (tmp_path / "default.toml").write_text("")
    (tmp_path / "changed.toml").write_text(f"{leaf} = {json.dumps(value)}")
    default, again, now = (
        ANSWERS[leaf](tmp_path / name, capsys) for name in ("default.toml", "default.toml", "changed.toml")
    )
    assert default == again
    assert default != now


RENAMED = """
selector = 'prometheus="blue"'
labels = { scope = ["region", "tenant"], job = "service", instance = "address", model_name = "llm", engine = "rank", \
spec_method = "drafter", variant = "arm", host = "machine" }
methods = { baseline = "plain", lookup = ["copy", "paste"] }
links = { grafana = "https://grafana.example:3443", runbooks = "https://runbooks.example/draftboard" }
draft_cost.by_method = { copied = 0.2 }
"""
LABELS = ("cluster", "namespace", "job", "instance", "model_name", "engine", "spec_method", "variant", "host")
_ANY = "|".join(LABELS)
# A label in PromQL, as a Grafana variable, in an alert's template, or as a column; a method or a link.
DEFAULTS = re.compile(
    rf'\b({_ANY})(?=[=!,)])|\${{?({_ANY})\b|\.({_ANY})\b|"({_ANY})"|{{{{({_ANY})\b|!=\\?"(none)|(github\.com)'
)

# Steps of a scrape read a label as the server writes it, before a relabelling of the stack's owner renames it.
AS_SERVERS_WRITE = re.compile(r'^ *- \{"source_?[Ll]abels": .*$|^ *\{\{- \$known := list .*$', re.MULTILINE)


def asked_in(runbook: str) -> str:
    return "\n".join(re.findall(r"```promql\n.*?```", runbook, re.DOTALL) + queries(commands(runbook)))


def defaults_in(files: Mapping[str, str]) -> set[str]:
    """Of runbooks only the queries count: their prose may speak of a job or an engine. A chart names its project."""
    texts = [
        asked_in(text) if path.endswith(".md") else AS_SERVERS_WRITE.sub("", text)
        for path, text in files.items()
        if not path.endswith("Chart.yaml")
    ]
    return {word for text in texts for found in DEFAULTS.findall(text) for word in found if word}


def test_no_default_label_link_or_method_is_left_when_all_are_renamed(tmp_path: Path) -> None:
    (tmp_path / "draftboard.toml").write_text(RENAMED)
    assert defaults_in(render(load(tmp_path / "draftboard.toml"))) == set()


def test_the_search_for_defaults_finds_all_of_them_in_a_default_build(files: dict[str, str]) -> None:
    assert defaults_in(files) == {*LABELS, "none", "github.com"}
