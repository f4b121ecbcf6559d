"""Every command with `--json` has a schema: the committed one is the objects' own, and its JSON is as that says."""

import json
from pathlib import Path
from typing import Any

import click
import jsonschema
import pytest

from conftest import OBJECTIVES, ROOT
from draftboard.cli import draftboard, main
from draftboard.cli.schemas import RESULTS, schema_of
from draftboard.lab.drill import Delivery, Drill
from draftboard.lab.replay import Replay, story_of
from draftboard.lab.stack_drill import StackDrill
from draftboard.lab.stack_drill.result import Moment
from draftboard.output import as_json
from scripts.schemas import schema_file
from support.fake_vllm import FakeVLLM, accepting
from support.loopback import answering

DATA = ROOT / "tests/data"
PAGE = DATA / "v0.32.0-ngram-load.prom"
every_command = pytest.mark.parametrize("command", RESULTS)


def committed(command: str) -> dict[str, Any]:
    schema: dict[str, Any] = json.loads(schema_file(command).read_text())
    return schema


def require_valid(command: str, text: str) -> None:
    jsonschema.Draft202012Validator(committed(command)).validate(json.loads(text))


def commands(group: click.Group, path: tuple[str, ...] = ()) -> dict[str, click.Command]:
    """Every command by its words, those of groups too."""
    found: dict[str, click.Command] = {}
    context = click.Context(group)
    for name in group.list_commands(context):
        late = group.get_command(context, name)
        assert late
        command = late.make_context(name, [], resilient_parsing=True).command
        words = (*path, name)
        found |= commands(command, words) if isinstance(command, click.Group) else {" ".join(words): command}
    return found


def test_every_command_with_json_has_a_schema() -> None:
    with_json = [
        name
        for name, command in commands(draftboard).items()
        if any("--json" in parameter.opts for parameter in command.params)
    ]
    assert sorted(with_json) == sorted({command.partition(" --")[0] for command in RESULTS})


@every_command
def test_the_committed_schema_is_the_objects_own_and_what_the_command_prints(
    command: str, capsys: pytest.CaptureFixture[str]
) -> None:
    with pytest.raises(SystemExit) as ended:
        main([*command.split(), "--schema"])
    assert not ended.value.code
    printed = capsys.readouterr().out
    assert printed == schema_of(command) == schema_file(command).read_text(), "run: make schemas"


@every_command
def test_a_schema_is_valid_and_names_its_version(command: str) -> None:
    schema = committed(command)
    jsonschema.Draft202012Validator.check_schema(schema)
    assert schema["properties"]["schema_version"]["const"] >= 1


@pytest.mark.parametrize(
    "words",
    [
        ("report", PAGE),
        ("report", DATA / "v0.32.0-baseline.prom"),
        ("report", DATA / "v0.32.0-ngram-dp2.prom", "--engines"),
        ("doctor", PAGE),
        ("doctor", "--speculative-config", '{"method": "eagle3", "num_speculative_token": 3}'),
        ("doctor", "--command", "vllm serve a --speculative-model b --num-speculative-tokens 3"),
        ("plan k", "--alpha", "0.7"),
        ("plan schedule", "--survival", ".8,.6,.4", "--inflation", "1=1.0,8=1.2,32=1.8"),
        ("plan cost", "--speedup", "1.6"),
        ("plan vram", "--target-params", "70", "--gpus", "2", "--gpu-gb", "80"),
        ("plan vram", "--target-params", "8.2", "--gpus", "1", "--gpu-gb", "24", "--target-kv-kib-per-token", "144"),
        ("plan decide",),
        ("plan decide", "--alpha", "0.7", "--method", "eagle3", "--slo", "tpot"),
        ("signals",),
        ("signals", "--config", OBJECTIVES),
    ],
    ids=lambda words: " ".join(Path(word).name for word in words),
)
def test_json_is_as_the_schema_says(words: tuple[str | Path, ...], capsys: pytest.CaptureFixture[str]) -> None:
    command, *options = words
    with pytest.raises(SystemExit) as ended:
        main([*str(command).split(), *map(str, options), "--json"])
    assert ended.value.code in {None, 0, 1}
    require_valid(str(command), capsys.readouterr().out)


def test_json_of_a_comparison_is_as_the_schema_says(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    sides = []
    for side in ("baseline", "candidate"):
        with pytest.raises(SystemExit):
            main(["report", str(PAGE), "--json"])
        sides.append(tmp_path / f"{side}.json")
        sides[-1].write_text(capsys.readouterr().out)
    with pytest.raises(SystemExit) as ended:
        main(["compare", *map(str, sides), "--json", "--force", "--min-speedup", "1", "--gpu-hour-price", "1"])
    out, err = capsys.readouterr()
    assert not ended.value.code, err
    require_valid("compare", out)


def test_json_of_a_sweep_is_as_the_schema_says(capsys: pytest.CaptureFixture[str]) -> None:
    with answering(FakeVLLM({0.0: accepting(80), 1.0: accepting(40)}, level="detailed")) as place:
        quick = ["--requests", "4", "--warm-up", "0", "--temperatures", "0,1", "--production-temperature", "0.9"]
        with pytest.raises(SystemExit) as ended:
            main(["sweep", place, *quick, "--json"])
    assert not ended.value.code
    require_valid("sweep", capsys.readouterr().out)


@pytest.mark.prometheus
@pytest.mark.xdist_group("demo_run")
def test_json_of_a_replay_is_as_the_schema_says(demo_run: Replay) -> None:
    story = story_of(demo_run)
    assert story.chapters
    assert story.firings
    require_valid("replay", as_json(story))


def test_json_of_a_drill_is_as_the_schema_says() -> None:
    told = (
        Delivery("SpecDecodeNotPaying"),
        Delivery("VLLMModelDown", 6.2, "warning", "It is down.", "https://r.example"),
    )
    require_valid("drill", as_json(Drill("restart", 60.0, told, ("VLLMQueueGrowing",), passed=False)))


def test_json_of_a_drill_of_the_stack_is_as_the_schema_says() -> None:
    moments = (Moment(0.0, "drill", "outage 1 begins"), Moment(281.5, "slack", "firing: CRITICAL: It is down."))
    found = StackDrill("draftboard", "prometheus", 60, "critical", ("slack",), moments, ("slack: none",), passed=False)
    require_valid("drill --stack", as_json(found))
