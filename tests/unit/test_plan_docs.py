"""What docs/plan.md shows is what the commands print, and what it advises holds."""

import json
import re
import shlex
from itertools import pairwise
from pathlib import Path

import pytest

from draftboard.cli import main
from draftboard.plan import Dtype, Gpus, Model, Situation, decide, plan_vram
from draftboard.settings import Settings

TEXT = (Path(__file__).parent.parent.parent / "docs/plan.md").read_text()
SHOWN = dict(re.findall(r"```console\n\$ draftboard (.*?)\n(.*?)\n```", TEXT, re.DOTALL))


@pytest.mark.requirement("R56", "R162", "R167")
@pytest.mark.parametrize("command", SHOWN)
def test_a_command_prints_what_the_page_shows(command: str, capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit) as ended:
        main(shlex.split(command))
    assert not ended.value.code
    printed = [line.rstrip() for line in capsys.readouterr().out.rstrip().splitlines()]
    assert printed == SHOWN[command].splitlines()


def test_every_command_is_shown() -> None:
    assert {command.split()[1] for command in SHOWN} == {"k", "vram", "cost", "schedule", "decide"}


@pytest.mark.requirement("R168", "R169")
def test_the_advised_command_starts_and_cuts_the_draft_like_its_target() -> None:
    (served,) = re.findall(r"```bash\n(.*?)\n```", TEXT, re.DOTALL)
    words = shlex.split(served)
    options = dict(pairwise(words))
    tp = int(options["--tensor-parallel-size"])
    config = json.loads(options["--speculative-config"])
    gpus = Gpus(tp, 80, float(options["--gpu-memory-utilization"]))
    draft_tp = config["draft_tensor_parallel_size"]
    assert config["method"] == "draft_model"
    for target, starts in ((Dtype.INT8, True), (Dtype.BF16, False)):
        plan = plan_vram(Settings(), gpus, Model(70, target), Model(8), context=1, target_tp=tp, draft_tp=draft_tp)
        assert plan.with_draft.starts is starts


@pytest.mark.requirement("R149", "R150", "R151")
def test_the_ratios_of_the_page_are_those_of_the_models() -> None:
    rows = re.findall(r"^\| ([\d.]+B), (\d+B) \| 1:([\d.]+) \|", TEXT, re.MULTILINE)
    ratios = {
        (pair.draft, pair.target): f"{pair.ratio:.3g}" for pair in decide(Settings(), Situation("ngram")).examples
    }
    assert len(rows) == 5
    for draft, target, ratio in rows:
        assert ratios[draft, target] == ratio
