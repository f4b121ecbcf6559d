"""Pages of other engines, written from their sources, and settings for each."""

from pathlib import Path

from draftboard.catalogue.dialects import DIALECTS, DialectName
from draftboard.settings import Settings

FOLDER = Path(__file__).parent.parent / "data/dialects"
OTHERS = tuple(name for name in DIALECTS if name != "vllm")
WHOLE = tuple(name for name in OTHERS if DIALECTS[name].spellings is None)
IN_PART = tuple(name for name in OTHERS if name not in WHOLE)


def page_of(dialect: DialectName) -> Path:
    return FOLDER / f"{dialect}.txt"


def built_for(dialect: DialectName) -> Settings:
    return Settings.model_validate({"series": {"dialect": dialect}})
