"""Pages of other engines, written from their sources, and settings for each."""

import gzip
import re
from pathlib import Path

import pytest

from draftboard.catalogue.dialects import DIALECTS
from draftboard.settings import Settings

FOLDER = Path(__file__).parent.parent / "data/dialects"
OTHERS = tuple(name for name in DIALECTS if name != "vllm")
WHOLE = tuple(name for name in OTHERS if DIALECTS[name].spellings is None)
IN_PART = tuple(name for name in OTHERS if name not in WHOLE)
WITH_STEPS = (*WHOLE, "llama.cpp")


def page_of(dialect: str) -> Path:
    path = FOLDER / f"{dialect}.txt"
    if not path.exists():
        what = "a /metrics page of that engine, with the file and version of its source in the first lines"
        pytest.fail(f"tests/data/dialects/{path.name} is missing: write {what}", pytrace=False)
    return path


def built_for(dialect: str) -> Settings:
    return Settings.model_validate({"series": {"dialect": dialect}})


LLAMA_CPP, RAY = (FOLDER / "real" / name for name in ("llama.cpp-0.7.0-{}.txt", "ray-2.60.0-vllm-0.32.0-{}.txt.gz"))
"""Pages of real servers by state: how each was made stands in README.md beside them."""


def captured(dialect: str, state: str) -> str:
    """The page of a real server in a state."""
    if dialect == "llama.cpp":
        return Path(str(LLAMA_CPP).format(state)).read_text()
    if state == "stopped":  # The engine's process stands still: its gauges are forgotten, what Serve knows stays.
        return re.sub(r"(?m)^ray_vllm_(num_requests|kv_cache).*\n", "", captured(dialect, "2"))
    if state.startswith("plain"):  # An engine without speculation has all other series.
        return re.sub(r"(?m)^(# \w+ )?ray_vllm_spec_decode_.*\n", "", captured(dialect, state.removeprefix("plain-")))
    return gzip.decompress(Path(str(RAY).format(state)).read_bytes()).decode()
