"""Pages of other engines, written from their sources, and settings for each."""

from pathlib import Path

import pytest

from draftboard.catalogue.dialects import DIALECTS
from draftboard.settings import Settings

FOLDER = Path(__file__).parent.parent / "data/dialects"
OTHERS = tuple(name for name in DIALECTS if name != "vllm")
WHOLE = tuple(name for name in OTHERS if DIALECTS[name].spellings is None)
IN_PART = tuple(name for name in OTHERS if name not in WHOLE)


def page_of(dialect: str) -> Path:
    path = FOLDER / f"{dialect}.txt"
    if not path.exists():
        what = "a /metrics page of that engine, with the file and version of its source in the first lines"
        pytest.fail(f"tests/data/dialects/{path.name} is missing: write {what}", pytrace=False)
    return path


def built_for(dialect: str) -> Settings:
    return Settings.model_validate({"series": {"dialect": dialect}})
