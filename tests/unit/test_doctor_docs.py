"""docs/commands/doctor.md lists all dead flags, keys and metrics of the code."""

import re
from pathlib import Path

from draftboard.catalogue.known import known_series
from draftboard.catalogue.removed import REMOVED
from draftboard.doctor.names import DEAD_KEYS, FLAGS, MOVED
from draftboard.settings import Settings

ROOT = Path(__file__).parent.parent.parent
TEXT = (ROOT / "docs/commands/doctor.md").read_text()


def test_the_page_lists_every_dead_flag_and_key_beside_its_replacement() -> None:
    rows = [line for line in TEXT.splitlines() if line.startswith("| ")]
    named = {f"--{flag.replace('_', '-')}": MOVED.get(flag, "") for flag in FLAGS}
    named |= {key: "" for key in DEAD_KEYS if key not in FLAGS}
    for name, key in named.items():
        (row,) = (row for row in rows if f"`{name}`" in row.rpartition(" | ")[0])
        assert key in row, name
    assert any("vllm.entrypoints.openai.api_server" in row and "`vllm serve M`" in row for row in rows)


def test_the_page_lists_every_removed_metric() -> None:
    for old in REMOVED:
        (row,) = (line for line in TEXT.splitlines() if line.startswith("|") and f"`{old.name}`" in line)
        assert old.instead.startswith("nothing") == (" | nothing" in row), old.name


def test_the_page_says_how_many_series_of_a_real_page_are_read() -> None:
    page = (ROOT / "tests/data/v0.32.0-ngram-load.prom").read_text()
    names = [re.split("[{ ]", line, maxsplit=1)[0] for line in page.splitlines() if not line.startswith("#")]
    known = re.compile("|".join(known_series(Settings().dialect)))
    read = [name for name in names if known.fullmatch(name)]
    assert f"Of the {len(names)} series on a page of vLLM 0.32, {len(read)} are read" in TEXT
