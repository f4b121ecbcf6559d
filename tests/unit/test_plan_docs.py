"""What docs/commands/plan.md shows is what the commands print, and what it advises holds."""

import json
import re
import shlex
from itertools import pairwise
from pathlib import Path

import pytest

from draftboard.cli import main
from draftboard.plan.decide import Situation, decide
from draftboard.plan.vram import Gpus, Model, plan_vram
from draftboard.settings import Settings

TEXT = (Path(__file__).parent.parent.parent / "docs/commands/plan.md").read_text()
SHOWN = dict(re.findall(r"```console\n\$ draftboard (.*?)\n(.*?)\n```", TEXT, re.DOTALL))


@pytest.mark.parametrize("command", SHOWN)
def test_a_command_prints_what_the_page_shows(command: str, capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit) as ended:
        main(shlex.split(command))
    assert not ended.value.code
    printed = [line.rstrip() for line in capsys.readouterr().out.rstrip().splitlines()]
    assert printed == SHOWN[command].splitlines()


def test_every_command_is_shown() -> None:
    assert {command.split()[1] for command in SHOWN} == {"k", "vram", "cost", "schedule", "decide"}


def test_the_advised_command_starts_and_cuts_the_draft_like_its_target() -> None:
    (served,) = re.findall(r"```bash\n(.*?)\n```", TEXT, re.DOTALL)
    words = shlex.split(served)
    options = dict(pairwise(words))
    tp = int(options["--tensor-parallel-size"])
    config = json.loads(options["--speculative-config"])
    gpus = Gpus(tp, 80, float(options["--gpu-memory-utilization"]))
    draft_tp = config["draft_tensor_parallel_size"]
    assert config["method"] == "draft_model"
    quantised = plan_vram(Settings(), gpus, Model(70, "int8"), Model(8), context=1, target_tp=tp, draft_tp=draft_tp)
    assert quantised.with_draft.starts
    assert not plan_vram(Settings(), gpus, Model(70), Model(8), context=1).with_draft.starts


def test_the_page_lists_every_check_with_its_rule() -> None:
    rows = dict(re.findall(r"^\| ([a-z]+) \| (.*?) \|", TEXT.split("## `plan decide`")[1], re.MULTILINE))
    assert {rule.gives: rule.text for rule in decide(Situation()).formulas if rule.gives != "decision"} == rows
