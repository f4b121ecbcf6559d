"""The doctor's page lists what its code knows."""

from pathlib import Path

import pytest

from draftboard.doctor.command.dead import FLAGS, KEYS
from draftboard.doctor.running.names import OLD

TEXT = (Path(__file__).parent.parent.parent / "docs/doctor.md").read_text()


@pytest.mark.requirement("R218", "R219", "R220")
def test_the_page_lists_every_dead_flag_and_key_beside_its_replacement() -> None:
    rows = [line for line in TEXT.splitlines() if line.startswith("| ")]
    named = {f"--{flag.replace('_', '-')}": gone for flag, gone in FLAGS.items()}
    named |= {key: gone for key, gone in KEYS.items() if key not in FLAGS}
    for name, gone in named.items():
        (row,) = (row for row in rows if f"`{name}`" in row.rpartition(" | ")[0])
        assert gone.key in row, name
    assert any("vllm.entrypoints.openai.api_server" in row and "`vllm serve M`" in row for row in rows)


@pytest.mark.requirement("R221")
def test_the_page_lists_every_metric_of_old_articles() -> None:
    for old in OLD:
        (row,) = (line for line in TEXT.splitlines() if line.startswith("|") and f"`{old.name}`" in line)
        assert old.instead.startswith("nothing") == (" | nothing" in row), old.name
