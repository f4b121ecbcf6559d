"""Examples that name a card fit it, by the project's own formula."""

import re
from pathlib import Path

import pytest

from conftest import ROOT
from draftboard.plan.vram import Gpus, Model, kv_kib_per_token, plan_vram
from draftboard.settings import Settings

EXAMPLES = sorted((ROOT / "deploy/examples").glob("*.env"))
INSTALL = (ROOT / "docs/operate/install.md").read_text()
CARDS = (16, 24, 32, 40, 48, 80)  # GB, as they are sold
OVERHEAD = 2.5


def model(params: float, layers: int) -> Model:
    """A model with eight KV heads of 128, as all of them have."""
    return Model(params, kv_kib_per_token=kv_kib_per_token(layers, 8, 128, "bf16"))


TARGETS = {"Qwen/Qwen3-8B": model(8.2, 36), "XiaomiMiMo/MiMo-7B-Base": model(7.83, 37)}
DRAFTERS = {"eagle3": model(1.03, 1), "draft_model": model(0.6, 28)}


def settings_of(example: Path) -> dict[str, str]:
    return dict(re.findall(r"(?m)^([A-Z_]+)=(.*)$", example.read_text()))


def named(example: Path) -> str:
    """The comment on memory, as one line."""
    return " ".join(example.read_text().replace("\n# ", " ").split())


def starts(example: Path, card: float, length: int) -> bool:
    """Whether at least one request of full length has room."""
    given = settings_of(example)
    gpus = Gpus(int(given["TENSOR_PARALLEL_SIZE"]), card, float(given["GPU_MEMORY_UTILIZATION"]), OVERHEAD)
    drafter = DRAFTERS.get(given["SPEC_METHOD"], Model(0, kv_kib_per_token=0))
    plan = plan_vram(Settings(), gpus, TARGETS[given["MODEL"]], drafter, context=length)
    return plan.with_draft.starts and bool(plan.with_draft.requests)


@pytest.mark.parametrize("example", EXAMPLES, ids=lambda path: path.stem)
def test_an_example_names_the_smallest_card_that_it_starts_on(example: Path) -> None:
    ((needed, card),) = re.findall(r"= ([\d.]+) GB of 0\.9: a card of (\d+) GB", named(example))
    length = int(settings_of(example)["MAX_MODEL_LEN"])
    assert next(size for size in CARDS if starts(example, size, length)) == int(card)
    row = next(line for line in INSTALL.splitlines() if line.startswith(f"| `{example.stem}` |"))
    assert row.endswith(f"| {needed} GB | {card} GB |")


@pytest.mark.parametrize("example", EXAMPLES, ids=lambda path: path.stem)
def test_a_smaller_card_starts_with_the_length_that_the_example_names(example: Path) -> None:
    for card, length in re.findall(r"On one of (\d+) GB it starts with MAX_MODEL_LEN=(\d+)", named(example)):
        assert starts(example, float(card), int(length))
        assert not starts(example, float(card), 2 * int(length))
